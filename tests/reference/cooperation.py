"""Metrics of the cooperation group, by row of a layer (math.md 7a)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _mark(length: int, members: Array, flags: Array) -> Array:
    """(R, length) booleans: key j is a member of the row's set with its flag on."""
    marked = np.zeros((len(members), length), dtype=bool)
    lines = np.arange(len(members))[:, None]
    marked[np.broadcast_to(lines, members.shape)[flags], members[flags]] = True
    return marked


def union_coverage(members: list[Array], distinct: list[Array], length: int) -> Array:
    """|union of D_h| / |union of I_h| for each row; one (R, N) array for each head."""
    selected = np.zeros((len(members[0]), length), dtype=bool)
    told = np.zeros_like(selected)
    for chosen, flags in zip(members, distinct, strict=True):
        selected |= _mark(length, chosen, np.ones_like(flags))
        told |= _mark(length, chosen, flags)
    return np.asarray(told.sum(axis=1) / selected.sum(axis=1))


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
