"""The attention of a layer whose heads need only first and last keys, all keys or a mean, by PyTorch's
kernels: no weights in memory, and a long text of windowed heads in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from headgauge._cache import PrunedLayer
from headgauge._change import Change
from headgauge._held_heads import HeldHeads, NewTokens, visible
from headgauge._masks import AttentionInputs
from headgauge.errors import UnsupportedError


def attend(
    inputs: AttentionInputs, changes: Sequence[Change | None], kept: PrunedLayer | None, past: int
) -> torch.Tensor | None:
    """Returns the output (batch, tokens, heads, d); None: these kernels cannot compute it. `kept`: the layer
    of the cache; None: there is none. `past`: number of tokens before the queries."""
    held = kept.state.heads if kept is not None else None
    if held is None and past > 0:
        return None
    kinds = _held_kinds(inputs, changes)
    if kinds is None or (kept is None and "sdpa" not in inputs.implementation and None in kinds):
        return None
    new = inputs.query.shape[2]
    if inputs.key.shape[2] != new:
        return None
    is_plain, begin = _begin_of_texts(inputs, kept, past)
    if not is_plain:
        if held is None:
            return None
        raise UnsupportedError(
            f"{inputs.name}: expected texts with padding before them alone, found tokens that are hidden within a text "
            "beside a key-value cache; generate with use_cache=False"
        )
    if held is None:
        held = HeldHeads(kinds, inputs.window or None, kept is not None and kept.record_past)
        if kept is not None:
            kept.state.heads = held
    output = held.attend(NewTokens(inputs.query, inputs.key, inputs.value, past, begin, inputs.scale))
    return output.transpose(1, 2).contiguous()


def _held_kinds(inputs: AttentionInputs, changes: Sequence[Change | None]) -> list[Any] | None:
    """Returns what each key-value head holds, as HeldHeads takes it; None: something else."""
    options, module = inputs.options, inputs.module
    if not inputs.causal or inputs.softcap or inputs.sinks:
        return None
    if options.get("position_bias") is not None or (module.training and options.get("dropout")):
        return None
    if getattr(getattr(module, "config", None), "attention_chunk_size", None):
        return None
    kinds: list[Any] = []
    shared = inputs.query.shape[1] // inputs.key.shape[1]
    for first in range(0, len(changes), shared):
        change = changes[first]
        if any(other is not change for other in changes[first : first + shared]):
            return None
        if change is None:
            kinds.append(None)
        elif change.is_mean and not inputs.window:
            kinds.append("mean")
        elif change.rule is None and change.first_and_last is not None:
            kinds.append(change.first_and_last)
        else:
            return None
    return kinds


def _begin_of_texts(
    inputs: AttentionInputs, kept: PrunedLayer | None, past: int
) -> tuple[bool, torch.Tensor | None]:
    """Returns whether the mask hides later keys and padding alone, and the number of padding tokens before
    each text, (batch,); None: there is none."""
    if inputs.mask is None:
        if kept is not None:
            kept.state.padding = torch.zeros(
                inputs.query.shape[0], dtype=torch.long, device=inputs.query.device
            )
        return True, None
    new = inputs.query.shape[2]
    allowed = inputs.allowed(past + new)
    first = torch.where(allowed.any(dim=-1), allowed.int().argmax(dim=-1), past + new).amin(dim=-1)
    begin = first.expand(inputs.query.shape[0])
    if kept is not None:
        known = kept.state.padding
        if known is not None:
            begin = torch.where(known < past, known, begin)  # all keys were real until now
        kept.state.padding = begin.clone()
    at = torch.arange(past, past + new, device=allowed.device)
    to = torch.arange(past + new, device=allowed.device)
    expected = visible(at[:, None], to, begin, 0, past + new, inputs.window or None)[:, 0]
    real = allowed[:, torch.arange(new, device=allowed.device), at] & (at >= begin[:, None])
    plain = bool(((allowed == expected) | ~real[..., None]).all())
    if kept is not None and kept.state.heads is None:  # padding after a text would be hidden within it
        plain = plain and bool((real[:, -1] | (begin == past + new)).all())
    return plain, begin if bool((begin > 0).any()) else None
