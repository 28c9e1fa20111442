"""What each attention head of the demo model does, by four plain statistics and thresholds.

Rows are queries; row t (from 1) sees the keys 1..t. The thresholds were fixed before the model was
measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

NEAR = 32
LONG_ROW = 2 * NEAR
SINK_ABOVE = 0.3
PREVIOUS_ABOVE = 0.4
NEAR_ABOVE = 0.8
ENTROPY_ABOVE = 0.8

CLASSES = {
    "sink": f"mean weight on the first token > {SINK_ABOVE}, all rows",
    "previous-token": f"mean weight on the token just before > {PREVIOUS_ABOVE}, rows 2 onward",
    "local": (
        f"mean weight on the nearest {NEAR} tokens (itself included) > {NEAR_ABOVE}, rows with more"
        f" than {LONG_ROW} keys, and not previous-token"
    ),
    "diffuse": f"mean entropy / log(number of keys) > {ENTROPY_ABOVE}, rows 2 onward",
}


@dataclass(frozen=True)
class HeadFigures:
    """Means over the rows of one or more texts, each (layers, heads)."""

    sink: torch.Tensor
    previous: torch.Tensor
    near: torch.Tensor
    entropy: torch.Tensor

    def labels(self, layer: int, head: int) -> tuple[str, ...]:
        """The classes whose threshold this head passes, none being possible."""
        previous = bool(self.previous[layer, head] > PREVIOUS_ABOVE)
        passed = {
            "sink": bool(self.sink[layer, head] > SINK_ABOVE),
            "previous-token": previous,
            "local": bool(self.near[layer, head] > NEAR_ABOVE) and not previous,
            "diffuse": bool(self.entropy[layer, head] > ENTROPY_ABOVE),
        }
        return tuple(name for name in CLASSES if passed[name])


def layer_figures(weights: torch.Tensor) -> torch.Tensor:
    """The four statistics (rows of the result) of every head of `weights` (heads, L, L)."""
    length = weights.shape[-1]
    sink = weights[:, :, 0].mean(dim=1)
    previous = weights.diagonal(offset=-1, dim1=1, dim2=2).mean(dim=1)
    near = weights.tril().triu(1 - NEAR).sum(dim=2)[:, LONG_ROW:].mean(dim=1)
    entropy = torch.special.entr(weights).sum(dim=2)[:, 1:]
    keys = torch.arange(2, length + 1, dtype=weights.dtype)
    return torch.stack([sink, previous, near, (entropy / keys.log()).mean(dim=1)])


@torch.no_grad()
def measure(model: torch.nn.Module, rows: torch.Tensor) -> HeadFigures:
    """Means over the token windows `rows`; the model must return its attention weights."""
    total = torch.zeros(())
    for row in rows:
        attentions = model(row[None], output_attentions=True).attentions
        total = total + torch.stack([layer_figures(a[0].double()) for a in attentions], dim=1)
    return HeadFigures(*(total / len(rows)))


def effective_keys(keys: int) -> int:
    """How many equally weighted keys the `diffuse` threshold amounts to in a row of `keys`."""
    return round(math.exp(ENTROPY_ABOVE * math.log(keys)))
