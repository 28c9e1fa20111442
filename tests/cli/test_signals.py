"""Signals besides those of test_interrupt: a hang-up, one that is ignored, one while it loads."""

import os
import signal
import subprocess
import time

from tests.cli.checkpoints import make_gpt2
from tests.cli.command import INTERRUPTED, SECONDS, CommandTest
from tests.cli.terminal import Terminal
from tests.places import ROOT
from tests.results.schema import validate

DEMO = ROOT / "demo"
NOTHING = "headgauge: interrupted before anything was finished; nothing was saved"
HEEDED = 10  # seconds that a busy machine may take for what takes one, and without the signal more


class Signals(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        make_gpt2(self.folder / "model", layers=96, heads=2, width=16, positions=320)
        self.ids(320)

    def scan(self, *options, command="scan") -> Terminal:
        return Terminal(command, "model", "--tokens", "ids.txt", "--out", "out", *options, cwd=self.folder)

    def test_a_hang_up_saves_what_is_finished(self) -> None:
        terminal = self.scan()
        terminal.read_until(r"measuring layer ([2-9]|\d\d)\b")
        terminal.process.send_signal(signal.SIGHUP)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.assertTrue(validate(self.folder / "out/results.json")["partial"])

    def test_what_is_inherited_as_ignored_stays_ignored(self) -> None:
        for ignored in (signal.SIGINT, signal.SIGHUP):
            with self.subTest(ignored.name):
                before = signal.signal(ignored, signal.SIG_IGN)
                try:  # Popen restores none of these
                    terminal = self.scan()
                finally:
                    signal.signal(ignored, before)
                terminal.read_until("measuring layer")
                terminal.process.send_signal(ignored)
                self.assertEqual(terminal.finish(), 0, terminal.shown)
                self.assertFalse(validate(self.folder / "out/results.json")["partial"])

    def heeded(self, process: subprocess.Popen) -> str:
        """What a run says that is interrupted once; it ends soon."""
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=SECONDS)
        self.assertLess(time.monotonic() - before, HEEDED)
        self.assertEqual(process.returncode, INTERRUPTED, said)
        return said

    def test_a_long_text_that_is_needed_whole(self) -> None:
        text = (DEMO / "text.txt").read_bytes()
        self.write("long.txt", text * ((60 << 20) // len(text)))
        for command in (
            ("reproduce", "limits", DEMO / "model", "--text", "long.txt"),
            ("plan", DEMO / "model", "--text", "long.txt", "--confirm", "long.txt"),
        ):
            with self.subTest(command[0]):
                process = self.start(*command, "--out", "made/out")
                self.until(lambda: process.poll() is not None or self.rss(process.pid) > 400 << 20)
                if process.poll() is not None:
                    self.skipTest("too little memory for such a text: " + process.communicate()[1])
                self.assertEqual(self.heeded(process), NOTHING + "\n")
                self.assertFalse((self.folder / "made").exists(), "what was made goes again")

    def test_results_that_take_long_to_read(self) -> None:
        self.write(
            "long/results.json",
            b'{"schema": "headgauge.results/3", "coords": {"x": [' + b"1234567," * 20_000_000 + b"1]}}",
        )
        for command in (("report", "long", "--format", "svg", "--out", "made"), ("diff", "long", "long")):
            with self.subTest(command[0]):
                process = self.start(*command)
                self.until(lambda: process.poll() is not None or self.rss(process.pid) > 250 << 20)
                self.assertEqual(self.heeded(process), NOTHING + "\n")
                self.assertFalse((self.folder / "made").exists())

    def test_many_draws(self) -> None:
        # The first head alone takes longer than a minute.
        terminal = self.scan("--draws", "300000", "--lengths", "320", command="converge")
        terminal.read_until("measuring layer 0")
        # It is in the middle of it when it holds the draws.
        self.until(lambda: self.rss(terminal.process.pid) > 300 << 20)
        before = time.monotonic()
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.assertLess(time.monotonic() - before, HEEDED)
        self.assertEqual(terminal.messages()[-1], NOTHING)

    @staticmethod
    def rss(pid: int) -> int:
        """Bytes that a process holds."""
        try:
            with open(f"/proc/{pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    def until(self, reached) -> None:
        deadline = time.monotonic() + SECONDS
        while not reached():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
