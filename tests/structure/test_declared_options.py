"""The declarations of options in options/*.json."""

import json
import re
import unittest

from tests.places import ROOT

SOURCES = [path.read_text() for folder in ("src", "cli") for path in (ROOT / folder).rglob("*.cpp")]


def declared() -> list[str]:
    """Returns the members that the files declare: "ScanOptions::lengths", or "seed" of several structs."""
    return [
        member
        for path in (ROOT / "options").glob("*.json")
        for members in json.loads(path.read_text()).values()
        for member in members
    ]


class DeclaredOptions(unittest.TestCase):
    def test_each_is_declared_once(self) -> None:
        self.assertEqual(len(declared()), len(set(declared())))

    def test_a_struct_has_each(self) -> None:
        adapted = set(re.findall(r'adapted_options\(\s*"(\w+)"', " ".join(SOURCES)))
        owners = set(re.findall(r'declared_options\(\s*"(\w+)"', " ".join(SOURCES)))
        named = set(re.findall(r'\{"([\w:]+)", ', " ".join(SOURCES)))
        owners |= {"PlanRequest", "LimitsRequest"}  # the owner of TaskFiles is an argument
        for member in declared():
            owner, _, name = member.rpartition("::")
            with self.subTest(member):
                found = owner in adapted or (owner in owners and name in named)
                self.assertTrue(found or member in named, "no struct has this option: remove it")


if __name__ == "__main__":
    unittest.main()
