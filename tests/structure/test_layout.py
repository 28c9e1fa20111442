"""The shape of the source tree: who may include whom, and how long a file may get."""

import re
import unittest
from pathlib import Path
from typing import ClassVar

from tests.places import ROOT

# A module includes itself and those before it.
ORDER = (
    *(
        "base statistics results kernels normalize heads measures convergence checkpoint tokenize tasks model "
        "findings scan experiments plan reproduce view report session cli"
    ).split(),
)
# Stricter than the order.
FORBIDDEN = {("convergence", "measures"), ("measures", "convergence")}
ONLY = {"results": {"base", "statistics", "results"}}
# Public headers that are not named after their module; headgauge.hpp includes all of them.
HEADERS = {
    header: module
    for module, headers in {
        "base": "bytes faults files journal memory parallel text texts",
        "statistics": "ranks",
        "results": "advice array catalogue cells changes diff metric_names options provenance results_folder series",
        "normalize": "parameters",
        "heads": "attention_plan measure patterns",
        "convergence": "synthetic",
        "tasks": "generators",
        "findings": "flags",
        "experiments": "compare converge validate",
        "reproduce": "claims",
        "session": "headgauge",
    }.items()
    for header in headers.split()
}

LONGEST = 600  # lines; 400 is what to aim for
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc"}

# Highway asks for its own headers in quotes.
INCLUDE = re.compile(r'^\s*#\s*include\s+"((?!hwy/)[^"]+)"', re.MULTILINE)


def sources() -> list[Path]:
    folders = [ROOT / "include", ROOT / "src", ROOT / "cli"]
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".hpp", ".cpp"))


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    if parts[0] == "include":
        return HEADERS.get(path.stem, path.stem)
    return parts[1] if parts[0] == "src" else parts[0]


def included_module(include: str) -> str:
    folder, _, name = include.partition("/")
    if folder == "headgauge":
        stem = name.removesuffix(".hpp")
        return HEADERS.get(stem, stem)
    return folder


def complaint(module: str, other: str) -> str | None:
    """Why `module` may not include `other`; None where it may."""
    if other not in ORDER:
        return f"{other} is no module"
    if ORDER.index(other) > ORDER.index(module):
        return f"{other} comes after {module}"
    if (module, other) in FORBIDDEN or other not in ONLY.get(module, {other}):
        return f"{module} does not include {other}"
    return None


class Includes(unittest.TestCase):
    def test_a_module_includes_only_those_above_it(self) -> None:
        faults = []
        for path in sources():
            for include in INCLUDE.findall(path.read_text()):
                reason = complaint(module_of(path), included_module(include))
                if reason:
                    faults.append(f'{path.relative_to(ROOT)}: "{include}": {reason}')
        self.assertEqual(faults, [], "\n".join(faults))

    def test_the_rule_itself(self) -> None:
        self.assertIsNone(complaint("scan", "base"))
        self.assertIsNone(complaint("scan", "scan"))
        self.assertIsNotNone(complaint("base", "scan"))
        self.assertIsNotNone(complaint("convergence", "measures"))
        self.assertIsNotNone(complaint("results", "kernels"))
        self.assertIsNotNone(complaint("scan", "utils"))
        self.assertEqual(included_module("headgauge/measure.hpp"), "heads")

    def test_every_public_header_is_in_headgauge_hpp(self) -> None:
        folder = ROOT / "include/headgauge"
        named = set(INCLUDE.findall((folder / "headgauge.hpp").read_text()))
        there = {f"headgauge/{path.name}" for path in folder.glob("*.hpp")}
        there.add("headgauge/metric_names.hpp")  # which the configuration writes
        self.assertEqual(named, there - {"headgauge/headgauge.hpp"})

    def test_the_command_line_is_a_client_of_the_library(self) -> None:
        """It includes public headers and its own, so that whatever it can do, others can do."""
        for path in (ROOT / "cli").iterdir():
            for include in INCLUDE.findall(path.read_text()):
                self.assertTrue(include.startswith(("headgauge/", "cli/")), f"{path.name}: {include}")

    def test_public_headers_need_no_internal_ones(self) -> None:
        for path in (ROOT / "include/headgauge").glob("*.hpp"):
            for include in INCLUDE.findall(path.read_text()):
                self.assertTrue(include.startswith("headgauge/"), f"{path.name}: {include}")


