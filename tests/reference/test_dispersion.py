"""Slopes and forecasts of the reference, on curves whose laws are known."""

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

    def test_worked_forecast(self) -> None:
        """Steps of slope 0, 1, 1 and 0.5 with weights 1/sqrt 8, 1/2, 1/sqrt 2, 1; their mean .625."""
        o = math.log(2.0)
        x = np.arange(5) * o
        value, low, high = forecast(Curve(x, 5 + x, o * np.array([0.0, 0.0, 1.0, 2.0, 2.5])), 5 * o)
        weights = np.array([8**-0.5, 0.5, 2**-0.5, 1.0])
        weights /= weights.sum()
        drift = weights[1] + weights[2] + 0.5 * weights[3]
        self.assertAlmostEqual(math.log(value), (2.5 + drift) * o, delta=1e-12)
        variance = o * (0.625**2 + 2 * 0.375**2 + 0.125**2) / 3
        deviation = math.sqrt(variance * (o + o * float(weights @ weights)))
        reach = 3.182446305 * deviation  # the 97.5 % point with 3 degrees of freedom
        self.assertAlmostEqual(math.log(high / value), reach, delta=1e-6)
        self.assertAlmostEqual(math.log(value / low), reach, delta=1e-6)

    def test_ends_with_the_positions(self) -> None:
        t, index, edges = rows(64)
        for positions, expected in ((None, 3), (512, 3), (511, 2), (128, 1), (64, 0)):
            found = dispersion(np.log(t), 1.0 / t, t, index, edges, positions)
            self.assertEqual(int((~np.isnan(found.forecast[:, 2])).sum()), expected)
