"""Computes the attention of a layer under a change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headgauge._cache import KeysAndValues, Kind, PrunedLayer, Total
from headgauge._change import Change
from headgauge._masks import AttentionInputs, visible_keys
from headgauge._own import Selector
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
        self.padding = self._padding()
        """(batch, 1, 1), or 1: keys before each text."""
        self.shared = inputs.query.shape[1] // inputs.key.shape[1]

    def _padding(self) -> torch.Tensor:
        begin = self.begin.amin(dim=-1, keepdim=True)
        state = self.kept.state if self.kept else None
        if state is None or state.padding is None:
            return begin
        known = state.padding.reshape(-1, 1, 1)
        return torch.where(known < self.past, known, begin)  # all keys were real until now

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

    def held(self, kind: Kind, heads: list[int]) -> KeysAndValues:
        """Returns all keys so far that are kept for key-value heads of that kind."""
        key, value, state = self.inputs.key, self.inputs.value, self.kept.state if self.kept else None
        if state is not None and kind in state.held:
            return state.held[kind].append(key, value, self.past)
        places = torch.arange(self.total - key.shape[2], self.total, device=self.device)
        whole = heads == list(range(key.shape[1]))
        return KeysAndValues(
            heads, key if whole else key[:, heads], value if whole else value[:, heads], places
        )

    def output(self, change: Change | None, heads: list[int], held: KeysAndValues) -> torch.Tensor:
        """Returns the output (batch, heads, queries, d) of some query heads; bit for bit the
        model's own if nothing is changed for them and no key was dropped."""
        if change is None and self.kept is None:
            return self._own_output(heads)
        key_heads = sorted({head // self.shared for head in heads})
        keys, values = held.select_heads(key_heads)
        at = torch.tensor([key_heads.index(head // self.shared) for head in heads], device=self.device)
        alike = len(key_heads) == len(heads)
        keys, values = (t if alike else t.index_select(1, at) for t in (keys, values))
        query = self.inputs.query
        query = query if len(heads) == query.shape[1] else query[:, heads]
        visible = self.visible[..., held.positions] if len(held.positions) < self.total else self.visible
        rule = change.rule if change else None
        logits = self._logits(query, keys, rule is not None and rule.unit_norms)
        if change is not None and change.selector is not None:
            left = visible & self._selected(change, heads, query, keys, logits, held.positions)
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
        self, change: Change, heads: list[int], query: Any, keys: Any, logits: Any, places: torch.Tensor
    ) -> torch.Tensor:
        """Returns the keys that the pattern keeps."""
        if change.first_and_last is None or not self.inputs.causal:
            return self._selected_by_core(change, heads, query, keys, logits, places)
        first, last = change.first_and_last
        at = torch.arange(self.past, self.total, device=self.device)[:, None]
        selected = (places > at - last)[None, None]
        if first > 0:
            self.places()  # raises an error if they are unknown
            selected = selected | (places < first + self.padding[..., None])
        return selected

    def _selected_by_core(
        self, change: Change, heads: list[int], query: Any, keys: Any, logits: Any, places: torch.Tensor
    ) -> torch.Tensor:
        """Applies the pattern to one batch row and one head at a time, without the keys before the text. One
        answer serves the heads that share keys, if the pattern keeps the same for them."""
        at, selector = self.places(), change.selector
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
        scores = logits.new_full(shape, torch.finfo(logits.dtype).min)
        scores[..., places] = logits
        scores = scores.masked_fill(~visible, torch.finfo(logits.dtype).min).detach().float().cpu()
        whole = keys.new_zeros((batch, keys.shape[1], self.total, keys.shape[3]))
        whole[:, :, places] = keys
        whole = whole.detach().float().cpu()
        asked = (self.inputs.query if selector.shared else query).detach().float().cpu()
        begin, some = visible.int().argmax(dim=-1).cpu().numpy(), visible.any(dim=-1).cpu().numpy()
        selected = np.zeros(shape, dtype=bool)
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
                    self.layer or 0,
                    head,
                    self.document + b,
                    self.inputs.causal,
                    self.inputs.window,
                    self.inputs.scale,
                    self.inputs.softcap,
                    scores[b, h, queries - rows :, text:].contiguous().numpy(),
                )
                if selector.shared:
                    of_group[group] = selected[b, h]
        return torch.from_numpy(selected).to(self.device)[..., places]

    def _require_neighbours(self) -> None:
        count = self.visible.sum(dim=-1)
        if bool(((self._last - self.begin + 1 != count) & (count > 0)).any()):
            raise UnsupportedError(
                f"{self.inputs.name}: expected queries that see neighbouring keys, of which the pattern draws some, found gaps"
            )

    def mean(self, key_heads: list[int], heads: list[int]) -> torch.Tensor:
        """Returns the output (batch, query heads, queries, d) of heads whose output is the mean of
        all values; keeps the sum of the values."""
        assert self.kept is not None
        at = torch.tensor(key_heads, device=self.device)
        values = self.inputs.value.index_select(1, at)
        values = values.to(torch.promote_types(values.dtype, torch.float32))
        new = self.visible[..., self.past :].expand(values.shape[0], -1, -1, -1)
        sums, counts = new.to(values.dtype) @ values, new.sum(dim=-1, keepdim=True)
        if (before := self.kept.state.total) is not None:
            sums, counts = sums + before.values, counts + before.count
        self.kept.state.total = Total(sums[:, :, -1:].clone(), counts[:, :, -1:].clone())
        places = torch.tensor([key_heads.index(head // self.shared) for head in heads], device=self.device)
        return (sums / counts.clamp_min(1)).index_select(1, places).to(self.inputs.value.dtype)

    def keep(self, kind: Kind, held: KeysAndValues) -> None:
        """Makes the cache keep what heads of that kind still need."""
        assert self.kept is not None
        state = self.kept.state
        state.held[kind] = (
            held.keep_first_and_last(*kind, self.total, self.padding) if isinstance(kind, tuple) else held
        )
        state.padding = self.padding.reshape(-1).expand(self.inputs.query.shape[0]).clone()


class ChangedLayer:
    """A swap of one layer in a pass over one text, without a key-value cache."""

    def __init__(self, changes: Sequence[Change | None], layer: int, document: int) -> None:
        self._changes, self._layer, self._document = changes, layer, document

    def attention(self, inputs: AttentionInputs, own: Callable[[], Any]) -> Any:
        call = Attention(inputs, own, None, self._layer, document=self._document)
        held = call.held("all", list(range(inputs.key.shape[1])))
        parts = heads_by_change(self._changes, range(len(self._changes)))
        output = join_heads((heads, call.output(change, heads, held)) for change, heads in parts.items())
        return output.transpose(1, 2).contiguous(), None


def heads_by_change(changes: Sequence[Change | None], heads: Any) -> Mapping[Change | None, list[int]]:
    """Returns the heads of each change."""
    found: dict[Change | None, list[int]] = {}
    for head in heads:
        found.setdefault(changes[head], []).append(head)
    return found


def join_heads(parts: Iterable[tuple[list[int], torch.Tensor]]) -> torch.Tensor:
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
