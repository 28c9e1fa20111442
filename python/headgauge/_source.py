"""The interface that gives the core its tensors, one layer of one document at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from headgauge import _core

# How heads are to attend, each way once, and which of these each head of each layer takes (-1: as it has it).
Changes: TypeAlias = list[tuple[_core.Rule | None, _core.Pattern | None]]
Places: TypeAlias = list[list[int]]


@dataclass
class NextTokens:
    """Next-token predictions of a model in a document of L tokens."""

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
        """Returns the `model` of the results, and their `text` if no model opened it."""
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
        """Sets the queries of each document needed from now on; others may be 0. No documents: all."""
        ...

    def set_context(self, length: int) -> None:
        """Cuts documents to that length from now on; restarts the layers and removes the reference."""
        ...

    def intervene(self, changes: Changes, places: Places) -> None:
        """Changes the attention of heads from now on; no places: restores it. Restarts the layers."""
        ...

    def close(self) -> None:
        """Ends the use of the source."""
        ...


class ModelSource(Source, Protocol):
    """A source opened by a model, which also predicts tokens."""

    def set_reference(self) -> None:
        """Makes the last finished pass the reference of divergence and output_change."""
        ...

    def next_tokens(self, document: int) -> NextTokens:
        """Returns the predictions of the last finished pass."""
        ...

    def try_intervention(self, layer: int, document: int, changes: Changes, places: list[int]) -> NextTokens:
        """What the model would say if the heads of that one layer attended so, those of others as
        intervene() said; the pass that waits in the layer goes on as if nothing had been asked."""
        ...


class Model(Protocol):
    """The interface of a model that the program opens itself."""

    @property
    def positions(self) -> int:
        """Returns the longest text; 0: unlimited."""
        ...

    def open(self, documents: list[list[int]], x: str) -> ModelSource:
        """Returns the model with these texts, as token ids. `x`: the vectors for distances."""
        ...
