"""The definitions of mathematics.md for one row, by plain loops over vectors: what the tests trust.

a holds the weights of the n visible keys, x their points, chosen the index set I_N. Nothing here is
shared with the vectorised files.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from tests.reference.arrays import Array


def top_set(logits: Array, size: int) -> list[int]:
    """The N largest, ties: lower index first."""
    return sorted(range(len(logits)), key=lambda j: (-logits[j], j))[:size]


def outside(count: int, chosen: list[int]) -> list[int]:
    return [i for i in range(count) if i not in chosen]


def representation(a: Array, x: Array, chosen: list[int]) -> Array:
    """D2.2"""
    return np.asarray(sum((a[i] * x[i] for i in chosen), np.zeros(x.shape[1])))


def distance(a: Array, x: Array, chosen: list[int]) -> float:
    """D2.3"""
    s = representation(a, x, chosen)
    return sum(float(np.linalg.norm(a[i] * x[i] - s)) for i in outside(len(a), chosen))


def cross_distance(x: Array, chosen: list[int]) -> float:
    """D2.4"""
    others = outside(len(x), chosen)
    return max(float(np.linalg.norm(x[i] - x[j])) for i in others for j in chosen)


def distance_bounds(a: Array, x: Array, chosen: list[int]) -> tuple[float, float, float]:
    """T1.1, A3 and A4"""
    others = outside(len(a), chosen)
    selected = sum(a[i] for i in chosen)
    rest = 1.0 - selected
    d1 = cross_distance(x, chosen)
    longest = max(float(np.linalg.norm(x[j])) for j in chosen)
    t11 = rest * d1 + longest * (selected * len(others) - rest)
    a3 = rest * d1 + longest * sum(abs(selected - a[i]) for i in others)
    s = float(np.linalg.norm(representation(a, x, chosen)))
    a4 = sum(a[i] * float(np.linalg.norm(x[i])) for i in others) + len(others) * s
    return t11, a3, a4


def subsets(count: int, size: int) -> Iterator[list[int]]:
    for chosen in itertools.combinations(range(count), size):
        yield list(chosen)


def expected_exact(a: Array, x: Array, size: int) -> float:
    """D2.5, by enumeration"""
    every = [distance(a, x, chosen) for chosen in subsets(len(a), size)]
    return sum(every) / len(every)


def conditional_moments(a: Array, x: Array, i: int, size: int) -> tuple[Array, float]:
    """m_i and v_i of T1.2, by enumeration of the sets without i"""
    draws = np.array(
        [a[i] * x[i] - representation(a, x, chosen) for chosen in subsets(len(a), size) if i not in chosen]
    )
    mean = draws.mean(axis=0)
    return mean, float(((draws - mean) ** 2).sum(axis=1).mean())


def expected_terms(a: Array, x: Array, size: int) -> tuple[float, float]:
    """E_main and the upper bound of T1.2, from the enumerated moments"""
    p = (len(a) - size) / len(a)
    moments = [conditional_moments(a, x, i, size) for i in range(len(a))]
    main = p * sum(float(np.linalg.norm(m)) for m, _ in moments)
    upper = p * sum(math.sqrt(float(m @ m) + v) for m, v in moments)
    return main, upper


def expected_context(a: Array, x: Array, size: int) -> float:
    """E_ctx of T1.2"""
    n = len(a)
    y = a @ x
    k = size / (n - 1)
    return (n - size) / n * sum(float(np.linalg.norm((a[i] + k) * x[i] - y)) for i in range(n))


def selected_distances(a: Array, x: Array, chosen: list[int]) -> list[float]:
    """X_i of D3.1"""
    s = representation(a, x, chosen)
    return [float(np.linalg.norm(a[i] * x[i] - s)) for i in chosen]


def radius(a: Array, x: Array, chosen: list[int]) -> float:
    """r of D3.3"""
    s = representation(a, x, chosen)
    return min(float(np.linalg.norm(s - a[i] * x[i])) for i in outside(len(a), chosen))


def smallest_distance(x: Array) -> float:
    """delta of Assumption 2"""
    return min(float(np.linalg.norm(p - q)) for p, q in itertools.combinations(list(x), 2))


def separability(a: Array, u: Array, chosen: list[int], m: float = 1.0) -> dict[str, float]:
    """D3.3, D3.4, T2 and T2v for points u within M = m of the origin"""
    r = radius(a, u, chosen)
    size, d = len(chosen), u.shape[1]
    delta = smallest_distance(u)
    xi, lower, upper = [], [], []
    for i in chosen:
        others = [float(a[j]) for j in chosen if j != i]
        big_a, big_b = sum(others), sum(w * w for w in others)
        xi.append(math.sqrt(m * m * big_b + (m * m - delta**2 / 2.0) * (big_a**2 - big_b)))
        v = m * math.sqrt(big_b)
        if v == 0.0:
            lower.append(1.0)
            upper.append(1.0)
            continue
        mu = v / math.sqrt(1.0 + 2.0 / d)
        upper.append(math.exp(-(max(mu - r, 0.0) ** 2) / (2.0 * v * v)))
        tail = 1.0 - math.exp(-(max(r - v, 0.0) ** 2) / (2.0 * v * v))
        lower.append(max(0.0, 1.0 - v * v / r**2, tail))
    return {
        "separability_with_sinks": sum(q < r for q in selected_distances(a, u, chosen)) / size,
        "separability_lower": sum(q < r for q in xi) / size,
        "separability_model_lower": sum(lower) / size,
        "separability_model_upper": sum(upper) / size,
        "separability_lower_paper": 1.0 - sum(xi) / (r * size),
        "separability_upper_paper": sum(math.exp(-((r - q) ** 2) / (16.0 * m * m)) for q in xi) / size,
    }


def jacobian(a: Array) -> Array:
    """D4.1 for softmax at T = 1"""
    return np.asarray(np.diag(a) - np.outer(a, a))
