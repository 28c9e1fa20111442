"""One licence and one version, wherever they stand."""

import re
import unittest

import tomllib

from tests.places import ROOT

CRATES = ("src/tokenize/ffi", "src/report/ffi")


class Licence(unittest.TestCase):
    def test_it_is_the_same_everywhere(self) -> None:
        self.assertIn("Apache License", (ROOT / "LICENSE").read_text()[:200])
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        self.assertEqual(project["license"], "Apache-2.0")
        for crate in CRATES:
            package = tomllib.loads((ROOT / crate / "Cargo.toml").read_text())["package"]
            self.assertEqual(package["license"], "Apache-2.0", crate)
        self.assertRegex((ROOT / "CITATION.cff").read_text(), r"(?m)^license: Apache-2\.0$")
        self.assertIn("Apache", (ROOT / "README.md").read_text())

    def test_the_version_to_cite_is_that_of_the_build(self) -> None:
        built = re.search(r"project\(headgauge VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
        cited = re.search(r"(?m)^version: (\S+)$", (ROOT / "CITATION.cff").read_text())
        self.assertEqual(built and built[1], cited and cited[1])

    def test_what_to_cite_has_a_date_and_the_names_of_the_papers_authors(self) -> None:
        text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
        self.assertRegex(text, r"(?m)^date-released: 20\d\d-\d\d-\d\d$")
        self.assertNotIn("The authors of", text)
        self.assertEqual(text.count("family-names:"), text.count("given-names:"))
        for paper in re.findall(r"arxiv\.org/abs/(\S+)\"", text):
            self.assertIn(paper, (ROOT / "README.md").read_text(encoding="utf-8"))
