"""What gives the core its tensors, one layer of one document at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from headgauge import _core

# How heads are to attend, each way once, and which of these each head of each layer takes (-1: as it has it).
Changes: TypeAlias = list[tuple[_core.Rule | None, _core.Pattern | None]]
Places: TypeAlias = list[list[int]]


@dataclass
class NextTokens:
    """What a model says of the tokens that follow in a document of L tokens."""

    losses: list[float] = field(default_factory=list)
    """-log p of the tokens 2 to L in nats; empty: not known."""
    divergence: list[float] = field(default_factory=list)
    """KL(reference || this) of each next token, L of them, in nats; empty: there is no reference."""
    output_change: list[float] = field(default_factory=list)
    """Of a model without a loss: how far each last hidden state is from the reference's, relative to the
    length of that one."""


class Source(Protocol):
    """An object behind a source of the core. All arrays are float32, C-contiguous, in main memory."""

    def info(self) -> dict[str, Any]:
        """name, family, layers, heads, kv_heads, head_dim, value_dim, x_dim, max_length (0: any),
        bytes, element_bytes, causal, has_x, has_unrotated, has_values, has_loss, has_tokens, documents (their lengths),
        without_attention (layers of which layer() is not asked), layer_types and windows (of each layer, 0: none),
        notices."""
        ...

    def describe(self) -> dict[str, Any]:
        """What the results say of `model`, and of `text` where no model opened it."""
        ...

    def layer(self, layer: int, document: int) -> dict[str, Any]:
        """queries (heads, L, d), keys (kv_heads, L, d), values (kv_heads, L, v) or None, x (L, w) or
        None, tokens (their ids, or none), x_key (the same number for the same vectors), scale,
        softcap (0: none), position_bias (heads, 2 L - 1; of key j for query i that at L - 1 + j - i; or
        None), window (0: none), reach (of keys on both sides; 0: all), causal, cross (keys are of another text,
        of a length of its own, and all seen), sinks (a logit for each head that stands beside
        the keys'; or none), type."""
        ...

    def losses(self, document: int) -> list[float]:
        """-log p of the tokens 2 to L in nats; empty: not known."""
        ...

    def look_at(self, queries: list[list[int]]) -> None:
        """Of each document, the queries that are looked at from now on; others may be left 0. No documents: all."""
        ...

    def set_context(self, length: int) -> None:
        """From now on documents are cut to that length, and layers begin anew; a reference is forgotten."""
        ...

    def intervene(self, changes: Changes, places: Places) -> None:
        """From now on heads attend so; no places: as they were. Layers begin anew."""
        ...

    def close(self) -> None:
        """Nothing more is asked of it."""
        ...


class ModelSource(Source, Protocol):
    """One that a model opened, which says more."""

    def set_reference(self) -> None:
        """The pass that was just finished is what divergence and output_change are against."""
        ...

    def next_tokens(self, document: int) -> NextTokens:
        """Of the pass that was just finished."""
        ...

    def try_intervention(self, layer: int, document: int, changes: Changes, places: list[int]) -> NextTokens:
        """What the model would say if the heads of that one layer attended so, those of others as
        intervene() said; the pass that waits in the layer goes on as if nothing had been asked."""
        ...


class Model(Protocol):
    """An object behind a model of the program's own."""

    @property
    def positions(self) -> int:
        """The longest text; 0: any."""
        ...

    def open(self, documents: list[list[int]], x: str) -> ModelSource:
        """The model with these texts, as token ids. `x`: what distances are measured between."""
        ...
