"""headgauge report, as a user runs it; what the page does in a browser is in web/test/browser."""

import json
import re
from xml.etree import ElementTree

from tests.cli.command import BAD_INPUT, RESOURCE, UNSUPPORTED, USAGE, CommandTest
from tests.places import ROOT

MADE = ROOT / "tests/results/data/made.json"


class ReportTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.made = json.loads(MADE.read_text())


class Files(ReportTest):
    def test_the_page_is_written_beside_the_results(self) -> None:
        self.write("out/results.json", MADE.read_text())
        for given in ("out", "out/results.json"):
            done = self.succeed("report", given)
            self.assertEqual(done.out, "Written: out/report.html\n")
            (self.folder / "out/report.html").unlink()

    def test_out_may_be_a_file_a_folder_or_one_to_be_made(self) -> None:
        self.write("results.json", MADE.read_text())
        (self.folder / "there").mkdir()
        for out, written in (
            ("a.html", "a.html"),
            ("there", "there/report.html"),
            ("new/b.html", "new/b.html"),
            ("made/", "made/report.html"),
        ):
            done = self.succeed("report", "results.json", "--out", out)
            self.assertEqual(done.out, f"Written: {written}\n")
            self.assertTrue((self.folder / written).read_text().startswith("<!doctype html>"))

    def test_figures_are_files_of_their_own(self) -> None:
        self.write("results.json", MADE.read_text())
        done = self.succeed("report", "results.json", "--format", "svg", "--out", "figures")
        written = re.findall(r"^Written: (.*)$", done.out, re.MULTILINE)
        self.assertTrue(written)
        for path in written:
            root = ElementTree.parse(self.folder / path).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")

    def test_results_that_hold_too_little_for_a_figure(self) -> None:
        self.write("results.json", json.dumps({**self.made, "metrics": {}, "coords": {}}))
        done = self.succeed("report", "results.json", "--format", "svg", "--out", "figures")
        self.assertIn("No figure", done.out)

    def test_results_of_no_head(self) -> None:
        for metric in self.made["metrics"].values():
            if "layer" in metric["dims"]:
                metric.update({key: [] for key in ("values", "stderr", "rows") if key in metric})
        self.made["coords"].update(layer=[], head=[])
        self.write("results.json", json.dumps(self.made))
        self.succeed("report", "results.json", "--format", "svg", "--out", "figures")
        self.succeed("report", "results.json")

    def test_markdown_has_the_summary_and_the_tables(self) -> None:
        self.write("out/results.json", MADE.read_text())
        self.assertEqual(self.succeed("report", "out", "--format", "md").out, "Written: out/report.md\n")
        text = (self.folder / "out/report.md").read_text()
        for line in self.made["summary"]:
            self.assertIn(f"- {line['text']}\n", text.replace("\\", ""))

    def test_quiet_says_nothing(self) -> None:
        self.write("results.json", MADE.read_text())
        done = self.succeed("report", "results.json", "--quiet")
        self.assertEqual((done.out, done.err), ("", ""))

    def test_a_folder_that_cannot_be_written(self) -> None:
        self.write("results.json", MADE.read_text())
        self.write("file", "")
        self.refuse(RESOURCE, "report", "results.json", "--out", "file/page.html", says="file")


class BadInput(ReportTest):
    def test_of_each_status(self) -> None:
        for name, version in (("newer", 4), ("older", 2)):
            self.write(f"{name}.json", json.dumps({**self.made, "schema": f"headgauge.results/{version}"}))
        self.write("results.json", MADE.read_text())
        self.refuse_each(
            (UNSUPPORTED, "newer.json", "headgauge.results/4", "newer headgauge"),
            (UNSUPPORTED, "older.json", "headgauge.results/2", "make the results again: headgauge scan "),
            (BAD_INPUT, "nothing.json", "nothing.json"),
            (USAGE, ""),
            (USAGE, "results.json --format pdf"),
            (USAGE, "results.json --out results.json", "--out"),
            (USAGE, "results.json --out ./results.json", "--out"),
            base=("report",),
        )
