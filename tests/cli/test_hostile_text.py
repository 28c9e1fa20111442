"""Names and values that would move the cursor, colour the screen, begin a line or turn the direction
of writing, in every place that a terminal shows."""

import json
import os
import shutil
import unicodedata

from tests.cli.checkpoints import change_config, make_dump
from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, CommandTest, Finished, run
from tests.places import ROOT

MADE = ROOT / "tests/results/data/made.json"
# ESC, CSI of C1, a line break and a turn of direction, in a name of a file.
HOSTILE = "a\nheadgauge: all is well\x1b[2J\x9b31m\u202eb"
SHOWN = "\\x0aheadgauge: all is well\\x1b[2J\\x9b31m\\u202eb"


class HostileTest(CommandTest):
    tiny_ids = 64

    def plain(self, text: str) -> None:
        for character in text:
            category = unicodedata.category(character)
            if character != "\n" and category in ("Cc", "Cf", "Zl", "Zp"):
                self.fail(f"{character!r} in {text!r}")
        self.assertNotIn("headgauge: all is well\n", text)
        self.assertNotRegex(text, r"(?m)^headgauge: all is well")

    def shown(self, *arguments, code: int = 0) -> Finished:
        done = run(*arguments, cwd=self.folder)
        self.assertEqual(done.code, code, done.err)
        self.plain(done.out)
        self.plain(done.err)
        return done

    def refused(self, code: int, *arguments, says: str = SHOWN) -> None:
        self.plain(self.refuse(code, *arguments, says=says, form=False))


class Errors(HostileTest):
    def test_paths_that_are_not_there(self) -> None:
        for command in (
            *((name, HOSTILE) for name in ("scan", "inspect", "report")),
            ("diff", HOSTILE, HOSTILE),
            ("scan", "model", "--tokens", HOSTILE),
            ("scan", "model", "--tokens", "ids.txt", "--plan", HOSTILE),
            ("scan", "model", "--tokens", "ids.txt", "--out", f"ids.txt/{HOSTILE}"),
            ("converge", HOSTILE, "--tokens", "ids.txt"),
            ("reproduce", "limits", HOSTILE, "--tokens", "ids.txt"),
        ):
            with self.subTest(command):
                code = 5 if "ids.txt/" in command[-1] else BAD_INPUT
                self.refused(code, *command)

    def test_options_and_what_is_typed_for_them(self) -> None:
        options = ("lengths", "measures", "normalizer", "pattern", "layers", "top")
        for command in (
            (HOSTILE,),
            ("scan", "model", f"--{HOSTILE}"),
            *(("scan", "model", "--tokens", "ids.txt", f"--{option}", HOSTILE) for option in options),
            ("converge", "--synthetic", HOSTILE),
            ("list", "measures", HOSTILE),
            ("list", HOSTILE),
        ):
            with self.subTest(command):
                self.refused(USAGE, *command, says="\\x0aheadgauge")

    def test_bytes_that_are_no_text(self) -> None:
        name = os.fsdecode(b"a\xff\x80.txt")
        self.refused(BAD_INPUT, "scan", "model", "--tokens", name, says="a\\xff\\x80.txt")

    def test_values_of_a_config(self) -> None:
        for field, code in (
            ("model_type", UNSUPPORTED),
            ("activation_function", UNSUPPORTED),
            ("n_layer", BAD_INPUT),
            ("n_embd", BAD_INPUT),
        ):
            with self.subTest(field):
                shutil.copy(ROOT / "tests/golden/gpt2/plain/config.json", self.folder / "model")
                change_config(self.folder / "model", **{field: HOSTILE})
                self.refused(code, "scan", "model", "--tokens", "ids.txt")
        self.write("model/config.json", json.dumps({HOSTILE: 1})[:-1] + f", {json.dumps(HOSTILE)}: 2}}")
        self.refused(BAD_INPUT, "scan", "model", "--tokens", "ids.txt")

    def test_names_of_tensors_and_metadata(self) -> None:
        make_dump(self.folder / "dump.safetensors", 1, 1, 8, 4, **{HOSTILE: ([1], [1.0])})
        inspect = ("inspect", "dump.safetensors")
        self.shown(*inspect, code=run(*inspect, cwd=self.folder).code)

    def test_limits(self) -> None:
        self.write("r.json", MADE.read_text())
        for limit in (
            {"metric": HOSTILE, "max_increase": 1},
            {HOSTILE: 1},
            {"metric": "entropy_with_sinks", "where": {HOSTILE: 1}, "max_increase": 1},
        ):
            self.write("l.json", json.dumps({"schema": "headgauge.limits/1", "limits": [limit]}))
            self.refused(BAD_INPUT, "diff", "r.json", "r.json", "--limits", "l.json", says="\\x1b[2J")

    def test_plans(self) -> None:
        for plan in (
            {"schema": HOSTILE},
            {"schema": "headgauge.plan/" + HOSTILE},
            {
                "schema": "headgauge.plan/1",
                "model": {"name": HOSTILE, "layers": 1, "heads": 1, "kv_heads": 1},
                "heads": [],
            },
        ):
            self.write("p.json", json.dumps(plan))
            done = run("scan", "model", "--tokens", "ids.txt", "--plan", "p.json", cwd=self.folder)
            self.assertIn(done.code, (BAD_INPUT, UNSUPPORTED))
            self.plain(done.err)
            self.assertEqual(done.err.count("\n"), 1)


