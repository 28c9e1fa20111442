"""The other commands; progress, interruption and threads."""

import json
import os
import pickle
import signal
import sys
import threading

import numpy as np
from commands import MODEL, TEXT, WORDS, CommandTest, at_once, quick

import headgauge
from headgauge import errors


class Stop(Exception):
    """What a test raises in the callable that is told of the progress."""


class OtherCommandsTest(CommandTest):
    def test_compare_gives_the_numbers_of_the_program(self):
        expected = self.binary(
            "compare", MODEL, "--text", TEXT, *"--normalizer ssmax --lengths 32 --measures weights".split()
        )
        found = headgauge.compare(MODEL, WORDS, normalizer=["ssmax"], lengths=32, measures="weights")
        self.assert_same(found, expected)
        self.assertEqual(found.command, "compare")

    def test_converge_gives_the_numbers_of_the_program(self):
        words = ("--lengths", "64", "--grid", "4,8", "--replicates", "2", "--draws", "20", "--layers", "0")
        expected = self.binary("converge", MODEL, "--text", TEXT, *words)
        found = headgauge.converge(MODEL, WORDS, lengths=64, grid=[4, 8], replicates=2, draws=20, layers=0)
        self.assert_same(found, expected)

    def test_converge_needs_no_model_for_synthetic_tokens(self):
        with self.assertRaisesRegex(errors.UsageError, "^dimension: expected"):
            headgauge.converge(synthetic="gaussian", dimension=0)

    def test_validate_takes_two_texts(self):
        few = {"lengths": 64, "layers": [0], "measures": "weights", "permutations": 99, "resamples": 99}
        found = headgauge.validate(MODEL, [WORDS[:3000], WORDS[3000:]], pattern="topk:k=16", **few)
        self.assertEqual((found.command, len(found.coords["text"])), ("validate", 2))

    def test_diff_takes_results_and_paths(self):
        old, new = quick(WORDS[:3000]), quick(WORDS[3000:])
        old.save(self.folder / "old")
        new.save(self.folder / "new")
        found = headgauge.diff(old, new)
        self.assertEqual(found.coords["run"], ["old", "new"])
        values = found["entropy_with_sinks_change"].values
        expected = new["entropy_with_sinks"].values - old["entropy_with_sinks"].values
        axis = (
            found["entropy_with_sinks_change"].dims.index("run")
            if "run" in found["entropy_with_sinks_change"].dims
            else None
        )
        np.testing.assert_allclose(values if axis is None else values.take(-1, axis), expected, atol=1e-12)
        paths = (self.folder / "old", str(self.folder / "new" / "results.json"))
        self.assert_same(headgauge.diff(*paths), found)
        self.assert_same(headgauge.diff(old, paths[1], out=self.folder / "diff"), found)
        self.assertTrue((self.folder / "diff" / "results.json").exists())

    def test_out_keeps_finished_results_of_another_call(self):
        old, new = quick(WORDS[:3000]), quick(WORDS[3000:])
        calls = {
            "scan": lambda seed, **how: quick(WORDS[:3000], seed=seed, **how),
            "diff": lambda seed, **how: headgauge.diff(old, new, level=0.05 * (seed + 1), **how),
            "series": lambda seed, **how: headgauge.series([old, new], level=0.05 * (seed + 1), **how),
            "analyze": lambda seed, **how: headgauge.analyze(
                np.eye(40, dtype=np.float32), np.eye(40, dtype=np.float32), seed=seed, **how
            ),
        }
        for name, call in calls.items():
            with self.subTest(name):
                out = self.folder / name
                for _ in range(2):
                    call(0, out=out)
                said = "^out: expected a folder without finished results of another request, .* with force$"
                with self.assertRaisesRegex(errors.UsageError, said):
                    call(1, out=out)
                call(1, out=out, force=True)
                old.save(out)
        self.assertEqual(headgauge.Results.load(self.folder / "diff").command, "scan")

    def test_diff_compares_texts_in_pairs(self):
        texts = [WORDS[first : first + 1500] for first in range(0, 6000, 1500)]
        old = [quick(text) for text in texts]
        new = [quick(text, normalizer="softmax:t=0.99") for text in texts]
        found = headgauge.diff(old, reversed(new))
        for name, runs in (("old", old), ("new", new)):
            for number, run in enumerate(runs):
                run.save(self.folder / name / str(number))
        of_paths = headgauge.diff(self.folder / "old", self.folder / "new")["entropy_with_sinks_change"]
        np.testing.assert_array_equal(of_paths.values, found["entropy_with_sinks_change"].values)
        with self.assertRaisesRegex(errors.UsageError, "^old 2: expected Results or a path, found int$"):
            headgauge.diff([old[0], 3], new)

    def test_series_takes_results_and_paths(self):
        runs = [quick(WORDS[first : first + 3000]) for first in (0, 1000, 2000)]
        found = headgauge.series(runs, steps=[0, 10, 40], metrics=["entropy_with_sinks"])
        self.assertEqual((found.command, found.coords["step"]), ("series", [0, 10, 40]))
        for step, run in enumerate(runs):
            np.testing.assert_array_equal(
                found["entropy_with_sinks"].values[..., step], run["entropy_with_sinks"].values[..., -1]
            )
        for number, run in enumerate(runs):
            run.save(self.folder / f"run-{number}")
        paths = [self.folder / f"run-{number}" for number in range(3)]
        saved = headgauge.series(paths, metrics="entropy_with_sinks", out=self.folder / "series")
        self.assertEqual(saved.coords["step"], [0, 1, 2])
        self.assertTrue((self.folder / "series" / "results.json").exists())
        frame = headgauge.Results.load(self.folder / "series").to_dataframe(long=False)
        self.assertEqual(frame.index.names, ["layer", "head", "step"])
        np.testing.assert_array_equal(frame["entropy_with_sinks"], found["entropy_with_sinks"].values.ravel())
        with self.assertRaises(errors.UsageError):
            headgauge.series(runs, steps=[3, 2, 1])

    def test_series_names_what_it_cannot_take(self):
        run = quick(WORDS[:3000])
        generated = headgauge.series(
            (one for one in (run, run)), steps=[0.5, 1e6], metrics="entropy_with_sinks"
        )
        self.assertEqual(generated.coords["step"], [0.5, 1e6])
        self.assertEqual([one["file"] for one in generated.settings["runs"]], ["results 1", "results 2"])
        self.assertEqual(headgauge.series([run, run], metrics="entropy_with_sinks").coords["step"], [1, 2])
        texts = [quick(WORDS[first : first + 1500]) for first in range(0, 6000, 1500)]
        apart = headgauge.series([texts, texts[::-1]], metrics="entropy_with_sinks")
        self.assertEqual(apart.settings["pairs"], 4)
        self.assertTrue((apart["series_change"].values == 0).all())
        for given, says in (
            (run, "results: expected a list of Results or paths, found Results"),
            ("scan-100", "results: expected a list of Results or paths, found str"),
            (3, "results: expected a list of Results or paths, found int"),
            ([run, 3], "results 2: expected Results or a path, found int"),
            ([run, None], "results 2: expected Results or a path, found NoneType"),
        ):
            with self.subTest(says), self.assertRaisesRegex(errors.UsageError, f"^{says}$"):
                headgauge.series(given)
        with self.assertRaisesRegex(errors.BadInputError, "results 2: expected the longest length"):
            headgauge.series([run, quick(WORDS[:3000], lengths=[64])])

    def test_diff_says_which_limits_are_exceeded(self):
        old, new = quick(WORDS[:3000]), quick(WORDS[3000:])
        self.assertEqual(headgauge.diff(old, new).exceeded, [])
        limits = self.folder / "limits.json"

        def exceeded(**limit: float) -> list[str]:
            document = {"schema": "headgauge.limits/1", "limits": [{"metric": "entropy_with_sinks", **limit}]}
            limits.write_text(json.dumps(document))
            found = headgauge.diff(old, new, limits=limits)
            self.assertEqual(pickle.loads(pickle.dumps(found)).exceeded, found.exceeded)
            return found.exceeded

        self.assertEqual(exceeded(max_increase=9, max_decrease=9), [])
        (sentence,) = exceeded(max_increase=0, max_decrease=0)
        self.assertRegex(
            sentence,
            r"^limit exceeded: entropy_with_sinks of head \d\.\d at length \d+: .* where 0 is allowed",
        )

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

    def test_plan_takes_texts_or_ids(self):
        options = {"lengths": 32, "pieces": 2, "random_plans": 2, "steps": 4}
        changes = {"pattern": ["window:size=16"], "normalizer": ["uniform"], "curve": [0.5]}
        texts = {"text_or_ids": [WORDS[:1800], WORDS[1800:3600]], "confirm": [WORDS[3600:5400]]}
        tokens = {name: [[ord(c) % 90 for c in text] for text in of] for name, of in texts.items()}
        for given in ({**texts, **changes}, tokens):
            found = headgauge.plan(MODEL, **given, **options)
            self.assertEqual(found.command, "plan")
            self.assertEqual(found.plan["schema"].split("/")[0], "headgauge.plan")
        with self.assertRaisesRegex(errors.BadInputError, "texts or token ids"):
            headgauge.plan(MODEL, texts["text_or_ids"], confirm=tokens["confirm"], **options)


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
        # Where the tests were started with SIGINT ignored (in the background), so it is here.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
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
        # With such an interval no thread is made to give Python's lock away: it is handed over only
        # where a thread waits, or where the core lets go of it.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        gate, ran = threading.Lock(), []

        def run():
            with gate:
                ran.append(True)

        gate.acquire()
        thread = threading.Thread(target=run)
        thread.start()
        sys.setswitchinterval(1000)
        gate.release()
        before = bool(ran)
        headgauge.scan(MODEL, WORDS, lengths=[256])
        after = bool(ran)
        sys.setswitchinterval(0.005)
        thread.join()
        self.assertEqual((before, after), (False, True))

    def test_two_scans_at_once_give_the_numbers_of_one_each(self):
        texts = (WORDS[:3000], WORDS[3000:])
        expected = [quick(text) for text in texts]
        for one, other in zip(at_once(quick, texts), expected, strict=True):
            self.assert_same(one, other)
