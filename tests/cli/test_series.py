"""headgauge series: checkpoints joined along the step, on the command line."""

import csv
import json

from tests.cli.command import CommandTest
from tests.places import ROOT
from tests.results.schema import validate

DEMO = (str(ROOT / "demo/model"), "--text", str(ROOT / "demo/text.txt"))
SCAN = ("--lengths", "1024", "--layers", "0-1", "--measures", "weights")


class Series(CommandTest):
    def scan(self, name: str, temperature: float) -> str:
        out = str(self.folder / name)
        self.succeed("scan", *DEMO, *SCAN, "--normalizer", f"softmax:t={temperature}", "--out", out)
        return out

    def test_joins_scans_in_the_order_of_their_numbers(self) -> None:
        folders = [self.scan("check-100", 0.3), self.scan("check-20", 0.6), self.scan("check-5", 1.0)]
        out = self.folder / "series"
        done = self.succeed(
            "series", *folders, "--metrics", "entropy_with_sinks,max_weight_with_sinks", "--out", str(out)
        )
        results = validate(out / "results.json")
        self.assertEqual(results["command"], "series")
        self.assertEqual(results["coords"]["step"], [5, 20, 100])
        self.assertEqual(results["coords"]["series_metric"], ["entropy_with_sinks", "max_weight_with_sinks"])
        self.assertLess(results["metrics"]["series_change"]["values"][1][3][0], 0)  # colder
        self.assertIn("3 results from step 5 to step 100, at 1024 tokens: ", done.out)
        self.assertRegex(done.out, r"step 5 +\S*check-5/results\.json: scan of .*demo/model")
        self.assertIn("normalizer: softmax:t=1.0 -> softmax:t=0.6 -> softmax:t=0.3", done.out)
        self.assertRegex(done.out, r"1\.3 +entropy")
        self.assertIn("of the same text", done.err)
        self.assertIn("settings that differ between the results: normalizer", done.err)
        self.assertEqual([run["file"] for run in results["settings"]["runs"]],
                         [f"{folder}/results.json" for folder in reversed(folders)])  # fmt: skip
        self.succeed("report", str(out))
        self.assertIn('"command":"series"', (out / "report.html").read_text())

    def test_writes_a_table_of_the_steps(self) -> None:
        folders = [self.scan("check-1000000", 0.3), self.scan("check-0.5", 1.0)]
        out = self.folder / "series"
        done = self.succeed("series", *folders, "--metrics", "entropy_with_sinks", "--out", str(out))
        self.assertIn(f"Written: {out}/results.json, {out}/heads.csv", done.out)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["heads.csv", "results.json"])
        results = json.loads((out / "results.json").read_text())
        with (out / "heads.csv").open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(
            list(rows[0]), ["layer", "head", "step", "entropy_with_sinks", "entropy_with_sinks_stderr"]
        )
        self.assertEqual([row["step"] for row in rows], ["0.5", "1e+06"] * 12)
        self.assertEqual(
            float(rows[9]["entropy_with_sinks"]), results["metrics"]["entropy_with_sinks"]["values"][0][4][1]
        )
        self.assertRegex(done.out, r"step 1000000 +\S*check-1000000/")
        self.assertRegex(done.out, r"(?m)^.* 1\.3 +entropy_with_sinks .* 1000000$")

    def test_says_when_names_give_no_steps(self) -> None:
        files = [self.scan("f16", 1.0), self.scan("q4", 0.3)]
        done = self.succeed("series", *files)
        self.assertIn("from step 1 to step 2,", done.out)
        self.assertIn("the names give no steps, so the steps are 1, 2 ...", done.err)
        self.assertIn("(--steps sets them)", done.err)
        done = self.succeed("series", *files, "--steps", "0,2.5")
        self.assertIn("from step 0 to step 2.5,", done.out)
        self.assertNotIn("no steps", done.err)

    def test_refuses_what_it_cannot_join(self) -> None:
        one, two = self.scan("a", 1.0), self.scan("b", 0.5)
        self.refuse_each(
            (2, "", "two results or more"),
            (2, f"{two} --steps 5,1", "--steps: expected 2 rising numbers"),
            (2, f"{two} --steps 1,-2", "--steps"),
            (2, f"{two} --metrics entropi", "did you mean entropy?"),
            (3, "none", "none"),
            base=("series", one),
        )
