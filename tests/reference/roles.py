"""Metrics of the roles group, by row: shares of weight and of keys (mathematics.md 7a)."""

import numpy as np

from tests.reference.arrays import Array
from tests.reference.averages import STAND_FOR
from tests.reference.rows import RowBlock
from tests.reference.weights import WITH_SINKS

NEAR = 64
OCTAVES = 24  # more than a text has
ROLES = ["previous", "near", "far", "copies", "induction"]


def kinds(block: RowBlock) -> dict[str, Array]:
    """For each role, which keys of each row are of its kind: (R, C) booleans."""
    t = block.t[:, None]
    j = np.arange(1, block.weights.shape[1] + 1)[None, :]
    copies, follow = np.zeros(block.weights.shape, bool), np.zeros(block.weights.shape, bool)
    if block.tokens is not None:
        width = block.weights.shape[1]
        copies = (block.tokens[:width][None, :] == block.tokens[block.t - 1][:, None]) & (j < t)
        follow[:, 1:] = copies[:, :-1]
    near = np.abs(t - j) < NEAR
    return {
        "weight_previous": j == t - 1,
        "weight_near": near,
        "weight_far": ~near & ~block.at_sinks,
        "weight_copies": copies,
        "weight_induction": follow,
    }


def row_values(block: RowBlock) -> dict[str, Array]:
    """Every metric of the group for each row of a block; NaN where a row has none."""
    magnitude = np.abs(block.weights)
    total = magnitude.sum(axis=1)
    whole = np.ones_like(total) if block.normalizer.has_sink else total
    beyond = ~block.at_sinks & block.visible
    rest = (magnitude * beyond).sum(axis=1)
    others = beyond.sum(axis=1)
    values, chances = {}, []
    for name, of_kind in kinds(block).items():
        of_kind = of_kind & block.visible
        count = of_kind.sum(axis=1)
        says = (count > 0) & (count < block.n) & (total > 0.0)
        share = (magnitude * of_kind).sum(axis=1) / np.where(total > 0.0, total, 1.0)
        values[name + WITH_SINKS] = np.where(says, share, np.nan)
        count = (of_kind & beyond).sum(axis=1)
        says &= (count > 0) & (count < others) & (rest > 0.0)
        share = (magnitude * (of_kind & beyond)).sum(axis=1) / np.where(rest > 0.0, rest, 1.0)
        values[name] = np.where(says, share, np.nan)
        values[name + STAND_FOR] = rest / np.where(whole > 0.0, whole, 1.0)
        chances.append(np.where(says, count / np.where(others > 0, others, 1), np.nan))
    values["role_chance" + STAND_FOR] = rest / np.where(whole > 0.0, whole, 1.0)
    values["induction_by_gap"] = by_gap(block, values["weight_induction"])
    values["induction_by_gap" + STAND_FOR] = values["role_chance" + STAND_FOR]
    return values | {"role_chance": np.stack(chances, axis=1)}


def by_gap(block: RowBlock, shares: Array) -> Array:
    """(R, OCTAVES): the share of a row in the octave of the distance to the latest copy of its token."""
    placed = np.full((len(shares), OCTAVES), np.nan)
    for r, t in enumerate(block.t - 1):
        if block.tokens is None:
            continue
        copies = [s for s in range(t) if block.tokens[s] == block.tokens[t]]
        if copies:
            placed[r, int(np.log2(t - copies[-1]))] = shares[r]
    return placed
