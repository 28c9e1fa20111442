"""A key-value cache that holds only the keys that a changed attention still needs."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import (
    Cache,
    CacheLayerMixin,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from headgauge._config import any_of
from headgauge._held_heads import HeldHeads
from headgauge.errors import UnsupportedError

Kind = tuple[int, int] | str
"""The keys a decoder needs: (first, last) keys, "all", or "mean", the sum of the values."""


def _bytes(*tensors: torch.Tensor) -> int:
    """Returns the bytes of the underlying memory: a view keeps the whole larger tensor alive."""
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def _token_bytes(*tensors: torch.Tensor) -> int:
    return sum(tensor[:, :, 0].numel() * tensor.element_size() for tensor in tensors)


def whole_bytes(config: Any, layers: Sequence[Any], tokens: int) -> int:
    """Returns the bytes that the model's own cache has after as many tokens: its layers with a window hold that alone.
    `layers`: those of another cache that has seen tokens."""
    whole = 0
    for own, layer in zip(DynamicCache(config=config).layers, layers, strict=True):
        window = getattr(own, "sliding_window", None)  # and one token less is held
        size = layer.token_bytes if hasattr(layer, "token_bytes") else _token_bytes(layer.keys, layer.values)
        whole += size * min(tokens, (window or tokens + 1) - 1)
    return whole


@dataclass
class KeysAndValues:
    """The cache of some key-value heads: keys and values (batch, heads, keys, d) of the same tokens."""

    heads: list[int]
    keys: torch.Tensor
    values: torch.Tensor
    positions: torch.Tensor
    """(keys,): the token of each key, counted with padding."""

    def select_heads(self, heads: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        if heads == self.heads:
            return self.keys, self.values
        at = torch.tensor([self.heads.index(head) for head in heads], device=self.keys.device)
        return self.keys.index_select(1, at), self.values.index_select(1, at)

    def append(self, keys: torch.Tensor, values: torch.Tensor, past: int) -> KeysAndValues:
        """Returns these keys and values, followed by those of the tokens from `past` on; the
        arguments have all heads of the layer."""
        at = torch.tensor(self.heads, device=keys.device)
        positions = torch.arange(past, past + keys.shape[2], device=keys.device)
        return KeysAndValues(
            self.heads,
            torch.cat([self.keys, keys.index_select(1, at)], dim=2),
            torch.cat([self.values, values.index_select(1, at)], dim=2),
            torch.cat([self.positions, positions]),
        )

    def until(self, token_count: int) -> KeysAndValues:
        """Returns the keys of the first tokens."""
        return self._at((self.positions < token_count).nonzero().reshape(-1))

    def keep_first_and_last(
        self, first: int, last: int, token_count: int, padding: torch.Tensor
    ) -> KeysAndValues:
        """Returns the keys seen by the query after `token_count` tokens: the first ones after the padding
        and the last ones."""
        low, high = int(padding.min()), int(padding.max())
        keep = (self.positions >= low) & (self.positions < high + first) | (
            self.positions > token_count - last
        )
        return self._at(keep.nonzero().reshape(-1))

    def _at(self, places: torch.Tensor) -> KeysAndValues:
        return KeysAndValues(
            self.heads,
            self.keys.index_select(2, places),
            self.values.index_select(2, places),
            self.positions[places],
        )


@dataclass
class Total:
    """The sum of the values (batch, heads, 1, d), for heads whose output is their mean."""

    values: torch.Tensor
    count: torch.Tensor
    """(batch, 1, 1, 1): number of keys in the sum."""


@dataclass
class LayerState:
    """The cache of a layer: of all heads, or by what they need."""

    heads: HeldHeads | None = None
    held: dict[Kind, KeysAndValues] = field(default_factory=dict)
    total: Total | None = None
    padding: torch.Tensor | None = None
    """(batch,): tokens before each text."""


class PrunedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call,unused-ignore]
    """A layer of a cache. update() returns only the new keys: the attention of the swap that owns
    the cache appends them to the kept keys, and decides which to keep."""

    is_sliding = False
    is_compileable = False
    is_croppable = True

    def __init__(self, owner: Any, record_past: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call,unused-ignore]
        self.owner, self.token_count, self.state = owner, 0, LayerState()
        self._record_past = record_past
        self.token_bytes = 0  # of the keys and values of all heads

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor | None = None) -> None:
        self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        if not self.owner.is_active:
            raise UnsupportedError(
                "use: expected a key-value cache of this attention, found one of a use() that has ended"
            )
        if pending.layer is not None:
            self.owner.require_attention()
            raise UnsupportedError(
                "use: expected an attention after each update of the key-value cache, found a layer without; "
                "generate with use_cache=False"
            )
        self.is_initialized = True
        self.token_count += key_states.shape[-2]
        self.token_bytes = _token_bytes(key_states, value_states)
        pending.layer = self
        return key_states, value_states

    def get_seq_length(self, *_: Any) -> int:
        return self.token_count

    def get_mask_sizes(self, query_length: Any) -> tuple[int, int]:
        positions = getattr(query_length, "shape", None)  # transformers 4 passes a tensor
        count = query_length if positions is None else positions[0]
        return self.token_count + count, 0

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length

    @property
    def nbytes(self) -> int:
        state = self.state
        held = sum(_bytes(h.keys, h.values, h.positions) for h in state.held.values())
        held += state.heads.nbytes if state.heads else 0
        return held + (_bytes(state.total.values, state.total.count) if state.total else 0)

    def _each_batch(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        state = self.state
        if state.heads is not None:
            state.heads.each(change)
        for held in state.held.values():
            held.keys, held.values = change(held.keys), change(held.values)
        if state.total is not None:
            state.total = Total(change(state.total.values), change(state.total.count))
        if state.padding is not None:
            state.padding = change(state.padding)

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        self._each_batch(lambda tensor: tensor.index_select(0, beam_idx.to(tensor.device)))

    def batch_repeat_interleave(self, repeats: int) -> None:
        self._each_batch(lambda tensor: tensor.repeat_interleave(repeats, dim=0))

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        self._each_batch(lambda tensor: tensor[indices.to(tensor.device)])

    @property
    def record_past(self) -> bool:
        """Whether nothing is dropped until crop()."""
        return self._record_past

    @record_past.setter
    def record_past(self, records: bool) -> None:
        state = self.state
        if records and (state.total is not None or any(kind != "all" for kind in state.held)):
            raise UnsupportedError(
                "use: expected an empty key-value cache, found one that has dropped keys; give use() record_past=True"
            )
        self._record_past = records
        if state.heads is not None:
            state.heads.set_records(records)

    def activate_past_recording(self) -> None:
        self.record_past = True

    def crop(self, tokens_to_remove: int) -> None:
        """Takes the last -tokens_to_remove tokens back: what transformers calls since 5.24."""
        heads = self.state.heads
        recorded = self.token_count if heads is None else heads.recorded
        if (
            tokens_to_remove > 0
            or (tokens_to_remove < 0 and not self.record_past)
            or -tokens_to_remove > recorded
        ):
            raise UnsupportedError(
                "use: expected generation that only goes on, found one that takes tokens back, whose keys are gone; "
                "give use() record_past=True, with transformers 5.24 or later"
            )
        self.token_count += tokens_to_remove
        if heads is not None and self.record_past:
            heads.crop(-tokens_to_remove)
        for kind, held in self.state.held.items():
            self.state.held[kind] = held.until(self.token_count)

    def __deepcopy__(self, memo: dict[int, Any]) -> PrunedLayer:
        copied = PrunedLayer(self.owner, self.record_past)
        copied.token_count, copied.token_bytes = self.token_count, self.token_bytes
        copied.state, copied.is_initialized = copy.deepcopy(self.state, memo), self.is_initialized
        return copied

    def reset(self) -> None:
        self.token_count, self.state, self.is_initialized = 0, LayerState(), False

    def offload(self) -> None:
        """Does nothing: the keys stay on their device."""

    prefetch = offload


class _Pending(threading.local):
    """The layer that was updated last in this thread, whose attention comes next; and whether every
    attention of the current forward pass has such a layer."""

    layer: PrunedLayer | None = None
    keeping = False

    def take(self) -> PrunedLayer | None:
        layer, self.layer = self.layer, None
        return layer


pending = _Pending()


def can_prune(model: Any) -> bool:
    """Returns whether each layer of a model's cache holds the keys and values of that layer's attention."""
    if any_of(model.config.get_text_config(), "num_kv_shared_layers"):
        return False
    try:
        own = DynamicCache(config=model.config)
    except Exception:  # noqa: BLE001 - a config that the caches of transformers do not support
        return False
    return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in own.layers)


def with_pruned_layers(
    past: Any, owner: Any, layers: int, record_past: bool
) -> tuple[Any, list[PrunedLayer]]:
    """Returns a cache with kept layers to use instead of an empty cache or None. A DynamicCache is
    changed in place; other kinds, which have a fixed size, are replaced."""
    record_past |= any(getattr(layer, "record_past", False) for layer in getattr(past, "layers", ()))
    kept = [PrunedLayer(owner, record_past) for _ in range(layers)]
    if type(past) is not DynamicCache:
        return Cache(layers=list(kept)), kept
    past.layers[:] = kept
    past.layer_class_to_replicate = None
    return past, kept
