"""A live model under another normalizer, a pattern or a plan, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import torch

from headgauge._attention import add_swap, install, remove_swap
from headgauge._change import Change, Changes
from headgauge._kept import Held, KeptCache, KeptLayer, Kind, Total, pending
from headgauge._recognised import watch
from headgauge._sight import Seen, visible_keys
from headgauge._weights import weigh_visible
from headgauge.errors import UnsupportedError, UsageError


class CacheBytes(NamedTuple):
    """Bytes of a key-value cache."""

    held: int
    whole: int
    """Of all keys and values of as many tokens."""


class Attention:
    """One call of the attention of a layer, with the keys that are held from earlier calls."""

    def __init__(self, seen: Seen, kept: KeptLayer | None, layer: int | None) -> None:
        if seen.sinks:
            raise UnsupportedError(f"{seen.name}: expected attention without sinks of its own, found some")
        if "position_bias" in seen.options and seen.options["position_bias"] is not None:
            raise UnsupportedError(
                f"{seen.name}: expected scores of queries and keys alone, found biases by position"
            )
        self.seen, self.kept, self.layer = seen, kept, layer
        self.device = seen.query.device
        queries = seen.query.shape[2]
        self.past = (kept.seen if kept else seen.key.shape[2]) - queries
        self.total = self.past + queries
        self.visible = visible_keys(seen, self.total)
        """(batch, 1, queries, all keys so far), or 1 for the batch."""
        self.padding = self._padding()
        """(batch, 1, 1), or 1: keys before each text; None: not known."""
        self.shared = seen.query.shape[1] // seen.key.shape[1]

    def _padding(self) -> torch.Tensor | None:
        if self.kept is not None and self.past > 0:
            assert self.kept.state.padding is not None
            return self.kept.state.padding.reshape(-1, 1, 1)
        some = self.visible.any(dim=-1)
        begin = torch.where(some, self.visible.int().argmax(dim=-1), self.total).amin(dim=-1, keepdim=True)
        begin = torch.where(begin == self.total, 0, begin)
        # Before the first key that any query sees is padding, if the queries are those of all keys.
        return begin if self.past == 0 or not bool((begin > 0).any()) else None

    def places(self) -> torch.Tensor:
        """(batch, 1, queries), or 1: where the last key that each query sees is in its text."""
        if self.padding is None:
            raise UnsupportedError(
                f"{self.seen.name}: expected a text from its beginning, for the change depends on positions, "
                "found padding or a window beside a key-value cache"
            )
        last = self.total - 1 - self.visible.flip(-1).int().argmax(dim=-1)
        return (last - self.padding).clamp_min(0)

    def held(self, kind: Kind, heads: list[int]) -> Held:
        """All keys so far that are there for key-value heads of that kind."""
        key, value, state = self.seen.key, self.seen.value, self.kept.state if self.kept else None
        if state is not None and kind in state.held:
            return state.held[kind].joined(key, value, self.past)
        places = torch.arange(self.total - key.shape[2], self.total, device=self.device)
        whole = heads == list(range(key.shape[1]))
        return Held(heads, key if whole else key[:, heads], value if whole else value[:, heads], places)

    def output(self, change: Change | None, heads: list[int], held: Held) -> torch.Tensor:
        """(batch, heads, queries, d) of some query heads."""
        key_heads = sorted({head // self.shared for head in heads})
        keys, values = held.of(key_heads)
        at = torch.tensor([key_heads.index(head // self.shared) for head in heads], device=self.device)
        alike = len(key_heads) == len(heads)
        keys, values = (t if alike else t.index_select(1, at) for t in (keys, values))
        query = self.seen.query
        query = query if len(heads) == query.shape[1] else query[:, heads]
        visible = self.visible[..., held.places] if len(held.places) < self.total else self.visible
        rule = change.rule if change else None
        logits = self._logits(query, keys, rule is not None and rule.unit_norms)
        if change is not None and change.selector is not None:
            visible = visible & self._selected(change, heads, query, keys, logits, held.places)
        by_position = rule is not None and rule.by_position
        place = self.places() if by_position else torch.zeros_like(self.visible[..., 0], dtype=torch.long)
        weights = weigh_visible(logits, rule, visible, place)
        if self.seen.module.training and self.seen.options.get("dropout"):
            weights = torch.nn.functional.dropout(weights, self.seen.options["dropout"])
        return weights.to(values.dtype) @ values

    def _logits(self, query: torch.Tensor, key: torch.Tensor, unit_norms: bool) -> torch.Tensor:
        # Half precision has too few digits for scores, and ends at 65504.
        exact, scale = torch.promote_types(query.dtype, torch.float32), self.seen.scale
        query, key = query.to(exact), key.to(exact)
        if unit_norms:
            query, key = (torch.nn.functional.normalize(t, dim=-1) for t in (query, key))
            scale = 1.0
        with torch.autocast(query.device.type, enabled=False):
            logits = (query * scale) @ key.transpose(2, 3)
        return self.seen.softcap * torch.tanh(logits / self.seen.softcap) if self.seen.softcap else logits

    def _selected(
        self, change: Change, heads: list[int], query: Any, keys: Any, logits: Any, places: torch.Tensor
    ) -> torch.Tensor:
        """What the pattern leaves of the keys."""
        if change.first_and_last is None or not self.seen.causal:
            return self._selected_by_core(change, heads, query, keys, logits)
        first, last = change.first_and_last
        at = torch.arange(self.past, self.total, device=self.device)[:, None]
        selected = (places > at - last)[None, None]
        if first > 0:
            self.places()  # refuses where they are not known
            assert self.padding is not None
            selected = selected | (places < first + self.padding[..., None])
        return selected

    def _selected_by_core(
        self, change: Change, heads: list[int], query: Any, keys: Any, logits: Any
    ) -> torch.Tensor:
        places = self.places()
        batch, _, queries, total = logits.shape
        visible = self.visible.expand(batch, 1, queries, total)[:, 0]
        selected = np.zeros(logits.shape, dtype=bool)
        assert self.padding is not None and change.selector is not None
        for b in range(batch):
            text = int(self.padding[b if self.padding.shape[0] > 1 else 0].min())
            last = places[b if places.shape[0] > 1 else 0, 0].cpu().numpy()
            ranges = np.zeros((queries, 2), dtype=np.int64)
            some = visible[b].any(dim=-1).cpu().numpy()
            ranges[:, 0] = np.where(some, visible[b].int().argmax(dim=-1).cpu().numpy() - text, 0)
            ranges[:, 1] = np.where(some, last + 1, 0)
            for h, head in enumerate(heads):
                rows = np.zeros((total - text, keys.shape[3]), dtype=np.float32)
                of_head = query[b, h].detach().float().cpu().numpy()[-len(rows) :]
                rows[len(rows) - len(of_head) :] = of_head
                selected[b, h, queries - len(of_head) :, text:] = change.selector.select(
                    rows,
                    keys[b, h, text:].detach().float().contiguous().cpu().numpy(),
                    ranges[queries - len(of_head) :],
                    self.layer or 0,
                    head,
                    b,
                    self.seen.causal,
                    logits[b, h, queries - len(of_head) :, text:].detach().float().contiguous().cpu().numpy(),
                )
        return torch.from_numpy(selected).to(self.device)

    def mean(self, total: Total, heads: list[int]) -> torch.Tensor:
        """(batch, query heads, queries, d) of heads whose output is the mean of all values; what is
        held of them is brought up to date."""
        at = torch.tensor(total.heads, device=self.device)
        values = self.seen.value.index_select(1, at).to(total.values.dtype)
        new = self.visible[..., self.past :]
        if new.shape[0] < values.shape[0]:
            new = new.expand(values.shape[0], -1, -1, -1)
        sums = total.values + new.to(values.dtype) @ values
        counts = total.count + new.sum(dim=-1, keepdim=True)
        total.values, total.count = sums[:, :, -1:].clone(), counts[:, :, -1:].clone()
        places = torch.tensor([total.heads.index(head // self.shared) for head in heads], device=self.device)
        means = sums / counts.clamp_min(1)
        return means.index_select(1, places).to(self.seen.value.dtype)


class use:
    """Has a transformers model attend under another rule, from now on or within `with`.

    `rule`: a normalizer ("ssmax", "entmax:alpha=1.5", ...; docs/normalizers.md), or a plan: the path of a
    plan.json, what it holds, or the Results of plan(). `pattern`: "window:size=64", ... (docs/patterns.md), with
    or without a normalizer. `heads`: pairs (layer, head); by default all.

    Forward and backward: gradients are products with the exact Jacobian. Works with padding and with a
    key-value cache. Where heads need only their first and last keys (`window`, `sinks`), or the sum of
    their values (`uniform`), the cache that generate() or a forward pass makes holds no more than that;
    cache_bytes says what it came to. restore() makes the model what it was; of several on one model the
    last one that is left counts, in whatever order they end.

    Scores are computed in float32 at least, weights of normalizers in float64 on the CPU, and the weights
    of a layer are in memory at once, so this is for measuring, tuning and trying, not for speed.

    Raises UsageError for a rule, a pattern or heads that there are not; BadInputError for a plan of another
    model; UnsupportedError for sinks, and, from the model's first forward pass, for a model that computes
    its own attention.
    """

    def __init__(
        self,
        model: Any,
        rule: Any = None,
        heads: Iterable[tuple[int, int]] | None = None,
        *,
        pattern: str | None = None,
    ) -> None:
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
            raise UsageError(f"model: expected a transformers model, found {type(model).__name__}")
        self._changes = Changes(model, rule, heads, pattern)
        self._called = False
        self._cache: KeptCache | None = None
        self._cache_bytes: CacheBytes | None = None
        self._model = model
        self._take_back = [install(model), *filter(None, [watch(model)])]
        add_swap(model, self)
        self._hooks: list[Any] = [model.register_forward_hook(lambda *_: self._require_call())]
        self._hooks.append(
            model.register_forward_pre_hook(lambda _, args, given: self._begin(args, given), with_kwargs=True)
        )

    def restore(self) -> None:
        """The model is what it was; again: nothing."""
        if self._hooks:
            self._cache_bytes = self.cache_bytes
            self._cache = None
            for hook in self._hooks:
                hook.remove()
            self._hooks.clear()
            remove_swap(self._model, self)
            for take_back in self._take_back:
                take_back()

    def __enter__(self) -> use:  # noqa: PYI034 - Self is of Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    @property
    def is_active(self) -> bool:
        return bool(self._hooks)

    @property
    def cache_bytes(self) -> CacheBytes | None:
        """Of the last key-value cache of the model: measured; None: it made none from which keys could be
        dropped."""
        if self._cache is None:
            return self._cache_bytes
        return CacheBytes(self._cache.nbytes, self._cache.whole_nbytes)

    def _require_call(self) -> None:
        if not self._called:
            raise UnsupportedError(
                f"{type(self._model).__name__}: expected attention through transformers' AttentionInterface, "
                "found a model that computes its own, which use() cannot change"
            )

    def _begin(self, args: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        """A cache that drops keys in place of an empty one, or of one that the model would make."""
        pending.take()  # of a forward pass that failed
        if not self._changes.drops_keys:
            return None
        past = given.get("past_key_values")
        wanted = given.get("use_cache")
        if wanted is None:
            wanted = getattr(self._model.config, "use_cache", False) and not self._model.training
        if past is None and not wanted:
            return None
        if past is not None and past.get_seq_length() > 0:
            if isinstance(past, KeptCache) and past.owner is self:
                self._cache = past
            return None
        self._cache = KeptCache(self, self._changes.layers)
        return args, {**given, "past_key_values": self._cache}

    def attention(self, seen: Seen, own: Callable[[], Any]) -> Any:
        """Called by the attention function of a module of the model."""
        self._called = True
        kept = pending.take()
        if kept is not None and kept.owner is not self:
            raise UnsupportedError(
                "use: expected a key-value cache of this attention, found one of another use()"
            )
        count = seen.query.shape[1]
        layer = self._layer_of(seen)
        changes = self._changes.of(layer, count)
        if kept is None and not any(changes):
            return own()
        call = Attention(seen, kept, layer)
        outputs, order = [], []
        for kind, key_heads in self._kinds(changes, call, kept is not None).items():
            of_kind = [head for head in range(count) if head // call.shared in key_heads]
            if kind == "mean":
                outputs.append(call.mean(self._total(call, key_heads), of_kind))
                order += of_kind
                continue
            held = call.held(kind, key_heads)
            for change in dict.fromkeys(changes[head] for head in of_kind):
                heads = [head for head in of_kind if changes[head] == change]
                if change is None and kept is None:
                    outputs.append(own()[0].transpose(1, 2)[:, heads])
                else:
                    outputs.append(call.output(change, heads, held))
                order += heads
            if kept is not None:
                self._keep(call, kind, held)
        if kept is not None and kept.state.padding is None:
            assert call.padding is not None
            batch = seen.query.shape[0]
            kept.state.padding = call.padding.reshape(-1).expand(batch).clone()
        output = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)
        if order != sorted(order):
            output = output[:, torch.tensor(order, device=output.device).argsort()]
        return output.transpose(1, 2).contiguous(), None

    def _layer_of(self, seen: Seen) -> int | None:
        layer = seen.layer
        if layer is None and self._changes.by_layer:
            raise UnsupportedError(
                f"{seen.name}: expected a layer that knows its number, found none; change all heads"
            )
        return layer

    def _kinds(self, changes: list[Change | None], call: Attention, kept: bool) -> dict[Kind, list[int]]:
        """What key-value heads need to hold: kinds, and the heads of each."""
        kinds: dict[Kind, list[int]] = {}
        for key_head in range(len(changes) // call.shared):
            of_head = changes[key_head * call.shared : (key_head + 1) * call.shared]
            kinds.setdefault(_kind(of_head, call.seen) if kept else "all", []).append(key_head)
        return kinds

    def _total(self, call: Attention, heads: list[int]) -> Total:
        assert call.kept is not None
        totals = call.kept.state.totals
        if not totals:
            value = call.seen.value
            shape = (value.shape[0], len(heads), 1, value.shape[3])
            exact = torch.promote_types(value.dtype, torch.float32)
            count = torch.zeros((value.shape[0], 1, 1, 1), dtype=torch.long, device=value.device)
            totals.append(Total(heads, torch.zeros(shape, dtype=exact, device=value.device), count))
        return totals[0]

    def _keep(self, call: Attention, kind: Kind, held: Held) -> None:
        assert call.kept is not None
        if isinstance(kind, tuple):
            assert call.padding is not None
            held = held.left(*kind, call.total, call.padding)
        call.kept.state.held[kind] = held


def _kind(changes: list[Change | None], seen: Seen) -> Kind:
    """What query heads that share keys need of them."""
    window = seen.window if seen.causal else 0
    needs: list[Kind] = []
    for change in changes:
        if change is not None and change.is_mean and not window:
            needs.append("mean")
        elif change is not None and change.first_and_last is not None and seen.causal:
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
