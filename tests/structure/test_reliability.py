"""Every test that docs/reliability.md names as the holder of a promise is there."""

from __future__ import annotations

import re
import unittest

from tests.places import ROOT

NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)+)`")
CPP = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)
PYTHON = re.compile(r"^class (\w+)|^    def (test_\w+)", re.M)


def in_cpp() -> set[str]:
    return {".".join(test) for path in (ROOT / "tests").rglob("*_test.cpp") for test in CPP.findall(path.read_text())}


def in_python() -> set[str]:
    """test_files, test_files.Read, test_files.Read.test_a_config_has_a_size; tests of other folders
    than tests/cli with their folder before them, too."""
    names = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for before in {module, path.stem}:
            last = ""
            names.add(before)
            for class_, method in PYTHON.findall(path.read_text()):
                last = class_ or last
                names.add(f"{before}.{last}.{method}" if method else f"{before}.{last}")
    return names


def promised() -> list[str]:
    """What stands in the last column of the tables."""
    rows = [line for line in (ROOT / "docs/reliability.md").read_text().splitlines() if line.startswith("| ")]
    names = [name for row in rows for name in NAME.findall(row.rstrip("| ").rpartition(" | ")[2])]
    return [name for name in names if not name.endswith((".cpp", ".hpp", ".py", ".ts", ".json", ".csv"))]


class Promises(unittest.TestCase):
    def test_every_one_has_its_test(self) -> None:
        there = in_cpp() | in_python()
        self.assertGreater(len(promised()), 30)
        self.assertEqual([name for name in promised() if name not in there], [])

    def test_the_rule_itself(self) -> None:
        self.assertIn("Pair.IsNeverOfTwoWriters", in_cpp())
        self.assertIn("test_files.Pairs", in_python())
        self.assertIn("tests.structure.test_reliability.Promises.test_the_rule_itself", in_python())


if __name__ == "__main__":
    unittest.main()
