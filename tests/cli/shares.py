"""Runs of several documents, and what two of them must have in common: all but how long they took."""

import json
import re
from pathlib import Path

from tests.cli.command import CommandTest, Finished
from tests.places import ROOT
from tests.results.schema import validate

DEMO = ROOT / "demo/model"
# Of unequal length, at unequal places, in letters of the demo's text.
DOCUMENTS = ((0, 700), (900, 2100), (1500, 1200), (400, 3000), (2600, 900), (3100, 2600), (2000, 1600))


def of_no_bit(results: dict) -> dict:
    """The results without times, threads and the folder of a plan."""
    kept = {name: value for name, value in results.items() if name != "timings"}
    kept["settings"] = {k: v for k, v in results["settings"].items() if k not in ("threads", "plan_file")}
    kept["summary"] = [
        {**line, "next": re.sub(r"--(plan|out) \S+", "", line.get("next", ""))} for line in results["summary"]
    ]
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
        found = of_no_bit(validate(self.folder / folder / "results.json"))
        for line in found["summary"]:
            line["next"] = line.get("next", "").replace(f"--plan {folder}/plan.json", "--plan PLAN")
        return found

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

    def assert_shards_have_the_bits_of_one(self, *words, count: int = 2, at: str = "") -> Finished:
        done = self.succeed(*words, "--out", f"{at}one")
        parts = [f"{at}part{k}" for k in range(1, count + 1)]
        for k, part in enumerate(parts, 1):
            self.shard(f"{k}/{count}", part, *words)
        self.succeed("merge", *parts, "--out", f"{at}merged", "--quiet")
        self.assert_same(f"{at}merged", f"{at}one")
        return done

    def journals(self, folder: str) -> list[Path]:
        return sorted((self.folder / folder / "journal").glob("*.journal"))

    def shard(self, which: str, folder: str, *arguments, **options) -> Finished:
        return self.succeed(*arguments, "--shard", which, "--out", folder, "--quiet", **options)


def identity_of(journal: Path) -> dict:
    return json.loads(journal.read_bytes().split(b"\n", 2)[1])["identity"]
