"""Metrics of the sensitivity group, by row (mathematics.md section 4 and 7a)."""

from dataclasses import replace

import numpy as np

from tests.reference.arrays import Array
from tests.reference.logits import scales
from tests.reference.normalizers import SOFTMAX
from tests.reference.philox import DRAWN_ROWS, uniforms
from tests.reference.rows import RowBlock, rank, scaled_logits

# Of normalizers that are not softmax(c l), finite steps are taken on all rows of at most SHORT keys
# and on one row, drawn at random, of each GROUP neighbouring rows of a position bin.
SHORT = 128
GROUP = 16
JACOBIANS = (*"jacobian_frobenius jacobian_spectral jacobian_bound jacobian_bound_paper".split(),)


def top2_directions(block: RowBlock) -> Array:
    """(e_1 - e_2)/sqrt 2 on the two largest logits; rows with one key get 0."""
    v = np.zeros_like(block.weights)
    rows = np.flatnonzero(block.n >= 2)
    if len(rows):
        order = rank(block.logits[rows], 2)
        v[rows, order[:, 0]] = np.sqrt(0.5)
        v[rows, order[:, 1]] = -np.sqrt(0.5)
    return v


def rows_stood_for(
    block: RowBlock, edges: list[int], seed: int, layer: int, head: int, document: int
) -> Array:
    """How many rows each row stands for in the means of finite steps; 0: it is not measured."""
    query, upper = block.t - 1, np.asarray(edges)
    bins = np.searchsorted(upper, query, side="right")
    within = bins < len(upper)
    end = upper[np.minimum(bins, len(upper) - 1)]
    begin = np.where(bins > 0, upper[bins - 1], 0)
    first = begin + (query - begin) // GROUP * GROUP
    rows = np.minimum(GROUP, end - first)
    u = uniforms(seed, DRAWN_ROWS, layer * 65536 + head, first + (document << 20))
    drawn = np.where(query - first == np.floor(u * rows), rows, 0)
    every = (block.normalizer.scale is not None) | (block.n <= SHORT)
    return np.asarray(np.where(every, 1, np.where(within, drawn, 0)))


def sensitivity_rows(
    block: RowBlock, v: Array, temperatures: list[float], epsilons: list[float], measured: Array | None = None
) -> Array:
    """D4.2: g(T, eps) = ||softmax((l + eps v)/T) - softmax(l/T)||_2 / eps, rows n >= 2.

    (R, temperatures, epsilons), NaN at n = 1. Normalizers other than softmax(c l) are measured on
    the rows `measured`; softmax(c l) moves by c v.
    """
    if block.normalizer.scale is None:
        chosen = np.full(len(block.t), True) if measured is None else measured
        return normalizer_sensitivity(block, v, temperatures, epsilons, chosen)
    if block.normalizer is not SOFTMAX:
        c = scales(block)[:, None]
        v = c * v
        block = replace(block, logits=scaled_logits(block.logits, c))
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


def normalizer_sensitivity(
    block: RowBlock, v: Array, temperatures: list[float], epsilons: list[float], measured: Array
) -> Array:
    """D4.2 for any normalizer, on the rows measured."""
    shape = len(temperatures), len(epsilons)
    result = np.full((len(block.t), *shape), np.nan)
    t, eps = np.asarray(temperatures)[:, None, None], np.asarray([0.0, *epsilons])[:, None]
    for row in np.flatnonzero(measured & (block.n >= 2)):
        n = int(block.n[row])
        moved = (block.logits[row, :n] + eps * v[row, :n]) / t
        found = block.normalizer.weigh(moved.reshape(-1, n), n, int(block.t[row]))
        found = found.reshape(shape[0], -1, n)
        steps = np.linalg.norm(found[:, 1:] - found[:, :1], axis=-1)
        result[row] = steps / np.asarray(epsilons)
    return result


def envelope(
    temperatures: list[float], epsilons: list[float], steepest: float = 0.5, simplex: bool = True
) -> Array:
    """C-7: min{sup ||J||/T, sqrt 2/eps}; without the latter where weights need not sum to 1."""
    t, eps = np.asarray(temperatures)[:, None], np.asarray(epsilons)[None, :]
    if not simplex:
        eps = np.zeros_like(eps)
    with np.errstate(divide="ignore"):
        bound = np.minimum(steepest / t, np.sqrt(2.0) / eps)
    return np.asarray(np.where(np.isinf(bound), np.nan, bound))


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
    a_(1) if the two largest are equal, 0 with one nonzero entry (mathematics.md 7a).
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
    choices = [np.full(len(a), 0.5), 2.0 * (a * complement).max(axis=1), top, top * np.sqrt(n) * norm]
    return np.minimum.reduce(choices), np.asarray(top * (1.0 + np.sqrt(n) * norm))


def jacobian_rows(block: RowBlock) -> dict[str, Array]:
    if block.normalizer.scale is None:
        return normalizer_jacobians(block)
    bound, printed = jacobian_bounds(block.weights, block.n)
    c = scales(block)
    return {
        "jacobian_frobenius": frobenius(block.weights) * c,
        "jacobian_spectral": spectral(block.weights) * c,
        "jacobian_bound": bound * c,
        "jacobian_bound_paper": printed * c,
    }


def normalizer_jacobians(block: RowBlock) -> dict[str, Array]:
    """From the explicit matrix of every row."""
    found = {name: np.full(len(block.t), np.nan) for name in JACOBIANS}
    for row in range(len(block.t)):
        n, t = int(block.n[row]), int(block.t[row])
        matrix = block.normalizer.jacobian(block.logits[row, :n], n, t)
        bound, printed = normalizer_bounds(block, row, n, t)
        values = np.linalg.norm(matrix), np.linalg.norm(matrix, 2), bound, printed
        for name, value in zip(JACOBIANS, values, strict=True):
            found[name][row] = value
    return found


def normalizer_bounds(block: RowBlock, row: int, n: int, t: int) -> tuple[float, float]:
    """What is known to bound the spectral norm, and Lemma 2; NaN where there is nothing."""
    normalizer, a = block.normalizer, block.weights[row, :n]
    bound = normalizer.steepest(n, t)
    if normalizer.ridge is not None:
        r = normalizer.ridge(a, n)
        bound = min(bound, float(r.max()), float((2.0 * r * (1.0 - r / r.sum())).max()))
    return bound if np.isfinite(bound) else np.nan, np.nan
