"""What tests/run.py makes of the reports of ctest, unittest and Vitest, as those write them."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tests import run
from tests.run import (
    Counts,
    failures,
    judge,
    parse_ctest,
    parse_gtest,
    parse_unittest,
    parse_vitest,
    vitest_failures,
)

# What ctest writes with --output-junit, without what the programs printed.
CTEST = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="{count}" failures="1" disabled="0" skipped="1">
{cases}
</testsuite>
"""
RAN = '<testcase name="{}" classname="{}" time="0.02" status="run"><system-out/></testcase>'
FAILED = '<testcase name="{}" status="fail"><failure message=""/><system-out/></testcase>'
SKIPPED = (
    '<testcase name="{}" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>'
)
NOT_BUILT = '<testcase name="{}" status="notrun"><skipped message="Unable to find executable"/></testcase>'
DISABLED = '<testcase name="{}" status="disabled"><disabled message=""/></testcase>'


def ctest(*cases: str) -> str:
    named = [case.format(name, name) for case, name in zip(cases, "abcdefgh", strict=False)]
    return CTEST.format(count=len(cases), cases="\n".join(named))


def gtest(*results: str) -> str:
    """A report of GoogleTest: of a result each, COMPLETED, SKIPPED, SUPPRESSED or FAILED."""
    cases = []
    for result in results:
        case: dict[str, object] = {"name": "Case", "status": "RUN", "result": result}
        if result == "SUPPRESSED":
            case["status"] = "NOTRUN"
        if result == "FAILED":
            case |= {"result": "COMPLETED", "failures": [{"failure": "Expected equality", "type": ""}]}
        cases.append(case)
    return json.dumps({"tests": len(cases), "testsuites": [{"name": "Suite", "testsuite": cases}]})


def vitest(files: list[list[str]], broken: int = 0) -> str:
    tests = [status for file in files for status in file]
    results = [
        {
            "status": "failed" if "failed" in file else "passed",
            "name": "a.test.ts",
            "assertionResults": [
                {"status": status, "fullName": "a", "failureMessages": []} for status in file
            ],
        }
        for file in files
    ]
    results += [{"status": "failed", "name": "b.test.ts", "assertionResults": []}] * broken
    return json.dumps(
        {
            "numTotalTests": len(tests),
            "numPassedTests": tests.count("passed"),
            "numFailedTests": tests.count("failed"),
            "testResults": results,
        }
    )


OF_SEVERAL = gtest("COMPLETED", "FAILED", "COMPLETED", "SKIPPED", "SUPPRESSED", "COMPLETED")
GOOD, MIXED, BAD = gtest("COMPLETED"), gtest("COMPLETED", "SKIPPED"), gtest("FAILED", "FAILED", "COMPLETED")


