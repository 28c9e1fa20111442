#!/usr/bin/env python3
"""Prints the lines of product, tests and docs by folder, and their change since a commit.

    tools/lines.py    the commit is the one that tools/lines_since names

Lines are those of code as cloc counts them: no blank lines, no comments, each content once. Of docs/ only
Markdown counts. Files that git does not track do not count.
"""

from __future__ import annotations

import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {
    "product": ("src", "include", "cli", "web/src", "python/headgauge", "python/src"),
    "tests": ("tests", "web/test", "python/tests"),
    "docs": ("docs", "docs/notes"),
}


def folder_of(name: str) -> str | None:
    """Returns the folder of FOLDERS that a file counts in, the innermost one."""
    if name.startswith("docs/") and not name.endswith(".md"):
        return None
    inside = [folder for of in FOLDERS.values() for folder in of if name.startswith(f"{folder}/")]
    return max(inside, key=len, default=None)


def run(*command: str, at: pathlib.Path) -> str:
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"lines: {command[0]}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def lines(at: pathlib.Path, *options: str) -> collections.Counter[str]:
    """Counts the lines of each folder of the tree `at`."""
    there = [
        folder
        for of in FOLDERS.values()
        for folder in of
        if (at / folder).is_dir() and folder != "docs/notes"
    ]
    counted = json.loads(run("cloc", *options, "--by-file", "--json", "--quiet", *there, at=at))
    found: collections.Counter[str] = collections.Counter()
    for name, of in counted.items():
        folder = folder_of(name)
        if folder:
            found[folder] += of["code"]
    return found


def main() -> None:
    if not shutil.which("cloc"):
        print("lines: cloc is not installed; install it with `apt-get install cloc`", file=sys.stderr)
        sys.exit(2)
    commit = (ROOT / "tools/lines_since").read_text(encoding="utf-8").strip()
    now = lines(ROOT, "--vcs=git")
    with tempfile.TemporaryDirectory() as folder:
        run("git", "archive", f"--output={folder}/tree.tar", commit, at=ROOT)
        run("tar", "-xf", "tree.tar", at=pathlib.Path(folder))
        before = lines(pathlib.Path(folder))
    print(f"{'':20}{'lines':>8}{'since ' + commit:>18}")
    for kind, folders in FOLDERS.items():
        total, was = (sum(of[folder] for folder in folders) for of in (now, before))
        print(f"{kind:20}{total:8}{total - was:+18}")
        for folder in folders:
            print(f"  {folder:18}{now[folder]:8}{now[folder] - before[folder]:+18}")


if __name__ == "__main__":
    main()
