"""headgauge series: checkpoints joined along the step, on the command line."""

from __future__ import annotations

import json
import unittest

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
        done = self.succeed("series", *folders, "--metrics", "entropy,max_weight", "--out", str(out))
        results = validate(out / "results.json")
        self.assertEqual(results["command"], "series")
        self.assertEqual(results["coords"]["step"], [5, 20, 100])
        self.assertEqual(results["coords"]["series_metric"], ["entropy", "max_weight"])
        metrics = results["metrics"]
        for step, folder in enumerate(reversed(folders)):
            own = json.loads((self.folder / folder / "results.json").read_text())["metrics"]
            for layer in range(2):
                for head in range(6):
                    joined = metrics["entropy"]["values"][layer][head][step]
                    self.assertEqual(joined, own["entropy"]["values"][layer][head][-1])
        change = metrics["series_change"]["values"][1][3][0]
        curve = metrics["entropy"]["values"][1][3]
        self.assertAlmostEqual(change, curve[2] - curve[0])
        self.assertLess(change, 0)  # colder
        self.assertIn("3 results from step 5 to step 100", done.out)
        self.assertRegex(done.out, r"1\.3 +entropy")
        self.assertIn("of the same text", done.err)
        self.succeed("report", str(out))
        self.assertIn("the result of one checkpoint", (out / "report.html").read_text())

    def test_refuses_what_it_cannot_join(self) -> None:
        one, two = self.scan("a", 1.0), self.scan("b", 0.5)
        for code, arguments, expected in (
            (2, [one], "two results or more"),
            (2, [one, two, "--steps", "5,1"], "--steps: expected 2 rising numbers"),
            (2, [one, two, "--steps", "1,-2"], "--steps"),
            (2, [one, two, "--metrics", "entropi"], "did you mean entropy?"),
            (3, [one, str(self.folder / "none")], "none"),
        ):
            with self.subTest(arguments):
                self.refuse(code, "series", *arguments, says=expected)


if __name__ == "__main__":
    unittest.main()
