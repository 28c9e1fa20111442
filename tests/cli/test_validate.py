"""headgauge validate as a user runs it."""

from __future__ import annotations

import signal

from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import INTERRUPTED, UNSUPPORTED, USAGE, CommandTest
from tests.cli.terminal import Terminal
from tests.places import ROOT
from tests.results.schema import validate

FEW = ("--lengths", 96, "--permutations", 99, "--resamples", 99, "--top-n", "1,5")


class Validate(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        for k, name in enumerate(("a.txt", "b.txt", "c.txt")):
            numbers = [(i * i + 3 * i + 5 * k) % 41 for i in range(96)]
            self.write(name, " ".join(map(str, numbers)))
        self.texts = ("model", "--tokens", "a.txt", "b.txt", "c.txt")

    def test_says_which_metrics_predict_the_loss(self) -> None:
        done = self.succeed("validate", *self.texts, *FEW, "--out", "out")
        results = validate(self.folder / "out/results.json")
        self.assertEqual(results["command"], "validate")
        self.assertEqual(results["coords"]["text"], ["a.txt", "b.txt", "c.txt"])
        self.assertEqual(results["settings"]["level"], 0.05)
        for name in ("sinks:sinks=4,window=60", "topk:k=16", "uniform", "softmax:t=2"):
            self.assertIn(name, results["coords"]["intervention"])
            self.assertIn(name, done.out)
        for word in ("replicates", "flag dispersed", "false discovery rate of 0.05"):
            self.assertIn(word, done.out)
        metrics = {name: metric["values"] for name, metric in results["metrics"].items()}
        adjusted, by_text = (metrics[f"prediction_rank_correlation_{end}"] for end in ("p", "by_text"))
        for predictor, row in enumerate(metrics["predicts"]):
            for place, (shown, p) in enumerate(zip(row, adjusted[predictor], strict=True)):
                signs = {value is not None and value > 0 for value in by_text[predictor][place]}
                self.assertEqual(shown, None if p is None else int(p <= 0.05 and len(signs) == 1))
        self.succeed("report", "out")

    def test_other_interventions_take_the_place_of_the_first_ones(self) -> None:
        options = ("--pattern", "none", "--normalizer", "sparsemax", "--out", "out", "--quiet")
        self.succeed("validate", *self.texts, *FEW, *options)
        results = validate(self.folder / "out/results.json")
        self.assertEqual(results["coords"]["intervention"], ["sparsemax"])

    def test_interrupted_in_the_first_text_it_saves_nothing(self) -> None:
        text = (ROOT / "demo/text.txt").read_text(encoding="utf-8")
        self.write("one.txt", text)
        self.write("two.txt", text[::-1])
        terminal = Terminal(
            "validate", ROOT / "demo/model", "--text", "one.txt", "two.txt", "--out", "out", cwd=self.folder
        )
        terminal.read_until("measuring layer")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.assertIn("interrupted before anything was finished", terminal.messages()[-1])

    def test_refuses_what_shows_nothing(self) -> None:
        self.refuse(USAGE, "validate", "model", says=("texts", "neither --text nor --tokens"))
        self.write("longer.txt", (self.folder / "a.txt").read_text(encoding="utf-8") + " 3 4")
        same = ("model", "--tokens", "a.txt", "longer.txt")
        self.refuse(USAGE, "validate", *same, says=("texts that have nothing in common",))
        none = ("--pattern", "none", "--normalizer", "none")
        self.refuse(USAGE, "validate", *self.texts, *FEW, *none, says=("patterns or normalizers",))

    def test_refuses_what_has_no_loss(self) -> None:
        make_dump(self.folder / "d.safetensors", 1, 2, 96, 4)
        said = ("a model with a loss",)
        self.refuse(UNSUPPORTED, "validate", "d.safetensors", "--tokens", "a.txt", says=said)
