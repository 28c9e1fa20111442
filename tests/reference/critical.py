"""Critical N (mathematics.md sections 2 and 7a): where two per-head means are shown to be equal."""

import math
from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array
from tests.reference.inference import p_of_t
from tests.reference.philox import philox4x32

EDGE = math.log(1.05)
FAR_APART = 20.0
SINGLE = 1e-4  # of a log ratio of single-precision distances
FLIPS = 2000
RESAMPLES = 2000
FEWEST_HEADS = 8
BOOTSTRAP, SIGN_FLIPS = 11, 21  # domains of the random numbers
BOOTSTRAP_STREAM = 1 << 20


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


def critical_n_paper(distance: Array, context: Array, level: float) -> Critical:
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


def words(seed: int, domain: int, a: int, streams: int, blocks: int) -> Array:
    """The 4 * blocks words of each of the streams b = 0, 1, ..."""
    b, i = np.indices((streams, blocks), dtype=np.uint64)
    counter = i, np.full_like(i, a), b, np.full_like(i, domain)
    parts = philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))
    return np.stack(parts, axis=-1).reshape(streams, -1)


def signs(seed: int, stream: int, flips: int, units: int) -> Array:
    """(flips, units)"""
    drawn = words(seed, SIGN_FLIPS, stream, flips, (units + 127) // 128)
    bits = (drawn[:, :, None] >> np.arange(32, dtype=np.uint64)) & np.uint64(1)
    return np.asarray(np.where(bits.reshape(flips, -1)[:, :units] == 1, -1.0, 1.0))


def signed_ranks(values: Array) -> Array:
    """Midranks of the sizes of what is neither missing nor 0, with the signs of the values."""
    size = np.where(np.isnan(values), 0.0, np.abs(values))
    known = size[size > 0]
    below = (known[None, :] < size[:, None]).sum(axis=1)
    equal = (known[None, :] == size[:, None]).sum(axis=1)
    rank = np.where(size > 0, below + (equal + 1) / 2, 0.0)
    return np.asarray(rank * np.where(values < 0, -1.0, 1.0))


def sign_flip_p(above: Array, seed: int, stream: int) -> Array:
    """The p of each column that its center is not above 0, adjusted for all: (units, columns)."""
    if above.shape[1] == 0:  # a single key has no set that leaves one out
        return np.zeros(0)
    x = np.stack([signed_ranks(column) for column in above.T], axis=1)
    norm = np.sqrt((x * x).sum(axis=0))
    scaled = x / np.where(norm > 0, norm, 1.0)
    found = scaled.sum(axis=0)
    largest = (signs(seed, stream, FLIPS, len(x)) @ scaled).max(axis=1)
    reached = 1 + (largest[:, None] >= found - 1e-9).sum(axis=0)
    p = np.where(norm > 0, reached / (FLIPS + 1), 1.0)
    return np.asarray(np.where((~np.isnan(above)).sum(axis=0) >= 2, p, np.nan))


def upper_tail(t: Array, freedom: Array) -> Array:
    half = p_of_t(t, freedom) / 2
    return np.where(t > 0, half, 1 - half)


def equality_p(value: Array, error: Array, freedom: Array) -> Array:
    """The larger p of two one-sided t tests of each log ratio against the edges; NaN where the
    ratio or its error is."""
    p = np.where(np.abs(value) < EDGE, 0.0, 1.0)  # with an error of 0
    p[np.isnan(value) | np.isnan(error)] = np.nan
    some = (error > 0) & ~np.isnan(value)
    value, error, freedom = value[some], error[some], freedom[some]
    sides = (upper_tail(gap / error, freedom) for gap in (value + EDGE, EDGE - value))
    p[some] = np.maximum(*sides)
    return p


@dataclass
class HeadRatios:
    """Of one head at one length, for N = 1, 2, ..."""

    log_ratio: Array
    error: Array
    freedom: Array

    def p(self) -> Array:
        return equality_p(self.log_ratio, self.error, self.freedom)


def first_equal(p: Array, level: float) -> tuple[float, float]:
    """N and p of the first N below the level, else -1 and the smallest p."""
    if len(p) == 0 or np.isnan(p).all():
        return math.nan, math.nan
    below = np.flatnonzero(p < level)
    if len(below):
        return float(below[0] + 1), float(p[below[0]])
    return -1.0, float(np.nanmin(p))


def equality_of_heads(heads: list[HeadRatios], seed: int, stream: int) -> Array:
    """p of every N over the heads and over the text, whichever is larger."""
    x = np.stack([head.log_ratio for head in heads])
    p = np.maximum(sign_flip_p(x + EDGE, seed, stream), sign_flip_p(EDGE - x, seed, stream))
    known = ~np.isnan(x)
    errors = np.stack([head.error for head in heads])
    error = np.where(known, errors, 0.0).sum(axis=0) / known.sum(axis=0)
    freedom = np.min([head.freedom for head in heads], axis=0)
    text = equality_p(median_over_heads(x), error, freedom)
    return np.asarray(np.fmax(p, text))


def median_over_heads(values: Array) -> Array:
    """Of (..., heads, N) the median of the heads that have a number; NaN where none has."""
    ordered = np.sort(values, axis=-2)  # NaN come last
    count = (~np.isnan(values)).sum(axis=-2, keepdims=True)
    middle = np.maximum(np.concatenate([count - 1, count], axis=-2) // 2, 0)
    middle = np.minimum(middle, values.shape[-2] - 1)
    return np.asarray(np.take_along_axis(ordered, middle, axis=-2).mean(axis=-2))


def closest(log_ratio: Array) -> tuple[Array, Array]:
    """N and median of the N whose median over heads is closest to 0, of (..., heads, N)."""
    if log_ratio.shape[-1] == 0:
        none = np.full(log_ratio.shape[:-2], np.nan)
        return none, none
    median = median_over_heads(log_ratio)
    best = np.where(np.isnan(median), np.inf, np.abs(median)).argmin(axis=-1)
    found = np.take_along_axis(median, best[..., None], axis=-1)[..., 0]
    return np.where(np.isnan(found), np.nan, best + 1.0), found


def doubt_of_closest(log_ratio: Array) -> float:
    """How far other N lie from the closest one that are as close up to single precision."""
    best, middle = closest(log_ratio)
    if np.isnan(best):
        return 0.0
    near = np.abs(median_over_heads(log_ratio)) <= np.abs(middle) + SINGLE
    return float(np.abs(np.flatnonzero(near) + 1.0 - best).max())


def exponent(lengths: list[int], n: Array) -> Array:
    """Slope of log n against log L by least squares, of (..., lengths)."""
    if len(lengths) < 3:
        return np.full(n.shape[:-1], np.nan)
    x = np.log(lengths) - np.log(lengths).mean()
    return np.asarray(np.log(n) @ x / (x @ x))


def closest_figures(curves: list[Array], lengths: list[int], inside: list[bool]) -> Array:
    """N and ratio of every length, then the exponent: a last axis, of curves (..., heads, N)."""
    found = [closest(curve) for curve in curves]
    sizes = np.stack([n for n, _ in found], axis=-1)[..., inside]
    slope = exponent([length for length, good in zip(lengths, inside, strict=True) if good], sizes)
    figures = [figure for n, middle in found for figure in (n, np.exp(middle))]
    return np.stack([*figures, slope], axis=-1)


def closest_sizes(curves: list[Array], lengths: list[int], seed: int) -> dict[str, tuple[Array, Array]]:
    """closest_n, closest_ratio and closest_n_exponent, each with "NAME low" and "NAME high".

    Beside each figure stands how far it may be off: what is closest jumps where two N are nearly
    equally close, and so the end of an interval may lie where 1 % of the resamples more or less do.
    """
    units = len(curves[0])
    inside = [bool(closest(curve)[0] < curve.shape[1]) for curve in curves]
    whole = closest_figures(curves, lengths, inside)
    low, high = np.full_like(whole, np.nan), np.full_like(whole, np.nan)
    of_low, of_high = np.zeros_like(whole), np.zeros_like(whole)
    if units >= FEWEST_HEADS:
        picked = words(seed, BOOTSTRAP, BOOTSTRAP_STREAM, RESAMPLES, (units + 3) // 4)[:, :units]
        chosen = (picked * np.uint64(units) >> np.uint64(32)).astype(np.int64)
        drawn = [
            closest_figures([curve[part] for curve in curves], lengths, inside)
            for part in np.array_split(chosen, 50)
        ]  # a resample is as large as the curves
        known = np.concatenate(drawn)
        below, low, above = np.nanpercentile(known, [1.5, 2.5, 3.5], axis=0)
        of_low = np.nan_to_num(above - below)
        below, high, above = np.nanpercentile(known, [96.5, 97.5, 98.5], axis=0)
        of_high = np.nan_to_num(above - below)
    named = {}
    of_whole = np.zeros_like(whole)
    of_whole[0:-1:2] = [doubt_of_closest(curve) for curve in curves]
    ends = (("", whole, of_whole), (" low", low, of_low), (" high", high, of_high))
    for suffix, figures, doubt in ends:
        for name, part in (("closest_n", slice(0, -1, 2)), ("closest_ratio", slice(1, -1, 2))):
            named[name + suffix] = figures[part], np.nan_to_num(doubt[part])
        named[f"closest_n_exponent{suffix}"] = figures[-1], np.nan_to_num(doubt[-1])
    return named
