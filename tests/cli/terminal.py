"""Runs headgauge on a pseudo-terminal, as a person at a screen has it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from tests.cli.command import SECONDS, environment, with_tables
from tests.places import BINARY


class Terminal:
    """A run whose stderr, and stdout if asked for, is a terminal of so many columns."""

    def __init__(
        self, *arguments, cwd: Path, stdout: bool = False, columns=80, env=None, answer=False
    ) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._master = master
        self.shown = ""
        self.process = subprocess.Popen(
            [str(BINARY), *(map(str, arguments) if answer else with_tables(arguments))],
            stdin=subprocess.DEVNULL,
            stdout=slave if stdout else subprocess.PIPE,
            stderr=slave,
            cwd=cwd,
            env=env or environment(),
            # The tests' own process goes first on a busy machine, so that it is in time.
            preexec_fn=lambda: os.nice(10),
        )
        os.close(slave)

    def read_until(self, pattern: str) -> re.Match[str]:
        """Reads what is shown until the pattern is in it; AssertionError if it never is."""
        match = None
        while match is None:
            if not self._read():
                raise AssertionError(f"{pattern!r} was never shown: {self.shown!r}")
            match = re.search(pattern, self.shown)
        return match

    def finish(self) -> int:
        """Reads the rest; the exit code."""
        while self._read():
            pass
        self.process.communicate(timeout=SECONDS)
        os.close(self._master)
        return self.process.returncode

    def messages(self) -> list[str]:
        """The lines that stay on the screen: what a bar drew and wiped is gone."""
        lines = self.shown.replace("\r\n", "\n").split("\n")
        kept = [re.split("\r?\x1b\\[K", line)[-1] for line in lines]
        return [line for line in kept if line]

    def _read(self) -> bool:
        deadline = time.monotonic() + SECONDS
        ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            self.process.kill()
            raise AssertionError(f"nothing happened for {SECONDS} s; shown: {self.shown!r}")
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += piece.decode("utf-8", "replace")
        return bool(piece)
