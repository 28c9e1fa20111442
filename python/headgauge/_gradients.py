"""Gradients of a model's losses by gates, which mix the outputs of several choices in each head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from headgauge._attention import Swap
from headgauge._change import Change
from headgauge._changed_attention import Attention
from headgauge._forward_pass import LayerCounter, Run
from headgauge._masks import AttentionInputs


class _GatedLayer:
    """A swap of one layer: the sum over choices of gate times output."""

    def __init__(
        self, choices: Sequence[Change | None], gates: torch.Tensor, layer: int, document: int
    ) -> None:
        """`gates`: (heads, choices)."""
        self._choices, self._gates, self._layer, self._document = choices, gates, layer, document

    def attention(self, inputs: AttentionInputs, own: Callable[[], Any]) -> Any:
        call = Attention(inputs, own, None, self._layer, document=self._document)
        output: Any = 0
        for choice, gates in zip(self._choices, self._gates.unbind(dim=1), strict=True):
            of_choice = call.attend([choice] * len(gates))
            output = output + of_choice * gates.to(of_choice)[:, None]
        return output, None


class GatedPass(LayerCounter):
    """A pass over one text under gates, whose logits can be differentiated by them."""

    def __init__(
        self, run: Run, choices: Sequence[Change | None], gates: Sequence[Sequence[Sequence[float]]]
    ) -> None:
        """`gates`: by layer, head and choice."""
        super().__init__(run, {})
        self._choices = choices
        self.gates = torch.tensor(gates, dtype=torch.float64, requires_grad=True)

    def swap(self, layer: int) -> Swap | None:
        return _GatedLayer(self._choices, self.gates[layer], layer, self._run.document)

    def gradient(self, logits: torch.Tensor, ids: list[int], weights: Sequence[float]) -> Any:
        """Returns, by layer, head and choice, that of the sum of weight times loss of the tokens after the first."""
        if not any(weights):
            return torch.zeros_like(self.gates).tolist()
        following = torch.tensor(ids[1 : logits.shape[0]], device=logits.device)
        losses = torch.nn.functional.cross_entropy(logits[:-1].float(), following, reduction="none")
        total = (losses * torch.tensor(weights, device=losses.device, dtype=losses.dtype)).sum()
        (found,) = torch.autograd.grad(total, self.gates)
        return found.tolist()
