"""Metrics of the sensitivity group, by row (math.md section 4 and 7a)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rows import RowBlock

Array = npt.NDArray[Any]

JACOBIANS = (
    "jacobian_frobenius",
    "jacobian_spectral",
    "jacobian_bound",
    "jacobian_bound_paper",
)


def top2_directions(block: RowBlock) -> Array:
    """(e_1 - e_2)/sqrt 2 on the two largest logits; rows with one key get 0."""
    v = np.zeros_like(block.weights)
    rows = np.flatnonzero(block.n >= 2)
    v[rows, block.order[rows, 0]] = np.sqrt(0.5)
    if len(rows):
        v[rows, block.order[rows, 1]] = -np.sqrt(0.5)
    return v


def sensitivity_rows(
    block: RowBlock, v: Array, temperatures: list[float], epsilons: list[float]
) -> Array:
    """D4.2: g(T, eps) = ||softmax((l + eps v)/T) - softmax(l/T)||_2 / eps, rows n >= 2.

    (R, temperatures, epsilons), NaN at n = 1.
    """
    result = np.full((len(block.t), len(temperatures), len(epsilons)), np.nan)
    rows = block.n >= 2
    logits, direction = block.logits[rows], v[rows]
    steps = [logits] + [logits + epsilon * direction for epsilon in epsilons]
    below = [moved - moved.max(axis=1, keepdims=True) for moved in steps]  # the largest at 0
    weights = np.empty_like(logits)
    for i, temperature in enumerate(temperatures):
        base = np.empty_like(logits)
        for j, gap in enumerate(below):
            out = base if j == 0 else weights
            np.multiply(gap, 1.0 / temperature, out=out)
            np.exp(out, out=out)
            out /= out.sum(axis=1, keepdims=True)
            if j == 0:
                continue
            out -= base
            result[rows, i, j - 1] = np.sqrt(np.einsum("rc,rc->r", out, out)) / epsilons[j - 1]
    return result


def envelope(temperatures: list[float], epsilons: list[float]) -> Array:
    """C-7: min{1/(2T), sqrt 2/eps}."""
    t, eps = np.asarray(temperatures)[:, None], np.asarray(epsilons)[None, :]
    return np.asarray(np.minimum(1.0 / (2.0 * t), np.sqrt(2.0) / eps))


def envelope_paper(temperatures: list[float], epsilons: list[float]) -> Array:
    """Corollary 3 as printed: min{1/(4T), sqrt 2}."""
    t, eps = np.asarray(temperatures)[:, None], np.asarray(epsilons)[None, :]
    return np.asarray(np.minimum(1.0 / (4.0 * t), np.sqrt(2.0)) + 0.0 * eps)


def frobenius(a: Array) -> Array:
    """C3 at T = 1: ||J||_F^2 = sum_ij a_i^2 (delta_ij - a_j)^2, without cancelling near one-hot.

    = sum_i a_i^2 (1 - a_i)^2 + sum_{i != j} a_i^2 a_j^2, the largest weight set apart.
    """
    largest = a.argmax(axis=1)
    lines = np.arange(len(a))
    top = a[lines, largest]
    rest = a.copy()
    rest[lines, largest] = 0.0
    others = rest.sum(axis=1)
    r2 = (rest * rest).sum(axis=1)
    r4 = (rest**4).sum(axis=1)
    diagonal = top**2 * others**2 + (rest**2 * (1.0 - rest) ** 2).sum(axis=1)
    return np.asarray(np.sqrt(diagonal + 2.0 * top**2 * r2 + np.maximum(r2 * r2 - r4, 0.0)))


def spectral(a: Array, steps: int = 64) -> Array:
    """||diag(a) - a a^T||_2: the root of sum a_i/(a_i - lam) = 0 in (a_(2), a_(1)), by bisection.

    The middle is the geometric mean, so that the small norms of near one-hot rows keep digits.
    a_(1) if the two largest are equal, 0 with one nonzero entry (math.md 7a).
    """
    if a.shape[1] < 2:
        return np.zeros(len(a))
    ordered = -np.sort(-a, axis=1)
    high, low = ordered[:, 0].copy(), ordered[:, 1].copy()
    single = low == 0.0
    equal = high == low
    result = np.where(equal, high, 0.0)
    active = ~(equal | single)
    if not active.any():
        return np.asarray(result)
    part = a[active]
    high, low = high[active], low[active]
    for _ in range(steps):
        middle = np.sqrt(low) * np.sqrt(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.divide(part, part - middle[:, None]).sum(axis=1)
        above = value > 0.0  # increases from -inf at a_(2) to +inf at a_(1)
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    result[active] = np.sqrt(low) * np.sqrt(high)
    return np.asarray(result)


def jacobian_bounds(a: Array, n: Array) -> tuple[Array, Array]:
    """L2v: min of (a), (c), (d), (f); and L2 in its first form, for softmax at T = 1.

    G = 1 and F' = F, so max|F'|/S = max a and ||F||_2/S = ||a||_2.
    """
    top = a.max(axis=1)
    norm = np.sqrt((a * a).sum(axis=1))
    largest = a.argmax(axis=1)
    complement = 1.0 - a
    rest = a.copy()
    rest[np.arange(len(a)), largest] = 0.0
    complement[np.arange(len(a)), largest] = rest.sum(axis=1)
    choices = [
        np.full(len(a), 0.5),
        2.0 * (a * complement).max(axis=1),
        top,
        top * np.sqrt(n) * norm,
    ]
    return np.minimum.reduce(choices), np.asarray(top * (1.0 + np.sqrt(n) * norm))


def jacobian_rows(block: RowBlock) -> dict[str, Array]:
    bound, printed = jacobian_bounds(block.weights, block.n)
    return {
        "jacobian_frobenius": frobenius(block.weights),
        "jacobian_spectral": spectral(block.weights),
        "jacobian_bound": bound,
        "jacobian_bound_paper": printed,
    }
