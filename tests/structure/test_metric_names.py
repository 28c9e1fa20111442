"""The names of metrics are spelt out in catalogue/ alone. Elsewhere they are identifiers or types, so that a
misspelt name does not compile."""

import json
import re
import unittest
from typing import ClassVar

from tests.places import BUILD, ROOT


def declared() -> set[str]:
    names = set()
    for path in (ROOT / "catalogue").glob("*.json"):
        for metric in json.loads(path.read_text(encoding="utf-8"))["metrics"]:
            names.add(metric["name"])
            if metric.get("by_position") and metric["kind"] != "hidden":
                names.add(f"{metric['name']}_by_position")
    return names


class Cpp(unittest.TestCase):
    # Names of metrics that are also names of groups, of settings and their values, of facts of claims and
    # titles of columns: by the files that use them so.
    OTHERS: ClassVar = {
        "loss": "make options output summary catalogue scan",
        "distance": "registry limits converge read_cases write_cases",
        "separability": "registry limits converge early_warning retrieval retrieval_claims temperature_claims",
        "sensitivity": "registry limits",
        "entropy": "retrieval_claims table",
        "horizon": "synthetic_table",
        "loss_change": "output",
        "output_change": "output source",
        "reach": "source",
        "rank_correlation": "retrieval_claims",
    }
    TOKEN = re.compile(r'//[^\n]*|"((?:[^"\\\n]|\\.)*)"')

    def literals(self, text: str, stem: str) -> set[str]:
        """The metric names that a file spells out."""
        found = set(self.TOKEN.findall(text)) & declared()
        return {name for name in found if stem not in self.OTHERS.get(name, "").split()}

    def test_no_source_spells_one_out(self) -> None:
        for folder in ("src", "cli", "include", "python/src"):
            for path in (ROOT / folder).rglob("*.[ch]pp"):
                found = self.literals(path.read_text(encoding="utf-8"), path.stem)
                self.assertEqual(found, set(), f"{path.relative_to(ROOT)}: write metric::NAME")

    def test_the_rule_itself(self) -> None:
        code = 'find_cell(results, "entropy", {}); cell("mass_by_position"); "entropies" // "margin"'
        self.assertEqual(self.literals(code, "scan"), {"entropy", "mass_by_position"})
        self.assertEqual(self.literals(code, "table"), {"mass_by_position"})

    def test_the_header_has_every_one(self) -> None:
        header = BUILD / "include/headgauge/metric_names.hpp"
        constants = re.findall(
            r'^inline constexpr char (\w+)\[\] = "(\w+)";$', header.read_text(), re.MULTILINE
        )
        self.assertEqual({name for name, _ in constants}, declared())
        self.assertTrue(all(name == text for name, text in constants))
