"""headgauge.task(): the file of the command, from Python."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

import headgauge
from headgauge import errors

MODEL = Path(__file__).resolve().parents[2] / "demo/model"


class Tasks(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="headgauge-")
        self.addCleanup(holder.cleanup)
        self.file = Path(holder.name, "keys.jsonl")

    def test_what_it_writes_a_scan_reads(self) -> None:
        headgauge.task("keys", MODEL, self.file, length=128, cases=4, seed=2)
        cases = [json.loads(line) for line in self.file.read_text("utf-8").splitlines()]
        self.assertEqual([case["task"] for case in cases], ["keys"] * 4)
        self.assertEqual({len(case["prompt"]) + len(case["answer"]) for case in cases}, {128})
        results = headgauge.scan(MODEL, tasks=self.file, cases=3, lengths=[32], measures=["weights"])
        self.assertEqual(list(results.coords["task"]), ["keys"])
        self.assertEqual(list(results["answer_loss"].rows), [3])
        self.assertEqual(list(results["answer_gain"].rows), [3])

    def test_a_probe_has_the_numbers_of_its_file(self) -> None:
        options = {"lengths": [96], "measures": ["weights", "answers"], "seed": 3, "cases": 4}
        probe = headgauge.scan(MODEL, probe=["repeats"], **options)
        headgauge.task("repeats", MODEL, self.file, length=96, cases=4, seed=3)
        file = headgauge.scan(MODEL, tasks=self.file, **options)
        self.assertEqual(list(probe.coords["task"]), ["repeats"])
        self.assertEqual(probe["answer_loss"].values.tolist(), file["answer_loss"].values.tolist())
        self.assertEqual(list(probe["answer_gain"].rows), [4])
        with self.assertRaisesRegex(errors.UsageError, "probe: expected one of"):
            headgauge.scan(MODEL, probe=["repeat"], lengths=[96])

    def test_validate_refuses_tasks_that_the_model_does_not_do(self) -> None:
        headgauge.task("pairs", MODEL, self.file, length=64, cases=3)
        with self.assertRaisesRegex(errors.BadInputError, "a task that the model is shown to do"):
            headgauge.validate(MODEL, tasks=self.file, pattern=["window:size=8"], normalizer=[])

    def test_bad_options_are_refused(self) -> None:
        with self.assertRaisesRegex(errors.UsageError, "task"):
            headgauge.task("hay", MODEL, self.file)
        with self.assertRaises(TypeError):
            headgauge.task("keys", MODEL, self.file, lenght=96)
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    unittest.main()
