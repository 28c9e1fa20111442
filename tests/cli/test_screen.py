"""The first screen of every command: the answer, in at most 30 lines and 80 columns."""

import re

from tests.cli.command import CommandTest, Finished
from tests.cli.terminal import Terminal
from tests.places import ROOT

MODEL = ROOT / "demo/model"
TEXT = ROOT / "demo/text.txt"
BRIEF = ("--lengths", "128")
SCALES = ("--dimension", 6, "--horizons", "0.5,2", "--grid", "60:480:4", "--replicates", 4)


class TestScreen(CommandTest):
    def answer(self, *arguments, lines: int = 30) -> str:
        """What a command prints, which must fit on a screen."""
        done: Finished = self.succeed(*arguments, "--quiet", answer=True)
        shown = done.out.splitlines()
        self.assertLessEqual(len(shown), lines, done.out)
        self.assertLessEqual(max(map(len, shown)), 80, done.out)
        return done.out

    def test_of_a_scan_says_what_the_heads_do(self) -> None:
        text = self.answer("scan", MODEL, "--text", TEXT, "--out", "out", lines=25)
        for part in (
            r"^model   gpt2, 6 layers x 6 heads, 6 KV heads each$",
            r"^text\.txt   1024 of \d+ tokens   loss 4\.\d+ ± 0\.\d+ nats \(perplexity \d+\.\d\)   \d+ s$",
            r"^KV cache   4\.61 kB a token in 16 bits, 4\.72 MB at the trained 1024 tokens$",
            r"^What the 36 heads do on this text \(.*(\d\.\d) = layer \d, head \d\)$",
            r"^ *1  sinks  over 30 % of the weight",
            r"^ *\d+  near   look at nearby text, the last 64 tokens$",
            r"^How far back, in tokens \(.*grows with the text\)",
            r"^If every head saw less +loss of all tokens  of those that lost keys$",
            r"^first 4 and last 508 +\+0\.06 ± 0\.04 +\+0\.12 ± 0\.08$",
            r"^None is shown to cost less than 0\.05 nats",
            r"^Next: headgauge cache ",
            r"^More, if run again: --table .* --explain ",
            r"^Written to out; in pictures: headgauge report out$",
        ):
            self.assertRegex(text, re.compile(part, re.MULTILINE))
        found = r'over 5 % goes to the word ".*" at \d+.* in layers? [0-9-]+'
        self.assertRegex(" ".join(text.split()), found)
        self.assertNotIn('the word " ', " ".join(text.split()))  # where a line could break
        probed = ("--probe", "passkey", "--cases", "1", "--measures", "weights,roles,answers")
        text = self.answer("scan", MODEL, "--text", TEXT, *probed, lines=25)  # beside the cases
        self.assertRegex(" ".join(text.split()), found)
        for term in ("wide", "octave", "critical N", "L = ", "embedding"):
            self.assertNotIn(term, text)

    def test_says_more_with_options(self) -> None:
        scan = ("scan", MODEL, "--text", TEXT, *BRIEF, "--measures", "weights,roles", "--quiet")
        short, table = self.succeed(*scan, answer=True).out, self.succeed(*scan).out
        self.assertNotIn("roles, flags", short)
        self.assertIn("roles, flags", table)
        for implies in (("--all",), ("--sort", "max_weight"), ("--top", "3")):
            self.assertIn("roles, flags", self.succeed(*scan, *implies, answer=True).out)
        explained = self.succeed(*scan, "--explain", answer=True).out
        self.assertTrue(explained.startswith(short.splitlines()[0]))
        self.assertRegex(explained, r"(?m)^KV cache\n? +What the model keeps")
        self.assertRegex(explained, r"(?m)^near +\d+ of 36 heads: ")
        self.assertNotRegex(explained, r"(?m)^wide")  # which is not on this screen

    def test_maps_the_heads_in_colour(self) -> None:
        scan = ("scan", MODEL, "--text", TEXT, *BRIEF, "--measures", "weights,roles", "--quiet")
        terminal = Terminal(*scan, cwd=self.folder, stdout=True, answer=True)
        self.assertEqual(terminal.finish(), 0)
        self.assertRegex(terminal.shown, r"A row a head, a column a layer: .*near.*\r\n  \S+\r\n")

    def test_of_every_command_fits(self) -> None:
        other = self.folder / "other.txt"
        other.write_text(TEXT.read_text()[2000:])
        run = (MODEL, "--text", TEXT)
        two = (MODEL, "--text", TEXT, other)
        self.answer("compare", *run, *BRIEF, "--pattern", "sinks:window=28", "--measures", "model")
        self.answer("cache", *run, "--lengths", "64", "--cases", "2", "--serve", "1000000")
        cache = self.answer("converge", *run, *BRIEF, "--replicates", "20")
        self.assertRegex(
            cache.replace("\n  ", " "), r"key-value cache takes \d+ of 4608 bytes .* \d+ % of it"
        )
        scales = self.answer("converge", "--synthetic", "gaussian", *SCALES)
        self.assertIn("than paper B", scales)
        found = self.answer("validate", *two, *BRIEF, "--pattern", "topk:k=16")
        self.assertRegex(found, "predict")
        for seed in "1", "2":
            self.answer("scan", *run, *BRIEF, "--seed", seed, "--out", f"scan-{seed}", lines=25)
        changed = self.answer("diff", "scan-1", "scan-2")
        self.assertRegex(changed, "The largest change")
        self.assertRegex(self.answer("series", "scan-1", "scan-2"), r"Roles, and the step")
        claims = self.answer("reproduce", "limits", "--results", "scan-1", "--out", "claims")
        self.assertRegex(claims, r"Of \d+ claims, \d+ holds?, \d+ do(es)? not hold, \d+ cannot be told, \d+ ")
        self.assertRegex(claims, r"(?m)^cannot tell  \S")
