"""Metrics of the coverage group, by row of a layer (mathematics.md 7a)."""

from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array
from tests.reference.rows import RowBlock

OVERLAP = 10  # keys of a row that are compared, at most
TIE = 1e-4  # weights nearer than this share of them are tied
CLOSE = 4e-3  # two overlaps that single precision may put in either order


def _mark(length: int, members: Array, flags: Array) -> Array:
    """(R, length) booleans: key j is a member of the row's set with its flag on."""
    marked = np.zeros((len(members), length), dtype=bool)
    lines = np.arange(len(members))[:, None]
    marked[np.broadcast_to(lines, members.shape)[flags], members[flags]] = True
    return marked


def union_coverage(members: list[Array], distinct: list[Array], length: int) -> Array:
    """|union of D_h| / |union of I_h| for each row; one (R, N) array for each head."""
    selected = np.zeros((len(members[0]), length), dtype=bool)
    separable = np.zeros_like(selected)
    for chosen, flags in zip(members, distinct, strict=True):
        selected |= _mark(length, chosen, np.ones_like(flags))
        separable |= _mark(length, chosen, flags)
    return np.asarray(separable.sum(axis=1) / selected.sum(axis=1))


def union_independent(members: list[Array], p: Array, length: int) -> Array:
    """Mean over the union of 1 - product over the heads that selected i of (1 - p_h)."""
    missed = np.ones((len(members[0]), length))
    selected = np.zeros((len(members[0]), length), dtype=bool)
    lines = np.arange(len(members[0]))[:, None]
    for chosen, share in zip(members, p, strict=True):
        missed[lines, chosen] *= 1.0 - share  # indices are distinct within a row
        selected[lines, chosen] = True
    covered = np.where(selected, 1.0 - missed, 0.0)
    return np.asarray(covered.sum(axis=1) / selected.sum(axis=1))


def union_paper(p: Array) -> float:
    """1 - (1 - mean p)^H, for independent heads of equal ratio."""
    return float(1.0 - (1.0 - p.mean()) ** len(p))


QUERIES = 64  # rows that query_overlap and its like compare
OF_QUERIES = ("query_overlap", "query_overlap_random", "query_distinct", "query_distinct_random")


def of_queries(members: Array, t: Array, visible: Array) -> Array:
    """The four metrics OF_QUERIES of (R, N) sets of one text, whose rows see the last keys up to t."""
    rows, size = members.shape
    chosen = [set(row) for row in members.tolist()]
    seen = [
        set(range(max(a - n, 0), max(a - n, 0) + n))
        for a, n in zip(t.tolist(), visible.tolist(), strict=True)
    ]
    pairs = [(i, j) for i in range(rows) for j in range(i)]
    own = sum(len(chosen[i] & chosen[j]) for i, j in pairs) / size
    random = sum(len(seen[i] & seen[j]) * size / len(seen[i]) / len(seen[j]) for i, j in pairs)
    missed: dict[int, float] = {}
    for keys in seen:
        for key in keys:
            missed[key] = missed.get(key, 1.0) * (1 - size / len(keys))
    every = rows * size
    distinct = len(set.union(*chosen)) / every
    expected = sum(1 - miss for miss in missed.values()) / every
    return np.array([own / len(pairs), random / len(pairs), distinct, expected])


def clear_top(block: RowBlock) -> tuple[Array, Array]:
    """The ten largest weights of each row: (R, 10) keys, and which of them exceed the eleventh.

    Rows of ten keys or less have none.
    """
    rows = len(block.t)
    members = np.zeros((rows, OVERLAP), dtype=np.int64)
    clear = np.zeros((rows, OVERLAP), dtype=bool)
    use = block.n > OVERLAP
    if use.any():
        order = block.order[use]
        ranked = np.take_along_axis(np.abs(block.weights[use]), order[:, : OVERLAP + 1], axis=1)
        members[use] = order[:, :OVERLAP]
        clear[use] = ranked[:, :OVERLAP] > (1.0 + TIE) * ranked[:, OVERLAP:]
    return members, clear


def agreement(one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """Jaccard overlap of the clear keys of two heads in each row; 0 where neither has any."""
    same = (one[0][:, :, None] == other[0][:, None, :]) & one[1][:, :, None] & other[1][:, None, :]
    both = same.sum(axis=(1, 2))
    either = one[1].sum(axis=1) + other[1].sum(axis=1) - both
    return np.asarray(both / np.maximum(either, 1))


@dataclass
class Partner:
    """The other head of the layer that a head agrees with most, NaN where there is none."""

    overlap: float = np.nan
    head: float = np.nan
    doubt: float = 0.0  # infinite where another head is as good but for rounding


def partners(tops: list[tuple[Array, Array]], heads: list[int], rows: Array) -> list[Partner]:
    """For each head; `rows` chooses those that count."""
    count = len(heads)
    found = [Partner() for _ in heads]
    if count < 2 or not rows.any():
        return found
    mean = np.full((count, count), -1.0)
    for i in range(count):
        for j in range(i):
            mean[i, j] = mean[j, i] = agreement(tops[i], tops[j])[rows].mean()
    for own, partner in enumerate(found):
        best = int(mean[own].argmax())
        partner.overlap = float(mean[own, best])
        if partner.overlap > 0.0:
            partner.head = heads[best]
            near = (mean[own] > partner.overlap - CLOSE).sum() > 1
            partner.doubt = np.inf if near else 0.0
    return found
