"""Separability of a part of the keys of each row, as if a mask hid the others (mathematics.md 7a, 7g).

The sinks of a head are hidden; then, of the keys that have one vector x, all but that with the largest
logit. The normalizer weighs the keys that are kept, and the null permutes their weights.
"""

import numpy as np

from tests.reference.arrays import Array
from tests.reference.geometry import Cloud
from tests.reference.rows import TIE_GRID, RowBlock, rank, weigh
from tests.reference.separability import Draws, paired_rows
from tests.reference.weights import WITH_SINKS


def beyond_sinks(block: RowBlock) -> Array:
    """(R, C): the visible keys that are no sinks; a row that sees only sinks keeps its last key."""
    kept = block.visible & ~block.at_sinks
    nothing = ~kept.any(axis=1)
    kept[nothing, block.n[nothing] - 1] = True
    return np.asarray(kept)


def one_of_each_vector(block: RowBlock, kept: Array, vectors: Array) -> Array:
    """(R, C): of the kept keys with one vector that with the largest logit, the first of equal ones.

    `vectors` names the vector of each key of the text. Logits are equal as they are to `rank`."""
    largest = np.zeros_like(kept)
    for row, line in enumerate(kept):
        keys = np.flatnonzero(line)
        grid = np.round(block.logits[row, keys] * TIE_GRID)
        ranked = keys[np.argsort(-grid, kind="stable")]
        _, first = np.unique(vectors[ranked], return_index=True)
        largest[row, ranked[first]] = True
    return largest


def pack(block: RowBlock, kept: Array) -> RowBlock:
    """The same rows with the kept keys alone, in their order, weighed anew."""
    n = kept.sum(axis=1)
    width = int(n.max())
    keys = np.argsort(~kept, axis=1, kind="stable")[:, :width]
    logits = np.take_along_axis(block.logits, keys, axis=1)
    logits[np.arange(width)[None, :] >= n[:, None]] = -np.inf
    weights = weigh(logits, n, block.t, block.normalizer)
    order = rank(logits, min(block.order.shape[1], width))
    return RowBlock(block.t, n, logits, weights, order, block.normalizer, keys=keys)


def equal_pairs(block: RowBlock, vectors: Array) -> Array:
    """(R,): the share of the pairs of keys of a packed row that have one vector; NaN without a pair."""
    assert block.keys is not None
    found = np.full(len(block.t), np.nan)
    for row, n in enumerate(block.n.tolist()):
        if n >= 2:
            _, copies = np.unique(vectors[block.keys[row, :n]], return_counts=True)
            found[row] = (copies * (copies - 1)).sum() / (n * (n - 1))
    return found


def kept_rows(
    block: RowBlock, cloud: Cloud, top_n: list[int], draws: Draws, vectors: Array
) -> dict[str, Array]:
    """The metrics of the group that leave keys out, for each row; NaN where a row has none."""
    beyond = beyond_sinks(block)
    packed = pack(block, beyond)
    found = {
        name.removesuffix(WITH_SINKS): values
        for name, values in paired_rows(packed, cloud, top_n, draws).items()
    }
    distinct = pack(block, one_of_each_vector(block, beyond, vectors))
    excess = paired_rows(distinct, cloud, top_n, draws)["separability_excess_with_sinks"]
    return found | {"separability_excess_distinct": excess, "equal_key_pairs": equal_pairs(packed, vectors)}
