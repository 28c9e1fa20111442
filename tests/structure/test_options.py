"""Every entry of options/ is that of a member, or changes the words of one."""

import json
import unittest

from tests.places import ROOT


class Words(unittest.TestCase):
    def test_an_option_uses_each_entry(self):
        entries = {}
        for path in (ROOT / "options").glob("*.json"):
            for owner, headings in json.loads(path.read_text(encoding="utf-8")).items():
                for options in headings.values():
                    entries |= {(owner, name): words for name, words in options.items()}
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.cpp"))
        whole = {name for (owner, name), words in entries.items() if "form" in words}
        for (owner, name), words in entries.items():
            with self.subTest(owner=owner, name=name):
                if owner == "Shared":
                    self.assertRegex(sources, rf'::{name}"|owner \+ "{name}"')
                elif "form" in words:
                    self.assertIn(f'"{owner}::{name}"', sources)
                else:
                    self.assertIn(name, whole)


if __name__ == "__main__":
    unittest.main()
