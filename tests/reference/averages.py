"""Means over rows, their standard errors, and the bins of query position.

architecture.md, "Scan": total sum over total count; batch means over contiguous blocks of 64
rows, or over documents where at least 4 hold all of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array

ROWS_PER_BATCH = 64
FEWEST_BATCHES = 4
STAND_FOR = "_stand_for"  # names the rows that each row of a metric stands for in its mean


@dataclass
class RowIndex:
    """Which document (from 0) and which 1-based row each entry of a row array belongs to."""

    document: Array
    t: Array
    document_length: Array  # of each entry's document

    @staticmethod
    def of(rows_by_document: list[Array], lengths: list[int]) -> RowIndex:
        sizes = [len(rows) for rows in rows_by_document]
        return RowIndex(
            np.repeat(np.arange(len(sizes)), sizes),
            np.concatenate(rows_by_document),
            np.repeat(np.asarray(lengths), sizes),
        )

    def up_to(self, length: int) -> Array:
        """Rows t <= length of the documents that have them all."""
        return np.asarray((self.t <= length) & (self.document_length >= length))

    def between(self, below: int, upper: int) -> Array:
        """Rows below < t <= upper of the documents that have them all."""
        return np.asarray(self.up_to(upper) & (self.t > below))


@dataclass
class Mean:
    """Mean, standard error and count, each shaped like one row; NaN where undefined."""

    value: Array
    stderr: Array
    rows: Array
    doubt: Array | None = None  # how far the value may be off where rows hang by a hair


def _batch_error(sums: Array, counts: Array, mean: Array, total: Array) -> Array:
    """sqrt(K/(K-1) sum_b n_b^2 (m_b - m)^2) / n over the K batches that have rows."""
    k = (counts > 0).sum(axis=0)
    squares = np.where(counts > 0, (sums - counts * mean) ** 2, 0.0).sum(axis=0)
    enough = k >= FEWEST_BATCHES
    ratio = k / np.where(enough, k - 1, 1)
    return np.where(enough, np.sqrt(ratio * squares) / np.where(total > 0, total, 1), np.nan)


def _sum_by(labels: Array, values: Array) -> Array:
    """Sums over runs of equal labels: rows come in order of document and t."""
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
    return np.asarray(np.add.reduceat(values, starts, axis=0))


def row_mean(values: Array, index: RowIndex, chosen: Array, stand_for: Array | None = None) -> Mean:
    """Averages the chosen rows where they are defined (not NaN), trailing axes kept.

    `stand_for`: how many rows each row stands for, where some were drawn from several."""
    part = values[chosen]
    if len(part) == 0:
        empty = np.full(values.shape[1:], np.nan)
        return Mean(empty, empty.copy(), np.zeros(values.shape[1:], dtype=np.int64))
    document, t = index.document[chosen], index.t[chosen]
    defined = ~np.isnan(part)
    filled = np.where(defined, part, 0.0)
    weights = defined.astype(np.float64)
    if stand_for is not None:
        weights *= stand_for[chosen].reshape(-1, *[1] * (values.ndim - 1))
    filled = filled * weights
    total = weights.sum(axis=0)
    mean = np.where(total > 0, filled.sum(axis=0) / np.where(total > 0, total, 1), np.nan)
    blocks = document * (1 << 32) + (t - 1) // ROWS_PER_BATCH
    by_block = _batch_error(_sum_by(blocks, filled), _sum_by(blocks, weights), mean, total)
    document_counts = _sum_by(document, weights)
    by_document = _batch_error(_sum_by(document, filled), document_counts, mean, total)
    stderr = by_document if len(document_counts) >= FEWEST_BATCHES else by_block
    return Mean(mean, stderr, defined.sum(axis=0))


def batch_count(values: Array, index: RowIndex, chosen: Array) -> Array:
    """The batches that the error of a mean of the chosen rows is made of."""
    defined = (~np.isnan(values[chosen])).astype(np.float64)
    document, t = index.document[chosen], index.t[chosen]
    by_document = _sum_by(document, defined) > 0
    if len(by_document) >= FEWEST_BATCHES:
        return np.asarray(by_document.sum(axis=0))
    blocks = document * (1 << 32) + (t - 1) // ROWS_PER_BATCH
    return np.asarray((_sum_by(blocks, defined) > 0).sum(axis=0))


def stack(means: list[Mean]) -> Mean:
    """A new leading axis: the lengths, or the bins of position."""
    return Mean(
        np.stack([mean.value for mean in means]),
        np.stack([mean.stderr for mean in means]),
        np.stack([mean.rows for mean in means]),
    )


def position_edges(lengths: list[int]) -> list[int]:
    """Upper edges: the lengths and the powers of two from 1 below the longest."""
    longest = max(lengths)
    powers = {1 << e for e in range(longest.bit_length()) if (1 << e) < longest}
    return sorted(powers | set(lengths))
