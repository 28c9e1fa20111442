#!/usr/bin/env python3
"""Runs every model type of the installed transformers, made tiny, and writes what becomes of each to docs/model-types.md.

    tools/architectures.py [--check] [--jobs N] [TYPE...]     TYPE: these alone, which are printed

Each works (outputs the same bits while it is watched, entropy within 1e-5 of eager attention's own weights), is
refused by a sentence, or cannot be made tiny. Ends with status 1 where one does neither of these. --check writes
nothing and ends with 1 where the table is stale; of another transformers than the table's it says what differs.
Run by make test-python-all in its environment; python/tests/architectures.py is what a worker runs.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import select
import subprocess
import sys
import threading
from pathlib import Path

import transformers

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/model-types.md"
MARKED = re.compile(r"(<!-- tools/architectures\.py -->\n).*?(<!-- end architectures -->)", re.DOTALL)
LIMIT = 900  # seconds that a model type may wait; what computes for long a worker ends itself
Outcomes = dict[str, tuple[str, str]]


class Worker:
    """A process that runs one model type after the other; another takes its place where it is too slow or dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, kind: str) -> tuple[str, str]:
        process = self._process = self._process or subprocess.Popen(
            [sys.executable, ROOT / "python/tests/architectures.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{kind}\n".encode())
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], LIMIT)
        line = process.stdout.readline() if ready else b""
        if line:
            kind_of, text = json.loads(line)
            return kind_of, text
        process.kill()
        status, self._process = process.wait(), None
        return "not run", f"the process ended with {status}" if ready else f"more than {LIMIT} s"

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def run(kinds: list[str], jobs: int) -> Outcomes:
    left: queue.SimpleQueue[str] = queue.SimpleQueue()
    for kind in kinds:
        left.put(kind)
    found: Outcomes = {}

    def work() -> None:
        worker = Worker()
        try:
            while True:
                kind = left.get_nowait()
                found[kind] = worker.ask(kind)
                if found[kind][0] == "wrong":
                    print(f"{kind}: {found[kind][1]}", file=sys.stderr, flush=True)
        except queue.Empty:
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {kind: found[kind] for kind in kinds}


def listed(kinds: list[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in sorted(kinds))


def sentence(text: str) -> str:
    """Of a refusal, without what differs from model to model."""
    text = re.sub(r"^[\w.]+: ", "", text)
    text = re.sub(r"\([^)]+\)|\{[^}]*\}|\[[^]]*\]", "...", text)
    return re.sub(r"\d+", "N", text).replace("|", "\\|")


def table(found: Outcomes) -> str:
    groups: dict[str, list[str]] = {}
    of = {
        name: [kind for kind, (it, _) in found.items() if it == name]
        for name in ("works", "refused", "not run")
    }
    for kind in of["refused"]:
        groups.setdefault(sentence(found[kind][1]), []).append(kind)
    rows = [("works", len(of["works"]), listed(of["works"]))]
    rows += [
        (f"refused: {text}", len(some), listed(some))
        for text, some in sorted(groups.items(), key=lambda g: -len(g[1]))
    ]
    rows.append(("not made tiny", len(of["not run"]), listed(of["not run"])))
    counts = (
        f"{len(of['works'])} work, {len(of['refused'])} are refused, {len(of['not run'])} cannot be made tiny"
    )
    lines = [f"transformers {transformers.__version__}, {len(found)} model types: {counts}.", ""]
    lines += ["| outcome | types | which |", "| --- | --- | --- |"]
    return "\n".join([*lines, *(f"| {text} | {count} | {some} |" for text, count, some in rows)]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the table is stale")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("types", nargs="*", metavar="TYPE")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "python/tests"))
    from tiny import kinds

    found = run(options.types or kinds(), options.jobs)
    wrong = [f"{kind}: {text}" for kind, (it, text) in found.items() if it == "wrong"]
    if options.types:
        print("\n".join(f"{kind}: {it} {text}" for kind, (it, text) in found.items()))
        return 1 if wrong else 0
    if wrong:
        print(f"{len(wrong)} neither work nor are refused", file=sys.stderr)
        return 1
    before = PAGE.read_text(encoding="utf-8")
    made = table(found)
    print(made.splitlines()[0])
    after = MARKED.sub(lambda marks: marks[1] + made + marks[2], before)
    if not options.check:
        PAGE.write_text(after, encoding="utf-8")
    elif f"transformers {transformers.__version__}, " not in before:
        print(made)  # for another version the table says nothing
    elif after != before:
        print("stale: docs/model-types.md; run tools/architectures.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
