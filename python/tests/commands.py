"""What the tests of the commands share: the demo model, and the program to compare with."""

import concurrent.futures
import os
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import headgauge

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


def at_once(call, arguments):
    """What a call gives for each argument, in threads that begin together."""
    barrier = threading.Barrier(len(arguments), timeout=60)

    def called(argument):
        barrier.wait()
        return call(argument)

    with concurrent.futures.ThreadPoolExecutor(len(arguments)) as pool:
        return [*pool.map(called, arguments)]


def known(metric, field):
    """A field of a metric. Files leave out degrees of freedom where none is known."""
    values = getattr(metric, field)
    absent = values is not None and field == "degrees_of_freedom" and np.isnan(values).all()
    return None if absent else values


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

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
        """Metrics of the same names and the same bits."""
        self.assertEqual(list(one.metrics), list(other.metrics))
        self.assertEqual(one.coords, other.coords)
        for name, metric in one.metrics.items():
            for field in ("values", "stderr", "degrees_of_freedom", "low", "high", "p", "rows"):
                a, b = known(metric, field), known(other[name], field)
                np.testing.assert_array_equal(a, b, err_msg=f"{name} {field}")
