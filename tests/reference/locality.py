"""The group locality (docs/mathematics.md 7a)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.rows import RowBlock

Array = npt.NDArray[Any]

NEAR = 16


def row_values(block: RowBlock) -> dict[str, Array]:
    """Both metrics of each row of a block; NaN where there is no weight."""
    size = np.abs(block.weights)
    mass = size.sum(axis=1)
    p = size / np.where(mass > 0.0, mass, np.nan)[:, None]
    t = block.t[:, None]
    j = np.arange(1, block.weights.shape[1] + 1)[None, :]
    return {
        "near_weight": np.where(np.abs(t - j) < NEAR, p, 0.0).sum(axis=1),
        "relative_position": (p * j / t).sum(axis=1),
    }
