"""What is said after a table: what a finding means and which command goes further. Every such command runs."""

import json
import re
import shlex

from tests.cli.shares import DEMO, SharesTest
from tests.places import ROOT

# What makes a command quick, by how it begins.
QUICK = {
    "cache": "--lengths 160 --cases 2",
    "compare": "--lengths 160 --layers 0-1 --measures weights",
    "converge": "--lengths 64 --replicates 4 --draws 4 --grid 8,16",
    "diff": "",
    "plan": "--lengths 64 --pieces 2 --steps 4 --random-plans 2 --curve 0.5",
    "report": "",
    "reproduce limits": "--lengths 64 --out limits",
    "reproduce tokens": "--lengths 64 --replicates 2 --dimension 4 --grid 8,16 --out tokens",
    "scan": "--lengths 64",
    "validate": "--lengths 96 --heads 0.*,1.0 --permutations 99 --resamples 99",
}
FEWEST = 14


def commands() -> list[str]:
    """Of all findings and flags, as they stand in the catalogue."""
    found = set()
    for file in (ROOT / "catalogue").glob("*.json"):
        source = file.read_text("utf-8")
        for words in json.loads(source).get("commands", {}).values():
            found.update(re.findall(r"`(headgauge [^`]+)`", words))
        for change in re.findall(r'"try": "([^"]+)"', source):
            found.add(f"headgauge compare MODEL --text FILE --heads HEAD {change}")
    return sorted(found)


class Findings(SharesTest):
    def fill(self, command: str) -> list[str]:
        files = iter(self.documents[1:])
        words = command.replace("MODEL", str(DEMO)).replace("TEXT", f"--text {self.documents[0]}")
        words = (
            words.replace("CHANGE", "--normalizer uniform")
            .replace("TASKS", "--tasks tasks.jsonl")
            .replace("PLAN", "plan/plan.json")
            .replace("OUT", "plan")
            .replace("WINDOW", "16")
        )
        words = re.sub(r"\bFILE\b", lambda _: next(files), words).replace("HEAD", "1.3")
        quick = next(options for begin, options in QUICK.items() if words.startswith(f"headgauge {begin}"))
        return shlex.split(words.removeprefix("headgauge ") + " " + quick)

    def test_every_command_runs(self) -> None:
        known = commands()
        self.assertGreaterEqual(len(known), FEWEST, known)
        self.write("tasks.jsonl", '{"prompt": [5, 6, 7, 5], "answer": [6]}\n')
        scan = ("scan", DEMO, "--text", self.documents[0], "--measures", "weights", "--quiet", "--out")
        self.succeed(*scan, "OLD", "--lengths", "32")
        self.succeed(*scan, "NEW", "--lengths", "32", "--normalizer", "softmax:t=2")
        # A plan, and a diff that is drawn, come before what uses them.
        for command in sorted(known, key=lambda c: (" plan " not in c or "--export" in c, " diff " not in c)):
            with self.subTest(command):
                self.succeed(*self.fill(command), "--quiet")

    def test_what_was_tried_once_was_not_chosen(self) -> None:
        words = ("compare", DEMO, "--text", ROOT / "demo/text.txt", "--measures", "weights", "--normalizer")
        once = self.succeed(*words, "softmax:t=1.1").out
        self.assertIn("It was tried on this text alone.", once)
        self.assertIn("No recommendation yet: it was tried on this text alone;", once)
        twice = self.succeed(*words, "softmax:t=1.1,softmax:t=1.2").out
        self.assertIn("It was chosen among several on this text", twice)
        self.assertIn("chosen on this text;", twice)

    def test_findings_say_what_they_mean_and_what_to_do(self) -> None:
        shown = self.succeed("scan", DEMO, "--text", self.documents[3], "--lengths", "256", "--explain").out
        at = shown.index("rest on sinks, keys that take weight")
        self.assertRegex(
            shown[at:],
            r"\n    A head rests on a sink if .*\n"
            rf"    `headgauge compare {re.escape(str(DEMO))} --text {self.documents[3]} --pattern ",
        )
        # A flag's command names the first head that carries it.
        self.assertRegex(
            shown,
            r"wide +\d+ of 36 heads: [^\n]*(\n +[^\n]*)*? +headgauge converge MODEL --text FILE\n",
        )
        self.assertRegex(
            shown, r" +headgauge compare MODEL --text FILE --heads \d\.\d --pattern window:size=64\n"
        )

    def test_names_are_quoted_for_a_shell(self) -> None:
        self.write("it's mine.txt", (ROOT / "demo/text.txt").read_text("utf-8"))
        shown = self.succeed("scan", DEMO, "--text", "it's mine.txt", "--lengths", "64").out
        command = re.search(r"`(headgauge compare [^`]*)`", shown)
        assert command is not None
        self.assertIn("it's mine.txt", shlex.split(command[1]))
