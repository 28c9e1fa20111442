"""headgauge plan as a user runs it, and what takes its plans."""

import hashlib
import json
import os
import signal
import subprocess

import jsonschema

from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import BAD_INPUT, INTERRUPTED, UNSUPPORTED, USAGE, CommandTest, environment
from tests.places import BINARY, ROOT
from tests.results.schema import validate

FEW = ("--lengths", 96, "--random-plans", 3)


class Plan(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.many_ids("a.txt b.txt c.txt d.txt")
        self.texts = ("model", "--tokens", "a.txt", "b.txt", "--confirm", "c.txt", "d.txt")

    def make(self, *options) -> dict:
        return self.saved("plan", *self.texts, *FEW, "--quiet", *options)[0]

    def test_a_plan_is_made_confirmed_and_followed(self) -> None:
        # Most other seeds choose equal windows.
        results, done = self.saved("plan", *self.texts, *FEW, "--seed", 3, "--steps", 30, "--curve", 0.25)
        self.assertEqual(results["command"], "plan")
        self.assertEqual(results["coords"]["budget"], ["50 %", "25 %"])
        for word in ("random heads", "heaviest keys", "on held-out text", "plan_25.json"):
            self.assertIn(word, done.out)
        self.assertFalse((self.folder / "out/journal").exists())
        length = results["coords"]["length"][0]
        said = " ".join(done.out.split())
        self.assertRegex(
            said, rf"keeps [\d.]+ % of the key-value cache at {length} tokens and changes the loss"
        )
        self.assertIn(f"At L = {length}, the other plans change the loss by", said)
        self.assertIn(f"At L = {length}, compared with plans that may keep as much, ", said)
        self.assertRegex(said, rf"At L = {length}, \d+ of \d+ random assignments of the same entries")
        self.assertRegex(said, r"entries of the other plans it (matters|is not shown to matter) which head")
        self.assertIn(f"`headgauge scan {' '.join(self.texts[:4])} --plan out/plan.json`", said)
        plan = self.read("out/plan.json")
        schema = json.loads((ROOT / "docs/plan.schema.json").read_text(encoding="utf-8"))
        for name in ("plan.json", "plan_25.json"):
            text = (self.folder / "out" / name).read_text(encoding="utf-8")
            jsonschema.validate(json.loads(text), schema)
        # Followed on the confirming texts, piece by piece, it does what was said.
        change = results["metrics"]["planned_change"]["values"][0][0][0]
        changes = []
        for name in ("c.txt", "d.txt"):
            ids = (self.folder / name).read_text(encoding="utf-8").split()
            for piece in range(3):
                self.write("piece.txt", " ".join(ids[96 * piece : 96 * (piece + 1)]))
                few = "--lengths 96 --measures model --plan out/plan.json --force --out".split()
                found = {}
                for command in ("compare", "scan"):
                    self.succeed(command, "model", "--tokens", "piece.txt", *few, command)
                    found[command] = validate(self.folder / command / "results.json")["metrics"]
                changes.append(found["compare"]["loss_change"]["values"][1][0][0])
                loss = found["compare"]["loss"]["values"][1][0][0]
                self.assertAlmostEqual(found["scan"]["loss"]["values"][0][0], loss, 9)
        self.assertEqual(results["metrics"]["planned_change"]["rows"][0][0], [len(changes)])
        self.assertAlmostEqual(sum(changes) / len(changes), change, 9)
        self.assertEqual(plan["measured"]["documents"], len(changes))

    def test_the_check_has_few_pieces_and_steps_have_many(self) -> None:
        few = ("plan", *self.texts, *"--lengths 32 --curve 0.5 --random-plans 0 --quiet --steps".split())
        count = {}
        for pieces, steps in ((1, 6), (1, 2), (9, 6)):
            settings = self.saved(*few, steps, "--pieces", pieces)[0]["settings"]
            places = [
                set(zip(text["sha256"], text["first"], strict=True))
                for text in (settings["select_text"], settings["check_text"])
            ]
            self.assertFalse(places[0] & places[1])
            count[pieces, steps] = tuple(map(len, places))
        # Two texts: a piece of each to check on, and at least one for each step.
        self.assertEqual(count, {(1, 6): (6, 2), (1, 2): (2, 2), (9, 6): (9, 9)})

    def test_converge_measures_what_a_plan_leaves(self) -> None:
        self.make()
        plan = self.read("out/plan.json")
        plan["heads"] = [{"layer": 0, "kv_head": 1, "pattern": "sinks:sinks=2,window=6"}]
        self.write("one.json", json.dumps(plan))
        few = ("--lengths", 96, "--replicates", 4, "--points", 3, "--measures", "weights")
        words = ("converge", "model", "--tokens", "a.txt", *few, "--plan", "one.json")
        values = self.saved(*words, out="needs")[0]["metrics"]["horizon"]["values"]
        self.assertIsNone(values[0][1])
        self.assertIsNotNone(values[0][0])
        self.assertIsNotNone(values[1][1])

    def test_refuses_plans_that_do_not_fit(self) -> None:
        self.make()
        plan = self.read("out/plan.json")
        scan = ("scan", "model", "--tokens", "a.txt", "--plan")
        model, first = plan["model"], {"layer": 0, "kv_head": 0}
        for changes, *says in (
            ({"model": {**model, "weights_sha256": "0" * 64}}, "a plan for model"),
            ({"model": {**model, "layers": 3}}, "a plan for model", "layers is 3 instead of 2"),
            ({"heads": [{"layer": 7, "kv_head": 0, "pattern": "topk:k=3"}]}, "head 7.0", "one of 2 layers"),
            ({"heads": [{**first, "pattern": "topk:k=3"}] * 2}, "twice"),
            ({"heads": [{**first, "pattern": "nonsense"}]}, "nonsense"),
            ({"heads": [{**first, "patern": "topk:k=3"}]}, "key-value head 0.0", "patern"),
            ({"heads": [{**first, "pattern": ""}]}, 'an empty "pattern"'),
            ({"heads": None}, "a plan", "something else"),
        ):
            other = {key: value for key, value in {**plan, **changes}.items() if value is not None}
            self.write("other.json", json.dumps(other))
            self.refuse(BAD_INPUT, *scan, "other.json", says=("other.json", *says))
        self.write("other.json", "not json")
        self.refuse_each(
            (BAD_INPUT, "other.json", "other.json", "a file that headgauge plan wrote"),
            (BAD_INPUT, "none.json", "none.json"),
            (USAGE, "out/plan.json --pattern topk:k=3", "--plan", "--pattern"),
            base=scan,
        )

    def retrain(self) -> None:
        """Other weights under the same header."""
        path = self.folder / "model/model.safetensors"
        raw = bytearray(path.read_bytes())
        for at in range(8 + int.from_bytes(raw[:8], "little"), len(raw), 4):
            raw[at] ^= 1  # the last bit of every number
        path.write_bytes(raw)

    def test_a_plan_is_for_one_training_of_a_model(self) -> None:
        self.make()
        self.retrain()
        words = "scan model --tokens a.txt --plan out/plan.json"
        self.refuse_each((BAD_INPUT, words, "a plan for model", "weights_sha256"))

    def test_runs_say_which_plan_it_was(self) -> None:
        self.make()
        plan = (self.folder / "out/plan.json").read_bytes()
        few = ("--tokens", "a.txt", "--measures", "weights", "--plan", "out/plan.json")
        for lengths, told in ((96, False), (64, True)):
            done = self.succeed("scan", "model", *few, "--lengths", lengths, "--out", "one", "--force")
            self.assertIn("plan out/plan.json", done.out)
            says = f"made and confirmed for a context of 96 tokens, but the longest here has {lengths}"
            self.assertEqual(says in done.err, told)
            settings = validate(self.folder / "one/results.json")["settings"]
            self.assertEqual(settings["plan_sha256"], hashlib.sha256(plan).hexdigest())
        done = self.succeed("compare", "model", *few, "--lengths", 64, "--out", "two")
        self.assertIn("made and confirmed for a context of 96 tokens", done.err)
        settings = validate(self.folder / "two/results.json")["settings"]
        self.assertEqual(settings["plan_sha256"], [hashlib.sha256(plan).hexdigest()])

    def test_compare_changes_only_the_heads_that_are_chosen(self) -> None:
        places = [(layer, head) for layer in range(2) for head in range(4)]
        heads = [{"layer": layer, "kv_head": head, "pattern": "window:size=2"} for layer, head in places]
        sizes = {"layers": 2, "heads": 4, "kv_heads": 4}
        plan = {"schema": "headgauge.plan/1", "model": sizes, "heads": heads}
        self.write("all.json", json.dumps(plan))
        few = "compare model --tokens a.txt --lengths 96 --measures weights --plan all.json".split()
        kept = self.saved(*few, "--heads", "1.2")[0]["metrics"]["kept_mass"]
        self.assertEqual(kept["dims"].index("pattern"), 2)
        changed = {at for at in places if (kept["values"][at[0]][at[1]][1][0] or 1) < 1}
        self.assertEqual(changed, {(1, 2)})
        self.write("all.json", json.dumps({**plan, "heads": heads[:4]}))
        self.refuse(USAGE, *few, "--layers", 1, says=("all.json", "changes none of them"))

    def test_names_that_are_no_utf8(self) -> None:
        odd = os.fsdecode(b"a\xff.txt")
        (self.folder / "a.txt").rename(self.folder / odd)
        texts = [odd if name == "a.txt" else name for name in self.texts]
        self.succeed("plan", *texts, *FEW, "--out", "out", "--quiet")
        self.read("out/plan.json")

    def test_plans_of_another_run_are_named(self) -> None:
        done = self.succeed("plan", *self.texts, *FEW, "--curve", 0.25, "--out", "out")
        self.assertNotIn("belongs to another run", done.err)
        done = self.succeed("plan", *self.texts, *FEW, "--curve", 0.75, "--out", "out", "--force")
        self.assertIn("out/plan_25.json belongs to another run", done.err)
        self.assertNotIn("out/plan_75.json belongs to another run", done.err)
        for _ in range(2):
            done = self.succeed("plan", *self.texts, *FEW, "--curve", 0.25, "--out", "table")
            self.assertNotIn("belongs to another run", done.err)

    def test_refuses_texts_that_show_nothing(self) -> None:
        self.write("short.txt", "1 2 3")
        self.many_ids("one.txt", 120)
        self.write("empty.txt", "")
        self.refuse(USAGE, "plan", *self.texts, *FEW, says=("no --out", "add --out DIR"))
        self.refuse(BAD_INPUT, "plan", *self.texts, *"--lengths 4096 --out out".split(), says="at most 128")
        self.refuse_each(
            (USAGE, "--tokens a.txt", "no --confirm"),
            (USAGE, "--confirm a.txt", "neither --text nor --tokens"),
            (USAGE, "--tokens a.txt --confirm a.txt", "--confirm", "in common"),
            (USAGE, "--tokens a.txt a.txt --confirm c.txt", "--tokens", "nothing in common"),
            (BAD_INPUT, "--tokens a.txt --confirm short.txt", "short.txt", "a longer text"),
            (BAD_INPUT, "--tokens empty.txt --confirm a.txt", "empty.txt"),
            (BAD_INPUT, "--tokens one.txt --confirm c.txt", "--tokens", "at least 2 pieces"),
            base=("plan", "model", *FEW, "--out", "out"),
        )

    def test_refuses_what_has_no_loss(self) -> None:
        make_dump(self.folder / "d.safetensors", 1, 2, 96, 4)
        copy_golden("bert/plain", self.folder / "bert")
        texts = "--tokens a.txt b.txt --confirm c.txt d.txt --lengths 48 --out out"
        says = "plan: expected a model that predicts next tokens"
        self.refuse_each(
            (UNSUPPORTED, f"d.safetensors {texts}", "a dump, which has no loss"),
            (UNSUPPORTED, f"bert {texts} --allow 0.1", says, "bert"),
            (UNSUPPORTED, f"bert {texts}", says, "its losses"),
            base=("plan",),
        )
        self.assertFalse((self.folder / "out/results.json").exists())

    def test_refuses_shares_and_patterns_that_do_not_fit(self) -> None:
        self.refuse_each(
            (USAGE, "--memory 2", "--memory"),
            (USAGE, "--steps 1", "--steps", "from 2 to 10000"),
            (USAGE, "--search greedy", "--search"),
            (USAGE, "--pattern nonsense", "nonsense"),
            (USAGE, "--pattern window:size=4096", "--pattern", "fewer than 96 keys"),
            (USAGE, "--curve 0.001", "--curve", "the smallest choice in all heads"),
            base=("plan", *self.texts, *FEW, "--out", "out"),
        )
        self.many_ids("one.txt", 200)
        few = ("model", *"--tokens one.txt --confirm c.txt --out out --allow 0.5".split(), *FEW)
        self.refuse(BAD_INPUT, "plan", *few, says=("--allow", "at least 2 pieces of text"))

    def test_goes_on_after_an_interruption(self) -> None:
        whole = self.make()
        command = [str(BINARY), "plan", *map(str, self.texts), *map(str, FEW), "--out", "again"]
        with subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(HEADGAUGE_JOURNAL_SECONDS="0"),
        ) as run:
            # Once the search has begun there is something to lose.
            for line in run.stderr:
                if line.startswith(b"search"):
                    break
            run.send_signal(signal.SIGINT)
            said = run.stderr.read().decode()
            run.wait(timeout=60)
        if run.returncode != 0:  # it was not done before
            self.assertEqual(run.returncode, INTERRUPTED)
            self.assertIn("run the same command again to resume", said)
            self.assertTrue((self.folder / "again/journal/part-1-of-1.journal").exists())
            weights = (self.folder / "model/model.safetensors").read_bytes()
            self.retrain()
            self.refuse(BAD_INPUT, *command[1:], says=("part-1-of-1.journal", "weights_sha256"))
            self.write("model/model.safetensors", weights)
        self.succeed("plan", *self.texts, *FEW, "--out", "again", "--quiet")
        again = validate(self.folder / "again/results.json")
        self.assertEqual(again["metrics"], whole["metrics"])

    def test_allowed_rises(self) -> None:
        allowed = self.make("--allow", 3)
        self.assertEqual(allowed["coords"]["budget"][0], "rise of 3")
        self.assertTrue((self.folder / "out/plan.json").exists())
        none = self.succeed("plan", *self.texts, *FEW, "--allow", 1e-12, "--out", "none")
        self.assertIn("No plan that keeps less of the key-value cache at ", none.out)
        self.assertIn("keep the model as it is", none.out)
