"""Critical N (mathematics.md section 2, D5 and 7a): where two per-head means stop differing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

STANDARD_ERRORS = 2.0


def ks_distance(first: Array, second: Array) -> float:
    """D = sup |F1 - F2| of two samples."""
    points = np.concatenate([first, second])
    below1 = np.searchsorted(np.sort(first), points, side="right") / len(first)
    below2 = np.searchsorted(np.sort(second), points, side="right") / len(second)
    return float(np.abs(below1 - below2).max())


def kolmogorov_q(x: float) -> float:
    """Q(x) = 2 sum_{k >= 1} (-1)^(k-1) exp(-2 k^2 x^2); below 1 by the other theta series."""
    if x <= 0.0:
        return 1.0
    if x < 1.0:
        odd = sum(math.exp(-((2 * k - 1) ** 2) * math.pi**2 / (8.0 * x * x)) for k in range(1, 30))
        return 1.0 - math.sqrt(2.0 * math.pi) / x * odd
    return 2.0 * sum((-1.0) ** (k - 1) * math.exp(-2.0 * k * k * x * x) for k in range(1, 30))


def ks_p(d: float, n: int, m: int) -> float:
    """The asymptotic law without correction: p = Q(D sqrt(nm/(n+m)))."""
    return kolmogorov_q(d * math.sqrt(n * m / (n + m)))


@dataclass
class Critical:
    n: int
    d: float
    p: float


def critical_n(distance: Array, context: Array, level: float) -> Critical:
    """First N with p >= level from the (heads, N) means, -1 if none; D and p there.

    At -1, D and p are those of the first N with the largest p.
    """
    best = Critical(-1, math.nan, -1.0)
    for column in range(distance.shape[1]):
        d = ks_distance(distance[:, column], context[:, column])
        p = ks_p(d, len(distance), len(context))
        if p >= level:
            return Critical(column + 1, d, p)
        if p > best.p:
            best = Critical(-1, d, p)
    return best


def critical_n_head(difference: Array, stderr: Array) -> float:
    """First N whose mean difference is below 2 standard errors; -1 if none, NaN without stderr."""
    known = ~np.isnan(stderr)
    if not known.any():
        return math.nan
    met = known & (np.abs(difference) < STANDARD_ERRORS * np.where(known, stderr, 0.0))
    return float(np.argmax(met) + 1) if met.any() else -1.0
