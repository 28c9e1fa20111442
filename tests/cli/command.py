"""Runs headgauge as a user would: HEADGAUGE_BINARY, or the release build."""

import json
import os
import resource
import shutil
import subprocess
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

from tests.cli.checkpoints import copy_golden
from tests.places import BINARY, PHANTOM
from tests.results.schema import validate, validate_text

SECONDS = 600  # after which a run is given up; none should need a tenth of it

USAGE, BAD_INPUT, UNSUPPORTED, RESOURCE, INTERRUPTED = 2, 3, 4, 5, 130


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    """The test's own environment without what would change what headgauge prints or finds."""
    caches = ("HF_", "HUGGINGFACE_", "XDG_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(caches)}
    kept.pop("NO_COLOR", None)
    # Journals are of tests that are about them, however slow the machine is.
    return {**kept, "LC_ALL": "C.UTF-8", "HEADGAUGE_JOURNAL_SECONDS": "3600", **changes}


# The commands that print an answer, or all tables with --table.
ANSWERING = (
    "scan",
    "compare",
    "cache",
    "converge",
    "validate",
    "plan",
    "reproduce",
    "merge",
    "diff",
    "series",
)


def with_tables(arguments) -> list[str]:
    """The words of a command that prints all of its tables."""
    words = [str(word) for word in arguments]
    place = 2 if words[:1] == ["reproduce"] else 1
    answers = len(words) >= place and words[0] in ANSWERING
    return words[:place] + ["--table"] + words[place:] if answers else words


def run(
    *arguments, stdout=subprocess.PIPE, cwd=None, env=None, limits=None, typed=None, answer=False
) -> Finished:
    """`limits`: resource limits of the run, such as {resource.RLIMIT_FSIZE: 4096}. `typed`: its
    standard input. `answer`: it prints its answer alone, as without --table."""

    def limit() -> None:
        for which, value in (limits or {}).items():
            resource.setrlimit(which, (value, resource.getrlimit(which)[1]))

    done = subprocess.run(
        [str(BINARY), *(map(str, arguments) if answer else with_tables(arguments))],
        **({"stdin": subprocess.DEVNULL} if typed is None else {"input": typed.encode()}),
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env or environment(),
        preexec_fn=limit if limits else None,
        timeout=SECONDS,
    )
    return Finished(done.returncode, (done.stdout or b"").decode(), done.stderr.decode("utf-8", "replace"))


def files_in(folder: Path) -> dict[str, tuple[int, bool]]:
    """Everything under a folder: sizes of files, and what is a folder."""
    return {
        str(path.relative_to(folder)): (0 if path.is_dir() else path.lstat().st_size, path.is_dir())
        for path in folder.rglob("*")
    }


def flat(part: object) -> list:
    """The cells of a metric."""
    return [cell for item in part for cell in flat(item)] if isinstance(part, list) else [part]


def defined(part: object) -> list[float]:
    return [cell for cell in flat(part) if cell is not None]


class CommandTest(unittest.TestCase):
    """Tests with a folder of their own, in which the commands run."""

    tiny_ids = 0  # of ids.txt, beside a tiny model

    def setUp(self) -> None:
        if not BINARY.exists():
            self.fail(f"no {BINARY}: build it, or set HEADGAUGE_BINARY")
        holder = tempfile.TemporaryDirectory(prefix="headgauge-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()
        self.written: dict[Path, bytes] = {}
        self.addCleanup(self.validate_results)
        if self.tiny_ids:
            self.tiny(self.tiny_ids)

    def validate_results(self) -> None:
        """Whatever a test was about: no results.json that headgauge left breaks the format."""
        for folder, _, files in os.walk(self.folder):
            path = Path(folder, "results.json")
            if path.name in files and path.read_bytes() != self.written.get(path):
                validate(path)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.written[path] = path.read_bytes()
        return path

    def read(self, name: str) -> dict:
        """A JSON file in the folder."""
        return json.loads((self.folder / name).read_text("utf-8"))

    def ids(self, count: int, vocabulary: int = 41, name: str = "ids.txt") -> Path:
        """A file of token ids that do not repeat with a short period."""
        return self.write(name, " ".join(str(i * i * 7 % vocabulary) for i in range(count)) + "\n")

    def many_ids(self, names: str, tokens: int = 288, vocabulary: int = 41) -> None:
        """Files of token ids, each of another period."""
        for k, name in enumerate(names.split()):
            ids = (i * i + 3 * i * (k + 1) + 5 * k + i // vocabulary * (k + 2) for i in range(tokens))
            self.write(name, " ".join(str(number % vocabulary) for number in ids))

    def tiny(self, tokens: int) -> None:
        """The smallest GPT-2 as `model`, and ids.txt of that many ids."""
        copy_golden("gpt2/plain", self.folder / "model")
        self.ids(tokens)

    def phantom(self, name: str, strength: int) -> None:
        """A model whose heads prefer their key by this logit."""
        subprocess.run([PHANTOM, self.folder / name, str(strength)], check=True)

    def start(self, *arguments) -> subprocess.Popen:
        """A run that goes on meanwhile."""
        return subprocess.Popen(
            [str(BINARY), *map(str, arguments)],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def other(self, *words) -> subprocess.CompletedProcess:
        """A run of another program than headgauge."""
        return subprocess.run(
            list(map(str, words)),
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def full_disk(self, size: int | str, script: str, says: str) -> list[str]:
        """What a script prints whose folder `disk` is a file system of its own, too small for it and
        gone when the shell is."""
        (self.folder / "disk").mkdir()
        if shutil.which("unshare") is None:
            self.skipTest("no unshare")
        mount = f"mount -t tmpfs -o size={size} none disk || exit 77; "
        done = self.other("unshare", "--mount", "sh", "-c", mount + script)
        if done.returncode in (1, 77):
            self.skipTest(f"no mount here: {done.stderr.strip()}")
        self.assertEqual(done.returncode, RESOURCE, done.stderr)
        self.assertRegex(done.stderr, says)
        return done.stdout.split()

    def speaks_of_the_command_line(self, done: Finished) -> None:
        """What the library calls ScanOptions::lengths is --lengths here."""
        for text in (done.out, done.err):
            self.assertNotRegex(text, r"\w+Options::|(parse_token_ids)\(\)")

    def succeed(self, *arguments, **options) -> Finished:
        done = run(*arguments, cwd=self.folder, **options)
        self.speaks_of_the_command_line(done)
        self.assertEqual(done.code, 0, f"{arguments}: {done.err}")
        if arguments[0] == "scan" and "--json" in arguments:
            validate_text(done.out, "what --json prints")
        return done

    def saved(self, *arguments, out: str = "out") -> tuple[dict, Finished]:
        """What a command saves in a folder, and what it says."""
        done = self.succeed(*arguments, "--out", out, "--force")
        return validate(self.folder / out / "results.json"), done

    def refuse(self, code: int, *arguments, says=(), form: bool = True, **options) -> str:
        """The message of a run that must fail: with this exit code and one line, with nothing on
        stdout, and with no file made or changed."""
        before = files_in(self.folder)
        done = run(*arguments, cwd=self.folder, **options)
        message = f"{arguments} said: {done.err!r}"
        self.speaks_of_the_command_line(done)
        self.assertEqual(done.code, code, message)
        self.assertTrue(done.err.startswith("headgauge: "), message)
        self.assertTrue(done.err.endswith("\n"), message)
        self.assertEqual(done.err.count("\n"), 1, message)
        self.assertEqual(done.out, "", message)
        if form:  # where: expected E, found F; what to do
            self.assertRegex(done.err, r"^headgauge: .+: expected .+, found .+; .+\n$", message)
        for part in (says,) if isinstance(says, str) else says:
            self.assertIn(part, done.err, message)
        self.assertEqual(files_in(self.folder), before, message)
        return done.err

    def refuse_each(self, *rows, base=()) -> None:
        """Rows of an exit code, the words behind `base`, and the parts of the message."""
        for code, words, *says in rows:
            with self.subTest(words):
                self.refuse(code, *base, *words.split(), says=says)
