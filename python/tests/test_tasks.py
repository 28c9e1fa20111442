"""headgauge.task(): the file of the command, from Python."""

import json
import os
import tempfile
import unittest
from pathlib import Path

import headgauge
from headgauge import errors

try:
    import tokenizers
except ImportError:
    tokenizers = None

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "demo/model"
STORIES = Path(os.environ.get("HEADGAUGE_TEST_DATA", ROOT.parent / "shared/data"), "models/stories260k")


class Tasks(unittest.TestCase):
    def setUp(self) -> None:
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory()), "keys.jsonl")

    def test_what_it_writes_a_scan_reads(self) -> None:
        headgauge.task("keys", MODEL, self.file, length=128, cases=4, seed=2)
        cases = [json.loads(line) for line in self.file.read_text("utf-8").splitlines()]
        self.assertEqual([case["task"] for case in cases], ["keys"] * 4)
        self.assertEqual({len(case["prompt"]) + len(case["answer"]) for case in cases}, {128})
        results = headgauge.scan(MODEL, tasks=self.file, cases=3, lengths=[32], measures=["weights"])
        self.assertEqual(list(results.coords["outcome"]), ["keys"])
        self.assertEqual(list(results["loss"].rows[:, -1]), [3])
        self.assertEqual(list(results["answer_gain"].rows), [3])

    def test_a_probe_is_a_task(self) -> None:
        probe = headgauge.scan(MODEL, probe=["repeats"], lengths=[96], measures="answers", cases=4)
        self.assertEqual(list(probe.coords["outcome"]), ["repeats"])
        self.assertEqual(list(probe["answer_gain"].rows), [4])
        with self.assertRaisesRegex(errors.UsageError, "probe: expected one of"):
            headgauge.scan(MODEL, probe=["repeat"], lengths=[96])

    def cases_of(self, name: str, model: Path, **options) -> list[dict]:
        headgauge.task(name, model, self.file, length=300, cases=8, **options)
        return [json.loads(line) for line in self.file.read_text("utf-8").splitlines()]

    @unittest.skipIf(tokenizers is None, "tokenizers is not installed")
    def test_a_case_has_the_tokens_of_its_text(self) -> None:
        """One tokenizer of bytes, and one of SentencePiece, which puts <s> and a space before a text."""
        novel = (ROOT / "demo/text.txt").read_text("utf-8")
        for model in (MODEL, STORIES):
            if not model.exists():
                continue
            oracle = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
            for name in ("passkey", "keys", "replay", "copy"):
                for text in ({}, {"text": novel}):
                    for case in (
                        self.cases_of(name, model, **text) if (name, model) != ("copy", STORIES) else ()
                    ):
                        with self.subTest(model=model.name, name=name, text=bool(text)):
                            whole = case["prompt_text"] + case["answer_text"]
                            self.assertEqual(oracle.encode(case["prompt_text"]).ids, case["prompt"])
                            self.assertEqual(oracle.encode(whole).ids, case["prompt"] + case["answer"])
                            self.assertNotIn("\ufffd", whole)
                            if name == "passkey":
                                self.assertRegex(case["answer_text"], r"^ \d{5}$")

    @unittest.skipIf(tokenizers is None, "tokenizers is not installed")
    def test_answers_of_text_are_tokenized_behind_their_prompts(self) -> None:
        if not STORIES.exists():
            self.skipTest(f"{STORIES} is absent (HEADGAUGE_TEST_DATA names its root)")
        oracle = tokenizers.Tokenizer.from_file(str(STORIES / "tokenizer.json"))
        prompt, answer, control = "Once upon a time, there was a little", " girl", "She saw a big"
        before, whole, other = (
            oracle.encode(text).ids for text in (prompt, prompt + answer, control + answer)
        )
        ids = {"prompt": before, "answer": whole[len(before) :]}
        self.assertEqual(whole[: len(before)], before)
        self.assertEqual(other[-len(ids["answer"]) :], ids["answer"])
        ids["control"] = other[: -len(ids["answer"])]
        found = []
        for case in (ids, {"prompt": prompt, "answer": answer, "control": control}):
            self.file.write_text(json.dumps(case), "utf-8")
            results = headgauge.scan(STORIES, tasks=self.file, lengths=[8], measures=["answers", "weights"])
            found.append(
                [float(results[name].values.ravel()[-1]) for name in ("loss", "answer_gain", "answer_right")]
            )
        self.assertEqual(*found)
        self.assertAlmostEqual(found[0][0], 0.1505, delta=1e-3)  # by transformers, in float64

    def test_validate_refuses_tasks_that_the_model_does_not_do(self) -> None:
        headgauge.task("copy", MODEL, self.file, length=160, cases=4)
        with self.assertRaisesRegex(errors.BadInputError, "a task that the model is shown to do"):
            headgauge.validate(MODEL, tasks=self.file, pattern=["window:size=8"], normalizer=[])

    def test_bad_options_are_refused(self) -> None:
        with self.assertRaisesRegex(errors.UsageError, "task"):
            headgauge.task("hay", MODEL, self.file)
        with self.assertRaises(TypeError):
            headgauge.task("keys", MODEL, self.file, lenght=96)
        self.assertFalse(self.file.exists())
