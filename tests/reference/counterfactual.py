"""The model with attention changed in some heads, in float64: losses, divergence of the next
token, and what the heads would put out on the original's queries, keys and values.

Straight from mathematics.md 7a: every pass is computed from the beginning, every distribution
is an array of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.averages import RowIndex, row_mean
from tests.reference.gpt2 import Model, Trace
from tests.reference.normalizers import Normalizer, softmax

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Intervention:
    normalizer: Normalizer | None = None
    mask: Callable[[int], Array] | None = None  # t -> bool (t,): the keys that are left


Interventions = dict[tuple[int, int], Intervention]


class ChangedModel(Model):
    """A checkpoint whose heads attend as `interventions` says, by (layer, head)."""

    def __init__(self, folder: Path, interventions: Interventions | None = None) -> None:
        super().__init__(folder)
        self.interventions = interventions or {}
        self.log_probabilities = np.zeros((0, 0))

    def head_weights(self, layer: int, head: int, q: Array, k: Array) -> Array:
        """(L, L) weights of one head, 0 for the keys that a query does not see."""
        intervention = self.interventions.get((layer, head), Intervention())
        length = len(q)
        weights = np.zeros((length, length))
        if intervention.normalizer is not None and intervention.normalizer.unit_norms:
            scores = (q / np.linalg.norm(q, axis=1, keepdims=True)) @ (
                k / np.linalg.norm(k, axis=1, keepdims=True)
            ).T
        else:
            scores = (q @ k.T) * self.config.scale(layer)
        for t in range(1, length + 1):
            kept = np.arange(t)
            if intervention.mask is not None:
                kept = kept[intervention.mask(t)]
            row = scores[t - 1, kept][None, :]
            normalizer = intervention.normalizer
            weighed = normalizer.weigh(row, len(kept), t) if normalizer else softmax(row)
            weights[t - 1, kept] = weighed[0]
        return weights

    def _attend(self, layer: int, q: Array, k: Array, v: Array) -> Array:
        outputs = [
            self.head_weights(layer, head, q[head], k[head]) @ v[head]
            for head in range(self.config.heads)
        ]
        return np.concatenate(outputs, axis=1)

    def _losses(self, final: Array, tokens: Array) -> tuple[Array, Array]:
        logits = final @ self._head.T
        top = logits.max(axis=1, keepdims=True)
        self.log_probabilities = logits - top - np.log(
            np.exp(logits - top).sum(axis=1, keepdims=True)
        )
        rows = np.arange(len(tokens) - 1)
        return -self.log_probabilities[rows, tokens[1:]], logits[-1]


@dataclass
class Outcome:
    """One document under one set of interventions."""

    losses: Array  # (L-1,)
    divergence: Array  # (L,)


class Counterfactual:
    """A model and one text, whose original pass is kept."""

    def __init__(self, folder: Path, ids: list[int]) -> None:
        self.folder = folder
        self.ids = ids
        self.model = ChangedModel(folder)
        self.trace: Trace = self.model.forward(ids)

    def under(self, interventions: Interventions) -> Outcome:
        model = ChangedModel(self.folder, interventions)
        trace = model.forward(self.ids)
        p, q = self.model.log_probabilities, model.log_probabilities
        return Outcome(trace.next_token_loss, (np.exp(p) * (p - q)).sum(axis=1))

    def output_change(self, layer: int, head: int, intervention: Intervention) -> Array:
        """||o' - o|| / ||o|| of every row, NaN where ||o|| = 0."""
        of = self.trace.layers[layer]
        q, k, v = of.queries[head], of.keys[head], of.values[head]
        before = self.model.head_weights(layer, head, q, k) @ v
        changed = ChangedModel.__new__(ChangedModel)
        changed.config = self.model.config
        changed.interventions = {(layer, head): intervention}
        after = changed.head_weights(layer, head, q, k) @ v
        norm = np.linalg.norm(before, axis=1)
        return np.where(norm > 0, np.linalg.norm(after - before, axis=1) / norm, np.nan)

    def kept_mass(self, layer: int, head: int, intervention: Intervention) -> Array:
        of = self.trace.layers[layer]
        weights = self.model.head_weights(layer, head, of.queries[head], of.keys[head])
        assert intervention.mask is not None
        return np.array(
            [weights[t - 1, :t][intervention.mask(t)].sum() for t in range(1, len(weights) + 1)]
        )


def mean_up_to(values: Array, length: int) -> tuple[float, float]:
    """Mean of the first `length` values of one document, and its standard error."""
    rows = np.arange(1, len(values) + 1)
    mean = row_mean(
        values, RowIndex.of([rows], [len(values)]), np.asarray(rows <= length)
    )
    return float(mean.value), float(mean.stderr)
