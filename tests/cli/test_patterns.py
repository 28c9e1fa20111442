"""Every pattern that `headgauge list patterns` lists, in a scan."""

import json

from tests.cli.checkpoints import make_dump
from tests.cli.command import UNSUPPORTED, CommandTest, defined
from tests.places import ROOT
from tests.results.schema import validate


class Patterns(CommandTest):
    tiny_ids = 123

    def listed(self) -> list[dict]:
        return json.loads(self.succeed("list", "patterns", "--json").out)

    def scan(self, pattern: str, *options: str) -> dict:
        words = f"scan model --tokens ids.txt --pattern {pattern} --lengths 24,96 --quiet"
        return self.saved(*words.split(), *options)[0]

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
            "bigbird": "window=5,random=5,global=2",
            "topk": "k=9",
            "keydiff": "keys=9,recent=2",
            "tova": "keys=9,recent=1",
            "h2o": "keys=9,recent=4",
        }
        plain = self.scan("none")["metrics"]
        self.assertNotIn("kept_mass", plain)
        for pattern in self.listed():
            with self.subTest(pattern["name"]):
                spec = f"{pattern['name']}:{small[pattern['name']]}"
                results = self.scan(spec)
                self.assertEqual(results["settings"]["pattern"], spec)
                self.assertIn("counterfactual", results["settings"]["measures"])
                metrics = results["metrics"]
                for kept in defined(metrics["kept_mass"]["values"]):
                    self.assertTrue(0.01 < kept < 1, kept)
                self.assertGreater(min(defined(metrics["output_change"]["values"])), 0)
                self.assertLess(max(defined(metrics["visible_keys"]["values"])), 40)
                for name in (
                    "entropy_with_sinks",
                    "distance",
                    "separability_with_sinks",
                    "sensitivity",
                    "union_coverage",
                ):
                    self.assertTrue(defined(metrics[name]["values"]), name)
                for share in defined(metrics["queries_losing_keys"]["values"]):
                    self.assertTrue(0 < share < 1, "the first query sees itself alone")
                self.assertNotIn("loss", metrics)

    def test_sorting_by_what_a_pattern_adds(self) -> None:
        arguments = ("scan", "model", "--tokens", "ids.txt", "--sort", "kept_mass")
        self.succeed(*arguments, "--pattern", "window:size=9", "--measures", "weights,counterfactual")
        self.refuse(2, *arguments, says="kept_mass")

    def test_a_dump_of_scores(self) -> None:
        scores = ([1, 8, 8], [0.1 * i for i in range(64)])
        make_dump(self.folder / "d.safetensors", 0, 1, 8, 4, **{"layers.0.scores": scores})
        scan = ("scan", "d.safetensors", "--lengths", "8", "--json", "--pattern")
        for pattern in ("keydiff", "tova", "h2o"):
            self.refuse(2, *scan, f"{pattern}:keys=3,recent=1", says="queries and keys")
        positions = ("window:size=3", "sinks:window=2,sinks=1", "bigbird:window=1,random=1,global=1")
        for pattern in (*positions, "topk:k=3"):
            metrics = json.loads(self.succeed(*scan, pattern).out)["metrics"]
            self.assertEqual(len(defined(metrics["kept_mass"]["values"])), 1, pattern)
            self.assertEqual(defined(metrics["output_change"]["values"]), [], pattern)

    def test_sinks_say_whose_positions_their_keys_have(self) -> None:
        [sinks] = [pattern for pattern in self.listed() if pattern["name"] == "sinks"]
        self.assertIn("at their positions in the text", sinks["formula"])
        self.assertIn("StreamingLLM, which counts positions within its cache", sinks["source"])

    def test_what_is_refused(self) -> None:
        words = "scan model --tokens ids.txt --pattern none --measures counterfactual"
        self.refuse_each((UNSUPPORTED, words, "--pattern"))


