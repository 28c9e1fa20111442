"""Slopes against log n and forecasts of effective tokens (mathematics.md G6 and 7b)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from tests.reference.arrays import Array
from tests.reference.averages import RowIndex
from tests.reference.inference import p_of_t
from tests.reference.rows import RowBlock
from tests.reference.weights import entropy

NARROWEST = 1.5  # an octave spans at least this factor
SLOPE_OCTAVES = 4
FEWEST_FOR_SLOPE = 3
FEWEST_FOR_FORECAST = 5
LEAST_GROWTH = 0.1
FORECASTS = (2, 4, 8)  # times the longest length
FLOOR = 1e-4  # of the deviation of a forecast in logs
MISSED = 0.05  # by the interval of a forecast
HAIR = 1e-3  # of an interval: verdicts this near to its ends may go either way


def row_values(block: RowBlock) -> dict[str, Array]:
    """Entropy and largest weight of each row; NaN where there is none."""
    mass = np.abs(block.weights).sum(axis=1)
    p = np.abs(block.weights) / np.where(mass > 0.0, mass, 1.0)[:, None]
    return {
        "entropy_spread": np.where(mass > 0.0, entropy(p), np.nan),
        "max_weight_spread": np.where(block.visible, block.weights, -np.inf).max(axis=1),
    }


@dataclass
class Curve:
    """Log of the mean position, number of keys (log) and value of each octave."""

    position: Array
    keys: Array
    value: Array

    def before_last(self) -> Curve:
        return Curve(self.position[:-1], self.keys[:-1], self.value[:-1])

    def last(self, count: int) -> Curve:
        return Curve(self.position[-count:], self.keys[-count:], self.value[-count:])

    def __len__(self) -> int:
        return len(self.value)


@dataclass
class Dispersion:
    """Of one head: slopes as (value, stderr), forecasts with their ends (F, 3), coverage."""

    entropy: tuple[float, float]
    max_weight: tuple[float, float]
    forecast: Array
    holds: float  # NaN: not judged
    doubtful: bool


def octaves(edges: list[int]) -> list[list[tuple[int, int]]]:
    """Position bins (below, upper] joined from the longest down until each spans a factor 1.5."""
    found: list[list[tuple[int, int]]] = []
    part: list[tuple[int, int]] = []
    for below, upper in reversed(list(pairwise(edges))):
        part.insert(0, (below, upper))
        if part[-1][1] >= NARROWEST * below:
            found.insert(0, part)
            part = []
    return found


def curve(keys: Array, values: Array, index: RowIndex, edges: list[int], log_means: bool) -> Curve:
    """Means over the rows of each octave of which the value is defined."""
    points = []
    for bins in octaves(edges):
        chosen = np.zeros(len(values), dtype=bool)
        for below, upper in bins:
            chosen |= index.between(below, upper)
        chosen &= ~np.isnan(values)
        if not chosen.any():
            continue
        x, y = float(keys[chosen].mean()), float(values[chosen].mean())
        if log_means and y <= 0.0:  # of an octave in which all rows have equal logits
            continue
        if log_means:
            x, y = math.log(x), math.log(y)
        points.append((math.log(float(index.t[chosen].mean())), x, y))
    columns = np.asarray(points).reshape(-1, 3).T
    return Curve(columns[0], columns[1], columns[2])


def _weights(line: Curve) -> Array:
    """sqrt of the mean position at the end of each step."""
    return np.asarray(np.exp(0.5 * (line.position[1:] - line.position[-1])))


def slope(line: Curve) -> tuple[float, float]:
    """Weighted mean of the steps per unit of log n, and its standard error."""
    if len(line) < 2:
        return math.nan, math.nan
    grows = np.diff(line.keys) >= LEAST_GROWTH * np.diff(line.position)
    if not grows.any():
        return math.nan, math.nan
    steps = np.diff(line.value)[grows] / np.diff(line.keys)[grows]
    w = _weights(line)[grows]
    w = w / w.sum()
    mean = float(w @ steps)
    if len(steps) < 2:
        return mean, math.nan
    q = float(w @ w)
    return mean, math.sqrt(float(w @ (steps - mean) ** 2) * q / (1.0 - q))


@cache
def student(freedom: int) -> float:
    """The |t| that Student's t exceeds in MISSED of the cases, by bisection."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(p_of_t(middle, freedom)) > MISSED else (low, middle)
    return low


def forecast(line: Curve, position: float, window: int = 0) -> Array:
    """Effective tokens at a mean position exp(position), and the ends of their interval. No more keys
    than the `window` come; 0: none.

    With z of variance 1 on every step, dy = b dx + s sqrt(h) z: b from weighted steps, s from the
    residuals of least squares.
    """
    if len(line) < FEWEST_FOR_FORECAST:
        return np.full(3, np.nan)
    h, dx, dy = np.diff(line.position), np.diff(line.keys), np.diff(line.value)
    grows = dx >= LEAST_GROWTH * h
    taken, w = np.zeros(len(h)), _weights(line)
    taken[grows] = w[grows] / w[grows].sum() / dx[grows]
    drift = float(taken @ dy)
    design = (np.where(grows, dx, 0.0) / np.sqrt(h))[:, None]
    target = dy / np.sqrt(h)
    best, _, rank, _ = np.linalg.lstsq(design, target, rcond=None)
    freedom = len(h) - int(rank)
    variance = float(((target - design @ best) ** 2).sum()) / freedom
    ahead = position - float(line.position[-1])
    more = min(max(float(dx[-1] / h[-1]), 0.0), 1.0) * ahead
    if window:
        more = min(more, max(math.log(window) - float(line.keys[-1]), 0.0))
    deviation = math.sqrt(variance * (ahead + more**2 * float(taken**2 @ h)) + FLOOR**2)
    reach = student(freedom) * deviation
    centre = float(line.value[-1]) + drift * more
    ceiling = max(float(line.keys[-1]) + more, 0.0)
    return np.exp(np.clip([centre, centre - reach, centre + reach], 0.0, ceiling))


def dispersion(
    entropy: Array,
    max_weight: Array,
    n: Array,
    index: RowIndex,
    edges: list[int],
    positions: int | None = None,
    window: int = 0,
) -> Dispersion:
    """Everything of one head, from its rows; nothing is forecast beyond the learnt `positions`."""
    log_n = np.log(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_max = np.where(max_weight > 0.0, np.log(max_weight), np.nan)

    def late_slope(values: Array) -> tuple[float, float]:
        line = curve(log_n, values, index, edges, False).last(SLOPE_OCTAVES)
        found = slope(line) if len(line) >= FEWEST_FOR_SLOPE else (math.nan, math.nan)
        return (math.nan, math.nan) if math.isnan(found[1]) else found

    line = curve(n.astype(np.float64), np.exp(entropy), index, edges, True)
    none = np.full((len(FORECASTS), 3), np.nan)
    result = Dispersion(late_slope(entropy), late_slope(log_max), none, np.nan, False)
    if len(line) == 0:
        return result
    value, low, high = forecast(line.before_last(), float(line.position[-1]), window)
    if math.isnan(value):
        return result
    measured = math.exp(float(line.value[-1]))
    slack = FLOOR * measured
    result.holds = float(low - slack <= measured <= high + slack)
    gap = min(abs(measured + slack - low), abs(measured - slack - high))
    result.doubtful = gap < HAIR * (high - low)
    for place, factor in enumerate(FORECASTS):
        length = factor * edges[-1]
        if positions is None or length <= positions:
            middle = 0.5 * (length / 2 + 1 + length)
            result.forecast[place] = forecast(line, math.log(middle), window)
    return result
