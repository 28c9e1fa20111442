"""Every test that docs/reliability.md names as the holder of a promise is there."""

import re
import unittest

from tests.places import ROOT

NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)*)`")
PATH = re.compile(r"`([\w-]+(?:/[\w.-]+)+)`")
TABLE = re.compile(r"^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
CPP = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
PYTHON = re.compile(r"^class (\w+)|^    def (test_\w+)", re.MULTILINE)


def in_cpp() -> set[str]:
    """Legible, Legible.EscapesWhatActsOnATerminal."""
    tests = [test for path in (ROOT / "tests").rglob("*_test.cpp") for test in CPP.findall(path.read_text())]
    return {".".join(test) for test in tests} | {suite for suite, _ in tests}


def in_python() -> set[str]:
    """test_files, test_files.Read, test_files.Read.test_a_config_has_a_size; tests of other folders
    than tests/cli with their folder before them, too. Those of the package in python/tests count."""
    names = set()
    for path in [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "python/tests").glob("test_*.py")]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for before in {module, path.stem}:
            last = ""
            names.add(before)
            for class_, method in PYTHON.findall(path.read_text()):
                last = class_ or last
                names.add(f"{before}.{last}.{method}" if method else f"{before}.{last}")
    return names


def holders() -> str:
    """The last column of the tables of promises."""
    tables = TABLE.findall((ROOT / "docs/reliability.md").read_text())
    rows = [row for table in tables for row in table.splitlines()]
    return "\n".join(row.rstrip("| ").rpartition(" | ")[2] for row in rows)


class Promises(unittest.TestCase):
    def test_every_one_has_its_test(self) -> None:
        there, promised = in_cpp() | in_python(), NAME.findall(holders())
        self.assertGreater(len(promised), 90)
        self.assertEqual([name for name in promised if name not in there], [])
        self.assertEqual([path for path in PATH.findall(holders()) if not (ROOT / path).exists()], [])

    def test_the_rule_itself(self) -> None:
        self.assertIn("Pair.IsNeverOfTwoWriters", in_cpp())
        self.assertIn("test_files.Pairs", in_python())
        self.assertIn("tests.structure.test_reliability.Promises.test_the_rule_itself", in_python())