class Reports(unittest.TestCase):
    def test_each_is_counted_or_is_none(self) -> None:
        for parsed, counts in (
            (parse_gtest(OF_SEVERAL), Counts(passed=3, failed=1, skipped=2)),
            (parse_gtest('{"tests": 0, "testsuites": []}'), Counts()),
            (parse_gtest(""), None),
            (parse_gtest("[]"), None),
            (parse_gtest('{"testsuites": [{}]}'), None),
            # A program without a report counts as one test.
            (parse_ctest(ctest(RAN, FAILED, SKIPPED, NOT_BUILT, DISABLED), {}), Counts(1, 2, 2)),
            (parse_ctest(ctest(RAN, FAILED, RAN), {"a": MIXED, "b": BAD}), Counts(3, 2, 1)),
            # A program that fails though its tests pass, that dies, or whose report is cut off.
            (parse_ctest(ctest(FAILED), {"a": GOOD}), Counts(1, 1)),
            (parse_ctest(ctest(FAILED, RAN), {"b": GOOD}), Counts(1, 1)),
            (parse_ctest(ctest(FAILED), {"a": GOOD[:-9]}), Counts(0, 1)),
            (parse_ctest("", {}), None),
            (parse_ctest("No tests were found!!!", {}), None),
            (parse_unittest("....\n" + "-" * 70 + "\nRan 4 tests in 0.001s\n\nOK\n"), Counts(4)),
            (parse_unittest("Ran 1 test in 0.001s\n\nOK\n"), Counts(1)),
            (parse_unittest("Ran 9 tests in 1s\n\nOK (skipped=2, expected failures=1)\n"), Counts(7, 0, 2)),
            (
                parse_unittest(
                    "Ran 9 tests in 1s\n\nFAILED (failures=1, errors=2, skipped=1, unexpected successes=1)\n"
                ),
                Counts(4, 4, 1),
            ),
            # A class that fails as a whole.
            (parse_unittest("Ran 0 tests in 0.000s\n\nFAILED (errors=1)\n"), Counts(failed=1)),
            (parse_unittest("Traceback (most recent call last):\n"), None),
            (parse_unittest("Ran 3 tests in 0.1s\nSegmentation fault\n"), None),
            (parse_vitest(vitest([["passed", "passed", "pending"], ["failed", "passed"]])), Counts(3, 1, 1)),
            (parse_vitest(vitest([["passed"]], broken=1)), Counts(1, 1)),
            (parse_vitest(""), None),
            (parse_vitest("{}"), None),
        ):
            self.assertEqual(parsed, counts)
        self.assertEqual((vitest_failures(""), vitest_failures("{}")), (([], []), ([], [])))

    def test_what_ctest_writes_now(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "CTestTestfile.cmake").write_text(
                "add_test(good cmake -E true)\n"
                "add_test(bad cmake -E false)\n"
                "add_test(absent does-not-exist)\n"
                "add_test(disabled cmake -E true)\n"
                "set_tests_properties(disabled PROPERTIES DISABLED TRUE)\n"
                "add_test(skipped cmake -E echo SKIPPED)\n"
                "set_tests_properties(skipped PROPERTIES SKIP_REGULAR_EXPRESSION SKIPPED)\n"
            )
            command = ["ctest", "--test-dir", name, "--output-junit", str(folder / "junit.xml")]
            subprocess.run(command, capture_output=True, check=False)
            text = (folder / "junit.xml").read_text()
        self.assertEqual(parse_ctest(text, {}), Counts(passed=1, failed=2, skipped=2))
        self.assertEqual(parse_ctest(text, {"good": gtest("COMPLETED")}), Counts(1, 2, 2))

    def test_what_unittest_prints_now(self) -> None:
        class Sample(unittest.TestCase):
            def test_good(self) -> None:
                pass

            def test_bad(self) -> None:
                self.fail()

            def test_error(self) -> None:
                raise RuntimeError

            @unittest.skip("on purpose")
            def test_skipped(self) -> None:
                pass

            @unittest.expectedFailure
            def test_surprise(self) -> None:
                pass

        stream = io.StringIO()
        unittest.TextTestRunner(stream=stream).run(unittest.defaultTestLoader.loadTestsFromTestCase(Sample))
        self.assertEqual(parse_unittest(stream.getvalue()), Counts(1, 3, 1))

    def test_says_what_failed_and_what_failed_once(self) -> None:
        def test(name: str, status: str, *messages: str) -> dict[str, object]:
            said = [f"Error: {message}\n    at file.ts:1:2" for message in messages]
            return {"fullName": name, "status": status, "failureMessages": said}

        tests = [test("good", "passed"), test("bad", "failed", "b1", "b2"), test("late", "passed", "l1")]
        files = [
            {"name": "/x/a.test.ts", "status": "failed", "assertionResults": tests},
            {"name": "/x/b.test.ts", "status": "failed", "assertionResults": [], "message": "no such module"},
        ]
        self.assertEqual(
            vitest_failures(json.dumps({"testResults": files})),
            (["a.test.ts > bad: Error: b1", "b.test.ts: no such module"], ["a.test.ts > late: Error: l1"]),
        )

    def test_verdicts(self) -> None:
        for counts, status, judged in (
            (Counts(3, 0, 1), 0, Counts(3, 0, 1)),
            (Counts(3, 2, 1), 8, Counts(3, 2, 1)),  # not counted twice
            (Counts(3, 0, 0), 8, Counts(3, 1, 0)),
            (None, 0, Counts(failed=1)),
            (Counts(), 0, Counts(failed=1)),
            (Counts(skipped=4), 0, Counts(failed=1, skipped=4)),
        ):
            self.assertEqual(judge(counts, status)[0], judged)
        self.assertEqual(judge(Counts(skipped=4), 0, skippable=True), (Counts(skipped=4), ""))
        self.assertEqual(judge(Counts(), 0, skippable=True)[0], Counts(failed=1))


