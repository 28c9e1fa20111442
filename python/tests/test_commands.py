"""The commands as functions: they give the numbers of the program, and report as Python does."""

import csv
import os
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import headgauge
import numpy as np
from headgauge import errors

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "demo" / "model"
TEXT = ROOT / "demo" / "text.txt"
WORDS = TEXT.read_text("utf-8")
BINARY = Path(os.environ.get("HEADGAUGE_BINARY", ROOT / "build" / "release" / "headgauge"))
IDS = [7 * k % 4000 + 1 for k in range(48)]
QUICK = {"lengths": [16, 32], "measures": ["weights", "distance"]}


def quick(text=WORDS, **options):
    """A scan that takes a few hundredths of a second."""
    return headgauge.scan(MODEL, text, **{**QUICK, **options})


class Stop(Exception):
    """What a test raises in the callable that is told of the progress."""


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def binary(self, *words):
        """What the program measures when it is told these words."""
        if not BINARY.exists():
            self.skipTest(f"there is no {BINARY}, with which to compare")
        out = self.folder / "out"
        call = [BINARY, *words, "--quiet", "--out", out]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        return headgauge.Results.load(out)

    def assert_same(self, one, other):
        """Metrics of the same names and the same bits; what something cost is another each time."""
        self.assertEqual(list(one.metrics), list(other.metrics))
        self.assertEqual(one.coords, other.coords)
        for name, metric in one.metrics.items():
            if name == "cost_seconds":
                continue
            for field in ("values", "stderr", "degrees_of_freedom", "rows"):
                a, b = getattr(metric, field), getattr(other[name], field)
                np.testing.assert_array_equal(a, b, err_msg=f"{name} {field}")


