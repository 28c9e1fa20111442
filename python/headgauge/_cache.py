"""A key-value cache that holds only the keys that a changed attention still needs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from headgauge._config import any_of
from headgauge._held_heads import HeldLayer, token_bytes, updated
from headgauge.errors import UnsupportedError


def whole_bytes(config: Any, layers: Sequence[Any], tokens: int) -> int:
    """Returns the bytes that the model's own cache has after as many tokens: its layers with a window hold that alone.
    `layers`: those of another cache that has seen tokens."""
    whole = 0
    for own, layer in zip(DynamicCache(config=config).layers, layers, strict=True):
        window = getattr(own, "sliding_window", None)  # and one token less is held
        size = layer.token_bytes if hasattr(layer, "token_bytes") else token_bytes(layer.keys, layer.values)
        whole += size * min(tokens, (window or tokens + 1) - 1)
    return whole


class PrunedLayer(HeldLayer):
    """A layer of the cache of the swap that owns it."""

    def __init__(self, owner: Any, record_past: bool) -> None:
        super().__init__(record_past)
        self._owner = weakref.ref(owner)  # which a copy of the cache shares
        self.padding: torch.Tensor | None = None
        """(batch,): tokens before each text."""

    @property
    def owner(self) -> Any:
        return self._owner()

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        if self.owner is None or not self.owner.is_active:
            raise UnsupportedError(
                "use: expected a key-value cache of this attention, found one of a use() that has ended"
            )
        if updated.layer is not None:
            self.owner.require_attention()
            raise UnsupportedError(
                "use: expected an attention after each update of the key-value cache, found a layer without; "
                "generate with use_cache=False"
            )
        return super().update(key_states, value_states)

    def _each(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super()._each(change)
        self.padding = None if self.padding is None else change(self.padding)

    def crop(self, tokens_to_remove: int) -> None:
        try:
            super().crop(tokens_to_remove)
        except NotImplementedError as error:
            raise UnsupportedError(f"use: {error}; give use() record_past=True") from None

    def reset(self) -> None:
        super().reset()
        self.padding = None


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
