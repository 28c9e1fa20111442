"""Slopes and forecasts of the reference, on curves whose laws are known."""

from __future__ import annotations

import math
import unittest

import numpy as np

from tests.reference.averages import RowIndex, position_edges
from tests.reference.dispersion import Curve, dispersion, forecast, octaves, slope


def rows(longest: int) -> tuple[np.ndarray, RowIndex, list[int]]:
    t = np.arange(1, longest + 1)
    return t, RowIndex.of([t], [longest]), position_edges([longest])


class Laws(unittest.TestCase):
    def test_power_laws(self) -> None:
        t, index, edges = rows(512)
        for power in (0.0, 0.5, 1.0):
            found = dispersion(power * np.log(t), t**-power, t, index, edges)
            self.assertAlmostEqual(found.entropy[0], power, delta=1e-9)
            self.assertAlmostEqual(found.entropy[1], 0.0, delta=1e-9)
            self.assertAlmostEqual(found.max_weight[0], -power, delta=1e-9)
            self.assertEqual(found.holds, 1.0)
            ahead = np.arange(513, 1025) ** power
            self.assertAlmostEqual(found.forecast[0, 0] / ahead.mean(), 1.0, delta=5e-3)

    def test_a_short_text_has_slopes_only(self) -> None:
        t, index, edges = rows(16)
        found = dispersion(np.log(t), 1.0 / t, t, index, edges)
        self.assertAlmostEqual(found.entropy[0], 1.0, delta=1e-9)
        self.assertTrue(np.isnan(found.forecast).all())
        self.assertTrue(math.isnan(found.holds))

    def test_octaves_join_narrow_bins(self) -> None:
        self.assertEqual(octaves([64, 128, 256, 300]), [[(64, 128)], [(128, 256), (256, 300)]])

    def test_worked_example(self) -> None:
        """Steps of slope 1, 0, 1 with weights 1/2, 1/sqrt 2, 1."""
        x = np.arange(4) * math.log(2.0)
        found = slope(Curve(x, x, x[[0, 1, 1, 2]]))
        total = 1.5 + math.sqrt(0.5)
        self.assertAlmostEqual(found[0], 1.5 / total, delta=1e-12)
        self.assertTrue(math.isnan(forecast(Curve(x, x, x), 3.0)[0]))


if __name__ == "__main__":
    unittest.main()