class Failures(unittest.TestCase):
    def test_names_of_every_runner_once_each(self) -> None:
        output = """\
3: [ RUN      ] Plans.AreFound
3: [  FAILED  ] Plans.AreFound (12 ms)
3: [  FAILED  ] 1 test, listed below:
3: [  FAILED  ] Plans.AreFound
[  FAILED  ] Every/Rule.Holds/2, where GetParam() = 4-byte object (3 ms)
[  FAILED  ] Types/A/0.Holds, where TypeParam = int (3 ms)
The following tests FAILED:
\t  3 - plan (SEGFAULT)
ERROR: Could not find a version
FAIL: test_a (tests.cli.test_x.Y.test_a)
ERROR: test_b (tests.cli.test_x.Y.test_b)
\x1b[31mFAIL: test_c (tests.cli.test_x.Y.test_c)\x1b[39m
FAILED (failures=1, errors=1)
[       OK ] Plans.AreKept (1 ms)
ok
"""
        self.assertEqual(
            failures(output),
            [
                "Plans.AreFound",
                "Every/Rule.Holds/2, where GetParam() = 4-byte object",
                "Types/A/0.Holds, where TypeParam = int",
                "plan (SEGFAULT)",
                "test_a (tests.cli.test_x.Y.test_a)",
                "test_b (tests.cli.test_x.Y.test_b)",
                "test_c (tests.cli.test_x.Y.test_c)",
            ],
        )