class OneWay(unittest.TestCase):
    """What comes from outside goes through one door each, which has the limits and the locks."""

    DOORS: ClassVar = {
        r"\b(?:[Jj]son|basic_json|nlohmann::\w+)::(?:parse|sax_parse|accept)\b": {"strict_json"},
        r"::open\(|\bfopen\(|\b[io]?fstream\b": set(
            ("file atomic_file temporary mapped_file memory journal_file").split()
        ),
        r"::rename(?:at2?)?\(|\bmk(?:os)?temp\(|\bflock\(": {
            "atomic_file",
            "temporary",
            "journal_file",
            "document_states",
        },
        r"(?<!\w)c?\s*<\s*0x20\b": {"text"},
    }
    # headgauge's own functions of such names.
    OWN = re.compile(
        r"(?:ConfigReader|Gguf|Journal|Safetensors|Checkpoint|DumpFile|Builder|Model|Running)::open\("
    )

    def test_json_is_read_and_files_are_opened_in_one_place(self) -> None:
        for path in sources():
            text = self.OWN.sub("", path.read_text())
            for door, at in self.DOORS.items():
                if path.stem not in at:
                    self.assertIsNone(re.search(door, text), f"{path.relative_to(ROOT)}: {door}")

    def test_the_rule_itself(self) -> None:
        json, opened, renamed, control = self.DOORS
        for text in ("nlohmann::json::parse(x)", "Json::parse(x)", "nlohmann::ordered_json::parse(x)"):
            self.assertRegex(text, json)
        self.assertRegex("std::ifstream file(path);", opened)
        self.assertRegex("::open(path, O_RDONLY)", opened)
        self.assertNotRegex(self.OWN.sub("", "Safetensors::open(path)"), opened)
        self.assertRegex("std::filesystem::rename(a, b)", renamed)
        self.assertRegex("if (c < 0x20)", control)


class Kernels(unittest.TestCase):
    """Every kernel is compiled once a target into the same namespaces: two functions of one name in
    two files would be one to the linker (ODR), unless they are in unnamed namespaces."""

    OPENED = "namespace headgauge::HWY_NAMESPACE {\n"
    CLOSED = "}  // namespace headgauge::HWY_NAMESPACE"
    FUNCTION = r"^(?:HWY_\w+ )?(?:inline )?[\w:<>]+[ *&]+(\w+)\("
    NAME = re.compile(FUNCTION + r"|^(?:struct|class) (\w+)", re.MULTILINE)

    def exported(self, text: str) -> set[str]:
        """What a file defines for each target with external linkage."""
        block = text.partition(self.OPENED)[2].partition(self.CLOSED)[0]
        if block.lstrip().startswith("namespace {"):
            return set()
        return {function or kind for function, kind in self.NAME.findall(block)}

    def test_no_two_files_define_the_same_name(self) -> None:
        home: dict[str, str] = {}
        for path in sorted((ROOT / "src/kernels").glob("*.cpp")):
            for name in self.exported(path.read_text()):
                self.assertNotIn(name, home, f"{path.name} and {home.get(name)} define {name}()")
                home[name] = path.name

    def test_the_rule_itself(self) -> None:
        code = "struct S {\n};\nHWY_INLINE V near(V x) {\n}\nfloat* far(int n) {\n  go(1);\n}"
        open_ = f"{self.OPENED}\n{code}\n{self.CLOSED}"
        self.assertEqual(self.exported(open_), {"S", "near", "far"})
        hidden = f"{self.OPENED}namespace {{\n{code}\n}}\n{self.CLOSED}"
        self.assertEqual(self.exported(hidden), set())


class Files(unittest.TestCase):
    def test_no_file_holds_two_ideas(self) -> None:
        lengths = {str(p.relative_to(ROOT)): p.read_text().count("\n") for p in sources()}
        self.assertEqual({name: n for name, n in lengths.items() if n > LONGEST}, {})

    def test_names_say_what_is_inside(self) -> None:
        for path in sources():
            names = {*path.relative_to(ROOT).parent.parts, path.stem}
            self.assertEqual(names & VAGUE, set(), path)

    def test_headers_are_included_once(self) -> None:
        for path in sources():
            if path.suffix == ".hpp" and not path.stem.endswith("-inl"):
                self.assertIn("#pragma once", path.read_text(), path)


class Docs(unittest.TestCase):
    def test_pages_are_at_most_100_columns_wide(self) -> None:
        """Tables, code and pictures apart."""
        wide = []
        for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
            is_code = False
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
                is_code ^= line.startswith("```")
                apart = is_code or line.startswith(("    ", "!")) or line.lstrip().startswith("|")
                if len(line) > 100 and not apart:
                    wide.append(f"{page.name}:{number}: {len(line)} columns")
        self.assertEqual(wide, [])
