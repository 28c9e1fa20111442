"""Next-token losses and divergences of a model."""

from __future__ import annotations

import torch

AT_A_TIME = 2**21  # logits that are in memory as float64


def losses(logits: torch.Tensor, ids: list[int]) -> list[float]:
    """Returns -log p(ids[t + 1]), t = 0 ... L - 2, in nats, from logits (L, vocabulary)."""
    following = torch.tensor(ids[1 : logits.shape[0]], device=logits.device)
    found: list[float] = []
    with torch.no_grad():
        for rows, targets in _in_parts(logits[:-1], following):
            found += torch.nn.functional.cross_entropy(rows.double(), targets, reduction="none").tolist()
    return found


def right(logits: torch.Tensor, ids: list[int]) -> list[bool]:
    """Returns whether ids[t + 1] is the most likely token, t = 0 ... L - 2; a token as likely as the best is."""
    following = torch.tensor(ids[1 : logits.shape[0]], device=logits.device)
    with torch.no_grad():
        own = logits[:-1].gather(1, following[:, None])[:, 0]
        found: list[bool] = (own >= logits[:-1].amax(dim=1)).tolist()
    return found


def divergence(logits: torch.Tensor, reference: torch.Tensor) -> list[float]:
    """Returns KL(reference || these) of each row, in nats."""
    found: list[float] = []
    with torch.no_grad():
        for rows, known in _in_parts(logits, reference):
            ours = torch.log_softmax(rows.double(), dim=-1)
            theirs = torch.log_softmax(known.to(rows.device).double(), dim=-1)
            apart = torch.where(theirs.isneginf(), 0.0, theirs.exp() * (theirs - ours)).sum(dim=-1)
            found += apart.clamp_min(0).tolist()
    return found


def output_change(hidden: torch.Tensor, reference: torch.Tensor) -> list[float]:
    """Returns the distance of each row from the reference's, relative to the norm of the reference's."""
    with torch.no_grad():
        ours, theirs = hidden.double(), reference.to(hidden.device).double()
        length = theirs.norm(dim=-1)
        apart: list[float] = torch.where(length > 0, (ours - theirs).norm(dim=-1) / length, 0.0).tolist()
        return apart


def _in_parts(logits: torch.Tensor, beside: torch.Tensor) -> zip[tuple[torch.Tensor, ...]]:
    """Yields some rows of both at a time."""
    rows = max(1, AT_A_TIME // logits.shape[1])
    return zip(torch.split(logits, rows), torch.split(beside, rows), strict=True)
