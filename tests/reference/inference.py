"""Student's t, the degrees of freedom of a difference and Benjamini and Hochberg, a second time."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tests.reference.arrays import Array

TERMS = 100  # four times as many change no bit for up to 10,000 degrees of freedom
log_gamma = np.vectorize(math.lgamma, otypes=[float])


def beta_share(a: npt.ArrayLike, b: npt.ArrayLike, x: npt.ArrayLike) -> Array:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22), and as
    1 - I_{1-x}(b, a) where that one converges faster."""
    a, b, x = (np.asarray(part, dtype=np.float64) for part in (a, b, x))
    other = x > (a + 1) / (a + b + 2)
    a, b = np.where(other, b, a)[()], np.where(other, a, b)[()]
    x = np.where(other, 1 - x, x)[()]
    value = np.zeros_like(x)[()]
    for term in range(TERMS, 0, -1):
        m = term // 2
        if term % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = d / (1 + value)
    logarithm = log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    with np.errstate(divide="ignore"):
        share = np.exp(logarithm + a * np.log(x) + b * np.log1p(-x)) / a / (1 + value)
    return np.where(other, 1 - share, share)


def p_of_t(t: npt.ArrayLike, freedom: npt.ArrayLike) -> Array:
    """How often Student's t is larger than |t| either way."""
    t, freedom = np.asarray(t, dtype=np.float64), np.asarray(freedom, dtype=np.float64)
    return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t))


def freedom_of_difference(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Welch's of two (error, degrees of freedom), at most twice the smaller of the two."""
    (a, nu), (b, mu) = first, second
    if a == 0 and b == 0:
        return math.inf
    welch = (a * a + b * b) ** 2 / (a**4 / nu + b**4 / mu)
    return welch if 0 in (a, b) else min(welch, 2 * min(nu, mu))


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """The adjusted p of each test."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, least = [1.0] * len(p), 1.0
    for rank in range(len(p), 0, -1):
        i = order[rank - 1]
        least = min(least, p[i] * len(p) / rank)
        adjusted[i] = least
    return adjusted
