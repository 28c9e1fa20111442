"""Runs the program, and the reference's comparison of what it wrote."""

import os
import subprocess
import sys
from pathlib import Path

from tests.places import BINARY, BUILD, ROOT

DEMO = ROOT / "demo/model"


def run(*command: str | Path | int) -> str:
    """What a command prints on stdout; fails with what it says on stderr."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stderr}{done.stdout}")
    return done.stdout


def headgauge(*arguments: str | Path | int) -> str:
    return run(BINARY, *arguments)


def token_ids(model: Path, text: Path = ROOT / "demo/text.txt") -> list[int]:
    """The text, the demo's unless another is named, by the model's own tokenizer."""
    program = BUILD / "tests/tokenize/print_token_ids"
    return [int(word) for word in run(program, model, text).split()]


def comparison(*arguments: str | Path | int, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of tests/reference/compare.py. Paths are absolute: it runs in the repository's root."""
    return subprocess.run(
        [sys.executable, "-m", "tests.reference.compare", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
