"""Task files beside a text and alone: what scan and compare say of the answers."""

import random

from tests.cli.answers import write_cases
from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, flat
from tests.cli.shares import DEMO, SharesTest
from tests.places import ROOT
from tests.results.schema import validate

QUICK = ("--lengths", "16,48", "--measures", "weights")


class AnswersTest(SharesTest):
    def setUp(self) -> None:
        super().setUp()
        self.tiny(64)
        self.cases("keys.jsonl", "keys", 6)

    def cases(self, name: str, task: str, count: int, length: int = 30) -> None:
        draw = random.Random(task)
        lines = []
        for _ in range(count):
            prompt = [draw.randrange(31) for _ in range(length)]
            case = {"task": task, "prompt": prompt, "answer": [draw.randrange(31), 3]}
            control = prompt[:5] + [1, 2, 3] + prompt[8:]
            lines.append(case | {"distance": min(20, length), "control": control})
        write_cases(self, name, lines)

    def scan(self, *options: str, out: str = "out") -> dict:
        return self.saved("scan", "model", *options, *QUICK, "--quiet", out=out)[0]


class Scan(AnswersTest):
    def test_beside_a_text(self) -> None:
        results = self.scan("--tokens", "ids.txt", "--tasks", "keys.jsonl")
        metrics = results["metrics"]
        self.assertEqual(results["coords"]["outcome"], ["keys"])
        self.assertEqual(metrics["loss"]["dims"], ["outcome", "length"])
        self.assertEqual(metrics["loss"]["rows"], [[0, 6]])
        self.assertEqual(metrics["answer_right"]["dims"], ["outcome"])
        for name in ("answer_right", "answer_right_by_distance", "answer_right_by_context"):
            for part in ("values", "low", "high"):
                self.assertNotIn(metrics[name][part], ([None], [[None]]))
        self.assertEqual(results["coords"]["source_distance"], ["16-31"])
        self.assertEqual(results["coords"]["context"], ["17-32"])
        (task,) = results["text"]["tasks"]
        self.assertEqual([task[key] for key in ("cases", "controls", "shortest", "tokens")], [6, 6, 32, 32])
        self.assertEqual(results["text"]["names"], ["ids.txt"])
        self.assertEqual(results["settings"]["tasks"], ["keys.jsonl"])

    def test_the_text_is_an_outcome_where_its_loss_is_measured(self) -> None:
        words = ("--tokens", "ids.txt", "--tasks", "keys.jsonl", "--measures", "model")
        results = self.saved("scan", "model", *words, *QUICK[:2], "--quiet")[0]
        metrics = results["metrics"]
        self.assertEqual(results["coords"]["outcome"], ["text", "keys"])
        self.assertEqual(metrics["loss"]["rows"], [[15, 47], [0, 6]])
        known = [value is not None for value in flat(metrics["loss"]["values"])]
        self.assertEqual(known, [True, True, False, True])
        for name in ("answer_right", "does_task"):
            self.assertEqual([value is None for value in metrics[name]["values"]], [True, False], name)

    def test_without_a_text_heads_are_measured_up_to_the_shortest_case(self) -> None:
        self.cases("short.jsonl", "short", 2, length=14)
        words = (*"scan model --tasks keys.jsonl short.jsonl --out out --force --quiet".split(),)
        self.succeed(*words)
        coords = validate(self.folder / "out/results.json")["coords"]
        self.assertEqual((coords["length"], coords["outcome"]), ([16], ["keys", "short"]))
        self.succeed(*words, "--lengths", "20")
        notices = validate(self.folder / "out/results.json")["notices"]
        self.assertTrue(any("2 of 8 cases have fewer than 20 tokens" in one for one in notices), notices)

    def test_cases_beyond_the_contexts_of_training_are_counted(self) -> None:
        copy_golden("llama/llama-plain", self.folder / "llama")
        trained = self.read("llama/config.json")["max_position_embeddings"]
        self.cases("long.jsonl", "long", 2, length=trained)
        words = ("scan", "llama", "--tasks", "long.jsonl", "keys.jsonl", *QUICK, "--quiet")
        notices = self.saved(*words)[0]["notices"]
        self.assertTrue(any("2 of 2 cases are longer than the contexts" in one for one in notices), notices)

    def test_answers_without_tokens_of_their_own_are_counted(self) -> None:
        apart = {"prompt": "The grass is", "answer": " green"}
        merged = {"prompt": "The grass is ", "answer": "green"}  # " green" is one token
        words = ("scan", DEMO, "--text", ROOT / "demo/text.txt", "--tasks", "words.jsonl", *QUICK)
        write_cases(self, "words.jsonl", [apart, merged, apart, merged, apart])
        results = self.saved(*words, "--quiet")[0]
        self.assertEqual(results["metrics"]["loss"]["rows"], [[0, 3]])
        (notice,) = (one for one in results["notices"] if "left out" in one)
        self.assertEqual(
            notice,
            "words.jsonl: 2 of 5 cases are left out, because the tokens of the prompt or of the "
            "control change with the answer behind it",
        )

    def test_cases_are_spread_over_the_file_and_part_of_the_run(self) -> None:
        results = self.scan("--tokens", "ids.txt", "--tasks", "keys.jsonl", "--cases", "2")
        self.assertEqual(results["metrics"]["loss"]["rows"], [[0, 2]])
        self.assertEqual(results["settings"]["cases"], 2)
        others = self.scan("--tokens", "ids.txt", "--tasks", "keys.jsonl", "--cases", "3", out="other")
        self.assertNotEqual(results["text"]["tasks"], others["text"]["tasks"])

    def test_the_name_of_a_file_is_not_part_of_the_run(self) -> None:
        words = ("scan", "model", "--tokens", "ids.txt", *QUICK, "--tasks")
        self.write("other/keys.jsonl", (self.folder / "keys.jsonl").read_text())
        self.shard("1/2", "part1", *words, "keys.jsonl")
        self.shard("2/2", "part2", *words, "other/keys.jsonl")
        self.succeed("merge", "part1", "part2", "--out", "merged", "--quiet")

    def test_what_is_longer_than_the_context_is_left_out_by_count(self) -> None:
        config = self.read("model/config.json")
        longest = config["n_positions"]
        self.cases("long.jsonl", "long", 2, length=longest)
        short = (self.folder / "keys.jsonl").read_text()
        self.write("mixed.jsonl", short + (self.folder / "long.jsonl").read_text())
        results = self.scan("--tokens", "ids.txt", "--tasks", "mixed.jsonl")
        self.assertEqual(results["metrics"]["loss"]["rows"], [[0, 6]])
        self.assertTrue(
            any("2 of 8 cases are left out" in notice for notice in results["notices"]), results["notices"]
        )
        self.refuse(BAD_INPUT, "scan", "model", "--tasks", "long.jsonl", says=("long.jsonl", f"{longest}"))

    def test_the_table_and_the_sentences(self) -> None:
        printed = self.succeed("scan", "model", "--tokens", "ids.txt", "--tasks", "keys.jsonl", *QUICK).out
        self.assertRegex(printed, r"task +cases +right")
        self.assertRegex(printed, r"keys +6 ")
        self.assertIn("At L = 32, answers right: keys", printed)
        self.assertIn("At L = 32, the model is not shown to do keys", printed)
        self.assertIn("`headgauge compare model --tokens ids.txt --tasks keys.jsonl --pattern ", printed)
        alone = self.succeed("scan", "model", "--tasks", "keys.jsonl", *QUICK[2:], "--lengths", "16").out
        self.assertIn("`headgauge compare model --tasks keys.jsonl --pattern ", alone)

    def test_bad_input(self) -> None:
        make_dump(self.folder / "dump.safetensors", layers=1, heads=1, length=16, width=4)
        quick = " ".join(QUICK)
        self.refuse_each(
            (UNSUPPORTED, f"dump.safetensors --tasks keys.jsonl {quick}", "tasks", "a dump"),
            (BAD_INPUT, f"model --tasks missing.jsonl {quick}", "missing.jsonl"),
            (USAGE, f"model --tasks keys.jsonl --cases 0 {quick}", "--cases"),
            (USAGE, f"model {quick}", "--text"),
            base=("scan",),
        )


class Compare(AnswersTest):
    words = ("--tokens", "ids.txt", "--tasks", "keys.jsonl", "--pattern", "window:size=6")

    def test_what_a_window_costs_the_answers(self) -> None:
        printed = self.succeed("compare", "model", *self.words, *QUICK).out
        self.assertRegex(printed, r"task +pattern +cases +right")

    def test_a_confirmation_needs_a_text(self) -> None:
        words = ("model", "--tasks", "keys.jsonl", "--pattern", "window:size=6", "--lengths", "16")
        self.refuse(USAGE, "compare", *words, "--confirm", "ids.txt", says=("--confirm", "a text"))

    def test_shards_have_the_bits_of_one_process(self) -> None:
        for name, words in (
            ("all", ("compare", "model", *self.words, *QUICK)),
            ("each", ("compare", "model", *self.words, "--each", "layer", *QUICK)),
            ("alone", ("scan", "model", "--tasks", "keys.jsonl", "--lengths", "16", "--measures", "weights")),
        ):
            with self.subTest(name):
                self.assert_shards_have_the_bits_of_one(*words, count=3, at=f"{name}/")