class WholeRun(unittest.TestCase):
    """main() with the commands replaced by their reports."""

    def run_main(
        self,
        reports: dict[str, tuple[int, str]],
        *stages: str,
        made: dict[str, str] | None = None,
        stale: dict[str, str] | None = None,
        clang: str = "no-compiler",
    ) -> tuple[int, list[str]]:
        """Exit status and lines. `made` are the reports that programs leave, `stale` those before."""

        def write(root: Path, files: dict[str, str] | None) -> None:
            for name, text in (files or {}).items():
                file = root / "build/asan/gtest" / f"{name}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)

        def fake(command: list[str], environment: object = None, title: object = None) -> tuple[int, str]:
            line = " ".join(command)
            for part, report in reports.items():
                if part in line:
                    for file in ("--outputFile=", "--output-junit "):
                        if file in line:
                            Path(line.partition(file)[2]).write_text(report[1])
                    if "--output-junit " in line:
                        write(run.ROOT, made)
                    return report
            return 0, ""

        out = io.StringIO()
        with (
            tempfile.TemporaryDirectory() as root,
            mock.patch.object(run, "run", fake),
            mock.patch.object(run, "ROOT", Path(root)),
            mock.patch.object(run, "CLANG", clang),
            contextlib.redirect_stdout(out),
        ):
            for name in ("cli/test_b.py", "cli/test_a.py", "scan/test_c.py"):
                file = Path(root) / "tests" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("")
            write(Path(root), stale)
            status = run.main(list(stages))
        return status, out.getvalue().splitlines()

    def test_totals_are_the_last_line(self) -> None:
        status, lines = self.run_main(
            {
                "build/release": (0, ctest(RAN, RAN, SKIPPED)),
                "build/asan": (0, ctest(RAN)),
                "unittest": (0, "Ran 5 tests in 1s\n\nOK (skipped=1)\n"),  # three files
                "--silent test": (0, vitest([["passed", "passed", "pending"]])),  # twice
            }
        )
        self.assertEqual(status, 0)
        self.assertEqual(lines[-1], "22 passed, 0 failed, 6 skipped")  # layout, wheel, tsc

    def test_files_of_a_folder_share_a_line(self) -> None:
        report = {"unittest": (0, "Ran 5 tests in 1s\n\nOK (skipped=1)\n")}
        _, lines = self.run_main(report, "python")
        rows = lines[lines.index("== summary") + 1 : -1]
        self.assertTrue(rows.pop(0).startswith("install torch "))
        self.assertEqual(sorted(row.split()[1] for row in rows), ["(tests/cli)", "(tests/scan)"])
        self.assertTrue(any(row.endswith("8 passed, 0 failed, 2 skipped") for row in rows))

    def test_reports_of_this_run_alone_are_counted(self) -> None:
        made = {"a": gtest("COMPLETED", "COMPLETED")}
        stale = {"b": gtest("COMPLETED", "COMPLETED")}
        status, lines = self.run_main({"build/asan": (8, ctest(RAN, FAILED))}, "asan", made=made, stale=stale)
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed, 0 skipped"))

    def test_one_failure_anywhere(self) -> None:
        for stage, reports, expected in (
            ("asan", {"build/asan": (8, ctest(RAN, FAILED))}, (1, "1 passed, 1 failed, 0 skipped")),
            ("release", {"cmake --build": (1, "error")}, (1, "0 passed, 1 failed, 0 skipped")),
            (
                "web",  # types that do not check
                {"check": (2, ""), "--silent test": (0, vitest([["passed"]]))},
                (1, "2 passed, 1 failed, 0 skipped"),
            ),
            ("layout", {"layout.sh --check": (0, "")}, (0, "1 passed, 0 failed, 0 skipped")),
            ("layout", {"layout.sh --check": (1, "")}, (1, "0 passed, 1 failed, 0 skipped")),
        ):
            status, lines = self.run_main(reports, stage)
            self.assertEqual((status, lines[-1]), expected)
        # The tools of the check are not there.
        _, lines = self.run_main({"layout.sh --check": (77, "")}, "layout")
        self.assertEqual(lines[-1], "0 passed, 0 failed, 1 skipped")

    def test_asan_is_compiled_with_clang_where_that_is(self) -> None:
        _, lines = self.run_main({"build/asan-clang": (0, ctest(RAN))}, "asan", clang="true")
        self.assertEqual(lines[-1], "1 passed, 0 failed, 0 skipped")
        status, _ = self.run_main({"build/asan-clang": (0, ctest(RAN))}, "asan")
        self.assertEqual(status, 1)

    def test_an_unknown_stage_is_refused(self) -> None:
        with self.assertRaises(SystemExit) as raised, contextlib.redirect_stderr(io.StringIO()):
            run.main(["relase"])
        self.assertEqual(raised.exception.code, 2)


class Commands(unittest.TestCase):
    def test_output_and_status_come_back(self) -> None:
        program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            status, output = run.run([sys.executable, "-u", "-c", program])
        self.assertEqual(status, 3)
        self.assertEqual(sorted(output.split()), ["err", "out"])
        self.assertEqual(shown.getvalue(), output)

    def test_environment_is_added_to(self) -> None:
        program = "import os; print(os.environ['HEADGAUGE_SAMPLE'], 'PATH' in os.environ)"
        with contextlib.redirect_stdout(io.StringIO()):
            _, output = run.run([sys.executable, "-c", program], {"HEADGAUGE_SAMPLE": "x"})
        self.assertEqual(output, f"x {'PATH' in os.environ}\n")
