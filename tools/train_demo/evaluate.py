"""Loss of a causal model on consecutive windows of a text, in nats per token."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from corpus import windows

Logits = Callable[[torch.Tensor], torch.Tensor]


@torch.no_grad()
def loss_by_position(logits: Logits, ids: torch.Tensor, length: int) -> torch.Tensor:
    """Mean loss of predicting the token at position 1..length-1, over windows of `length`."""
    rows = windows(ids, length)
    total = torch.zeros(length - 1, dtype=torch.float64)
    for batch in rows.split(max(1, 4096 // length)):
        scores = logits(batch)[:, :-1].float()
        losses = F.cross_entropy(scores.transpose(1, 2), batch[:, 1:], reduction="none")
        total += losses.double().sum(dim=0)
    return total / len(rows)


def mean_loss(logits: Logits, ids: torch.Tensor, length: int) -> float:
    """Mean over windows and positions: windows never see what lies before them."""
    return float(loss_by_position(logits, ids, length).mean())
