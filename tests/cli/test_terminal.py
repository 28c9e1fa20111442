"""What a person at a terminal sees: colours, a bar that goes again, lines that fit."""

import re

from tests.cli.checkpoints import make_gpt2
from tests.cli.command import CommandTest, environment
from tests.cli.terminal import Terminal

ESCAPE = "\x1b"


def without_codes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


class TerminalTest(CommandTest):
    tiny_ids = 123

    def show(self, *options, model: str = "model", **terminal) -> Terminal:
        arguments = ("scan", model, "--tokens", "ids.txt", *options)
        shown = Terminal(*arguments, cwd=self.folder, **terminal)
        self.assertEqual(shown.finish(), 0, shown.shown)
        return shown

    def test_the_table_has_colours(self) -> None:
        shown = self.show("--quiet", stdout=True).shown
        self.assertIn(f"{ESCAPE}[1m", shown)
        piped = self.succeed("scan", "model", "--tokens", "ids.txt", "--quiet").out
        table = [line for line in piped.splitlines() if re.match(r" *\d\.\d  ", line)]
        self.assertEqual(len(table), 8)
        for row in table:
            self.assertIn(row, without_codes(shown))

    def test_no_color(self) -> None:
        env = environment(NO_COLOR="1")
        self.assertNotIn(ESCAPE, self.show("--quiet", stdout=True, env=env).shown)
        # Set, but to nothing, does not count (no-color.org).
        env = environment(NO_COLOR="")
        self.assertIn(ESCAPE, self.show("--quiet", stdout=True, env=env).shown)

    def test_a_dumb_terminal_gets_no_escapes(self) -> None:
        env = environment(TERM="dumb")
        self.assertNotIn(ESCAPE, self.show(stdout=True, env=env).shown)
        self.assertIn(ESCAPE, self.show(stdout=True, env=environment(TERM="xterm")).shown)

    def test_the_summary_is_broken_between_words(self) -> None:
        arguments = ("scan", "model", "--tokens", "ids.txt", "--quiet")
        piped = self.succeed(*arguments).out.rstrip().split("\n\n")[-1].split("\n")
        self.assertGreater(len(piped), 10)
        shown = without_codes(self.show("--quiet", stdout=True, columns=60).shown)
        # What a sentence means is indented by four, and goes on there.
        joined = re.sub(r"\r?\n(?:  )?  (?=\S)", " ", shown).replace("\r\n", "\n")
        for line in piped:
            self.assertIn(line.strip(), joined)

    def test_a_bar_that_goes_again(self) -> None:
        make_gpt2(self.folder / "deep", layers=8, heads=2, width=16, positions=320)
        self.ids(320)
        run = self.show("--measures", "weights", "--threads", "1", model="deep")
        self.assertRegex(run.shown, r"measuring layer 0 \[\.+\] +0 %")
        self.assertTrue(run.shown.endswith(f"\r{ESCAPE}[K"), run.shown[-80:])
        self.assertEqual(run.messages(), [])

    def test_the_bar_is_gone_before_the_table(self) -> None:
        run = self.show(stdout=True, columns=120, env=environment(NO_COLOR="1"))
        self.assertIn("measuring layer 0", run.shown)
        piped = self.succeed("scan", "model", "--tokens", "ids.txt").out.splitlines()
        messages = run.messages()
        self.assertEqual(messages[0], piped[0])
        self.assertTrue(messages[0].startswith("model "))

    def test_the_bar_fits_a_narrow_terminal(self) -> None:
        run = self.show(columns=30)
        for line in re.split("[\r\n]", without_codes(run.shown)):
            self.assertLess(len(line), 30, line)

    def test_quiet_has_no_bar(self) -> None:
        self.assertEqual(self.show("--quiet").shown, "")

    def test_no_bar_elsewhere(self) -> None:
        done = self.succeed("scan", "model", "--tokens", "ids.txt")
        self.assertNotIn(ESCAPE, done.err)
