"""Metrics of the logits group, by row (mathematics.md section 7a)."""

import numpy as np

from tests.reference.arrays import Array
from tests.reference.rows import RowBlock


def scales(block: RowBlock) -> Array:
    """c of each row under softmax(c l); NaN under another normalizer."""
    scale = block.normalizer.scale
    if scale is None:
        return np.full(len(block.n), np.nan)
    return np.array([scale(int(n), int(t)) for n, t in zip(block.n, block.t, strict=True)])


def row_values(block: RowBlock) -> dict[str, Array]:
    """Largest and mean logit and log-sum-exp of each row; the last where the scale of softmax is 1."""
    seen = np.where(block.visible, block.logits, 0.0)
    with np.errstate(divide="ignore"):
        log_sum_exp = np.logaddexp.reduce(block.logits, axis=1)
    return {
        "max_logit": block.logits.max(axis=1),
        "mean_logit": seen.sum(axis=1) / block.n,
        "log_sum_exp": np.where(scales(block) == 1.0, log_sum_exp, np.nan),
    }
