"""Paper B's figures of one head, in float64, straight from mathematics.md 5 and 5a: horizons,
errors over subsamples, the slope of a log-log fit and key budgets.

Every subsample is weighed by itself, from its own logits: nothing is shared between replicates.
"""

import math
from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array
from tests.reference.normalizers import Normalizer
from tests.reference.philox import philox4x32

SUBSAMPLE = 9  # a = 2 * point + (keys 0, queries 1), b = replicate + (document << 20)
BUDGET_KEYS = 10  # a = document, b = draw
SAMPLERS = ("uniform", "recent", "top")
SINKS = 4
FEWEST_POINTS = 4


def words(seed: int, domain: int, a: int, b: int | Array, count: int) -> Array:
    """The first `count` 32-bit words of a stream, as uint64; of each stream, where b is several."""
    streams = np.asarray(b, dtype=np.uint64)[..., None]
    blocks = np.arange((count + 3) // 4, dtype=np.uint64) + np.zeros_like(streams)
    counter = blocks, np.full_like(blocks, a), streams, np.full_like(blocks, domain)
    parts = philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))
    return np.stack(parts, axis=-1).reshape(*streams.shape[:-1], -1)[..., :count]


def drawn(seed: int, domain: int, a: int, b: int | Array, count: int, size: int) -> Array:
    """`count` indices below `size` with replacement: the high half of word times size."""
    product = words(seed, domain, a, b, count) * np.uint64(size)
    return np.asarray((product >> np.uint64(32)).astype(np.int64))


def permutation(seed: int, domain: int, a: int, b: int, size: int) -> Array:
    """Fisher-Yates from the front, word i choosing among those that are left at place i."""
    order = list(range(size))
    for i, word in enumerate(words(seed, domain, a, b, size)[:-1]):
        other = i + (int(word) * (size - i) >> 32)
        order[i], order[other] = order[other], order[i]
    return np.array(order)


# --- horizon -------------------------------------------------------------------------------------


def spread_of(queries: Array, keys: Array) -> float:
    """sqrt(lambda_max(Cov(q) Cov(k))) as the largest singular value of Q_c K_c^T / L: the squares
    of the singular values are the eigenvalues of Q_c^T Q_c K_c^T K_c."""
    centred = queries - queries.mean(axis=0), keys - keys.mean(axis=0)
    return float(np.linalg.norm(centred[0] @ centred[1].T, 2)) / len(queries)


def horizon_of_weights(inputs: Array, query_weights: Array, key_weights: Array) -> float:
    """D5.3 as it is printed: ||Lc^T A Lc||_2 with Lc Lc^T = Cov(x) + 1e-6 I, A = W_K^T W_Q without
    the 1/sqrt(d). `inputs` (L, width) are what the layer multiplies by the (width, d) weights."""
    covariance = np.cov(inputs, rowvar=False, bias=True) + 1e-6 * np.eye(inputs.shape[1])
    lower = np.linalg.cholesky(covariance)
    return float(np.linalg.norm(lower.T @ (key_weights @ query_weights.T) @ lower, 2))


def predicted_rate(horizon: float) -> float:
    return 1.0 / (2.0 * (1.0 + horizon**2))


# --- errors over subsamples ----------------------------------------------------------------------


@dataclass(frozen=True)
class Head:
    """(L, d) tensors of one head; `scale` times <q, k> are the logits."""

    queries: Array
    keys: Array
    values: Array
    scale: float
    causal: bool = True
    document: int = 0

    def logits(self, normalizer: Normalizer) -> Array:
        if normalizer.unit_norms:
            lengths = [np.linalg.norm(x, axis=1, keepdims=True) for x in (self.queries, self.keys)]
            return np.asarray((self.queries / lengths[0]) @ (self.keys / lengths[1]).T)
        return np.asarray(self.queries @ self.keys.T * self.scale)


@dataclass(frozen=True)
class Curve:
    """Means over the replicates by entry of the grid; deviations are of one replicate."""

    relative: Array
    absolute: Array
    deviation: Array  # of the absolute error
    unit: float


def _outputs(normalizer: Normalizer, logits: Array, values: Array) -> Array:
    """Over exactly these keys. (None of the normalizers here depends on the query's position.)"""
    return np.asarray(normalizer.weigh(logits, logits.shape[1], 0) @ values)


def _moments(outputs: Array) -> tuple[Array, Array]:
    return outputs.mean(axis=0), np.cov(outputs, rowvar=False, bias=True)


def error_curves(
    head: Head, normalizer: Normalizer, grid: list[int], replicates: int, seed: int
) -> tuple[Curve, Curve]:
    """Of the mean and of the covariance of the head's outputs."""
    length = len(head.queries)
    split = length * 3 // 4
    keys = np.arange(split) if head.causal else np.arange(length)
    queries = np.arange(split, length) if head.causal else np.arange(length)
    logits, values = head.logits(normalizer), head.values

    def outputs(q: Array, k: Array) -> Array:
        return _outputs(normalizer, logits[np.ix_(q, k)], values[k])

    mean, covariance = _moments(outputs(queries, keys))
    errors = np.zeros((2, len(grid), replicates))
    for point, n in enumerate(grid):
        for replicate in range(replicates):
            stream = replicate + (head.document << 20)
            k = keys[drawn(seed, SUBSAMPLE, 2 * point, stream, n, len(keys))]
            q = k
            if head.causal:
                q = queries[drawn(seed, SUBSAMPLE, 2 * point + 1, stream, n, len(queries))]
            own_mean, own_covariance = _moments(outputs(q, k))
            errors[0, point, replicate] = np.linalg.norm(own_mean - mean)
            errors[1, point, replicate] = np.linalg.norm(own_covariance - covariance)
    units = math.sqrt(np.trace(covariance)), float(np.linalg.norm(covariance))
    curves = [
        Curve(e.mean(axis=1) / unit, e.mean(axis=1), e.std(axis=1, ddof=1), unit)
        for e, unit in zip(errors, units, strict=True)
    ]
    return curves[0], curves[1]


