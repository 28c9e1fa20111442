"""Runs of several documents, and what two of them must have in common: all but how long they took."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.cli.command import SECONDS, CommandTest, Finished, environment
from tests.places import BINARY, ROOT
from tests.results.schema import validate

DEMO = ROOT / "demo/model"
# Of unequal length, at unequal places, in letters of the demo's text.
DOCUMENTS = ((0, 700), (900, 2100), (1500, 1200), (400, 3000), (2600, 900), (3100, 2600), (2000, 1600))

OF_OUTPUT = ("json", "out", "quiet", "threads")


def of_no_bit(results: dict) -> dict:
    """The results without times, threads and the folder."""
    kept = {name: value for name, value in results.items() if name != "timings"}
    kept["settings"] = {k: v for k, v in results["settings"].items() if k not in OF_OUTPUT}
    kept["tool"] = {k: v for k, v in results["tool"].items() if k != "threads"}
    return kept


class SharesTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        text = (ROOT / "demo/text.txt").read_text("utf-8")
        self.documents = [
            self.write(f"{k}.txt", text[begin : begin + letters]).name
            for k, (begin, letters) in enumerate(DOCUMENTS)
        ]

    def results(self, folder: str) -> dict:
        return of_no_bit(validate(self.folder / folder / "results.json"))

    def assert_same(self, folder: str, reference: str) -> None:
        found, expected = self.results(folder), self.results(reference)
        for name, metric in expected["metrics"].items():
            self.assertEqual(found["metrics"][name], metric, name)
        self.assertEqual(found, expected)
        table = "heads.csv"
        if (self.folder / reference / table).exists():
            self.assertEqual(
                (self.folder / folder / table).read_bytes(), (self.folder / reference / table).read_bytes()
            )
        self.assertFalse((self.folder / folder / "journal").exists(), "a run that ended keeps no journal")

    def journals(self, folder: str) -> list[Path]:
        return sorted((self.folder / folder / "journal").glob("*.journal"))

    def shard(self, which: str, folder: str, *arguments, **options) -> Finished:
        return self.succeed(*arguments, "--shard", which, "--out", folder, "--quiet", **options)


def mpi_environment() -> dict[str, str]:
    """More ranks than cores, and as whoever runs the tests."""
    return environment(
        HEADGAUGE_JOURNAL_SECONDS="0.1",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_hwloc_base_binding_policy="none",
        OMPI_MCA_btl_vader_single_copy_mechanism="none",
    )


def has_mpi() -> bool:
    if shutil.which("mpirun") is None:
        return False
    linked = subprocess.run(["ldd", str(BINARY)], capture_output=True, text=True, timeout=SECONDS)
    return "libmpi" in linked.stdout


def start_ranks(count: int, *arguments, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["mpirun", "-n", str(count), str(BINARY), *map(str, arguments), "--threads", "1"],
        cwd=cwd,
        env=mpi_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ranks_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes of headgauge that mpirun started, by rank."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    found: dict[int, int] = {}
    for child in children.read_text().split() if children.exists() else ():
        try:
            entries = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        named = dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)
        if b"OMPI_COMM_WORLD_RANK" in named:
            found[int(named[b"OMPI_COMM_WORLD_RANK"])] = int(child)
    return [found[rank] for rank in sorted(found)]


def identity_of(journal: Path) -> dict:
    return json.loads(journal.read_bytes().split(b"\n", 2)[1])["identity"]


