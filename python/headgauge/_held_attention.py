"""The attention of a layer whose heads need only first and last keys, all keys or a mean, by PyTorch's
kernels: no weights in memory, and a long text of windowed heads in blocks."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from headgauge._cache import PrunedLayer
from headgauge._change import Change
from headgauge._held_heads import HeldHeads, HeldLayer, NewTokens, visible
from headgauge._masks import AttentionInputs

Kind = tuple[int, int] | str
"""The keys that a decoder needs: (first, last) keys, "all", or "mean", the sum of the values."""


def attend(
    inputs: AttentionInputs, changes: Sequence[Change | None], kept: PrunedLayer | None, past: int
) -> torch.Tensor | None:
    """Returns the output (batch, tokens, heads, d); None: these kernels cannot compute it. `kept`: the layer
    of the cache; None: there is none. `past`: number of tokens before the queries."""
    if inputs.key.shape[2] != inputs.query.shape[2] or (kept is None and past > 0):
        return None
    if kept is None and "sdpa" not in inputs.implementation and None in changes:
        return None
    kinds, are_simple = _kinds_of(
        tuple(changes), inputs.query.shape[1] // inputs.key.shape[1], _window(inputs)
    )
    if not are_simple or not _serve(inputs):
        return None
    if kept is not None and kept.held is not None and kept.held.kinds != kinds:
        return None
    is_plain, begin = texts_of(inputs, kept, past)
    if not is_plain:
        return None
    held = hold(inputs, kinds, kept)
    output = held.attend(NewTokens(inputs.query, inputs.key, inputs.value, past, begin, inputs.scale))
    return output.transpose(1, 2).contiguous()


def hold(inputs: AttentionInputs, kinds: list[Kind], kept: PrunedLayer | None) -> HeldHeads:
    return (HeldLayer() if kept is None else kept).hold(kinds, _window(inputs) or None)


def _window(inputs: AttentionInputs) -> int | None:
    """Returns the number of keys that a query sees, 0: all; None: it sees later keys."""
    return inputs.window if inputs.causal else None


def _serve(inputs: AttentionInputs) -> bool:
    """Returns whether the kernels can compute such scores."""
    options, module = inputs.options, inputs.module
    if not inputs.causal or inputs.softcap or inputs.sinks:
        return False
    if options.get("position_bias") is not None or (module.training and options.get("dropout")):
        return False
    return not getattr(getattr(module, "config", None), "attention_chunk_size", None)


def kinds_of(inputs: AttentionInputs, changes: Sequence[Change | None]) -> list[Kind]:
    """Returns what each key-value head holds."""
    return _kinds_of(tuple(changes), inputs.query.shape[1] // inputs.key.shape[1], _window(inputs))[0]


@functools.lru_cache(maxsize=1024)  # every token of every layer asks
def _kinds_of(changes: tuple[Change | None, ...], shared: int, window: int | None) -> tuple[list[Kind], bool]:
    """The same, and whether the kernels can compute these changes."""
    kinds = [_kind(changes[first : first + shared], window) for first in range(0, len(changes), shared)]
    are_simple = all(
        change is changes[head - head % shared]
        and (
            change is None
            or (change.is_mean and not window)
            or (change.rule is None and change.first_and_last is not None)
        )
        for head, change in enumerate(changes)
    )
    return kinds, are_simple


def _kind(changes: Sequence[Change | None], window: int | None) -> Kind:
    """Returns the kind of keys needed by the query heads that share them."""
    needs: list[Kind] = []
    for change in changes:
        if change is not None and change.selector is not None and change.selector.shared:
            needs.append("all")  # what was evicted depends on keys that the window has left
        elif change is not None and change.is_mean and not window:
            needs.append("mean")
        elif change is not None and change.first_and_last is not None and window is not None:
            first, last = change.first_and_last
            needs.append((first, min(last, window) if window else last))
        else:
            needs.append((0, window) if window else "all")
    if len(set(needs)) == 1:
        return needs[0]
    ranges = [need for need in needs if isinstance(need, tuple)]
    if len(ranges) < len(needs):
        return "all"
    return max(first for first, _ in ranges), max(last for _, last in ranges)


def texts_of(
    inputs: AttentionInputs, kept: PrunedLayer | None, past: int
) -> tuple[bool, torch.Tensor | None]:
    """Returns whether the mask hides later keys and padding alone, and the number of padding tokens before
    each text, (batch,); None: there is none."""
    if inputs.mask is None:
        if kept is not None and kept.padding is None:
            kept.padding = torch.zeros(inputs.query.shape[0], dtype=torch.long, device=inputs.query.device)
        return inputs.causal, None
    new = inputs.query.shape[2]
    allowed = inputs.allowed(past + new)
    first = torch.where(allowed.any(dim=-1), allowed.int().argmax(dim=-1), past + new).amin(dim=-1)
    begin = starts_of(first.expand(inputs.query.shape[0]), kept, past)
    at = torch.arange(past, past + new, device=allowed.device)
    to = torch.arange(past + new, device=allowed.device)
    expected = visible(at[:, None], to, begin, 0, past + new, inputs.window or None)[:, 0]
    real = allowed[:, torch.arange(new, device=allowed.device), at] & (at >= begin[:, None])
    plain = bool(((allowed == expected) | ~real[..., None]).all())
    if kept is not None and kept.held is None:  # padding after a text would be hidden within it
        plain = plain and bool((real[:, -1] | (begin == past + new)).all())
    return plain, begin if bool((begin > 0).any()) else None


def starts_of(begin: torch.Tensor, kept: PrunedLayer | None, past: int) -> torch.Tensor:
    """Returns the number of padding tokens before each text, (batch,). `begin`: by the mask of this pass."""
    if kept is None:
        return begin
    if kept.padding is not None:
        begin = torch.where(kept.padding < past, kept.padding, begin)  # all keys were real until now
    kept.padding = begin.clone()
    return begin