class Output(HostileTest):
    def test_of_a_scan(self) -> None:
        (self.folder / "model").rename(self.folder / HOSTILE)
        self.ids(64, name=f"{HOSTILE}.txt")
        done = self.shown("scan", HOSTILE, "--tokens", f"{HOSTILE}.txt", "--out", f"out{HOSTILE}")
        self.assertIn(SHOWN, done.out)
        self.shown("scan", HOSTILE, "--tokens", f"{HOSTILE}.txt", "--json")
        done = self.shown("report", f"out{HOSTILE}")
        self.assertIn(f"Written: outa{SHOWN}", done.out)
        self.shown("diff", f"out{HOSTILE}", f"out{HOSTILE}")

    def test_of_the_other_commands(self) -> None:
        names = [f"{HOSTILE}{k}" for k in range(2)]
        for k, name in enumerate(names):
            self.ids(64, name=name, vocabulary=41 - 4 * k)
        self.shown("compare", "model", "--tokens", names[0], "--normalizer", "ssmax", "--lengths", 64)
        self.shown("converge", "model", "--tokens", names[0], "--measures", "weights")
        few = "--measures weights --lengths 64 --pattern topk:k=16"
        self.shown("validate", "model", "--tokens", *names, *few.split())
        limits = ("reproduce", "limits", "model", "--tokens", names[0], "--lengths", 32)
        self.shown(*limits, "--out", f"out{HOSTILE}")

    def test_of_inspect(self) -> None:
        self.write("model/tokenizer.json", json.dumps({"model": {"type": HOSTILE}}))
        done = self.shown("inspect", "model")
        self.assertIn(SHOWN, done.out)
        self.assertEqual(len(done.out.splitlines()), len(self.shown("inspect", "model").out.splitlines()))
        facts = json.loads(self.shown("inspect", "model", "--json").out)
        self.assertEqual(facts["tokenizer"], f"{HOSTILE} (tokenizer.json)")

    def test_of_a_diff_of_hostile_results(self) -> None:
        hostile = json.loads(MADE.read_text().replace('"nats"', json.dumps("nats" + HOSTILE)))
        hostile["settings"] = {HOSTILE: HOSTILE, "normalizer": HOSTILE}
        hostile["model"] = {"name": HOSTILE, "family": HOSTILE}
        hostile["tool"] = {"name": HOSTILE, "version": HOSTILE}
        hostile["text"] = {"names": [HOSTILE], "tokens": [64]}
        hostile["notices"] = [HOSTILE]
        hostile["coords"]["dim" + HOSTILE] = [HOSTILE]
        hostile["metrics"]["m" + HOSTILE] = {"dims": ["dim" + HOSTILE], "unit": HOSTILE, "values": [1.0]}
        for flag in hostile["flags"]:
            flag["name"] = HOSTILE
        self.write("old.json", json.dumps(hostile))
        hostile["metrics"]["m" + HOSTILE]["values"] = [2.0]
        hostile["settings"] = {HOSTILE: "b" + HOSTILE}
        hostile["flags"] = []
        self.write("new.json", json.dumps(hostile))
        done = self.shown("diff", "old.json", "new.json")
        self.assertIn("\\x1b[2J", done.out)
        self.shown("diff", "old.json", "new.json", "--json")
        self.shown("report", "old.json", "--out", f"page{HOSTILE}.html")
        limits = [{"metric": "m" + HOSTILE, "max_increase": 0.5}]
        self.write("l.json", json.dumps({"schema": "headgauge.limits/1", "limits": limits}))
        self.shown("diff", "old.json", "new.json", "--limits", "l.json", code=1)
        self.shown("diff", "old.json", "new.json", "--limits", "l.json", "--json", code=1)
