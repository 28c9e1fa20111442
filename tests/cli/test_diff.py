"""headgauge diff as a user runs it: two scans, changed in ways that are known."""

import csv
import json
import math
import re
from itertools import product
from pathlib import Path

import jsonschema

from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, CommandTest, environment, run
from tests.cli.terminal import Terminal
from tests.places import ROOT
from tests.reference.inference import benjamini_hochberg, freedom_of_difference, p_of_t
from tests.results.schema import validate, validate_text

EXCEEDED = 1
LIMITS_SCHEMA = json.loads((ROOT / "docs/limits.schema.json").read_text())


def cells(results: dict, name: str, key: str = "values") -> dict[tuple, float | None]:
    """The cells of a metric by their labels."""
    metric = results["metrics"][name]
    labels = [results["coords"][dim] for dim in metric["dims"]]
    found = {}
    for place in product(*(range(len(names)) for names in labels)):
        part = metric[key]
        for index in place:
            part = part[index]
        found[tuple(names[index] for names, index in zip(labels, place))] = part
    return found


class DiffTest(CommandTest):
    """Scans of phantoms whose heads prefer their key by 1 and by 4, on five documents: each is a
    batch of the standard error."""

    TEXTS = tuple(f"{i}.txt" for i in range(5))

    def setUp(self) -> None:
        super().setUp()
        for i, name in enumerate(self.TEXTS):
            self.ids(128, vocabulary=31 + i, name=name)

    def scan(self, name: str, strength: int, lengths: str = "32,64,128", *options: str) -> Path:
        model = f"phantom{strength}"
        if not (self.folder / model).exists():
            self.phantom(model, strength)
        self.succeed("scan", model, "--tokens", *self.TEXTS, "--lengths", lengths,
                     "--measures", "weights", "--out", name, "--quiet", *options)  # fmt: skip
        return self.folder / name / "results.json"

    def change(self, path: Path, name: str, changes) -> Path:
        """A copy of a results file, with `changes` made to it."""
        results = json.loads(path.read_text())
        changes(results)
        return self.write(f"{name}/results.json", json.dumps(results))

    def limits(self, *limits: dict, name: str = "limits.json") -> str:
        document = {"schema": "headgauge.limits/1", "limits": list(limits)}
        jsonschema.validate(document, LIMITS_SCHEMA)
        self.write(name, json.dumps(document))
        return name


