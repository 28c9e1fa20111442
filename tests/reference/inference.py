"""Student's t, the degrees of freedom of a difference and Benjamini and Hochberg, a second time."""

from __future__ import annotations

import math
from collections.abc import Sequence

TERMS = 400


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0:
        return 0.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    value = 0.0
    for term in range(TERMS, 0, -1):
        m = term // 2
        if term % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = d / (1 + value)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(logarithm + a * math.log(x) + b * math.log1p(-x)) / a / (1 + value)


def p_of_t(t: float, freedom: float) -> float:
    """How often Student's t is larger than |t| either way."""
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
