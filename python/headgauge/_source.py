"""The interface through which the core gets tensors, one layer of one document at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from headgauge import _core

# The distinct interventions, and for each head of each layer the index of its own (-1: unchanged).
Changes: TypeAlias = list[tuple[_core.Rule | None, _core.Pattern | None]]
Places: TypeAlias = list[list[int]]
# A number for each layer, head and choice.
Gates: TypeAlias = list[list[list[float]]]
# Returns the weight of each loss.
Weigh: TypeAlias = Callable[[list[float]], list[float]]


@dataclass
class NextTokens:
    """Next-token predictions of a model in a document of L tokens."""

    losses: list[float] = field(default_factory=list)
    """-log p of the tokens 2 to L in nats; empty: not known."""
    right: list[bool] = field(default_factory=list)
    """Whether each of the tokens 2 to L is the most likely one; empty: not known."""
    likeliest: list[int] = field(default_factory=list)
    """The most likely one for each of the tokens 2 to L; empty: not known."""
    divergence: list[float] = field(default_factory=list)
    """KL(reference || this) of each next token, L of them, in nats; empty: there is no reference."""
    output_change: list[float] = field(default_factory=list)
    """Of a model without a loss: how far each last hidden state is from the reference's, relative to the
    length of that one."""


class Source(Protocol):
    """A Python object that a source of the core calls. All arrays are float32, C-contiguous, in
    main memory."""

    def info(self) -> dict[str, Any]:
        """Returns name, family, layers, heads, kv_heads, head_dim, value_dim, x_dim, max_length (0:
        unlimited), element_bytes, causal, has_x, has_unrotated, has_values, has_loss,
        runs_normalizer (whether use() made it run under the scan's), has_tokens, documents (their lengths), without_attention (layers for which layer() is never
        called), layer_types and windows (of each layer, 0: none), notices. What is left out is as a SourceInfo of the
        core begins."""
        ...

    def describe(self) -> dict[str, Any]:
        """Returns the `model` of the results, and their `text` if no model opened it."""
        ...

    def layer(self, layer: int, document: int) -> dict[str, Any]:
        """Returns queries (heads, L, d), keys (kv_heads, L, d), values (kv_heads, L, v) or None, x
        (L, w) or None, tokens (ids, or none), x_key (equal for equal vectors), scale, softcap (0:
        none), position_bias (heads, 2 L - 1; that of key j for query i at L - 1 + j - i; or None),
        window (0: none), reach (keys seen on both sides; 0: all), causal, cross (True if keys are
        of another text, of a different length, and all visible), sinks (an additional logit for
        each head; or none), type. What is left out is absent."""
        ...

    def token_ids(self, document: int) -> list[int]:
        """Returns the ids of a document's tokens; empty: not known."""
        return []

    def next_tokens(self, document: int) -> NextTokens:
        """Returns the predictions of the last finished pass."""
        return NextTokens()

    def look_at(self, queries: list[list[int]]) -> None:
        """Sets the queries of each document needed from now on; others may be 0. No documents: all."""

    def set_context(self, length: int) -> None:
        """Cuts documents to that length from now on; restarts the layers and removes the reference."""
        ...

    def intervene(self, changes: Changes, places: Places) -> None:
        """Changes the attention of heads from now on; no places: restores it. Restarts the layers."""

    def close(self) -> None:
        """Ends the use of the source."""


class ModelSource(Source, Protocol):
    """A source opened by a model, which also predicts tokens."""

    def set_reference(self) -> None:
        """Makes the last finished pass the reference of divergence and output_change."""
        ...

    def try_intervention(self, layer: int, document: int, changes: Changes, places: list[int]) -> NextTokens:
        """Returns the predictions of the model with these changes in one layer and those of
        intervene() in the others. The pass that waits in the layer is not affected."""
        ...

    def gradients(
        self, document: int, changes: Changes, choices: list[int], gates: Gates, weigh: Weigh
    ) -> tuple[NextTokens, Gates]:
        """Runs a document in whose heads the outputs of several choices (numbers of changes, -1: unchanged) are mixed
        by gates. Returns losses and right, and the gradient by the gates of the sum of weight times loss."""
        ...


class Model(Protocol):
    """The interface of a model that the program opens itself."""

    @property
    def positions(self) -> int:
        """Returns the longest text; 0: unlimited."""
        ...

    def open(self, documents: list[list[int]], x: str, answered: list[int] | None = None) -> ModelSource:
        """Returns the model with these documents, as token ids. `x`: the vectors for distances. `answered`: how many
        of the last tokens of each are the answer of a task, which next_tokens() then predicts alone (0: a text)."""
        ...
