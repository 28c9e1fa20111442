"""Sentences about results stand in catalogue/ alone: C++ gives numbers to templates and has no words of its own."""

import json
import re
import unittest

from tests.places import ROOT

# These files may make a SummaryLine: from templates, from a file, and from the warnings of a monitor.
MAKERS = {"src/results/sentences.cpp", "src/results/json_fields.hpp", "src/results/monitor.cpp"}
MADE = re.compile(r"SummaryLine\s*(\w+\s*)?[{(;]|summary\.(push_back|emplace_back)\(\s*\{|\.text \+=")
# Files of cli/ with texts of five words or more that take a value: about lines left out, files and options.
TEXTS = dict.fromkeys("diff last_words report run run_lines screen words".split(), 1) | {
    "heads_table": 2,
}
TEXT = re.compile(r'//[^\n]*|"((?:[^"\\\n]|\\.|"\s*\n\s*")*)"')
# A name that the program composes of these and the name of a flag.
COMPOSED = re.compile("^(among|top)_")


def catalogue() -> list[dict]:
    return [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "catalogue").glob("*.json"))]


class Sentences(unittest.TestCase):
    def test_are_made_from_templates(self) -> None:
        for path in sorted((ROOT / "src").rglob("*.[ch]pp")):
            name = str(path.relative_to(ROOT))
            source = path.read_text("utf-8")
            if name in MAKERS or "SummaryLine" not in source and "summary." not in source:
                continue
            with self.subTest(name):
                self.assertIsNone(MADE.search(source))

    def test_are_not_made_by_the_terminal(self) -> None:
        for path in sorted((ROOT / "cli").glob("*.cpp")):
            texts = TEXT.findall(path.read_text("utf-8"))
            long = [text for text in texts if "{" in text and len(re.findall(r"[A-Za-z]{2,}", text)) >= 5]
            self.assertEqual(len(long), TEXTS.get(path.stem, 0), f"{path.name}: {long}")

    def test_have_all_that_they_name(self) -> None:
        sources = "".join(
            path.read_text("utf-8")
            for path in sorted((ROOT / "src").rglob("*.cpp"))
            if "results/sentence" not in str(path)
        )
        for file in catalogue():
            for name in file.get("given", {}):
                if name == "first" or COMPOSED.match(name):
                    continue
                with self.subTest(name):
                    self.assertTrue(f'"{name}"' in sources, "is given by nothing")

    def test_are_all_made(self) -> None:
        sources = "".join(path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.cpp")))
        for file in catalogue():
            for sentence in file.get("sentences", []):
                with self.subTest(sentence["name"]):
                    made = {f'"{sentence["name"]}"', f'"{sentence["about"]}"'}
                    self.assertTrue(any(name in sources for name in made))


if __name__ == "__main__":
    unittest.main()
