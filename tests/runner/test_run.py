"""What tests/run.py makes of the reports of ctest, unittest and Vitest, as those write them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

from tests import run
from tests.run import Counts, judge, parse_ctest, parse_unittest, parse_vitest

CTEST_MIXED = """\
Test project /home/someone/headgauge/build/release
    Start 1: a
1/5 Test #1: a ................................   Passed    0.02 sec
2/5 Test #2: b ................................***Failed    0.02 sec
3/5 Test #3: c ................................***Skipped   0.01 sec
4/5 Test #4: d ................................***Not Run   0.00 sec
5/5 Test #5: e ................................***Not Run (Disabled)   0.00 sec

50% tests passed, 2 tests failed out of 4

Total Test time (real) =   0.06 sec

The following tests did not run:
\t  3 - c (Skipped)
\t  5 - e (Disabled)

The following tests FAILED:
\t  2 - b (Failed)
\t  4 - d (Not Run)
"""

CTEST_GOOD = """\
100% tests passed, 0 tests failed out of 131

Total Test time (real) =   2.62 sec

The following tests did not run:
\t 17 - test_tokenize.Tokenizer.GoldenStrings (Skipped)
"""


class Ctest(unittest.TestCase):
    def test_failed_skipped_disabled_and_not_built(self) -> None:
        self.assertEqual(parse_ctest(CTEST_MIXED), Counts(passed=1, failed=2, skipped=2))

    def test_skipped_are_not_passed(self) -> None:
        self.assertEqual(parse_ctest(CTEST_GOOD), Counts(passed=130, skipped=1))

    def test_one_test_failed_is_singular(self) -> None:
        self.assertEqual(
            parse_ctest("99% tests passed, 1 tests failed out of 131\n"), Counts(130, 1)
        )
        self.assertEqual(parse_ctest("0% tests passed, 1 test failed out of 1\n"), Counts(0, 1))

    def test_no_summary(self) -> None:
        self.assertIsNone(parse_ctest("No tests were found!!!\n"))
        self.assertIsNone(parse_ctest(""))

    def test_what_a_test_prints_is_not_the_summary(self) -> None:
        text = CTEST_GOOD + CTEST_MIXED
        self.assertEqual(parse_ctest(text), Counts(1, 2, 2))


class Unittest(unittest.TestCase):
    def test_good(self) -> None:
        text = "....\n" + "-" * 70 + "\nRan 4 tests in 0.001s\n\nOK\n"
        self.assertEqual(parse_unittest(text), Counts(passed=4))

    def test_one(self) -> None:
        self.assertEqual(parse_unittest("Ran 1 test in 0.001s\n\nOK\n"), Counts(passed=1))

    def test_skipped_and_expected_failures(self) -> None:
        text = "Ran 9 tests in 1.000s\n\nOK (skipped=2, expected failures=1)\n"
        self.assertEqual(parse_unittest(text), Counts(passed=7, skipped=2))

    def test_failed(self) -> None:
        text = (
            "Ran 9 tests in 1.000s\n\n"
            "FAILED (failures=1, errors=2, skipped=1, unexpected successes=1)\n"
        )
        self.assertEqual(parse_unittest(text), Counts(passed=4, failed=4, skipped=1))

    def test_a_class_that_fails_as_a_whole(self) -> None:
        text = "Ran 0 tests in 0.000s\n\nFAILED (errors=1)\n"
        self.assertEqual(parse_unittest(text), Counts(failed=1))

    def test_no_summary(self) -> None:
        self.assertIsNone(parse_unittest("Traceback (most recent call last):\n"))
        self.assertIsNone(parse_unittest("Ran 3 tests in 0.1s\nSegmentation fault\n"))

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
        unittest.TextTestRunner(stream=stream).run(
            unittest.defaultTestLoader.loadTestsFromTestCase(Sample)
        )
        self.assertEqual(parse_unittest(stream.getvalue()), Counts(1, 3, 1))


class Vitest(unittest.TestCase):
    @staticmethod
    def report(files: list[list[str]], broken: int = 0) -> str:
        tests = [status for file in files for status in file]
        results = [
            {
                "status": "failed" if "failed" in file else "passed",
                "assertionResults": [{"status": status} for status in file],
            }
            for file in files
        ]
        results += [{"status": "failed", "assertionResults": []}] * broken
        return json.dumps(
            {
                "numTotalTests": len(tests),
                "numPassedTests": tests.count("passed"),
                "numFailedTests": tests.count("failed"),
                "testResults": results,
            }
        )

    def test_counts(self) -> None:
        text = self.report([["passed", "passed", "pending"], ["failed", "passed"]])
        self.assertEqual(parse_vitest(text), Counts(3, 1, 1))

    def test_a_file_that_does_not_load_has_failed(self) -> None:
        self.assertEqual(parse_vitest(self.report([["passed"]], broken=1)), Counts(1, 1, 0))

    def test_no_report(self) -> None:
        self.assertIsNone(parse_vitest(""))
        self.assertIsNone(parse_vitest("{}"))


class Judgement(unittest.TestCase):
    def test_good(self) -> None:
        self.assertEqual(judge(Counts(3, 0, 1), 0), (Counts(3, 0, 1), ""))

    def test_failures_are_not_counted_twice(self) -> None:
        self.assertEqual(judge(Counts(3, 2, 1), 8), (Counts(3, 2, 1), ""))

    def test_a_bad_exit_without_a_failed_test(self) -> None:
        self.assertEqual(judge(Counts(3, 0, 0), 8)[0], Counts(3, 1, 0))

    def test_no_summary(self) -> None:
        self.assertEqual(judge(None, 0)[0], Counts(failed=1))

    def test_nothing_ran(self) -> None:
        self.assertEqual(judge(Counts(), 0)[0], Counts(failed=1))
        self.assertEqual(judge(Counts(skipped=4), 0)[0], Counts(failed=1, skipped=4))


class WholeRun(unittest.TestCase):
    """main() with the commands replaced by their reports."""

    def run_main(self, reports: dict[str, tuple[int, str]], *stages: str) -> tuple[int, list[str]]:
        def fake(command: list[str], environment: object = None) -> tuple[int, str]:
            line = " ".join(command)
            for part, report in reports.items():
                if part in line:
                    if "--outputFile=" in line:
                        Path(line.partition("--outputFile=")[2]).write_text(report[1])
                    return report
            return 0, ""

        out = io.StringIO()
        with mock.patch.object(run, "run", fake), contextlib.redirect_stdout(out):
            status = run.main(list(stages))
        return status, out.getvalue().splitlines()

    def test_totals_are_the_last_line(self) -> None:
        status, lines = self.run_main(
            {
                "build/release": (0, CTEST_GOOD),
                "build/asan": (0, CTEST_GOOD),
                "unittest": (0, "Ran 5 tests in 1s\n\nOK (skipped=1)\n"),
                "--silent test": (0, Vitest.report([["passed", "passed", "pending"]])),
            }
        )
        folders = len({path.parent for path in run.ROOT.glob("tests/*/test_*.py")})
        self.assertEqual(status, 0)
        self.assertEqual(
            lines[-1], f"{264 + 4 * folders} passed, 0 failed, {4 + folders} skipped"
        )

    def test_one_failure_anywhere(self) -> None:
        status, lines = self.run_main({"build/asan": (8, CTEST_MIXED)}, "asan")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 2 failed, 2 skipped"))

    def test_types_that_do_not_check(self) -> None:
        reports = {"check": (2, ""), "--silent test": (0, Vitest.report([["passed"]]))}
        status, lines = self.run_main(reports, "web")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed, 0 skipped"))

    def test_a_build_that_fails(self) -> None:
        status, lines = self.run_main({"cmake --build": (1, "error")}, "release")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))

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


if __name__ == "__main__":
    unittest.main()
