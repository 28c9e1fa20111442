"""What docs promise to a reader: few words, links that lead somewhere, every page within reach."""

import importlib.util
import re
import unittest
from pathlib import Path

from tests.places import ROOT

MOST = 20_000  # words of the pages for users
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
spec = importlib.util.spec_from_file_location("words", ROOT / "tools/words.py")
words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(words)


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def prose(text: str) -> str:
    """The text without blocks of code, whose brackets are no links."""
    return re.sub(r"(?ms)^```.*?^```|^    .*?$", "", text)


def anchors(text: str) -> set[str]:
    """The anchors of headings as GitHub makes them, and those that the page sets itself."""
    found: dict[str, int] = {}
    for title in re.findall(r"(?m)^#+ (.*)$", prose(text)):
        words_of = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        name = re.sub(r"[^\w\- ]", "", words_of).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    numbered = {name if not k else f"{name}-{k}" for name, most in found.items() for k in range(most + 1)}
    return numbered | set(re.findall(r'<a id="([^"]+)">', text))


def broken(page: Path) -> list[str]:
    """The links of a page that lead to no file, or to no place in it."""
    wrong = []
    for link in LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", link):
            continue
        name, _, place = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        is_there = target.exists() and (not place or place in anchors(target.read_text(encoding="utf-8")))
        if not is_there:
            wrong.append(f"{page.relative_to(ROOT)}: {link}")
    return wrong


class Docs(unittest.TestCase):
    def test_pages_for_users_are_few_words(self) -> None:
        found = words.words()
        self.assertGreater(len(found), 20)
        self.assertLessEqual(sum(found.values()), MOST)

    def test_what_a_tool_writes_does_not_count(self) -> None:
        page = "a\n<!-- tools/docs.py options_of_scan -->\nb c\n<!-- end options_of_scan -->\nd\n"
        self.assertEqual(words.MADE.sub("", page).split(), ["a", "d"])

    def test_every_link_leads_to_its_place(self) -> None:
        wrong = [fault for page in pages() for fault in broken(page)]
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_pictures_in_html_are_there_in_light_and_dark(self) -> None:
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        named = re.findall(r'src(?:set)?="([^"]+)"', text)
        themes = [
            [name.replace(theme, "") for name in named if theme in name] for theme in ("light-", "dark-")
        ]
        self.assertEqual(*themes)
        self.assertEqual(len(named), 6)
        self.assertEqual([name for name in named if not (ROOT / name).is_file()], [])

    def test_the_rule_itself(self) -> None:
        text = '# A `b`, c?\n## X\n## X\n    # code\n```\n# code\n```\n<a id="here"></a>\n'
        self.assertEqual(anchors(text), {"a-b-c", "x", "x-1", "here"})
        self.assertEqual(LINK.findall(prose("[a](b.md#c)\n\n    [d](e)\n")), ["b.md#c"])

    def test_the_readme_and_the_table_of_pages_link_every_page(self) -> None:
        for start in (ROOT / "README.md", ROOT / "docs/README.md"):
            linked = {
                Path(link.partition("#")[0]).name for link in LINK.findall(start.read_text(encoding="utf-8"))
            }
            missing = [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in linked]
            self.assertEqual([name for name in missing if name != "README.md"], [], start.name)

    def test_sources_name_pages_that_are_there(self) -> None:
        folders = "src include cli python web/src catalogue options claims tests tools"
        named = set()
        for path in (path for folder in folders.split() for path in (ROOT / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".py", ".pyi", ".ts", ".json"):
                text = path.read_text(encoding="utf-8")
                named |= set(re.findall(r"\bdocs/[\w/-]+\.(?:md|json|ipynb)", text))
        self.assertGreater(len(named), 10)
        self.assertEqual([name for name in sorted(named) if not (ROOT / name).exists()], [])

    def test_pages_that_options_name_are_there(self) -> None:
        """Their tables stand on pages of docs."""
        for path in (ROOT / "options").glob("*.json"):
            for name, place in re.findall(r"\]\(([\w-]+\.md)#?([\w-]*)\)", path.read_text(encoding="utf-8")):
                text = (ROOT / "docs" / name).read_text(encoding="utf-8")
                self.assertTrue(not place or place in anchors(text), f"{path.name}: {name}#{place}")
