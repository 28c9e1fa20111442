"""Every pattern that `headgauge list patterns` lists, in a scan."""

from __future__ import annotations

import json
import unittest

from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import CommandTest
from tests.places import ROOT
from tests.results.schema import validate


def flat(part: object) -> list[float]:
    if isinstance(part, list):
        return [value for item in part for value in flat(item)]
    return [] if part is None else [part]


class Patterns(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.ids(123)

    def listed(self) -> list[dict]:
        return json.loads(self.succeed("list", "patterns", "--json").out)

    def scan(self, pattern: str, *options: str) -> dict:
        self.succeed(
            "scan",
            "model",
            "--tokens",
            "ids.txt",
            "--pattern",
            pattern,
            "--lengths",
            "24,96",
            "--out",
            "out",
            "--quiet",
            *options,
        )
        return validate(self.folder / "out/results.json")

    def test_the_list(self) -> None:
        text = self.succeed("list", "patterns").out
        document = (ROOT / "docs/patterns.md").read_text()
        for pattern in self.listed():
            self.assertEqual(list(pattern), ["name", "formula", "parameters", "source", "accepts"])
            for key in ("formula", "parameters", "source"):
                self.assertIn(pattern[key], text)
            self.assertIn(f"**{pattern['name']}:{pattern['parameters']}**", document)

    def test_each_is_measured(self) -> None:
        small = {
            "window": "size=9",
            "sinks": "window=9",
            "strided": "stride=7",
            "fixed": "stride=7,summary=2",
            "bigbird": "window=5,random=5,global=2",
            "lsh": "buckets=8,rounds=1",
            "topk": "k=9",
            "keydiff": "keys=9,recent=2",
            "tova": "keys=9,recent=1",
            "h2o": "keys=9,recent=4",
        }
        plain = self.scan("none")["metrics"]
        self.assertNotIn("kept_mass", plain)
        for pattern in self.listed():
            with self.subTest(pattern["name"]):
                results = self.scan(f"{pattern['name']}:{small[pattern['name']]}")
                self.assertEqual(
                    results["settings"]["pattern"], f"{pattern['name']}:{small[pattern['name']]}"
                )
                self.assertIn("counterfactual", results["settings"]["measures"])
                metrics = results["metrics"]
                for kept, change in zip(
                    flat(metrics["kept_mass"]["values"]),
                    flat(metrics["output_change"]["values"]),
                    strict=True,
                ):
                    self.assertGreater(kept, 0.01)
                    self.assertLess(kept, 1)
                    self.assertGreater(change, 0)
                self.assertLess(max(flat(metrics["visible_keys"]["values"])), 40)
                for value in flat(metrics["mass"]["values"]):
                    self.assertAlmostEqual(value, 1, delta=1e-5)
                for name in (
                    "entropy",
                    "distance",
                    "separability",
                    "sensitivity",
                    "jacobian_spectral",
                    "union_coverage",
                ):
                    self.assertTrue(flat(metrics[name]["values"]), name)
                # The model itself runs with all its keys.
                self.assertEqual(metrics["loss"], plain["loss"])

    def test_the_oracle_keeps_most(self) -> None:
        kept = {
            pattern: flat(self.scan(pattern)["metrics"]["kept_mass"]["values"])
            for pattern in ("topk:k=12", "window:size=12", "bigbird:window=4,random=4,global=4")
        }
        for other in ("window:size=12", "bigbird:window=4,random=4,global=4"):
            for most, less in zip(kept["topk:k=12"], kept[other], strict=True):
                self.assertGreaterEqual(most, less - 1e-6)

    def test_a_pattern_meets_a_normalizer(self) -> None:
        both = self.scan("sinks:window=9", "--normalizer", "sparsemax")["metrics"]
        for value in flat(both["participation_ratio"]["values"]):
            self.assertLessEqual(value, 13 + 1e-6)

    def test_more_keys_than_a_row_has_is_said_once(self) -> None:
        arguments = ("scan", "model", "--tokens", "ids.txt", "--lengths", "48")
        done = self.succeed(*arguments, "--pattern", "topk:k=64")
        said = "note: topk: k = 64 exceeds the number of keys of the first rows; these rows keep all keys\n"
        self.assertEqual(done.err.count(said), 1, done.err)

    def test_sorting_by_what_a_pattern_adds(self) -> None:
        arguments = ("scan", "model", "--tokens", "ids.txt", "--sort", "kept_mass")
        self.succeed(*arguments, "--pattern", "window:size=9", "--measures", "weights,counterfactual")
        self.refuse(2, *arguments, says="kept_mass")

    def test_a_dump_of_scores(self) -> None:
        scores = ([1, 8, 8], [0.1 * i for i in range(64)])
        make_dump(self.folder / "d.safetensors", 0, 1, 8, 4, **{"layers.0.scores": scores})
        arguments = ("scan", "d.safetensors", "--lengths", "8")
        for pattern in self.listed():
            with self.subTest(pattern["name"]):
                if pattern["name"] in ("lsh", "keydiff", "tova", "h2o"):
                    self.refuse(2, *arguments, "--pattern", pattern["name"], says="queries and keys")
                    continue
                done = self.succeed(*arguments, "--pattern", pattern["name"], "--json")
                metrics = json.loads(done.out)["metrics"]
                self.assertEqual(len(flat(metrics["kept_mass"]["values"])), 1)
                self.assertEqual(flat(metrics["output_change"]["values"]), [])

    def test_sinks_say_whose_positions_their_keys_have(self) -> None:
        [sinks] = [pattern for pattern in self.listed() if pattern["name"] == "sinks"]
        self.assertIn("at their positions in the text", sinks["formula"])
        self.assertIn("StreamingLLM, which counts positions within its cache", sinks["source"])

    def test_what_is_refused(self) -> None:
        command = ("scan", "model", "--tokens", "ids.txt", "--pattern")
        self.refuse(2, *command, "windo", says="a pattern such as window")
        self.refuse(2, *command, "window:size=0", says="of at least 1")
        self.refuse(2, *command, "window:wide=3", says="size=128,global=0")
        self.refuse(2, *command, "lsh:buckets=5", says="an even number")
        self.refuse(4, *command, "none", "--measures", "counterfactual", says="--pattern")


if __name__ == "__main__":
    unittest.main()
