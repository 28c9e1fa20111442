"""headgauge converge --synthetic: tables, files, resumption, and what is refused."""

from __future__ import annotations

import json
import resource
import signal
import unittest

from tests.cli.command import INTERRUPTED, CommandTest, environment
from tests.cli.terminal import Terminal
from tests.results.schema import validate, validate_text

SMALL = (
    "converge",
    "--synthetic",
    "gaussian",
    "--dimension",
    "6",
    "--horizons",
    "0.5,2",
    "--grid",
    "60:480:4",
    "--replicates",
    "4",
    "--radii",
    "1,2",
    "--threads",
    "2",
)


class Synthetic(CommandTest):
    def test_table_and_files(self) -> None:
        done = self.succeed(*SMALL, "--out", "out")
        for part in (
            "gaussian tokens of dimension 6 under softmax, 4 replicates",
            "closed form",
            "n=60",
            "n=480",
            "radius R",
            "hardmax limit",
            "worst query",
        ):
            self.assertIn(part, done.out)
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()), ["results.json"])
        results = validate(self.folder / "out/results.json")
        settings = results["settings"]
        self.assertEqual(results["command"], "converge --synthetic")
        for key, value in {
            "synthetic": "gaussian",
            "dimension": 6,
            "grid": [60, 120, 240, 480],
            "replicates": 4,
            "points": 4,
            "horizons": [0.5, 2],
            "radii": [1, 2],
            "seed": 0,
            "full": False,
            "reference": "exact",
            "normalizer": "softmax",
            "radius": None,
            "variance": 0.1,
            "values": "identity",
        }.items():
            self.assertEqual(settings[key], value, key)
        self.assertEqual(results["model"]["family"], "synthetic")
        metrics = results["metrics"]
        self.assertEqual(metrics["error_mean"]["dims"], ["scale", "tokens"])
        self.assertEqual(metrics["uniform_error"]["dims"], ["tokens", "radius"])
        self.assertEqual(metrics["rate_mean"]["rows"], [4, 4])
        for h, paper in zip(metrics["horizon"]["values"], metrics["horizon_paper"]["values"]):
            self.assertAlmostEqual(paper, h * 6**0.5)

    def test_json_is_the_file(self) -> None:
        self.succeed(*SMALL, "--out", "out")
        printed = json.loads(self.succeed(*SMALL, "--json").out)
        validate_text(json.dumps(printed), "what --json prints")
        written = validate(self.folder / "out/results.json")
        self.assertEqual(printed["metrics"], written["metrics"])

    def test_other_laws_and_normalizers(self) -> None:
        for law, *more in (
            ("sphere",),
            ("mixture", "--components", "2", "--values", "random"),
            ("gaussian", "--normalizer", "softcap:c=2"),
            ("gaussian", "--normalizer", "sparsemax"),
            ("gaussian", "--reference", "sample", "--reference-tokens", "900"),
        ):
            arguments = [law if part == "gaussian" else part for part in SMALL]
            with self.subTest(law, more=more):
                done = self.succeed(*arguments, *more)
                self.assertIn(f"{law} tokens of dimension 6", done.out)
        self.assertIn("has no known limit", self.succeed(*SMALL, "--normalizer", "topk:k=3").err)

    def test_an_interrupted_run_goes_on(self) -> None:
        arguments = (
            "converge",
            "--synthetic",
            "gaussian",
            "--dimension",
            "20",
            "--horizons",
            "0.5,1,1.5,2",
            "--grid",
            "1500,2000",
            "--replicates",
            "40",
            "--radii",
            "1",
        )
        whole = json.loads(self.succeed(*arguments, "--json").out)["metrics"]
        journal = self.folder / "out/journal/part-1-of-1.journal"
        terminal = Terminal(
            *arguments, "--out", "out", cwd=self.folder, env=environment(HEADGAUGE_JOURNAL_SECONDS="0")
        )
        terminal.read_until(r"\b[3-8]\d ?%")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.assertRegex(
            terminal.messages()[-1],
            r"[1-7] of 8 points were finished and saved.*run the same command again to resume",
        )
        partial = validate(self.folder / "out/results.json")
        self.assertTrue(partial["partial"])
        self.assertTrue(journal.exists())
        other = ["21" if part == "20" else part for part in arguments]
        self.refuse(
            3,
            *other,
            "--out",
            "out",
            says=("part-1-of-1.journal", "another value of --dimension (20 instead of 21)"),
        )
        self.succeed(*arguments, "--out", "out", "--threads", "1")
        self.assertFalse(journal.parent.exists())
        results = validate(self.folder / "out/results.json")
        self.assertFalse(results["partial"])
        self.assertEqual(results["metrics"], whole)

    def test_refused(self) -> None:
        def synthetic(*more: str) -> tuple[str, ...]:
            return ("converge", "--synthetic", "gaussian", *more)

        self.refuse(2, "converge", says="MODEL")
        self.refuse(2, "converge", "--synthetic", "cube", says="gaussian, sphere, mixture")
        self.refuse(2, "converge", "model", "--synthetic", "gaussian", says="both")
        self.refuse(2, "converge", "model", "--full", says="--synthetic")
        self.refuse(2, *synthetic("--text", "x"), says="--text")
        for tokens, *idle in (
            ("gaussian", "--radius", "2"),
            ("gaussian", "--components", "2"),
            ("sphere", "--variance", "2"),
            ("sphere", "--components", "2"),
            ("gaussian", "--reference-tokens", "900"),
        ):
            self.refuse(2, "converge", "--synthetic", tokens, *idle, says=idle[-2])
        self.refuse(2, *synthetic("--grid", "50,60", "--points", "3"), says="--points", form=False)
        self.refuse(2, *synthetic("--lengths", "64"), says="--lengths")
        self.refuse(2, *synthetic("--draws", "3"), says="--draws")
        self.refuse(2, *synthetic("--grid", "5,4"), says="5, 4")
        self.refuse(2, *synthetic("--grid", "1,4"), says="from 2")
        self.refuse(2, *synthetic("--grid", "50.7,100"), says="whole numbers")
        self.refuse(2, *synthetic("--grid", "10:20"), says="FIRST:LAST:COUNT")
        self.refuse(2, *synthetic("--scales", "a"), says='"a"')
        self.refuse(2, *synthetic("--scales", "1", "--horizons", "1"), says="both")
        self.refuse(2, *synthetic("--scales", "1e40"), says="single precision")
        self.refuse(2, *synthetic("--dimension", "0"), says="at least 1", form=False)
        self.refuse(2, *synthetic("--radii", "2,1"), says="--radii")
        self.refuse(4, *synthetic("--normalizer", "cosine"), says="cosine")
        self.refuse(4, *synthetic("--normalizer", "ssmax", "--reference", "exact"), says="ssmax")
        self.refuse(
            5,
            *synthetic("--dimension", "500", "--grid", "1000000"),
            says="of memory",
            limits={resource.RLIMIT_AS: 2**30},
        )


if __name__ == "__main__":
    unittest.main()
