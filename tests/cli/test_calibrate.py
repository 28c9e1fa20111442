"""headgauge converge --tolerance-nats as a user runs it."""

import json
import math
from statistics import mean, stdev

import jsonschema

from tests.cli.answers import likeliest, write_cases
from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, CommandTest
from tests.places import ROOT
from tests.reference.inference import p_of_t
from tests.results.schema import validate

LENGTH, PIECES = 96, 3
RISES = "0.001,0.02,5"


class Calibrate(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        for k, name in enumerate(("a.txt", "b.txt", "c.txt")):
            numbers = [(i * i + 3 * i * (k + 1) + 5 * k + i // 41 * (k + 2)) % 41
                       for i in range(LENGTH * PIECES)]  # fmt: skip
            self.write(name, " ".join(map(str, numbers)))
        self.asked = ("model", "--tokens", "a.txt", "b.txt", "--lengths", LENGTH,
                      "--measures", "weights", "--replicates", 5)  # fmt: skip

    def change_under(self, plan: str, name: str) -> list[float]:
        """The change of the loss of each piece of a text, by `compare`, which searches nothing."""
        ids = (self.folder / name).read_text(encoding="utf-8").split()
        changes = []
        for piece in range(PIECES):
            self.write("piece.txt", " ".join(ids[LENGTH * piece : LENGTH * (piece + 1)]))
            self.succeed(
                *"compare model --tokens piece.txt --lengths".split(),
                LENGTH,
                "--measures",
                "model",
                "--plan",
                plan,
                *"--out one --force --quiet".split(),
            )
            one = validate(self.folder / "one/results.json")["metrics"]
            changes.append(one["loss_change"]["values"][1][0])
        return changes

    def test_a_rise_that_was_asked_for(self) -> None:
        done = self.succeed(
            "converge", *self.asked, "--tolerance-nats", RISES, *"--confirm c.txt --out out --force".split()
        )
        for words in (
            "budgets for a rise of the loss",
            "stays below",
            "plan_rise_of_5.json",
            "on held-out text the loss changes by",
        ):
            self.assertIn(words, done.out)
        self.assertNotIn("not measured", done.out)
        results = validate(self.folder / "out/results.json")
        metrics, rises = results["metrics"], results["coords"]["rise"]
        self.assertEqual(rises, [0.001, 0.02, 5])
        listed = json.loads(self.succeed("list", "measures", "--json", "--group", "calibration").out)
        of_text = {m["name"] for m in listed if "answer" not in m["name"]}
        self.assertEqual(of_text - metrics.keys(), set())
        # The rule: the last tolerance before the first that is not shown to stay below the rise.
        learned = metrics["calibration_loss_change"]
        tolerances = results["coords"]["calibrated_tolerance"]
        for r, rise in enumerate(rises):
            good = -1.0
            for tolerance, change, error, rows in zip(
                tolerances, learned["values"], learned["stderr"], learned["rows"]
            ):
                if error == 0:
                    shown = change < rise
                else:
                    t = (change - rise) / error
                    two_sided = float(p_of_t(t, rows - 1))
                    shown = t < 0 and two_sided / 2 <= 0.05
                if not shown:
                    break
                good = tolerance
            self.assertEqual(metrics["tolerance_for_rise"]["values"][r], good, rise)
        # The budgets of the cache are those of a tolerance of 0.05.
        change = learned["values"][tolerances.index(0.05)]
        self.assertIn(
            f"such budgets change the loss on this text by {change:+.4f} nats.", " ".join(done.out.split())
        )
        # The plan file does on the confirming text what was said.
        plan = json.loads((self.folder / "out/plan_rise_of_5.json").read_text(encoding="utf-8"))
        schema = json.loads((ROOT / "docs/plan.schema.json").read_text(encoding="utf-8"))
        jsonschema.validate(plan, schema)
        changes = self.change_under("out/plan_rise_of_5.json", "c.txt")
        self.assertAlmostEqual(metrics["calibrated_loss_change"]["values"][2], mean(changes), 6)
        self.assertAlmostEqual(
            metrics["calibrated_loss_change"]["stderr"][2], stdev(changes) / math.sqrt(PIECES), 6
        )
        self.assertEqual(results["settings"]["tolerance_nats"], rises)

    def test_answers_must_be_kept_too(self) -> None:
        write_cases(self, "task.jsonl", likeliest(self, "model", [60] * 6))
        nats = ("--tolerance-nats", RISES, "--confirm", "c.txt", "--tasks", "task.jsonl")
        done = self.succeed("converge", *self.asked, *nats, "--out", "out", "--force")
        for words in ("answers", "stay below", "; the loss of answers changes by"):
            self.assertIn(words, " ".join(done.out.split()))
        results = validate(self.folder / "out/results.json")
        metrics = results["metrics"]
        listed = json.loads(self.succeed("list", "measures", "--json", "--group", "calibration").out)
        self.assertEqual({m["name"] for m in listed} - metrics.keys(), set())
        self.assertEqual(set(metrics["calibration_answer_change"]["rows"]), {3})
        # A plan for which both are kept loses no more answers than compare says.
        self.succeed("compare", "model", "--tasks", "task.jsonl", "--plan", "out/plan_rise_of_5.json",
                     "--lengths", 60, "--measures", "weights", "--out", "one", "--quiet")  # fmt: skip
        one = validate(self.folder / "one/results.json")["metrics"]["answer_loss_change"]["values"][1][0]
        tolerance = metrics["tolerance_for_rise"]["values"][2]
        learned = metrics["calibration_answer_change"]["values"]
        on_odd = learned[results["coords"]["calibrated_tolerance"].index(tolerance)]
        on_even = metrics["calibrated_answer_change"]["values"][2]
        self.assertAlmostEqual((on_odd + on_even) / 2, one, 6)

    def test_refuses_tasks_that_show_nothing(self) -> None:
        cases = likeliest(self, "model", [60] * 3)
        write_cases(self, "few.jsonl", cases)
        write_cases(self, "wrong.jsonl", [case | {"answer": [1, 2, 3]} for case in cases])
        nats = ("--tolerance-nats", "0.01", "--confirm", "c.txt")
        self.refuse(BAD_INPUT, "converge", *self.asked, *nats, "--tasks", "wrong.jsonl",
                    says=("a task that the model is shown to do",))  # fmt: skip
        self.refuse(BAD_INPUT, "converge", *self.asked, *nats, "--tasks", "few.jsonl",
                    says=("4 where they are halved", "few, even cases"))  # fmt: skip
        self.refuse(USAGE, "converge", *self.asked, "--tasks", "few.jsonl", says=("no --tolerance-nats",))

    def test_refuses_what_shows_nothing(self) -> None:
        nats = ("--tolerance-nats", "0.01")
        self.refuse(USAGE, "converge", *self.asked, *nats, says=("no --confirm",))
        self.refuse(USAGE, "converge", *self.asked, "--confirm", "c.txt", says=("no --tolerance-nats",))
        self.refuse(
            USAGE,
            "converge",
            *self.asked,
            *nats,
            "--confirm",
            "a.txt",
            says=("other texts than that of the budgets",),
        )
        self.refuse(
            USAGE,
            "converge",
            *self.asked,
            *nats,
            "--confirm",
            "c.txt",
            "c.txt",
            says=("--confirm", "nothing in common"),
        )
        self.write("short.txt", " ".join(str(i * 7 % 41) for i in range(LENGTH + 5)))
        self.refuse(
            BAD_INPUT,
            "converge",
            *self.asked,
            *nats,
            "--confirm",
            "short.txt",
            says=("--confirm", f"at least 2 pieces of {LENGTH} tokens", "found 1"),
        )
        twice = [name.replace("b.txt", "a.txt") if isinstance(name, str) else name for name in self.asked]
        self.refuse(
            USAGE, "converge", *twice, *nats, "--confirm", "c.txt", says=("--tokens", "nothing in common")
        )
        self.refuse(
            USAGE,
            "converge",
            *self.asked,
            *"--tolerance-nats 0 --confirm c.txt".split(),
            says=("--tolerance-nats",),
        )
        self.write("short.txt", " ".join(map(str, range(40))))
        self.refuse(
            BAD_INPUT,
            "converge",
            *self.asked,
            *nats,
            "--confirm",
            "short.txt",
            says=("--confirm", "at least 2 pieces"),
        )

    def test_refuses_what_has_no_loss(self) -> None:
        nats = ("--tolerance-nats", "0.01", "--confirm", "c.txt")
        make_dump(self.folder / "d.safetensors", 1, 2, 96, 4)
        self.refuse(UNSUPPORTED, "converge", "d.safetensors", *nats, says=("a loss",))
        copy_golden("bert/plain", self.folder / "bert")
        self.refuse(
            UNSUPPORTED, "converge", "bert", "--tokens", "a.txt", *nats, says=("a model with a loss",)
        )
