"""What is measured again and again does not fill the memory."""

import gc
import os
import unittest
from pathlib import Path

import numpy as np

import headgauge

STATM = Path("/proc/self/statm")


def resident():
    """The resident memory in bytes."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def draw(*shape):
    """Normal numbers as float32, the same each time."""
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@unittest.skipUnless(STATM.exists(), "there is no /proc/self/statm here, which tells the memory")
class MemoryTest(unittest.TestCase):
    def grown(self, call, times):
        """By how many MiB the memory grows while something is called so many times."""
        for _ in range(20):
            call()
        before = resident()
        for _ in range(times):
            call()
        return (resident() - before) / 2**20

    def test_analyze_gives_its_memory_back(self):
        # Each call holds 1 MiB of arrays, so that 200 that were kept would show.
        q, k = draw(8, 128, 256), draw(8, 128, 256)

        def call():
            results = headgauge.analyze(q, k, measures="weights", queries=2, lengths=[128])
            return results["entropy"].values

        self.assertLess(self.grown(call, 200), 8)

    def test_copies_are_given_back(self):
        q, k = draw(8, 128, 256).astype(np.float64), draw(8, 128, 256)
        options = {"measures": "weights", "queries": 2, "lengths": [128]}
        self.assertLess(self.grown(lambda: headgauge.analyze(q, k, **options), 100), 8)

    def test_errors_give_the_memory_back(self):
        q, k = draw(8, 128, 256).astype(np.float64), draw(8, 128, 256)

        def call():
            with self.assertRaises(headgauge.errors.UsageError):
                headgauge.analyze(q, k, top_n=[0])

        self.assertLess(self.grown(call, 100), 8)

    def test_metrics_and_tables_of_results_are_given_back(self):
        results = headgauge.analyze(draw(8, 128, 16), draw(8, 128, 16))

        def call():
            for metric in results.metrics.values():
                metric.values.sum()
            results._repr_html_()

        self.assertLess(self.grown(call, 50), 8)
