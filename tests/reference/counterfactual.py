"""The model with attention changed in some heads, in float64: losses, divergence of the next
token, and what the heads would put out on the original's queries, keys and values.

Straight from mathematics.md 7a: every pass is computed from the beginning, every distribution
is an array of its own. Heads of a layer that are changed alike are weighed together.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.reference.arrays import Array
from tests.reference.averages import RowIndex, row_mean
from tests.reference.gpt2 import Model, Trace
from tests.reference.normalizers import Normalizer, softmax


@dataclass(frozen=True)
class Intervention:
    normalizer: Normalizer | None = None
    mask: Callable[[int], Array] | None = None  # t -> bool (t,): the keys that are left


NONE = Intervention()
Interventions = dict[tuple[int, int], Intervention]


def intervened_weights(intervention: Intervention, q: Array, k: Array, scale: float) -> Array:
    """(H, L, L) weights of heads with (H, L, d) queries and keys, 0 for the keys that a query does
    not see."""
    normalizer, length = intervention.normalizer, q.shape[1]
    if normalizer is not None and normalizer.unit_norms:
        q, k, scale = on_unit_spheres(q), on_unit_spheres(k), 1.0
    scores = (q @ k.transpose(0, 2, 1)) * scale
    if intervention is NONE:
        hidden = np.triu(np.ones((length, length), dtype=bool), 1)
        return softmax(np.where(hidden, -np.inf, scores))
    weights = np.zeros_like(scores)
    for t in range(1, length + 1):
        kept = np.arange(t)
        if intervention.mask is not None:
            kept = kept[intervention.mask(t)]
        rows = scores[:, t - 1, kept]
        weighed = normalizer.weigh(rows, len(kept), t) if normalizer else softmax(rows)
        weights[:, t - 1, kept] = weighed
    return weights


def on_unit_spheres(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=2, keepdims=True))


class ChangedModel(Model):
    """A checkpoint whose heads attend as `interventions` says, by (layer, head)."""

    interventions: Interventions
    log_probabilities: Array

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.interventions = {}

    def under(self, interventions: Interventions) -> ChangedModel:
        """The same checkpoint, read once, with other interventions."""
        changed = copy(self)
        changed.interventions = interventions
        return changed

    def weights(self, layer: int, q: Array, k: Array) -> Array:
        """(H, L, L) weights of all heads of a layer."""
        of_heads = [self.interventions.get((layer, h), NONE) for h in range(self.config.heads)]
        result = np.zeros((len(of_heads), q.shape[1], k.shape[1]))
        for intervention in set(of_heads):
            alike = [head for head, own in enumerate(of_heads) if own is intervention]
            scale = self.config.scale(layer)
            result[alike] = intervened_weights(intervention, q[alike], k[alike], scale)
        return result

    def _attend(self, layer: int, q: Array, k: Array, v: Array) -> Array:
        return np.concatenate(list(self.weights(layer, q, k) @ v), axis=1)

    def _losses(self, final: Array, tokens: Array) -> Array:
        logits = final @ self._head.T
        top = logits.max(axis=1, keepdims=True)
        self.log_probabilities = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        rows = np.arange(len(tokens) - 1)
        return -self.log_probabilities[rows, tokens[1:]]


@dataclass
class Outcome:
    """One document under one set of interventions."""

    losses: Array  # (L-1,)
    divergence: Array  # (L,)
    same_token: Array  # (L-1,): 1 where the most likely next token is the original's


class Counterfactual:
    """A model and one text, whose original pass is kept."""

    def __init__(self, folder: Path, ids: list[int]) -> None:
        self.ids = ids
        self.model = ChangedModel(folder)
        self.trace: Trace = self.model.forward(ids)

    def under(self, interventions: Interventions) -> Outcome:
        model = self.model.under(interventions)
        trace = model.forward(self.ids)
        p, q = self.model.log_probabilities, model.log_probabilities
        same = (p.argmax(axis=1) == q.argmax(axis=1))[:-1].astype(float)
        return Outcome(trace.next_token_loss, (np.exp(p) * (p - q)).sum(axis=1), same)

    def output_changes(self, layer: int, intervention: Intervention) -> Array:
        """(H, L): ||o' - o|| / ||o|| of every row of every head, NaN where ||o|| = 0."""
        of, scale = self.trace.layers[layer], self.model.config.scale(layer)
        before, after = (
            intervened_weights(change, of.queries, of.keys, scale) @ of.values
            for change in (NONE, intervention)
        )
        norm = np.linalg.norm(before, axis=2)
        return np.where(norm > 0, np.linalg.norm(after - before, axis=2) / norm, np.nan)

    def kept_masses(self, layer: int, intervention: Intervention) -> Array:
        """(H, L)"""
        of, scale = self.trace.layers[layer], self.model.config.scale(layer)
        weights = intervened_weights(NONE, of.queries, of.keys, scale)
        assert intervention.mask is not None
        rows = range(1, weights.shape[1] + 1)
        kept = [weights[:, t - 1, :t][:, intervention.mask(t)].sum(axis=1) for t in rows]
        return np.stack(kept, axis=1)

    def losing_keys(self, layer: int, intervention: Intervention) -> Array:
        """(H, L): 1 where a query loses keys."""
        heads, length = self.trace.layers[layer].queries.shape[:2]
        assert intervention.mask is not None
        loses = [not intervention.mask(t).all() for t in range(1, length + 1)]
        return np.tile(np.array(loses, dtype=float), (heads, 1))


def mean_up_to(values: Array, length: int) -> tuple[float, float]:
    """Mean of the first `length` values of one document, and its standard error."""
    rows = np.arange(1, len(values) + 1)
    mean = row_mean(values, RowIndex.of([rows], [len(values)]), np.asarray(rows <= length))
    return float(mean.value), float(mean.stderr)
