"""What the package shows of itself."""

import contextlib
import inspect
import io
import unittest
from pathlib import Path
from typing import ClassVar
from unittest import mock

import numpy as np

import headgauge
from headgauge import errors

ROOT = Path(__file__).parents[2]
MODEL, TEXT = ROOT / "demo/model", ROOT / "demo/text.txt"


class Mine(headgauge.Measure):
    metrics: ClassVar[dict[str, tuple[str, str]]] = {"mine": ("1", "one")}

    def observe(self, rows):
        assert isinstance(rows, headgauge.Rows)
        return {"mine": np.ones(len(rows.query))}


class PackageTest(unittest.TestCase):
    def test_dir_has_all_that_the_package_offers(self):
        shown = dir(headgauge)
        self.assertEqual(sorted(set(headgauge.__all__) - set(shown)), [])
        for name in ("use", "Monitor", "normalize", "HeadgaugeCallback", "scan", "__version__"):
            self.assertIn(name, shown)
        self.assertEqual(shown, sorted(shown))

    def test_a_line_of_progress_and_heads_as_pairs(self):
        options = {"lengths": [32], "measures": ["weights", Mine()]}
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = headgauge.scan(MODEL, TEXT, heads=[(0, 1), "1.2"], progress=True, **options)
        self.assertIn("mine", found.metrics)
        self.assertEqual(found._ipython_key_completions_(), list(found.metrics))
        self.assertEqual(found.settings["heads"], "0.1,1.2")
        self.assertRegex(said.getvalue(), r"^\r\w.*%.*\n$")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            headgauge.scan(MODEL, TEXT, progress=False, **options)
        self.assertEqual(said.getvalue(), "")
        with self.assertRaisesRegex(errors.UsageError, r'heads: expected \[\(1, 3\)\] or \["1.3"\]'):
            headgauge.scan(MODEL, TEXT, heads=[(1, 2, 3)], **options)

    def test_types_and_errors(self):
        types = {name: p.annotation for name, p in inspect.signature(headgauge.scan).parameters.items()}
        self.assertEqual(types["measures"], "str | Measure | Sequence[str | Measure] | None")
        self.assertIn("Pattern", types["pattern"])
        with (
            TEXT.open() as file,
            self.assertRaisesRegex(errors.BadInputError, "found an open file; give pathl"),
        ):
            headgauge.scan(MODEL, file)
        missing = ModuleNotFoundError("No module named 'torch'", name="torch")
        with mock.patch("importlib.import_module", side_effect=missing):
            for name in ("use", "monitor"):
                with self.assertRaisesRegex(ModuleNotFoundError, r'pip install "headgauge\[hf\]"'):
                    getattr(headgauge, name)
        missing = ModuleNotFoundError("No module named 'x'", name="pytorch_lightning")
        with (
            mock.patch("importlib.import_module", side_effect=missing),
            self.assertRaisesRegex(ModuleNotFoundError, "^pytorch_lightning: .*run: pip install lightning$"),
        ):
            _ = headgauge.lightning