class ScanTest(CommandTest):
    words = ("scan", MODEL, "--lengths", "16,32", "--measures", "weights,distance")

    def test_a_text_and_the_file_that_holds_it_give_the_numbers_of_the_program(self):
        expected = self.binary(*self.words, "--text", TEXT)
        self.assert_same(quick(WORDS), expected)
        self.assert_same(quick(TEXT), expected)
        self.assert_same(quick(None, text=TEXT), expected)

    def test_ids_give_the_numbers_of_the_program(self):
        file = self.write("ids.txt", " ".join(map(str, IDS)))
        expected = self.binary(*self.words, "--tokens", file)
        for ids in (IDS, tuple(IDS), np.array(IDS), np.array(IDS, np.uint16), [np.int32(i) for i in IDS]):
            self.assert_same(quick(ids), expected)
        self.assert_same(quick(None, tokens=IDS), expected)
        self.assert_same(quick(None, tokens=str(file)), expected)

    def test_several_documents_give_the_numbers_of_the_program(self):
        parts = [WORDS[:2000], WORDS[2000:4000]]
        files = [self.write(f"{k}.txt", part) for k, part in enumerate(parts)]
        expected = self.binary(*self.words, "--text", *files)
        self.assert_same(quick(parts), expected)
        self.assert_same(quick(files), expected)
        self.assert_same(quick([parts[0], files[1]]), expected)

    def test_rows_of_ids_are_documents(self):
        rows = np.array([IDS, IDS[::-1]])
        self.assert_same(quick(rows), quick([IDS, IDS[::-1]]))
        self.assertEqual(quick(rows).document["text"]["tokens"], [32, 32])

    def test_a_path_is_never_taken_for_a_text_in_memory(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        self.write("text 1", WORDS[2000:4000])
        self.write("-dash.txt", WORDS[4000:6000])
        given = quick([WORDS[:2000], Path("text 1"), Path("-dash.txt")])
        self.assert_same(given, quick([WORDS[:2000], WORDS[2000:4000], WORDS[4000:6000]]))

    def test_what_is_no_text_is_refused(self):
        wrong = [b"bytes", {"input_ids": IDS}, 3, np.array(3), [], [1.5, 2.0], [[1], "text"], [[[1], [1, 2]]],
                 [-1, 2], [1, 2**31], [True, False], np.ones((2, 2, 2), int), "\ud800", "", [b"bytes"]]
        for text in wrong:
            with self.subTest(text=text), self.assertRaises(errors.BadInputError) as raised:
                quick(text)
            self.assertNotIn("\n", str(raised.exception))

    def test_the_id_that_is_too_large_is_named(self):
        with self.assertRaisesRegex(errors.BadInputError, "found 2147483648$"):
            quick([1, 2**31])

    def test_a_text_is_given_once(self):
        with self.assertRaisesRegex(TypeError, "twice"):
            quick(WORDS, text=WORDS)

    def test_what_is_no_model_is_refused(self):
        for model in (None, 3):
            with self.assertRaisesRegex(errors.UsageError, "^model: expected"):
                headgauge.scan(model, WORDS)
        for model in ("nonesuch-at-all", "--help", self.folder):
            with self.assertRaises(errors.BadInputError):
                headgauge.scan(model, WORDS)


class OptionsTest(CommandTest):
    def test_an_unknown_option_is_a_type_error_with_advice(self):
        with self.assertRaisesRegex(TypeError, r"^scan\(\) has no option 'length'; did you mean 'lengths'\?$"):
            quick(length=[32])
        for name in ("json", "quiet", "sort", "top", "zzz"):
            with self.assertRaisesRegex(TypeError, f"has no option '{name}'"):
                quick(**{name: True})

    def test_a_flag_takes_a_bool_alone(self):
        with self.assertRaisesRegex(TypeError, "^full: expected True or False, found 1"):
            headgauge.converge(MODEL, WORDS, full=1)

    def test_none_leaves_an_option_as_it_is(self):
        self.assert_same(quick(), quick(seed=None, heads=None, out=None))

    def test_lists_of_every_kind_are_lists(self):
        expected = quick(lengths="16,32")
        for lengths in ([16, 32], (16, 32), np.array([16, 32]), range(16, 33, 16), expected.coords["length"]):
            self.assert_same(quick(lengths=lengths), expected)
        self.assertEqual(quick(lengths=np.array(32)).coords["length"], [32])
        self.assertEqual(quick(layers=[0, 2], heads=["0.1", "2.*"]).coords["layer"], [0, 2])

    def test_true_and_false_are_words_too(self):
        for value in (True, False, np.False_):
            self.assertIs(quick(unit_sphere=value).settings["unit_sphere"], bool(value))

    def test_messages_use_the_names_of_python(self):
        with self.assertRaisesRegex(errors.UsageError, "^top_n: expected"):
            quick(top_n=[0])
        with self.assertRaises(errors.UsageError) as raised:
            headgauge.scan(MODEL)
        self.assertNotIn("--", str(raised.exception))
        # An error is also what Python users expect.
        self.assertIsInstance(raised.exception, ValueError)
        self.assertIsInstance(raised.exception, errors.Error)

    def test_out_is_written_as_the_program_does(self):
        results = quick(out=self.folder / "out")
        self.assert_same(headgauge.Results.load(self.folder / "out"), results)


class OtherCommandsTest(CommandTest):
    def test_compare_gives_the_numbers_of_the_program(self):
        expected = self.binary("compare", MODEL, "--text", TEXT, "--normalizers", "ssmax",
                               "--lengths", "32", "--measures", "weights")
        found = headgauge.compare(MODEL, WORDS, normalizers=["ssmax"], lengths=32, measures="weights")
        self.assert_same(found, expected)
        self.assertEqual(found.command, "compare")

    def test_converge_gives_the_numbers_of_the_program(self):
        words = ("--lengths", "32", "--grid", "4,8", "--replicates", "2", "--draws", "20", "--layers", "0")
        expected = self.binary("converge", MODEL, "--text", TEXT, *words)
        found = headgauge.converge(MODEL, WORDS, lengths=32, grid=[4, 8], replicates=2, draws=20, layers=0)
        self.assert_same(found, expected)

    def test_converge_needs_no_model_for_synthetic_tokens(self):
        with self.assertRaisesRegex(errors.UsageError, "^dimension: expected"):
            headgauge.converge(synthetic="gaussian", dimension=0)

    def test_validate_takes_two_texts(self):
        found = headgauge.validate(MODEL, [WORDS[:3000], WORDS[3000:]], lengths=64, layers=[0],
                                   measures="weights", permutations=99, resamples=99)
        self.assertEqual((found.command, len(found.coords["text"])), ("validate", 2))

    def test_diff_takes_results_and_paths(self):
        old, new = quick(WORDS[:3000]), quick(WORDS[3000:])
        old.save(self.folder / "old")
        new.save(self.folder / "new")
        found = headgauge.diff(old, new)
        self.assertEqual(found.coords["run"], ["old", "new"])
        values = found["entropy_change"].values
        expected = new["entropy"].values - old["entropy"].values
        axis = found["entropy_change"].dims.index("run") if "run" in found["entropy_change"].dims else None
        np.testing.assert_allclose(values if axis is None else values.take(-1, axis), expected, atol=1e-12)
        paths = (self.folder / "old", str(self.folder / "new" / "results.json"))
        self.assert_same(headgauge.diff(*paths), found)
        self.assert_same(headgauge.diff(old, paths[1], out=self.folder / "diff"), found)
        self.assertTrue((self.folder / "diff" / "results.json").exists())

    def test_phantom_writes_a_model_that_can_be_measured(self):
        self.assertIsNone(headgauge.phantom(self.folder / "phantom"))
        self.assertTrue((self.folder / "phantom" / "config.json").exists())

    def test_reproduce_leaves_no_files_behind(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        found = headgauge.reproduce("limits", MODEL, WORDS, lengths=[32])
        self.assertEqual(found.command, "reproduce limits")
        self.assertTrue(found.document["claims"])
        self.assertEqual(list(self.folder.iterdir()), [])
        with self.assertRaisesRegex(errors.UsageError, "^what: expected one of limits, tokens, found 'all'"):
            headgauge.reproduce("all", MODEL, WORDS)

    def test_plan_holds_what_was_found(self):
        found = headgauge.plan(
            MODEL, select=[WORDS[:1800], WORDS[1800:3600]], confirm=[WORDS[3600:5400], WORDS[5400:]],
            length=64, pieces=2, pattern=["window:size=16"], normalizers=["uniform"], curve=[0.5], screen=4,
            random_plans=2,
        )
        self.assertEqual(found.command, "plan")
        self.assertEqual(found.plan["schema"].split("/")[0], "headgauge.plan")

    def test_plan_refuses_ids(self):
        with self.assertRaisesRegex(errors.BadInputError, "^select: expected texts"):
            headgauge.plan(MODEL, select=[IDS], confirm=[IDS])


class RunningTest(CommandTest):
    def test_progress_is_called_with_the_stage_what_is_done_and_the_total(self):
        calls = []
        quick(progress=lambda *call: calls.append(call))
        self.assertTrue(calls)
        for stage, done, total in calls:
            self.assertIsInstance(stage, str)
            self.assertLessEqual(done, total)

    def test_an_exception_in_progress_comes_out_and_a_later_scan_works(self):
        expected = quick()

        def fail(*_):
            raise Stop("here")

        with self.assertRaisesRegex(Stop, "here"):
            quick(progress=fail)
        self.assert_same(quick(), expected)

    def test_ctrl_c_ends_a_scan_and_a_later_scan_works(self):
        expected = quick()
        calls = []

        def interrupt(*call):
            calls.append(call)
            if len(calls) == 1:
                signal.raise_signal(signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            quick(progress=interrupt, out=self.folder / "out")

        def raise_it(*_):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            quick(progress=raise_it)
        self.assert_same(quick(), expected)

    def test_other_threads_run_during_a_scan(self):
        # Each step of the scan waits for the other thread, which can only run if this one lets it.
        steps, answers = threading.Semaphore(0), threading.Semaphore(0)
        counted = []

        def count():
            while steps.acquire(timeout=60) and len(counted) < 10**6:
                if done.is_set():
                    return
                counted.append(len(counted))
                answers.release()

        done = threading.Event()
        thread = threading.Thread(target=count)
        thread.start()

        def step(*_):
            steps.release()
            self.assertTrue(answers.acquire(timeout=60))

        try:
            quick(progress=step)
        finally:
            done.set()
            steps.release()
            thread.join()
        self.assertTrue(counted)

    def test_a_thread_counts_while_the_core_computes(self):
        # Without a callable, nothing gives the lock away but the core itself: a scan that held it
        # would let the other thread count at most once between two steps of the interpreter.
        counted, done = [0], threading.Event()

        def count():
            while not done.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        headgauge.scan(MODEL, WORDS, lengths=[512])
        after = counted[0]
        done.set()
        thread.join()
        self.assertGreater(after - before, 1000)

    def test_two_scans_at_once_give_the_numbers_of_one_each(self):
        texts = (WORDS[:3000], WORDS[3000:])
        expected = [quick(text) for text in texts]
        found = [None, None]
        barrier = threading.Barrier(2)

        def scan(k):
            barrier.wait()
            found[k] = quick(texts[k])

        threads = [threading.Thread(target=scan, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one, other in zip(found, expected, strict=True):
            self.assert_same(one, other)


class HeadsCsvTest(CommandTest):
    def test_the_table_has_the_numbers_of_the_results(self):
        results = quick(out=self.folder)
        with open(self.folder / "heads.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        found = np.array([float(row["entropy"]) for row in rows])
        np.testing.assert_array_equal(found, results["entropy"].values.ravel())


if __name__ == "__main__":
    unittest.main()
