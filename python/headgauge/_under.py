"""The attention of a layer whose heads are changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from headgauge._call import Attention
from headgauge._change import Change
from headgauge._sight import Seen


class UnderChanges:
    """A swap of one layer in a pass over one text, without a key-value cache."""

    def __init__(self, changes: Sequence[Change | None], layer: int, document: int) -> None:
        self._changes, self._layer, self._document = changes, layer, document

    def attention(self, seen: Seen, own: Callable[[], Any]) -> Any:
        call = Attention(seen, own, None, self._layer, document=self._document)
        held = call.held("all", list(range(seen.key.shape[1])))
        parts = alike(self._changes, range(len(self._changes)))
        output = in_order((heads, call.output(change, heads, held)) for change, heads in parts.items())
        return output.transpose(1, 2).contiguous(), None


def alike(changes: Sequence[Change | None], heads: Any) -> Mapping[Change | None, list[int]]:
    """Returns the heads of each change."""
    found: dict[Change | None, list[int]] = {}
    for head in heads:
        found.setdefault(changes[head], []).append(head)
    return found


def in_order(parts: Iterable[tuple[list[int], torch.Tensor]]) -> torch.Tensor:
    """Joins outputs (batch, heads, queries, d) of groups of heads into one of all heads, in their
    order."""
    order: list[int] = []
    outputs: list[torch.Tensor] = []
    for heads, of_heads in parts:
        order += heads
        outputs.append(of_heads)
    output = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)
    if order != sorted(order):
        output = output[:, torch.tensor(order, device=output.device).argsort()]
    return output