def fitted_rate(grid: list[int], curve: Curve, replicates: int) -> tuple[float, float]:
    """Minus the slope of log(error) on log(n) and its standard error, by the normal equations with
    weights 1/var, var = (deviation / sqrt(replicates) / error)^2."""
    if len(grid) < FEWEST_POINTS:
        return math.nan, math.nan
    x = np.stack([np.ones(len(grid)), np.log(grid)], axis=1)
    y = np.log(curve.absolute)
    weights = (curve.deviation / math.sqrt(replicates) / curve.absolute) ** -2.0
    inverse = np.linalg.inv(x.T @ (weights[:, None] * x))
    coefficients = inverse @ (x.T @ (weights * y))
    residuals = y - x @ coefficients
    variance = (weights * residuals**2).sum() / (len(grid) - 2)
    return -float(coefficients[1]), math.sqrt(variance * inverse[1, 1])


# --- key budgets ---------------------------------------------------------------------------------


def budget_points(length: int) -> list[int]:
    """12 geometric numbers of keys from 8 (at most `length`) to `length`, rounded."""
    fewest = min(8.0, length)
    points = fewest * (length / fewest) ** (np.arange(12) / 11.0)
    return sorted({math.floor(p + 0.5) for p in points})


def _kept_first(sampler: str, row: Array, t: int, causal: bool, order: Array) -> Array:
    """The keys that the query at 0-based position t sees, in the order in which they are kept."""
    visible = np.arange(t + 1 if causal else len(order))
    if sampler == "uniform":
        return order[order <= visible[-1]]
    if sampler == "recent":
        rest = visible[SINKS:]
        by_distance = np.lexsort((rest > t, np.abs(rest - t)))  # of two as far, the one before it
        return np.concatenate([visible[:SINKS], rest[by_distance]])
    return visible[np.argsort(-np.abs(row), kind="stable")]


@dataclass(frozen=True)
class Budget:
    keys: list[int]
    errors: dict[str, Array]  # by sampler
    constant: float

    def exact(self, sampler: str, tolerance: float) -> float:
        """The error is taken to be linear in log k between points."""
        error = self.errors[sampler]
        at = int(np.flatnonzero(np.append(True, error > tolerance))[-1])  # below for good
        if at == 0:
            return float(self.keys[0])
        share = (error[at - 1] - tolerance) / (error[at - 1] - error[at])
        low, high = math.log(self.keys[at - 1]), math.log(self.keys[at])
        return math.exp(low + share * (high - low))


def budget(head: Head, normalizer: Normalizer, draws: int, seed: int) -> Budget:
    """Over the queries in the last quarter of the rows."""
    length = len(head.queries)
    logits, values = head.logits(normalizer), head.values
    points = budget_points(length)
    orders = [permutation(seed, BUDGET_KEYS, head.document, draw, length) for draw in range(draws)]
    sums = {sampler: np.zeros(len(points)) for sampler in SAMPLERS}
    constants = []
    for t in range(length - length // 4, length):
        seen = t + 1 if head.causal else length
        weights = normalizer.weigh(logits[t : t + 1, :seen], seen, t + 1)[0]
        full = weights @ values[:seen]
        size = float(np.linalg.norm(full))
        if size == 0.0:
            continue
        squares = ((values[:seen] - full) ** 2).sum(axis=1)
        constants.append(seen * (weights**2 * squares).sum() / size**2)
        for sampler in SAMPLERS:
            for order in orders if sampler == "uniform" else orders[:1]:
                share = draws if sampler == "uniform" else 1
                kept = _kept_first(sampler, weights, t, head.causal, order)
                sums[sampler] += _budget_errors(normalizer, logits[t], values, kept, points, t, full) / (
                    size * share
                )
    count = len(constants)
    return Budget(points, {s: total / count for s, total in sums.items()}, float(np.mean(constants)))


def _budget_errors(
    normalizer: Normalizer, row: Array, values: Array, kept: Array, points: list[int], t: int, full: Array
) -> Array:
    """||o_k - o|| with the first k of the keys `kept`, weighed as if there were no others."""
    errors = np.zeros(len(points))
    for p, k in enumerate(points):
        if k >= len(kept):
            break
        own = normalizer.weigh(row[kept[:k]][None, :], k, t + 1)[0]
        errors[p] = np.linalg.norm(own @ values[kept[:k]] - full)
    return errors


def cache_bytes(budgets: list[float], head_width: int, element: int, length: int) -> tuple[float, float]:
    """Of one layer per token of context: in full, and with each key-value head in its budget."""
    of_head = 2 * head_width * element
    return len(budgets) * of_head, sum(min(b, length) for b in budgets) * of_head / length
