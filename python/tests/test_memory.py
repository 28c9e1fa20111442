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
        # Each call holds 1 MiB of arrays, so that those that were kept would show.
        q, k = draw(8, 128, 256), draw(8, 128, 256)
        copied = q.astype(np.float64)
        options = {"measures": "weights", "queries": 2, "lengths": [128]}

        def refused():
            with self.assertRaises(headgauge.errors.UsageError):
                headgauge.analyze(copied, k, top_n=[0])

        for call, times in (
            (lambda: headgauge.analyze(q, k, **options)["entropy_with_sinks"].values, 200),
            (lambda: headgauge.analyze(copied, k, **options), 100),
            (refused, 100),
        ):
            self.assertLess(self.grown(call, times), 8)

    def test_metrics_and_tables_of_results_are_given_back(self):
        results = headgauge.analyze(draw(8, 128, 16), draw(8, 128, 16))

        def call():
            for metric in results.metrics.values():
                metric.values.sum()
            results._repr_html_()

        self.assertLess(self.grown(call, 50), 8)
