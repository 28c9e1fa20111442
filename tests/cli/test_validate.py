"""headgauge validate as a user runs it."""

import random
import signal

from tests.cli.answers import likeliest, write_cases
from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import BAD_INPUT, INTERRUPTED, UNSUPPORTED, USAGE, CommandTest
from tests.cli.shares import SharesTest
from tests.cli.terminal import Terminal
from tests.places import ROOT
from tests.results.schema import validate

FEW = ("--lengths", 96, "--permutations", 99, "--resamples", 99, "--top-n", "1,5")


class Validate(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.many_ids("a.txt b.txt c.txt", 96)
        self.texts = ("model", "--tokens", "a.txt", "b.txt", "c.txt")

    def test_says_which_metrics_predict_the_loss(self) -> None:
        results, done = self.saved("validate", *self.texts, *FEW, "--explain")
        self.assertEqual(results["command"], "validate")
        self.assertEqual(results["coords"]["text"], ["a.txt", "b.txt", "c.txt"])
        self.assertEqual(results["settings"]["level"], 0.05)
        for name in ("sinks:sinks=4,window=44", "topk:k=16", "uniform", "softmax:t=2"):
            self.assertIn(name, results["coords"]["intervention"])
            self.assertIn(name, done.out)
        for word in (
            "replicates",
            "losing",
            "Rank correlation with the change of the loss of text",
            "false discovery rate 0.05",
        ):
            self.assertIn(word, done.out)
        tokens = results["text"]["tokens"]
        length = f"{min(tokens)} to {max(tokens)}" if min(tokens) < max(tokens) else tokens[0]
        self.assertRegex(
            done.out, rf"(?m)^At {length} tokens, under topk:k=16, where 83 % of the queries lose keys, \w+"
        )
        losing = results["metrics"]["queries_losing_keys"]["values"][0][0]
        shares = dict(zip(results["coords"]["intervention"], losing, strict=True))
        self.assertAlmostEqual(shares["topk:k=16"], 80 / 96)
        self.assertIsNone(shares["uniform"])
        self.assertRegex(done.out, r"(?m)^ *topk:k=16 .* 83\.3$")
        self.assertRegex(done.out, r"(?m)^ *uniform .* -$")
        self.succeed("report", "out")

    def test_other_interventions_take_the_place_of_the_first_ones(self) -> None:
        options = ("--pattern", "none", "--normalizer", "sparsemax", "--quiet")
        results = self.saved("validate", *self.texts, *FEW, *options)[0]
        self.assertEqual(results["coords"]["intervention"], ["sparsemax"])

    def test_the_default_patterns_fit_short_texts(self) -> None:
        results, done = self.saved("validate", *self.texts, *FEW[2:], "--lengths", 64)
        fitted = ["sinks:sinks=4,window=28", "topk:k=16"]
        self.assertEqual(results["coords"]["intervention"][:2], fitted)
        self.assertIn(f"the default patterns fit contexts of 64 tokens: {', '.join(fitted)}", done.err)

    def test_interrupted_in_the_first_text_it_saves_nothing(self) -> None:
        text = (ROOT / "demo/text.txt").read_text(encoding="utf-8")
        self.write("one.txt", text)
        self.write("two.txt", text[::-1])
        words = ("validate", ROOT / "demo/model", "--text", "one.txt", "two.txt", "--out", "out")
        terminal = Terminal(*words, cwd=self.folder)
        terminal.read_until("measuring layer")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.assertIn("interrupted before anything was finished", terminal.messages()[-1])

    def test_refuses_what_shows_nothing_or_has_no_loss(self) -> None:
        self.write("longer.txt", (self.folder / "a.txt").read_text(encoding="utf-8") + " 3 4")
        make_dump(self.folder / "d.safetensors", 1, 2, 96, 4)
        none = "--pattern none --normalizer none"
        keeps = "--lengths 64 --pattern sinks:sinks=4,window=90"
        self.refuse_each(
            (USAGE, "model", "texts", "neither --text nor --tokens"),
            (USAGE, "model --tokens a.txt longer.txt", "texts that have nothing in common"),
            (USAGE, f"model --tokens a.txt b.txt {none}", "patterns or normalizers"),
            (USAGE, f"model --tokens a.txt b.txt {keeps}", "a pattern that drops keys"),
            (UNSUPPORTED, "d.safetensors --tokens a.txt", "a model with a loss"),
            base=("validate",),
        )


class ValidateTasks(SharesTest):
    """Tasks that the model does: their answers are what it says by itself."""

    window = ("--pattern", "window:size=8", "--normalizer", "none")

    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.many_ids("a.txt b.txt", 96)
        self.texts = ("--tokens", "a.txt", "b.txt", *FEW)
        cases = likeliest(self, "model", [80] * 8)
        write_cases(self, "first.jsonl", cases[:4])
        write_cases(self, "second.jsonl", cases[4:])

    def validate(self, *words: object) -> tuple[dict, str]:
        done = self.succeed("validate", "model", *words, *self.window, "--out", "out")
        return validate(self.folder / "out/results.json"), done.out

    @staticmethod
    def correlated(results: dict) -> list[str]:
        """The outcomes that have a rank correlation with some predictor."""
        found = results["metrics"]["rank_correlation"]["values"]
        return [
            label
            for k, label in enumerate(results["coords"]["outcome"])
            if any(of_pair[k] is not None for of_predictor in found for of_pair in of_predictor)
        ]

    def test_beside_texts(self) -> None:
        results, printed = self.validate(*self.texts, "--tasks", "first.jsonl", "second.jsonl")
        self.assertEqual(results["coords"]["cases"], ["first", "second"])
        outcomes = ["text", "answers", "first", "second"]
        self.assertEqual(results["coords"]["outcome"], outcomes)
        self.assertEqual(results["metrics"]["does_task"]["values"], [None, None, 1, 1])
        self.assertEqual([task["task"] for task in results["text"]["tasks"]], ["first", "second"])
        self.assertEqual(results["text"]["names"], ["a.txt", "b.txt"])
        self.assertEqual(self.correlated(results), outcomes[:2])
        self.assertEqual(results["settings"]["tasks"], ["first.jsonl", "second.jsonl"])
        for words in (
            "Rank correlation with the change of the loss of answers",
            "shown to lose answers under window:size=8",
        ):
            self.assertIn(words, printed)
        self.assertRegex(printed, r"attention_distance is not shown to predict .* \(rho")
        self.succeed("report", "out")

    def test_one_task_is_halved_and_says_so(self) -> None:
        results, _ = self.validate(*FEW[2:], "--lengths", 64, "--tasks", "first.jsonl")
        self.assertEqual(results["coords"]["cases"], ["first, odd cases", "first, even cases"])
        self.assertTrue(
            any("there is one task that the model does" in notice for notice in results["notices"]),
            results["notices"],
        )
        self.assertEqual(self.correlated(results), ["answers"])
        self.assertEqual(len(results["text"]["names"]), 4)

    def test_shards_have_the_bits_of_one_process(self) -> None:
        words = ("validate", "model", *self.texts, *self.window, "--tasks", "first.jsonl", "second.jsonl")
        self.assert_shards_have_the_bits_of_one(*words)

    def test_refuses_tasks_that_show_nothing(self) -> None:
        draw = random.Random(5)
        wrong = [{"prompt": [draw.randrange(31) for _ in range(40)], "answer": [1, 2, 3]} for _ in range(4)]
        write_cases(self, "wrong.jsonl", wrong)
        words = ("validate", "model", *self.texts, *self.window, "--tasks")
        self.refuse_each(
            (BAD_INPUT, "wrong.jsonl", "a task that the model is shown to do", "only wrong"),
            (BAD_INPUT, "first.jsonl --cases 3", "at least 2 cases", "1 of first, even cases"),
            base=words,
        )
        results, printed = self.validate(*self.texts, "--tasks", "first.jsonl", "wrong.jsonl", "second.jsonl")
        self.assertEqual(results["coords"]["cases"], ["first", "second"])
        self.assertEqual(results["coords"]["outcome"], ["text", "answers", "first", "wrong", "second"])
        self.assertRegex(printed, r"At L = 43 to 8\d, the model is not shown to do wrong")
