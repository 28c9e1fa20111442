"""Blocks of rows: weights of 64 queries over their visible keys, and their top-N order.

Row conventions of mathematics.md section 2: causal row t (1-based) sees n = t keys. A block is
padded to the widest of its rows; padding has logit -inf and weight 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array
from tests.reference.normalizers import SOFTMAX, Normalizer, softmax

ROWS_PER_BLOCK = 64
TIE_GRID = 2.0**36  # logits that agree to 2^-36 rank as equal: see `rank`


def rank(values: Array, depth: int) -> Array:
    """The `depth` largest values of each row, largest first; ties: lower index first (section 0).

    Values that are equal in exact arithmetic may differ in their last bits, so they are compared
    on a grid of 2^-36.
    """
    grid = np.round(values * TIE_GRID)
    return np.argsort(-grid, axis=1, kind="stable")[:, :depth]


def scaled_logits(logits: Array, scale: Array) -> Array:
    """`scale` times the logits; what is padding stays so under a scale of 0 too."""
    seen = np.isfinite(logits)
    return np.where(seen, np.where(seen, logits, 0.0) * scale, -np.inf)


@dataclass
class RowBlock:
    t: Array  # (R,) 1-based rows
    n: Array  # (R,) visible keys
    logits: Array  # (R, C) scaled, -inf beyond n
    weights: Array  # (R, C), 0 beyond n
    order: Array  # (R, K) indices of the largest weights, K <= C
    normalizer: Normalizer = SOFTMAX
    tokens: Array | None = None  # (L,) ids of the whole text
    sinks: Array | None = None  # (L,) which keys are sinks of the head; absent: none
    judged_length: int = 0  # how many tokens the sinks were found in
    keys: Array | None = None  # (R, C) which keys of the text the columns are; absent: the first C

    def row(self, number: int) -> RowBlock:
        """One row alone, as far as its keys reach."""
        line, keys = slice(number, number + 1), slice(0, int(self.n[number]))
        values = (self.t[line], self.n[line], self.logits[line, keys], self.weights[line, keys])
        return RowBlock(
            *values,
            self.order[line, keys],
            self.normalizer,
            self.tokens,
            self.sinks,
            self.judged_length,
            None if self.keys is None else self.keys[line, keys],
        )

    @property
    def visible(self) -> Array:
        return np.asarray(np.arange(self.weights.shape[1])[None, :] < self.n[:, None])

    @property
    def sinks_judged(self) -> bool:
        """Whether the text is long enough for any key to be judged."""
        return self.judged_length >= AFAR + FAR_PROBES

    @property
    def at_sinks(self) -> Array:
        """(R, C): which visible keys are sinks."""
        width = self.weights.shape[1]
        sinks = np.zeros(width, bool) if self.sinks is None else self.sinks[:width]
        return np.asarray(sinks[None, :] & self.visible)


def weigh(logits: Array, n: Array, t: Array, normalizer: Normalizer) -> Array:
    """Weights of a block; masked keys are removed before the normalizer sees a row."""
    if normalizer is SOFTMAX:
        return softmax(logits)
    weights = np.zeros_like(logits)
    for row, (keys, position) in enumerate(zip(n, t, strict=True)):
        seen = logits[row : row + 1, :keys]
        weights[row, :keys] = normalizer.weigh(seen, int(keys), int(position))[0]
    return weights


PROBES, FAR_PROBES, AFAR, SINK_SHARE, TIMES_CHANCE = 64, 16, 32, 0.05, 3.0


def probes_of(length: int) -> Array:
    """The rows that are asked which keys are sinks, from 0."""
    count = min(PROBES, length)
    return np.asarray((2 * np.arange(count) + 1) * length // (2 * count))


def sinks_in(weights: Array, visible: Array, rows: Array, seen: Array | None = None) -> Array:
    """Section 7g: which keys take weight whatever the query, by the weights of these rows.

    `seen`: the keys of each row, those that a pattern hides included; absent: `visible`."""
    seen = visible if seen is None else seen
    keys = np.arange(weights.shape[1])[None, :]
    magnitude = np.abs(weights)
    total = magnitude.sum(axis=1, keepdims=True)
    far = (np.abs(rows[:, None] - keys) >= AFAR) & (total > 0.0)
    share = np.where(far & visible, magnitude / np.where(total > 0.0, total, 1.0), 0.0).sum(axis=0)
    chance = (far & visible) / np.maximum(visible.sum(axis=1, keepdims=True), 1)
    count = (far & seen).sum(axis=0)
    least = np.maximum(SINK_SHARE * count, TIMES_CHANCE * chance.sum(axis=0))
    return np.asarray((count >= FAR_PROBES) & (share > least))


def find_sinks(logits: Array, visible: Array, normalizer: Normalizer, length: int) -> Array:
    """The sinks among the first `length` keys of a head of these scores."""
    rows = probes_of(length)
    n = np.minimum(visible[rows], length)
    asked = logits[rows][:, :length].copy()
    seen = np.arange(length)[None, :] < n[:, None]
    asked[~seen] = -np.inf
    return sinks_in(weigh(asked, n, rows + 1, normalizer), seen, rows)


def row_blocks(
    logits: Array,
    visible: Array,
    depth: int,
    normalizer: Normalizer = SOFTMAX,
    tokens: Array | None = None,
    sinks: Array | None = None,
    judged_length: int = 0,
) -> Iterator[RowBlock]:
    """Cuts the (L, L) scaled scores of a head into blocks; row t sees its first visible[t-1]."""
    for start in range(0, len(logits), ROWS_PER_BLOCK):
        n = visible[start : start + ROWS_PER_BLOCK]
        width = int(n.max())
        block = logits[start : start + ROWS_PER_BLOCK, :width].copy()
        block[np.arange(width)[None, :] >= n[:, None]] = -np.inf
        t = np.arange(start + 1, start + 1 + len(n))
        weights = weigh(block, n, t, normalizer)
        order = rank(block, min(depth, width))
        yield RowBlock(t, n, block, weights, order, normalizer, tokens, sinks, judged_length)


def concatenate(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Joins the rows of blocks, metric by metric."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
