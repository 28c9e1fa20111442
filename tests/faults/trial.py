"""One trial of the attack: its own random numbers, a folder of its own, and runs that are judged."""

import os
import random
import re
import select
import signal
import subprocess
import time
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from tests.cli.command import environment, files_in
from tests.places import BINARY

SECONDS = 60  # that a run may take, on a machine that does something else beside it
MOST_MEMORY = 1500 << 20  # bytes that a run may hold
CODES = {0, 2, 3, 4, 5, 130}  # docs/cli.md, "Exit codes and messages"; 1 is of diff alone
LIMIT_EXCEEDED = 1
ERROR = re.compile(r"headgauge: .+: expected .+, found .+; .+\n")
INTERRUPTED = re.compile(r"headgauge: (?:interrupted|stopped at once)[^\n]*\n")
FOREIGN = re.compile(r"panicked at|RUST_BACKTRACE|terminate called|what\(\):|Sanitizer|internal error")
STRAY = re.compile(r"\.tmp$")


class Fault(AssertionError):
    """What headgauge must not do."""


class Skip(Exception):
    """What a trial needs is not here; the text says what."""


@dataclass(frozen=True)
class Done:
    """A run that has ended."""

    command: tuple[str, ...]
    code: int
    out: bytes
    err: bytes
    seconds: float
    memory: int

    @property
    def said(self) -> str:
        return self.err.decode("utf-8", "replace")

    def __str__(self) -> str:
        return f"headgauge {' '.join(map(repr, self.command))}: exit {self.code}, stderr {self.err[-600:]!r}"


@dataclass
class Running:
    """A run that goes on; `finish` waits for its end."""

    command: tuple[str, ...]
    process: subprocess.Popen
    streams: tuple
    began: float
    watched: int  # a descriptor of the process, which no other process takes the number of

    def send(self, which: int) -> None:
        """A signal, unless it has ended."""
        try:
            signal.pidfd_send_signal(self.watched, which)
        except ProcessLookupError:
            pass

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so many seconds; it is still there to be collected."""
        return bool(select.select([self.watched], [], [], max(0.0, seconds))[0])

    def finish(self, seconds: float = SECONDS) -> Done:
        in_time = self.wait(seconds)
        if not in_time:
            self.send(signal.SIGKILL)
        _, status, used = os.wait4(self.process.pid, 0)
        os.close(self.watched)
        code = os.waitstatus_to_exitcode(status)
        self.process.returncode = code
        texts = []
        for stream in self.streams:
            if stream.seekable():
                stream.seek(0)
            texts.append(stream.read())
            stream.close()
        done = Done(self.command, code, *texts, time.monotonic() - self.began, used.ru_maxrss * 1024)
        if not in_time:
            raise Fault(f"no end within {seconds:.0f} s: {done}")
        return done


class Trial:
    """What a kind of trial gets: `draw`, `folder`, and runs of the program under the oracle."""

    def __init__(self, seed: int, kind: str, number: int, folder: Path, materials) -> None:
        self.draw = random.Random(f"{seed}/{kind}/{number}")
        self.number = number
        self.folder = folder
        self.materials = materials
        self.worked = self.refused = 0
        self.runs: list[Done] = []

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return path

    def start(
        self,
        *arguments,
        before: tuple[str, ...] = (),
        shell: str = "",
        env=None,
        stdout=None,
        pipes: bool = False,
    ) -> Running:
        """`before`: a program that starts headgauge; `shell`: what a shell does first, such as
        ulimit, in which "$@" is the command when it does not end with it; `pipes`: what it says goes
        through pipes, which have no limit of a file's size."""
        command = tuple(map(str, arguments))
        whole = [*before, str(BINARY), *command]
        if shell:
            whole = ["sh", "-c", f'{shell}; exec "$@"' if '"$@"' not in shell else shell, "sh", *whole]
        ends = [os.pipe() if pipes else (os.memfd_create("said"),) * 2 for _ in range(2)]
        process = subprocess.Popen(
            whole,
            cwd=self.folder,
            env=env or environment(),
            stdin=subprocess.DEVNULL,
            stdout=ends[0][1] if stdout is None else stdout,
            stderr=ends[1][1],
        )
        for reading, writing in ends:
            if writing != reading:
                os.close(writing)
        streams = tuple(os.fdopen(reading, "rb") for reading, _ in ends)
        return Running(command, process, streams, time.monotonic(), os.pidfd_open(process.pid))

    def run(
        self,
        *arguments,
        codes: set[int] | None = None,
        changes: bool = False,
        quiet: bool = True,
        seconds: float = SECONDS,
        **options,
    ) -> Done:
        """Runs to the end and judges. `codes`: those that are right, of those documented; `changes`:
        a refused run may have made or changed files; `quiet`: one that worked says nothing on stderr."""
        before = {} if changes else files_in(self.folder)
        done = self.start(*arguments, **options).finish(seconds)
        self.judge(done, codes, quiet)
        if done.code not in (0, LIMIT_EXCEEDED, 130) and not changes:
            after = files_in(self.folder)
            if after != before:
                raise Fault(f"refused, but files changed: {before} to {after}: {done}")
        self.no_strays()
        return done

    def judge(self, done: Done, codes: set[int] | None = None, quiet: bool = True) -> None:
        """The oracle; docs/reliability.md says what it holds runs to."""
        self.runs.append(done)
        right = (
            codes
            if codes is not None
            else CODES | ({LIMIT_EXCEEDED} if "diff" in done.command[:1] else set())
        )
        if done.code < 0:
            raise Fault(f"ended by {signal.Signals(-done.code).name}: {done}")
        if FOREIGN.search(done.said):
            raise Fault(f"words of the machinery: {done}")
        if done.code not in right:
            raise Fault(f"exit code is not of {sorted(right)}: {done}")
        plain(done.err, done)
        plain(done.out, done)
        if done.code in (0, LIMIT_EXCEEDED):
            self.worked += 1
            if quiet and done.err:
                raise Fault(f"worked, and says something: {done}")
        else:
            self.refused += 1
            form = INTERRUPTED if done.code == 130 else ERROR
            if not form.fullmatch(done.said):
                raise Fault(f"not one line of the form of an error: {done}")
            if done.code != 130 and done.out and done.code not in (3, 5):
                raise Fault(f"refused, and prints: {done.out[:200]!r}: {done}")
        if done.memory > MOST_MEMORY:
            raise Fault(f"held {done.memory >> 20} MB: {done}")

    def no_strays(self) -> None:
        """For when no run goes on."""
        strays = [name for name in files_in(self.folder) if STRAY.search(name)]
        if strays:
            raise Fault(f"left behind: {strays}")


def plain(text: bytes, done: Done) -> None:
    """Nothing that acts on a terminal, and no bytes that are no text."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Fault(f"prints what is not UTF-8 ({error}): {done}") from None
    if decoded.isascii() and decoded.replace("\n", " ").isprintable():
        return
    for character in decoded:
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            raise Fault(f"prints {character!r}: {decoded[:600]!r}: {done}")
