"""Every public call of Python with arguments of other types: an error that says what is wrong, and no crash."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import hostile
import numpy as np

import headgauge
from headgauge import errors
from headgauge._change import _plan_text


class Calls(unittest.TestCase):
    def test_every_argument_of_every_public_call(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-X", "faulthandler", hostile.__file__, folder, "all"]
            paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
            env = {**os.environ, "PYTHONPATH": paths}
            done = subprocess.run(command, capture_output=True, cwd=folder, env=env, timeout=300, check=False)
            said = done.stderr.decode("utf-8", "replace")
            last = done.stdout.decode("utf-8", "replace").splitlines()[-1:]
            self.assertEqual(done.returncode, 0, f"after {last}: {said[-6000:]}")

    def test_no_public_name_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tried = {name.split(".")[0] for name in hostile.good(Path(folder))} | hostile.PLAIN
        torch = importlib.util.find_spec("torch") and importlib.util.find_spec("transformers")
        self.assertEqual(tried if torch else tried | hostile.OF_TORCH, set(headgauge.__all__))

    def test_an_option_that_json_does_not_have_is_named(self) -> None:
        for option, value in (
            ("temperatures", [float("nan")]),
            ("top_share", [float("inf")]),
            ("normalizer", "\ud800"),
            ("seed", 10**400),
            ("layers", b"1"),
        ):
            with self.subTest(option), self.assertRaisesRegex(errors.UsageError, option):
                headgauge.scan(hostile.MODEL, hostile.IDS, **hostile.QUICK, **{option: value})
        with self.assertRaisesRegex(errors.BadInputError, r"scale: expected a number, found 'x'"):
            headgauge.analyze(np.ones((4, 2)), np.ones((4, 2)), scale="x")  # type: ignore[arg-type]

    def test_a_plan_that_is_no_json_is_named(self) -> None:
        circle: dict[str, object] = {}
        circle["heads"] = circle
        for rule in ({0: np.zeros((2, 0))}, {"heads": {1, 2}}, circle):
            with self.assertRaisesRegex(errors.UsageError, "^rule: expected a plan of JSON values"):
                _plan_text(rule)

    def test_no_journals_are_no_shards(self) -> None:
        with self.assertRaisesRegex(errors.UsageError, "merge: expected folders of shards, found none"):
            headgauge.merge([])
        with self.assertRaisesRegex(errors.UsageError, "folders: expected a list of folders, found str"):
            headgauge.merge("part1")

    def test_objects_of_ones_own_say_what_is_wrong_with_them(self) -> None:
        for own, option in ((hostile.NoMetrics, "measures"), (hostile.NoName, "normalizer")):
            with self.subTest(option), self.assertRaisesRegex(errors.UsageError, own.__name__):
                headgauge.scan(hostile.MODEL, hostile.IDS, **{**hostile.QUICK, option: [own()]})


class Masked(unittest.TestCase):
    class Few(headgauge.Measure):
        metrics = {"few": ("1", "1 where a row counts")}  # noqa: RUF012

        def observe(self, rows: headgauge._own.Rows) -> dict[str, object]:
            values = np.where(rows.query % 8 == 0, 1.0, 1000.0)
            return {"few": np.ma.array(values, mask=rows.query % 8 > 0)}

    class Complex(Few):
        def observe(self, rows: headgauge._own.Rows) -> dict[str, object]:
            return {"few": rows.query * 1j}

    def test_a_masked_row_of_a_measure_is_undefined(self) -> None:
        found = headgauge.scan(hostile.MODEL, hostile.IDS, lengths=[16], measures=[self.Few()])["few"]
        self.assertEqual(set(found.values.ravel()), {1.0})
        assert found.rows is not None
        self.assertEqual(set(found.rows.ravel()), {2})

    def test_complex_numbers_are_refused(self) -> None:
        with self.assertRaisesRegex(errors.BadInputError, "few: expected real numbers, found complex128"):
            headgauge.scan(hostile.MODEL, hostile.IDS, lengths=[16], measures=[self.Complex()])

    def test_a_mask_that_hides_numbers_is_refused_elsewhere(self) -> None:
        q = np.ma.array(np.ones((4, 2), np.float32), mask=[[False, True]] * 4)
        with self.assertRaisesRegex(errors.BadInputError, "q: expected numbers, found an array with a mask"):
            headgauge.analyze(q, q)
        ids = np.ma.array(hostile.IDS, mask=[k % 2 for k in range(len(hostile.IDS))])
        with self.assertRaisesRegex(errors.BadInputError, "with a mask"):
            headgauge.scan(hostile.MODEL, ids, **hostile.QUICK)
        with self.assertRaisesRegex(errors.BadInputError, "with a mask"):
            headgauge.scan(hostile.MODEL, [hostile.IDS, ids], **hostile.QUICK)
        for lengths in (np.ma.array([8, 16], mask=[0, 1]), [8, np.ma.array(16, mask=True)]):
            with self.assertRaisesRegex(errors.BadInputError, "lengths: .* with a mask"):
                headgauge.scan(hostile.MODEL, hostile.IDS, lengths=lengths)
        headgauge.analyze(np.ma.array(q.data), q.data)  # it hides nothing

    def test_half_a_layer_is_no_layer(self) -> None:
        for heads in ([(1.5, 0)], [(0, "1")], ["0.1.5"]):
            with self.assertRaisesRegex(errors.UsageError, "heads: expected"):
                headgauge.scan(hostile.MODEL, hostile.IDS, **hostile.QUICK, heads=heads)
