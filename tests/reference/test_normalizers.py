"""The reference's normalizers: golden numbers, sums, and Jacobians against central differences."""

import math
import unittest

import numpy as np

from tests.reference.normalizers import NORMALIZERS, SOFTMAX, entmax, make_normalizer, sparsemax

SPECS = [
    *(spec for entry in NORMALIZERS.values() for spec in entry.compared),
    *("logn-qwen:train=8", "logn-entropy:train=8", "asentmax:beta=0.1", "sink:b=1", "sigmoid:b=1"),
]
STEP = 1e-5


class Goldens(unittest.TestCase):
    """Section 8 and the checks of section 6."""

    def weights(self, spec: str, *logits: float) -> list[float]:
        return list(make_normalizer(spec).weigh(np.array([logits]), len(logits), len(logits))[0])

    def test_weights(self) -> None:
        for spec, logits, expected in (
            ("sparsemax", (0.5, 0.2, -1.0), (0.65, 0.35, 0.0)),
            ("sparsemax", (-2.0, 0.0, 0.5), (0.0, 0.25, 0.75)),
            ("entmax", (-2.0, 0.0, 0.5), (0.0, 0.3260, 0.6740)),
            ("softpick", (1.0, -1.0), (0.731059, 0.0)),
            ("sasoftmax", (1.0, -1.0), (0.880797, 0.0)),
            ("sigmoid", (0.0, 0.0, 0.0, 0.0), (0.2,) * 4),
        ):
            np.testing.assert_allclose(self.weights(spec, *logits), expected, atol=1e-5)

    def test_scalable_softmax_keeps_what_stands_out(self) -> None:
        for n, expected in ((10, 0.6842), (100, 0.7934), (1000, 0.8812)):
            self.assertAlmostEqual(self.weights("ssmax", 3.0, *[0.0] * (n - 1))[0], expected, 4)

    def test_entmax_has_softmax_and_sparsemax_at_its_ends(self) -> None:
        logits = np.random.default_rng(1).normal(size=(20, 12))
        near = entmax(logits, 1.0 + 1e-6)
        np.testing.assert_allclose(near, SOFTMAX.weigh(logits, 12, 12), atol=1e-5)
        np.testing.assert_allclose(entmax(logits, 2.0), sparsemax(logits), atol=1e-12)

    def test_what_is_unknown_is_refused(self) -> None:
        for spec in ("softermax", "softmax:s=1"):
            self.assertRaises(ValueError, make_normalizer, spec)


class EveryNormalizer(unittest.TestCase):
    def test_sums_and_jacobians(self) -> None:
        generator = np.random.default_rng(0)
        for spec in SPECS:
            normalizer = make_normalizer(spec)
            for n in (2, 9):
                row = 0.8 * generator.normal(size=n)
                a = normalizer.weigh(row[None], n, n)[0]
                if normalizer.simplex:
                    self.assertAlmostEqual(a.sum(), 1.0, delta=1e-12, msg=spec)
                self.assertTrue((a >= 0.0).all(), spec)
                moved = np.concatenate([row + STEP * np.eye(n), row - STEP * np.eye(n)])
                up, down = np.split(normalizer.weigh(moved, n, n), 2)
                found, slopes = normalizer.jacobian(row, n, n), (up - down).T / (2 * STEP)
                np.testing.assert_allclose(found, slopes, atol=1e-7, err_msg=spec)
                steepest = normalizer.steepest(n, n)
                self.assertLessEqual(np.linalg.norm(found, 2), steepest * (1 + 1e-12), spec)

    def test_scales(self) -> None:
        scales = {"ssmax": 0.43 * math.log(7), "logn": math.log(7), "cosine": 10.0, "entmax": None}
        for spec, expected in scales.items():
            normalizer = make_normalizer(spec)
            self.assertEqual(normalizer.scale(7, 7) if normalizer.scale else None, expected)