class WithoutLoss(CommandTest):
    """The model runs without the change that a scan measures its heads under."""

    tiny_ids = 64

    def scan(self, out: str, *options: str) -> tuple[dict, str]:
        words = ("scan", "model", "--tokens", "ids.txt", "--lengths", "24,48", *options)
        done = self.succeed(*words, "--out", out)
        return validate(self.folder / out / "results.json"), done.out + done.err

    def test_there_is_no_loss_and_compare_is_named(self) -> None:
        for change in ("--pattern window:size=9", "--normalizer sparsemax"):
            with self.subTest(change):
                option, spec = change.split()
                results, said = self.scan(spec[:6], option, spec)
                for name in ("loss", "loss_by_gap"):
                    self.assertNotIn(name, results["metrics"])
                self.assertNotIn("model", results["settings"]["measures"])
                self.assertNotIn("perplexity", said)
                command = f"headgauge compare model --tokens ids.txt {change}"
                notice = (
                    f"heads are measured under {spec}, but the model runs without it, so no loss is kept: `{command}` "
                    "runs the model under it"
                )
                self.assertIn(notice, results["notices"])
                self.assertIn(f"note: {notice}\n", said)
                self.succeed("report", spec[:6])
                self.assertIn(notice, (self.folder / spec[:6] / "report.html").read_text("utf-8"))
                self.succeed(*command.split()[1:], "--measures", "weights")

    def test_the_loss_that_is_asked_for_is_left_out_or_refused(self) -> None:
        results, _ = self.scan("both", "--pattern", "window:size=9", "--measures", "weights,model")
        self.assertNotIn("loss", results["metrics"])
        words = ("scan", "model", "--tokens", "ids.txt", "--pattern", "window:size=9", "--measures", "model")
        self.refuse(
            UNSUPPORTED, *words, says=("found model", "headgauge compare MODEL TEXT --pattern window:size=9")
        )

    def test_answers_are_left_out_too(self) -> None:
        case = {"task": "said", "prompt": list(range(30)), "answer": [5]}
        self.write("tasks.jsonl", "\n".join(json.dumps(case) for _ in range(3)) + "\n")
        plain, _ = self.scan("plain", "--tasks", "tasks.jsonl")
        self.assertIn("answer_right", plain["metrics"])
        results, said = self.scan("changed", "--tasks", "tasks.jsonl", "--pattern", "window:size=9")
        for name in results["metrics"]:
            self.assertFalse(name.startswith("answer"), name)
        self.assertNotIn("loss", results["metrics"])
        self.assertNotIn("outcome", results["coords"])
        self.assertNotIn("answers right", said)
        command = "headgauge compare model --tokens ids.txt --tasks tasks.jsonl --pattern window:size=9"
        self.assertIn(f"`{command}`", said)

    def test_a_diff_does_not_take_an_older_file_at_its_word(self) -> None:
        plain, _ = self.scan("plain")
        changed, _ = self.scan("changed", "--pattern", "window:size=9")
        changed["metrics"]["loss"] = plain["metrics"]["loss"]  # as earlier versions kept it
        changed["coords"]["outcome"] = plain["coords"]["outcome"]
        for old, new in (("plain", "earlier"), ("earlier", "earlier")):
            self.write("earlier/results.json", json.dumps(changed))
            done = self.succeed("diff", old, new, "--json")
            self.assertNotIn("loss", json.loads(done.out)["metrics"])
            self.assertNotIn("together are worth", done.out)
            self.assertIn("the model ran without the pattern or normalizer of its heads: loss", done.err)
        self.assertIn("together are worth", self.succeed("diff", "plain", "plain", "--json").out)


class KeepsAll(CommandTest):
    """A pattern that drops no key at any length says nothing, and looks free."""

    def setUp(self) -> None:
        super().setUp()
        self.tiny(48)
        self.ids(48, 31, "other.txt")

    def test_is_refused(self) -> None:
        says = (
            "--pattern: expected a pattern that drops keys at a length of at most 48",
            "found sinks:window=4092, which keeps all",
            "longer --lengths",
        )
        for command in ("scan", "compare", "validate"):
            with self.subTest(command):
                texts = ("--tokens", "ids.txt", *(["other.txt"] if command == "validate" else []))
                words = (command, "model", *texts, "--lengths", "24,48")
                pattern = "window:size=9,sinks:window=4092" if command != "scan" else "sinks:window=4092"
                self.refuse(2, *words, "--pattern", pattern, says=says)

    def test_keys_of_a_case_longer_than_the_text_count(self) -> None:
        case = {"task": "far", "prompt": [k % 31 for k in range(100)], "answer": [5]}
        self.write("tasks.jsonl", "\n".join(json.dumps(case) for _ in range(2)) + "\n")
        words = (*"compare model --tokens ids.txt --measures weights --pattern window:size=60".split(),)
        self.refuse(2, *words, says="drops keys at a length of at most 48")
        self.succeed(*words, "--tasks", "tasks.jsonl")
