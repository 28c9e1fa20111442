"""What gives the core its tensors, one layer of one document at a time."""

from __future__ import annotations

from typing import Any, Protocol


class Source(Protocol):
    """An object behind a source of the core. All arrays are float32, C-contiguous, in main memory."""

    def info(self) -> dict[str, Any]:
        """name, family, layers, heads, kv_heads, head_dim, value_dim, x_dim, max_length (0: any),
        bytes, element_bytes, causal, has_x, has_values, has_loss, has_tokens, documents (their lengths),
        layer_types and windows (of each layer, 0: none), notices."""
        ...

    def describe(self) -> dict[str, Any]:
        """What the results say of `model` and of `text`."""
        ...

    def layer(self, layer: int, document: int) -> dict[str, Any]:
        """queries (heads, L, d), keys (kv_heads, L, d), values (kv_heads, L, v) or None, x (L, w) or
        None, tokens (their ids, or none), x_key (the same number for the same vectors), scale,
        softcap (0: none), position_bias (heads, 2 L - 1; of key j for query i that at L - 1 + j - i; or
        None), window (0: none), reach (of keys on both sides; 0: all), causal, sinks (a
        logit for each head that stands beside the keys'; or none), type."""
        ...

    def losses(self, document: int) -> list[float]:
        """-log p of the tokens 2 to L in nats; empty: not known."""
        ...

    def set_context(self, length: int) -> None:
        """From now on documents are cut to that length, and layers begin anew."""
        ...

    def intervene(self, changed: bool) -> None:
        """Heads are to attend in another way, or as they were; layers begin anew. Raises
        UnsupportedError where the source cannot follow."""
        ...