class Changes(DiffTest):
    def test_the_same_file_twice(self) -> None:
        self.scan("one", 4)
        done = self.succeed("diff", "one", "one")
        self.assertIn("None of ", done.out)
        self.assertNotIn("The largest", done.out)
        self.assertNotIn("Flags", done.out)
        self.assertIn("both runs use the same text", done.err)
        self.assertEqual(self.succeed("diff", "one", "one", "--quiet").err, "")

    def test_the_file_says_what_was_compared(self) -> None:
        self.scan("one", 1)
        path = self.scan("four", 4, "32,64,128", "--normalizer", "ssmax:s=0.4,b=0")
        path.write_text(path.read_text().replace('"version":"', '"version":"9.'))
        done = self.succeed("diff", "one", "four/results.json", "--json", "--level", 0.2,
                            "--quiet")  # fmt: skip
        difference = validate_text(done.out, "what --json prints")
        self.assertEqual(f"headgauge {difference['tool']['version']}\n",
                         self.succeed("--version").out)  # fmt: skip
        self.assertRegex(difference["summary"][0]["text"], r"^\w+ of head 0\.\d .*went from ")
        self.assertEqual(difference["command"], "diff")
        self.assertEqual(difference["settings"]["level"], 0.2)
        self.assertEqual(difference["model"]["name"], "phantom4")
        self.assertEqual(difference["coords"]["run"], ["old", "new"])
        text = self.succeed("diff", "one", "four").out
        self.assertIn("old       one/results.json: scan of phantom1 on 0.txt and 4 more\n", text)
        self.assertIn("settings  normalizer: softmax -> ssmax:s=0.4,b=0\n", text)

    def decided(self, old: dict, new: dict) -> list[tuple]:
        """(head, metric, adjusted p) of every value with errors, by the reference's tests; the p
        of a change without an error is 0, and is none among the others."""
        pairs = []
        for name, metric in old["metrics"].items():
            if name.endswith("_by_position") or "stderr" not in metric:
                continue
            parts = [
                [cells(run, name, key) for key in ("values", "stderr", "degrees_of_freedom")]
                for run in (old, new)
            ]
            for labels in parts[0][0]:
                first, second = ([part[labels] for part in run] for run in parts)
                if None in first[:2] + second[:2]:
                    continue
                change = abs(second[0] - first[0])
                error = math.hypot(first[1], second[1])
                same = change <= 1e-6 * max(abs(first[0]), abs(second[0]))
                p = None
                if error > 0:
                    freedom = freedom_of_difference(first[1:], second[1:])
                    p = p_of_t(change / error, freedom)
                pairs.append((f"{labels[0]}.{labels[1]}", name, same, p))
        adjusted = iter(benjamini_hochberg([p for *_, p in pairs if p is not None]))
        return [
            (head, name, 1.0 if same else 0.0) if p is None
            else (head, name, max(next(adjusted), 1.0 if same else 0.0))
            for head, name, same, p in pairs
        ]  # fmt: skip

    def test_the_table_is_sorted_and_says_how_many(self) -> None:
        """The lines against a list that Python makes of the two files."""
        paths = self.scan("one", 1), self.scan("four", 4)
        tested = self.decided(*(json.loads(path.read_text()) for path in paths))
        for level in (0.05, 0.001):
            passed = [(head, name) for head, name, p in tested if p <= level]
            text = self.succeed("diff", "one", "four", "--top", "all", "--level", level).out
            self.assertIn(f"{len(passed)} of {len(tested)} values changed, at most", text)
            self.assertIn(f"(false discovery rate {100 * level:g} %)", text)
            table = text.split("\n\n")[1]
            lines = [line.split() for line in table.splitlines()[2:]]
            self.assertEqual({(line[0], line[1]) for line in lines}, set(passed))
            shown = [1 if line[-2] == "exact" else float(line[-2]) for line in lines]
            self.assertEqual(shown, sorted(shown))
            for p, line in zip(shown, lines):
                # Those with an error of 0 stand aside, at p = 1 here.
                least = min((p for *cell, p in tested if cell == line[:2] and p > 0), default=1)
                digit = 10 ** math.floor(math.log10(least))
                self.assertAlmostEqual(p, least, delta=0.51 * digit)  # one digit is shown
            self.assertGreater(len(lines), 4)
            for line in text.replace(table, "").splitlines():
                if not re.match(r"\d+ of|None of|Flags|settings|\w+ of head", line):
                    self.assertLessEqual(len(line), 100, line)
            titles = ["head", "metric", "where", "old", "new", "change", "±", "se", "p", "values"]
            self.assertEqual(table.splitlines()[1].split(), titles, "no column is left out in a file")
        few = self.succeed("diff", "one", "four", "--top", 3, "--level", level).out
        first = [line.split() for line in few.split("\n\n")[1].splitlines()[2:5]]
        self.assertEqual(first, lines[:3])
        self.assertIn(f"and {len(lines) - 3} more (--top all)", few)

    def test_the_table_fits_a_terminal(self) -> None:
        self.scan("one", 1)
        self.scan("four", 4)
        shown = Terminal("diff", "one", "four", "--quiet", cwd=self.folder, stdout=True, columns=120,
                         env=environment(NO_COLOR="1"))  # fmt: skip
        self.assertEqual(shown.finish(), 0, shown.shown)
        self.assertRegex(shown.shown, r"(?m)^head  metric .* p")
        for line in shown.shown.splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_flags_gained_and_lost(self) -> None:
        self.scan("one", 1)
        self.scan("eight", 8)
        done = self.succeed("diff", "one", "eight", "--out", "out")
        difference = self.read("out/results.json")
        for change in ("gained", "lost"):
            flags = {(f["name"], f["head"]) for f in difference["flags"] if f["change"] == change}
            self.assertTrue(flags)
            (line,) = re.findall(f"(?m)^Roles and flags {change}: (.*)\\.$", done.out)
            listed = {(part.split()[0], int(head[2:]))
                      for part in line.split(", ") for head in part.split()[1:]}  # fmt: skip
            self.assertEqual(listed, flags)

    def test_heads_csv(self) -> None:
        self.scan("one", 1)
        self.scan("four", 4)
        self.succeed("diff", "one", "four", "--out", "out", "--quiet")
        with (self.folder / "out/heads.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        heads_of_a_phantom = 7
        self.assertEqual(len(rows), heads_of_a_phantom * 2 * 3)
        both = {(row["run"], row["head"], row["length"]): row for row in rows}
        old, new = both["old", "2", "64"], both["new", "2", "64"]
        self.assertEqual(
            float(new["entropy_with_sinks_change"]),
            float(new["entropy_with_sinks"]) - float(old["entropy_with_sinks"]),
        )
        self.assertEqual(old["entropy_with_sinks_change"], "")


class Overlap(DiffTest):
    def test_lengths_that_one_lacks(self) -> None:
        self.scan("one", 1, "32,64,128")
        self.scan("four", 4, "16,32,64")
        done = self.succeed("diff", "one", "four", "--out", "out")
        difference = self.read("out/results.json")
        self.assertEqual(difference["coords"]["length"], [32, 64])
        self.assertIn("only in the old file, and left out: length 128", done.err)

    def test_a_choice_of_metrics_and_heads(self) -> None:
        self.scan("one", 1)
        self.scan("four", 4)
        self.succeed("diff", "one", "four", "--metrics", "entropy_with_sinks,max_weight_with_sinks_by_position",
                     "--heads", "0.1-2", "--out", "out", "--quiet")  # fmt: skip
        difference = self.read("out/results.json")
        self.assertEqual(set(difference["metrics"]), {
            "entropy_with_sinks", "entropy_with_sinks_change", "max_weight_with_sinks_by_position", "max_weight_with_sinks_by_position_change",
        })  # fmt: skip
        chosen = {labels[1] for labels, value in cells(difference, "entropy_with_sinks").items() if value}
        self.assertEqual(chosen, {1, 2})
        self.refuse_each(
            (USAGE, "--metrics entropi", '"entropi"', "mass"),
            (USAGE, "--heads 1.0", "--heads"),
            (USAGE, "--heads 0", "--heads"),
            base=("diff", "one", "four"),
        )


class Gate(DiffTest):
    def setUp(self) -> None:
        super().setUp()
        old = self.scan("old", 4)

        def sharper(results: dict) -> None:
            entropy = results["metrics"]["entropy_with_sinks"]["values"][0]
            entropy[1][2] += 0.25
            entropy[3][2] -= 0.5

        self.change(old, "new", sharper)
        values = json.loads(old.read_text())["metrics"]["entropy_with_sinks"]["values"][0]
        self.before = values[1][2], values[3][2]

    def gate(self, *limits: dict, code: int) -> str:
        name = self.limits(*limits)
        done = run("diff", "old", "new", "--limits", name, "--quiet", cwd=self.folder)
        self.assertEqual((done.code, done.err), (code, ""), done.out)
        return done.out.split("\n\n")[-1]

    def test_all_hold(self) -> None:
        one = {"metric": "entropy_with_sinks", "max_increase": 0.26}
        self.assertEqual(self.gate(one, code=0), "the limit holds (21 values checked)\n")
        two = {"metric": "entropy_with_sinks", "heads": "0.3", "max_decrease": 0.51, "where": {"length": 128}}
        self.assertEqual(self.gate(one, two, code=0), "all 2 limits hold (22 values checked)\n")

    def test_a_line_for_each_limit_exceeded(self) -> None:
        report = self.gate(
            {"metric": "entropy_with_sinks", "max_increase": 0.2},
            {"metric": "entropy_with_sinks", "heads": "0.1,0.3", "where": {"length": [64, 128]},
             "max_increase": 0.1, "max_decrease": 0.375},
            {"metric": "max_weight_with_sinks", "max_increase": 0},
            code=EXCEEDED,
        )  # fmt: skip
        up, down = (f"{value:.4g}" for value in self.before)
        self.assertEqual(report.splitlines(), [
            f"limit exceeded: entropy_with_sinks of head 0.1 at length 128: {up} -> "
            f"{self.before[0] + 0.25:.4g}, an increase of 0.25 where 0.2 is allowed",
            f"limit exceeded: entropy_with_sinks of head 0.1 at length 128: {up} -> "
            f"{self.before[0] + 0.25:.4g}, an increase of 0.25 where 0.1 is allowed "
            "(the worst of 2 among 4 values)",
        ])  # fmt: skip
        report = self.gate(
            {
                "metric": "entropy_with_sinks",
                "heads": "0.3",
                "max_decrease": 0.1,
                "relative": True,
                "errors": 0.5,
            },
            code=EXCEEDED,
        )
        self.assertTrue(
            report.startswith(
                f"limit exceeded: entropy_with_sinks of head 0.3 at length 128: {down} -> "
                f"{self.before[1] - 0.5:.4g}, a decrease of 0.5 where {0.1 * self.before[1]:.4g} (10 % of the old "
                "value) and 0.5 errors of "
            ),
            report,
        )

    def test_with_json_the_verdict_is_on_stderr(self) -> None:
        for most, code, says in ((0.1, EXCEEDED, "limit exceeded: "), (9, 0, "the limit holds")):
            name = self.limits({"metric": "entropy_with_sinks", "max_increase": most})
            done = run("diff", "old", "new", "--limits", name, "--json", "--quiet", "--out", "out",
                       cwd=self.folder)  # fmt: skip
            self.assertEqual(done.code, code)
            self.assertTrue(done.err.startswith(f"headgauge: {says}"), done.err)
            self.assertEqual(validate_text(done.out, "--json"), validate(self.folder / "out/results.json"))

    def test_the_schema_refuses_what_the_program_refuses(self) -> None:
        for text in (
            '{"schema": "headgauge.limits/2", "limits": []}',
            '{"schema": "headgauge.limits/1", "limits": []}',
            '{"schema": "headgauge.limits/1", "limits": [{"metric": "entropy_with_sinks"}]}',
            '{"schema": "headgauge.limits/1", "limits": [{"metric": "m", "max_increase": 1, "max_incrase": 1}]}',
        ):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(json.loads(text), LIMITS_SCHEMA)
        self.write("bad.json", text)
        self.refuse_each((BAD_INPUT, "diff old new --limits bad.json", "bad.json", '"max_incrase"'))

    def test_the_examples_in_the_documents(self) -> None:
        """They are valid, and headgauge reads them: what it refuses is that phantoms lack them."""
        says = "example.json: limits[0]: metric: expected a metric that was"
        found = 0
        for name in ("formats.md", "diff.md"):
            text = (ROOT / "docs" / name).read_text()
            for block in re.findall(r'(?ms)^    \{\n      "schema": "headgauge.limits.*?^    \}$', text):
                jsonschema.validate(json.loads(block), LIMITS_SCHEMA)
                self.write("example.json", block)
                self.refuse_each((BAD_INPUT, "diff old new --limits example.json", says))
                found += 1
        self.assertEqual(found, 2)


class BadFiles(DiffTest):
    def test_files_that_cannot_be_read(self) -> None:
        text = self.scan("one", 4).read_text()
        self.write("newer.json", text.replace("headgauge.results/3", "headgauge.results/9"))
        (self.folder / "empty").mkdir()
        self.refuse_each(
            (UNSUPPORTED, "diff newer.json one", "newer.json", "newer headgauge"),
            (BAD_INPUT, "diff one nowhere", "nowhere"),
            (BAD_INPUT, "diff empty one", "empty/results.json"),
        )

    def test_options_that_make_no_sense(self) -> None:
        self.scan("one", 4)
        for option, *values in (
            ("--level", "0", "1", "-1", "x", "nan"),
            ("--top", "0", "-1", "some", "1.5"),
            ("--limits", ""),
            ("--out", ""),
            ("--metrics", ""),
            ("--heads", "", "x.y", "0.9"),
        ):
            for value in values:
                with self.subTest(f"{option}={value}"):
                    self.refuse(USAGE, "diff", "one", "one", f"{option}={value}", says=option)
        self.refuse(USAGE, "diff", "one", says="NEW")
        self.refuse(USAGE, "diff", "one", "one", "one", says='"one"')

    def test_one_head_and_nulls(self) -> None:
        path = self.scan("one", 4, "32,64,128", "--heads", "0.2")

        def hole(results: dict) -> None:
            self.assertEqual(results["coords"]["head"], [2])
            results["metrics"]["entropy_with_sinks"]["values"][0][0][1] = None
            results["metrics"]["entropy_with_sinks"]["rows"][0][0][1] = 0

        self.change(path, "holed", hole)
        name = self.limits({"metric": "entropy_with_sinks", "max_increase": 9})
        gate = run("diff", "one", "holed", "--limits", name, cwd=self.folder)
        self.assertEqual(gate.code, EXCEEDED)
        self.assertRegex(
            gate.out, "limit exceeded: entropy_with_sinks of head 0.2 at length 64: .* undefined"
        )
        gate = run("diff", "holed", "one", "--limits", name, cwd=self.folder)
        self.assertEqual(gate.code, 0)
        self.assertIn("2 values checked; 1 undefined in the old file were not", gate.out)


class Pairs(CommandTest):
    """Results on several texts, each scanned by itself, in the folders of a folder."""

    TEXTS = tuple(f"{i}.txt" for i in range(5))

    def setUp(self) -> None:
        super().setUp()
        text = (ROOT / "demo/text.txt").read_text()
        for i, name in enumerate(self.TEXTS):
            (self.folder / name).write_text(text[1000 * i : 1000 * (i + 1)])

    def scan_each(self, name: str, temperature: float, texts: tuple[str, ...]) -> str:
        for text in texts:
            self.succeed("scan", str(ROOT / "demo/model"), "--text", text, "--lengths", "128", "--quiet",
                         "--layers", "0-1", "--measures", "weights", "--out", f"{name}/{text}",
                         "--normalizer", f"softmax:t={temperature}")  # fmt: skip
        return name

    def test_compares_each_text_by_itself(self) -> None:
        old = self.scan_each("old", 1.0, self.TEXTS)
        new = self.scan_each("new", 0.9, self.TEXTS[::-1])
        done = self.succeed("diff", old, new, "--metrics", "entropy_with_sinks", "--out", "pairs")
        self.assertIn("pairs     changes on 5 texts, each by itself\n", done.out)
        self.assertNotIn("independent", done.err)
        found = self.read("pairs/results.json")
        self.assertEqual(found["settings"]["pairs"], 5)
        self.assertEqual(sorted(found["text"]["names"]), sorted(self.TEXTS))
        joined = self.succeed("series", old, new, "--metrics", "entropy_with_sinks", "--out", "series")
        self.assertIn("on 5 texts, each by itself: ", joined.out)

    def test_refuses_texts_that_differ(self) -> None:
        old = self.scan_each("old", 1.0, self.TEXTS[:4])
        few = self.scan_each("few", 0.9, self.TEXTS[:3])
        self.refuse(BAD_INPUT, "diff", old, few, says="4 or more, found 3")
