"""Against values of scipy and sums worked out by hand."""

import unittest

from tests.reference.inference import benjamini_hochberg, freedom_of_difference, p_of_t


class Inference(unittest.TestCase):
    def test_students_t_is_scipys(self) -> None:
        """2 * scipy.stats.t.sf(t, freedom)"""
        for t, freedom, p in (
            (2.1, 3.7, 2 * 0.05463235254111237),
            (4.0, 6, 0.007118977963748101),
            (0.0, 5, 1.0),
            (-1.3, 2, 2 * (1 - 0.8383764840919798)),
        ):
            self.assertAlmostEqual(p_of_t(t, freedom), p, delta=1e-12)

    def test_degrees_of_freedom(self) -> None:
        self.assertAlmostEqual(freedom_of_difference((1, 3), (1, 3)), 6)
        self.assertAlmostEqual(freedom_of_difference((1, 3), (2, 15)), 6)  # Welch's: 17.9
        self.assertEqual(freedom_of_difference((0, 3), (2, 5)), 5)

    def test_adjusted(self) -> None:
        self.assertEqual(benjamini_hochberg([0.04, 0.01, 0.5]), [0.06, 0.03, 0.5])
