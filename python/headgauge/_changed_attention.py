"""Computes the attention of a layer under a change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from headgauge._cache import PrunedLayer
from headgauge._change import Change
from headgauge._held_attention import hold, kinds_of, starts_of, texts_of
from headgauge._held_heads import Held, HeldHeads, Mean, NewTokens
from headgauge._masks import AttentionInputs, visible_keys
from headgauge._own import AskedHead, Selector
from headgauge._weights import weigh_visible
from headgauge.errors import UnsupportedError


class Attention:
    """One call of a layer's attention, with the keys kept from earlier calls."""

    def __init__(
        self,
        inputs: AttentionInputs,
        own: Callable[[], Any],
        kept: PrunedLayer | None,
        layer: int | None,
        past: int = 0,
        document: int = 0,
    ) -> None:
        """`own`: computes the module's own output. `past`: number of tokens before the queries, if
        no cache is kept. `document`: number of the batch's first text, which seeds random
        patterns."""
        if inputs.sinks:
            raise UnsupportedError(f"{inputs.name}: expected attention without sinks of its own, found some")
        if inputs.options.get("position_bias") is not None:
            raise UnsupportedError(
                f"{inputs.name}: expected scores of queries and keys alone, found biases by position"
            )
        self.inputs, self.kept, self.layer, self.document = inputs, kept, layer, document
        self._own = own
        self._whole_output: torch.Tensor | None = None
        self.device = inputs.query.device
        queries = inputs.query.shape[2]
        self.past = kept.token_count - queries if kept else past
        self.total = self.past + queries
        if kept is None and inputs.key.shape[2] != self.total:
            raise UnsupportedError(
                f"{inputs.name}: expected {self.total} keys, found {inputs.key.shape[2]}: attention to something else, or a "
                "key-value cache that holds some of them; begin the text under use(), or without a cache"
            )
        self.visible = visible_keys(inputs, self.total)
        """(batch, 1, queries, all keys so far), or 1 for the batch."""
        self.begin = torch.where(self.visible.any(dim=-1), self.visible.int().argmax(dim=-1), self.total)
        """Returns the first key that each query sees, or the number of keys if it sees none."""
        begin = self.begin.amin(dim=-1)[:, 0]
        if kept is not None:
            begin = starts_of(begin.expand(inputs.query.shape[0]), kept, self.past)
        self.padding = begin.reshape(-1, 1, 1)
        """(batch, 1, 1), or 1: keys before each text."""
        self.shared = inputs.query.shape[1] // inputs.key.shape[1]

    def attend(self, changes: Sequence[Change | None]) -> torch.Tensor:
        """Returns the output (batch, queries, heads, d) of all heads."""
        return _join_heads(self._parts(changes)).transpose(1, 2).contiguous()

    def _parts(self, changes: Sequence[Change | None]) -> Iterable[tuple[list[int], torch.Tensor]]:
        """Returns query heads, and their output (batch, heads, queries, d)."""
        inputs = self.inputs
        if self.kept is None:
            everything = list(range(inputs.key.shape[1]))
            yield from self._by_change(changes, everything, Held(inputs.key, inputs.value))
            return
        begin = self.padding.reshape(-1) if bool((self.padding > 0).any()) else None
        for group in self._held(changes).groups:
            at = group.heads
            heads = [head for head in range(len(changes)) if head // self.shared in group.members]
            query = inputs.query[:, heads]
            given = NewTokens(query, inputs.key[:, at], inputs.value[:, at], self.past, begin, inputs.scale)
            if isinstance(group, Mean):
                yield heads, group.attend(given)
            else:
                yield from self._by_change(changes, group.members, group.extend(given))

    def _held(self, changes: Sequence[Change | None]) -> HeldHeads:
        """Returns what the cache holds. A mean of all keys needs a mask that hides padding alone."""
        assert self.kept is not None
        kinds = kinds_of(self.inputs, changes)
        if "mean" in kinds and not texts_of(self.inputs, self.kept, self.past)[0]:
            kinds = ["all" if kind == "mean" else kind for kind in kinds]
        held = hold(self.inputs, kinds, self.kept)
        if "mean" in held.kinds and "mean" not in kinds:
            raise UnsupportedError(
                f"{self.inputs.name}: expected texts with padding before them alone, found tokens that are hidden within a "
                "text beside a key-value cache; generate with use_cache=False"
            )
        return held

    def _by_change(
        self, changes: Sequence[Change | None], key_heads: list[int], held: Held
    ) -> Iterable[tuple[list[int], torch.Tensor]]:
        """The same of the query heads of some key-value heads."""
        by_change: dict[Change | None, list[int]] = {}
        for head, change in enumerate(changes):
            if head // self.shared in key_heads:
                by_change.setdefault(change, []).append(head)
        for change, heads in by_change.items():
            own = [key_heads.index(head // self.shared) for head in heads]
            if own != list(range(held.keys.shape[1])):
                yield (
                    heads,
                    self._output(change, heads, Held(held.keys[:, own], held.values[:, own], held.tokens)),
                )
            else:
                yield heads, self._output(change, heads, held)

    @functools.cached_property
    def _last(self) -> torch.Tensor:
        """Returns the last key that each query sees, or the last of all if it sees none."""
        return self.total - 1 - self.visible.flip(-1).int().argmax(dim=-1)

    def places(self) -> torch.Tensor:
        """(batch, 1, queries), or 1: the position in its text of the last key that each query sees."""
        begin, window = self.begin, self.inputs.window if self.inputs.causal else 0
        at = torch.arange(self.past, self.total, device=self.device)
        first = torch.maximum(self.padding, at - window + 1) if window else self.padding
        if self.past > 0 and self.kept is None and bool((self.padding > 0).any()):
            known = False  # padding, or a window
        else:
            known = bool(((begin == first) | (begin == self.total)).all())
        if not known:
            raise UnsupportedError(
                f"{self.inputs.name}: expected a text from its beginning, for the change depends on positions, "
                "found padding or a window beside a key-value cache, or several texts in one row"
            )
        return (self._last - self.padding).clamp_min(0)

    def _output(self, change: Change | None, heads: list[int], held: Held) -> torch.Tensor:
        """Returns the output (batch, heads, queries, d) of some query heads; bit for bit the
        model's own if nothing is changed for them and no key was dropped."""
        if change is None and self.kept is None:
            return self._own_output(heads)
        (keys, values, tokens), query = held, self.inputs.query
        query = query if len(heads) == query.shape[1] else query[:, heads]
        visible = self.visible if tokens is None else _at_tokens(self.visible, tokens)
        rule = change.rule if change else None
        logits = self._logits(query, keys, rule is not None and rule.unit_norms)
        if change is not None and change.selector is not None:
            left = visible & self._selected(change, heads, query, held, logits)
            if rule is None and self.kept is None and bool((left == visible).all()):
                return self._own_output(heads)
            visible = left
        by_position = rule is not None and rule.by_position
        place = self.places() if by_position else torch.zeros_like(self.visible[..., 0], dtype=torch.long)
        weights = weigh_visible(logits, rule, visible, place)
        if self.inputs.module.training and self.inputs.options.get("dropout"):
            weights = torch.nn.functional.dropout(weights, self.inputs.options["dropout"])
        return weights.to(values.dtype) @ values

    def _own_output(self, heads: list[int]) -> torch.Tensor:
        if self._whole_output is None:
            self._whole_output = self._own()[0].transpose(1, 2)
        return self._whole_output[:, heads]

    def _logits(self, query: torch.Tensor, key: torch.Tensor, unit_norms: bool) -> torch.Tensor:
        # Half precision has too few digits for scores, and its maximum is 65504.
        exact, scale = torch.promote_types(query.dtype, torch.float32), self.inputs.scale
        query, key = query.to(exact), key.to(exact)
        if unit_norms:
            query, key = (torch.nn.functional.normalize(t, dim=-1) for t in (query, key))
            scale = 1.0
        with torch.autocast(query.device.type, enabled=False):
            logits = (query * scale) @ key.transpose(2, 3)
        return (
            self.inputs.softcap * torch.tanh(logits / self.inputs.softcap) if self.inputs.softcap else logits
        )

    def _selected(
        self, change: Change, heads: list[int], query: Any, held: Held, logits: Any
    ) -> torch.Tensor:
        """Returns the keys that the pattern keeps."""
        if change.first_and_last is None or not self.inputs.causal:
            return self._selected_by_core(change, heads, query, held, logits)
        first, last = change.first_and_last
        at = torch.arange(self.past, self.total, device=self.device)[:, None]
        tokens = torch.arange(self.total, device=self.device)[None] if held.tokens is None else held.tokens
        to = tokens[:, None, None]
        selected = to > at - last
        if first > 0:
            self.places()  # raises an error if they are unknown
            selected = selected | (to < first + self.padding[..., None])
        return selected

    def _selected_by_core(
        self, change: Change, heads: list[int], query: Any, held: Held, logits: Any
    ) -> torch.Tensor:
        """Applies the pattern to one batch row and one head at a time, without the keys before the text. One
        answer serves the heads that share keys, if the pattern keeps the same for them."""
        (keys, _, tokens), at, selector = held, self.places(), change.selector
        assert selector is not None
        if selector.follows_queries and self.past > 0:
            raise UnsupportedError(
                f"{self.inputs.name}: expected a text in one pass, found one that goes on: what {selector.name} "
                "evicts depends on all queries, and the cache keeps none"
            )
        if selector.name == "bigbird" and not isinstance(selector, Selector):
            self._require_neighbours()
        batch, count, queries, _ = logits.shape
        # Keys that are no longer kept are hidden, like those that the mask hides.
        shape = (batch, count, queries, self.total)
        visible = self.visible.expand(batch, 1, queries, self.total)
        shown = visible
        if tokens is not None:
            logits = self._spread(logits, tokens[:, None, None], 3)
            keys = self._spread(keys, tokens[:, None, :, None], 2)
            shown = visible & self._spread(torch.ones_like(tokens), tokens, 1)[:, None, None].bool()
        scores = logits.masked_fill(~shown, torch.finfo(logits.dtype).min).detach().float().cpu()
        whole = keys.detach().float().cpu()
        asked = (self.inputs.query if selector.shared else query).detach().float().cpu()
        begin, some = visible.int().argmax(dim=-1).cpu().numpy(), visible.any(dim=-1).cpu().numpy()
        selected = np.zeros(shape, dtype=bool)
        of_layer = self.inputs.causal, self.inputs.window, self.inputs.scale, self.inputs.softcap
        for b in range(batch):
            text = int(self.padding[b if self.padding.shape[0] > 1 else 0].min())
            rows = min(queries, self.total - text)
            if rows == 0:
                continue
            last = at[b if at.shape[0] > 1 else 0, 0].cpu().numpy()
            ranges = np.zeros((queries, 2), dtype=np.int64)
            ranges[:, 0] = np.where(some[b, 0], begin[b, 0] - text, 0)
            ranges[:, 1] = np.where(some[b, 0], last + 1, 0)
            of_group: dict[int, Any] = {}
            for h, head in enumerate(heads):
                group = head // self.shared
                if group in of_group:
                    selected[b, h] = of_group[group]
                    continue
                first = group * self.shared if selector.shared else h
                sharing = asked[b, first : first + (self.shared if selector.shared else 1), -rows:]
                of_text = np.zeros((len(sharing), self.total - text, keys.shape[3]), dtype=np.float32)
                of_text[:, -rows:] = sharing
                selected[b, h, queries - rows :, text:] = selector.select(
                    of_text,
                    whole[b, h, text:].contiguous().numpy(),
                    ranges[queries - rows :],
                    AskedHead(self.layer or 0, head, self.document + b, *of_layer),
                    scores[b, h, queries - rows :, text:].contiguous().numpy(),
                )
                if selector.shared:
                    of_group[group] = selected[b, h]
        found = torch.from_numpy(selected).to(self.device)
        return found if tokens is None else _at_tokens(found, tokens)

    def _spread(self, of_keys: torch.Tensor, tokens: torch.Tensor, dim: int) -> torch.Tensor:
        """Puts what keys have at their tokens, and 0 at those without a key."""
        shape = [*of_keys.shape[:dim], self.total + 1, *of_keys.shape[dim + 1 :]]
        return (
            of_keys.new_zeros(shape)
            .scatter(dim, tokens.expand_as(of_keys), of_keys)
            .narrow(dim, 0, self.total)
        )

    def _require_neighbours(self) -> None:
        count = self.visible.sum(dim=-1)
        if bool(((self._last - self.begin + 1 != count) & (count > 0)).any()):
            raise UnsupportedError(
                f"{self.inputs.name}: expected queries that see neighbouring keys, of which the pattern draws some, found gaps"
            )


class ChangedLayer:
    """A swap of one layer in a pass over one text, without a key-value cache."""

    def __init__(self, changes: Sequence[Change | None], layer: int, document: int) -> None:
        self._changes, self._layer, self._document = changes, layer, document

    def attention(self, inputs: AttentionInputs, own: Callable[[], Any]) -> Any:
        call = Attention(inputs, own, None, self._layer, document=self._document)
        return call.attend(self._changes), None


def _at_tokens(of_all: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Returns (batch or 1, heads or 1, queries, keys) of something that all tokens have; False for keys to leave out."""
    return torch.take_along_dim(torch.nn.functional.pad(of_all, (0, 1)), tokens[:, None, None], dim=-1)


def _join_heads(parts: Iterable[tuple[list[int], torch.Tensor]]) -> torch.Tensor:
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
