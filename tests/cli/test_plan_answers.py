"""headgauge plan judged by replay and answers, as a user runs it."""

import json

import jsonschema

from tests.cli.answers import likeliest, write_cases
from tests.cli.checkpoints import copy_golden
from tests.cli.command import BAD_INPUT, USAGE, CommandTest
from tests.places import ROOT
from tests.results.schema import validate

FEW = ("--lengths", 96, "--random-plans", 2, "--curve", 0.25, "--steps", 8, "--out", "out", "--force")


class PlanAnswers(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.many_ids("a.txt b.txt", 400)
        cases = likeliest(self, "model", [60] * 24)
        self.tasks("search.jsonl", "said", cases[:8])
        self.tasks("confirm.jsonl", "also", cases[8:])
        self.texts = ("plan", "model", "--tokens", "a.txt", "--confirm", "b.txt", *FEW)
        self.words = (*self.texts, "--tasks", "search.jsonl", "--confirm-tasks", "confirm.jsonl")

    def tasks(self, name: str, task: str, cases: list[dict]) -> None:
        write_cases(self, name, [case | {"task": task} for case in cases])

    def test_answers_are_in_sentence_table_and_results(self) -> None:
        done = self.succeed(*self.words)
        results = validate(self.folder / "out/results.json")
        self.assertEqual(results["coords"]["outcome"], ["text", "said", "also"])
        # What the search weighed beside the text, which has no replay here.
        self.assertEqual(list(results["settings"]["weights"]), ["answers"])
        self.assertEqual(list(results["settings"]["weights"]["answers"]), ["said"])
        self.assertGreater(results["settings"]["weights"]["answers"]["said"], 0)
        change = results["metrics"]["planned_change"]
        self.assertEqual(change["rows"][0][0][2], 16)
        self.assertIsNone(change["values"][0][0][1], "not confirmed on what was searched")
        kept = results["metrics"]["planned_answers_kept"]["values"][0][0][2]
        said = results["summary"][0]["text"]
        self.assertIn(f"{change['values'][0][0][2]:+.4f}", said)
        self.assertIn("answers of also", said)
        self.assertRegex(done.out, r"also kept\n")
        self.assertIn(f"{100 * kept:.0f} (", done.out)
        self.assertIn("not used to choose the plan", done.out)
        self.assertIn("pieces of 96 tokens have no replay of 64", done.err)
        plan = self.read("out/plan.json")
        schema = json.loads((ROOT / "docs/plan.schema.json").read_text(encoding="utf-8"))
        jsonschema.validate(plan, schema)
        answers = plan["measured"]["answers"]
        self.assertEqual(list(answers), ["also"])
        self.assertEqual(
            (answers["also"]["change"], answers["also"]["kept"]), (change["values"][0][0][2], kept)
        )
        # The plan does to these cases what compare says.
        words = ("compare", "model", "--tasks", "confirm.jsonl", "--plan", "out/plan.json")
        results = self.saved(*words, "--lengths", 16, "--measures", "weights", "--quiet", out="one")[0]
        self.assertEqual(results["settings"]["plan"], ["out/plan.json"])
        self.assertEqual(results["settings"]["pattern"], "none", "a plan is no pattern")
        self.assertTrue(any("--plan out/plan.json" in line["next"] for line in results["summary"]))
        one = results["metrics"]["loss_change"]["values"][1][0][0]
        self.assertAlmostEqual(one, change["values"][0][0][2], 9)

    def test_the_check_has_cases_by_default(self) -> None:
        self.succeed(*self.words, "--quiet", "--cases", "auto")
        results = validate(self.folder / "out/results.json")
        self.assertEqual(list(results["settings"]["weights"]["answers"]), ["said"])

    def test_a_task_that_was_searched_on_is_named(self) -> None:
        self.tasks("same.jsonl", "said", likeliest(self, "model", [60] * 16, seed=5))
        done = self.succeed(*self.texts, "--tasks", "search.jsonl", "--confirm-tasks", "same.jsonl")
        self.assertIn("other cases of tasks that it was searched on (said)", done.err)

    def test_the_replay_is_judged_where_the_model_copies(self) -> None:
        done = self.succeed(*self.texts, "--replay", 16)
        results = validate(self.folder / "out/results.json")
        if "replay" in results["coords"]["outcome"]:
            place = results["coords"]["outcome"].index("replay")
            self.assertIsNotNone(results["metrics"]["planned_change"]["values"][0][0][place])
            self.assertIn("a passage that comes again", done.out)
        else:
            self.assertIn("the replay is not judged", done.err)
        self.assertEqual(results["settings"]["replay"], 16)

    def test_a_replay_is_at_most_a_sixth_of_a_piece(self) -> None:
        done = self.succeed(*self.texts, "--replay", 17)
        self.assertIn("pieces of 96 tokens have no replay of 17", done.err)
        self.assertNotIn("the replay is not judged", done.err)

    def test_what_was_measured_for_other_documents_is_not_reused(self) -> None:
        self.succeed(*self.words, "--quiet")
        first = self.read("out/results.json")
        self.succeed(*self.words, "--replay", 16, "--quiet")
        again = self.read("out/results.json")
        name = "planned_change_by_document"
        self.assertNotEqual(first["metrics"][name]["values"], again["metrics"][name]["values"])

    def test_refuses_what_judges_nothing(self) -> None:
        lines = (self.folder / "search.jsonl").read_text(encoding="utf-8").splitlines()
        self.write("three.jsonl", "\n".join(lines[:3]) + "\n")
        confirm = "--confirm-tasks confirm.jsonl"
        self.refuse_each(
            (USAGE, "--tasks search.jsonl", "--confirm-tasks", "none"),
            (USAGE, "--tasks search.jsonl --confirm-tasks search.jsonl", "another seed"),
            (USAGE, "--allow-replay 1", "--allow-replay", "--allow"),
            (USAGE, "--allow 1 --allow-replay 1", "--allow-replay", "replay"),
            (USAGE, "--allow 1 --allow-answers 1", "--allow-answers", "tasks"),
            (USAGE, "--replay 4", "--replay", "more than 8"),
            (USAGE, f"--tasks search.jsonl {confirm} --cases 1", "--cases", "at least 2"),
            (BAD_INPUT, f"--tasks three.jsonl {confirm}", "--tasks", "at least 4 cases", "3 of said"),
            base=self.texts,
        )
