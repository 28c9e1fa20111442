"""Good files that hostile ones are made of: made once, by the program itself where it writes them."""

import json
import shutil
import signal
from functools import cached_property
from pathlib import Path

from tests.cli.checkpoints import copy_golden, make_dump, make_gpt2
from tests.cli.command import environment, run
from tests.cli.terminal import Terminal
from tests.places import GOLDEN, ROOT

DEMO = ROOT / "demo"
SMALL = ("--threads", "1", "--quiet")
SIMULATION = (
    "converge --synthetic gaussian --dimension 20 --horizons 0.5,1 --grid 300,600 --replicates "
    "30 --radii 1 --threads 1 --quiet"
).split()
LONG_SIMULATION = (
    *"converge --synthetic gaussian --dimension 20 --horizons 0.5,1,1.5,2 --grid 1500,2000".split(),
    *("--replicates", "40", "--radii", "1", *SMALL),
)
TOKENS = (*"reproduce tokens --dimension 6 --grid 60,120,240,480 --replicates 4".split(), *SMALL)
PLAN = (
    *"plan model --tokens a.txt b.txt --confirm c.txt --lengths 96 --random-plans 3".split(),
    *SMALL,
)
OF_TEXTS = ("model", "--tokens", "a.txt", "b.txt", "c.txt", "--lengths", "32,96", *SMALL)
SHARED = {
    "scan": ("scan", *OF_TEXTS, "--measures", "weights,coverage,model", "--examples", "2"),
    "compare": ("compare", *OF_TEXTS, "--normalizer", "ssmax", "--measures", "weights,model"),
    "compare-each": ("compare", *OF_TEXTS, *"--normalizer ssmax --each head --measures weights".split()),
}


AT_ONCE = environment(HEADGAUGE_JOURNAL_SECONDS="0")


class Materials:
    """`folder` holds them; what is taken for a trial is a copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = copy_golden("gpt2/plain", folder / "model")
        self.ids = self.text("ids.txt", [i * i * 7 % 41 for i in range(64)])
        for k, name in enumerate(("a.txt", "b.txt", "c.txt")):
            self.text(name, [(i * i + 3 * i * (k + 1) + i // 41 * (k + 2)) % 41 for i in range(288)])

    def text(self, name: str, numbers: list[int]) -> Path:
        path = self.folder / name
        path.write_text(" ".join(map(str, numbers)) + "\n")
        return path

    def run(self, *arguments, code: int = 0, env=None) -> None:
        done = run(*arguments, cwd=self.folder, env=env)
        if done.code != code:
            raise RuntimeError(f"{arguments}: exit {done.code}, {done.err!r}")

    def take(self, name: str, folder: Path, to: str | None = None) -> Path:
        """A copy for a trial."""
        source, target = self.folder / name, folder / (to or name)
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        return target

    def golden(self, name: str, folder: Path, to: str = "model") -> Path:
        return copy_golden(name, folder / to)

    @cached_property
    def results(self) -> dict[str, dict]:
        """Results of every command that leaves some, by name."""
        groups = "weights,distance,dispersion,roles,model"
        for command, options in (
            ("scan", f"--lengths 16,32 --top-n 1,5 --measures {groups} --examples 2"),
            ("compare", "--normalizer ssmax --lengths 32 --measures weights,model"),
            ("converge", "--lengths 64 --replicates 4 --points 3 --measures weights"),
        ):
            words = (command, "model", "--tokens", "ids.txt", *options.split(), *SMALL)
            self.run(*words, "--out", f"of-{command}")
        self.run(*SIMULATION, "--out", "of-simulation")
        self.run("diff", "of-scan", "of-scan", "--quiet", "--out", "of-diff")
        self.run(*PLAN, "--out", "of-plan")
        found = {
            path.parent.name: json.loads(path.read_text())
            for path in sorted(self.folder.glob("of-*/results.json"))
        }
        found["made"] = json.loads((ROOT / "tests/results/data/made.json").read_text())
        return found

    @cached_property
    def plan(self) -> dict:
        self.results  # a plan is made with them
        return json.loads((self.folder / "of-plan/plan.json").read_text())

    @cached_property
    def unfinished_simulation(self) -> tuple[bytes, dict]:
        """The journal of one that was interrupted, and the numbers of one that was not."""
        command = [word for word in LONG_SIMULATION if word != "--quiet"]
        for _ in range(20):  # on a busy machine it may end before it is interrupted
            terminal = Terminal(*command, "--out", "interrupted", cwd=self.folder, env=AT_ONCE)
            terminal.read_until(r"\b[3-8]\d ?%")
            terminal.process.send_signal(signal.SIGINT)
            terminal.finish()
            if (self.folder / "interrupted/journal").exists():
                break
        self.run(*LONG_SIMULATION, "--out", "simulated")
        return journal_of(self.folder / "interrupted").read_bytes(), numbers_of(self.folder / "simulated")

    @cached_property
    def unfinished_plan(self) -> tuple[bytes, dict]:
        """All is measured and kept; then there is no place for the plan."""
        (self.folder / "unplaced/plan.json").mkdir(parents=True)
        self.run(*PLAN, "--out", "unplaced", code=5, env=AT_ONCE)
        return journal_of(self.folder / "unplaced").read_bytes(), numbers_of(self.folder / "unplaced")

    @cached_property
    def shares(self) -> dict[str, dict]:
        """The numbers of runs whose two shares lie in folders of theirs."""
        for name, command in SHARED.items():
            self.run(*command, "--out", f"{name}-whole")
            for k in (1, 2):
                self.run(*command, "--shard", f"{k}/2", "--out", f"{name}-{k}")
        return {name: numbers_of(self.folder / f"{name}-whole") for name in SHARED}

    @cached_property
    def reproduction(self) -> Path:
        self.run(*TOKENS, "--out", "reproduction")
        return self.folder / "reproduction"

    @cached_property
    def tokenizer(self) -> dict:
        """The demo's, with a vocabulary that a trial writes quickly."""
        whole = json.loads((DEMO / "model/tokenizer.json").read_text())
        vocabulary = {word: number for word, number in whole["model"]["vocab"].items() if number < 400}
        merges = [
            merge
            for merge in whole["model"]["merges"]
            if all(part in vocabulary for part in pieces(merge)) and "".join(pieces(merge)) in vocabulary
        ]
        whole["model"] |= {"vocab": vocabulary, "merges": merges}
        return whole

    @cached_property
    def large(self) -> Path:
        """A model whose layers take long enough that a fault falls among them."""
        path = make_gpt2(self.folder / "large", layers=24, heads=2, width=16, positions=320)
        self.text("many.txt", [i * i * 7 % 41 for i in range(320)])
        return path

    @cached_property
    def dump(self) -> Path:
        return make_dump(self.folder / "dump.safetensors", 2, 2, 16, 4)

    @cached_property
    def page(self) -> Path:
        self.results
        return self.folder / "of-scan"


def journal_of(out: Path) -> Path:
    return next((out / "journal").iterdir())


def numbers_of(out: Path) -> dict:
    results = json.loads((out / "results.json").read_text())
    return {key: results.get(key) for key in ("coords", "metrics", "examples")}


def pieces(merge) -> list[str]:
    return merge.split(" ") if isinstance(merge, str) else merge


def named_goldens(*families: str) -> list[str]:
    """Golden checkpoints of one file and few bytes."""
    found = []
    for family in families:
        for path in sorted((GOLDEN / family).iterdir()):
            weights = path / "model.safetensors"
            if weights.exists() and weights.stat().st_size < 1 << 18:
                found.append(f"{family}/{path.name}")
    return found
