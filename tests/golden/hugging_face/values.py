"""What golden files keep of a run of Hugging Face's models in float64.

Attention weights come from the model itself (eager attention, `output_attentions`). The model does
not hand out its scores, so they are formed again from the queries and keys it computed, and their
softmax must return the model's own weights. Entropy and the Jacobian norm are then taken from both.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Array = npt.NDArray[np.float64]

STATISTICS = tuple(
    "entropy entropy_normalized effective_tokens participation_ratio max_weight first_weight attention_distance "
    "logit_range jacobian_frobenius".split()
)
EAGER: dict[str, Any] = {"attn_implementation": "eager", "output_loading_info": True}  # how models are loaded


@dataclass(frozen=True)
class Run:
    """One forward pass over T tokens, everything widened to float64."""

    hidden: Array  # (n_layer, T, width): into each block; causal: and out of the last, before its norm
    weights: Array  # (n_layer, n_head, T, T)
    scores: Array  # (n_layer, n_head, T, T): scaled; meaningful for visible keys only
    logits: Array | None = None  # (T, vocab), of a causal model
    windows: Sequence[int] = ()  # of each layer; 0 or empty: none

    @property
    def causal(self) -> bool:
        return self.logits is not None

    def first_key(self, layer: int, query: int) -> int:
        window = self.windows[layer] if self.windows else 0
        return max(0, query + 1 - window) if window else 0

    def visible(self) -> npt.NDArray[np.bool_]:
        """(n_layer, 1, T, T)"""
        layers, _, rows, _ = self.weights.shape
        if not self.causal:
            return np.ones((layers, 1, rows, rows), dtype=bool)
        seen = np.zeros((layers, 1, rows, rows), dtype=bool)
        for layer in range(layers):
            for t in range(rows):
                seen[layer, 0, t, self.first_key(layer, t) : t + 1] = True
        return seen


def check_loaded(folder: Path, info: Any, optional: Collection[str], ignored: Callable[[str], bool]) -> None:
    """Stops where a tensor is missing or unexpected in the file, or of another shape."""
    missing = set(info["missing_keys"]) - set(optional)
    unexpected = {key for key in info["unexpected_keys"] if not ignored(key)}
    if missing or info["mismatched_keys"] or unexpected:
        raise ValueError(f"{folder}: {missing=}, {unexpected=}, {info['mismatched_keys']=}")


def check_types(tensors: Iterable[torch.Tensor], expected: torch.dtype) -> None:
    for tensor in tensors:
        if tensor.dtype != expected:
            raise TypeError(f"the model cast to {tensor.dtype}; all must be {expected}")


def check_weights(result: Run) -> None:
    """The weights lie on visible keys and are the softmax of the scores."""
    visible = np.broadcast_to(result.visible(), result.weights.shape)
    if np.any(result.weights[~visible] != 0.0):
        raise ValueError("the model attends to keys that the query should not see")
    masked = np.where(visible, result.scores, -np.inf)
    log_weights = masked - log_sum_exp(masked)[..., None]
    worst = float(np.abs(np.exp(log_weights) - result.weights).max())
    if worst > 1e-13:
        raise ValueError(f"softmax of the scores is off the model's weights by {worst}")


def log_sum_exp(values: Array) -> Array:
    top = values.max(axis=-1, keepdims=True)
    total: Array = top[..., 0] + np.log(np.exp(values - top).sum(axis=-1))
    return total


def row_values(a: Array, scores: Array, away: Array) -> dict[str, Array]:
    """Each without the last axis, the keys that a row sees; `away` is how far they are."""
    n = a.shape[-1]
    log_a = scores - log_sum_exp(scores)[..., None]
    entropy = -(np.exp(log_a) * log_a).sum(axis=-1)
    values = {
        "entropy": entropy,
        "entropy_normalized": entropy / math.log(n) if n >= 2 else np.full_like(entropy, np.nan),
        "effective_tokens": np.exp(entropy),
        "participation_ratio": 1.0 / (a * a).sum(axis=-1),
        "max_weight": a.max(axis=-1),
        "first_weight": a[..., 0],
        "attention_distance": (a * away).sum(axis=-1),
        "logit_range": scores.max(axis=-1) - scores.min(axis=-1),
        "jacobian_frobenius": jacobian_frobenius(a),
    }
    assert tuple(values) == STATISTICS
    return values


def row_statistics(result: Run) -> dict[str, Array]:
    """Each (n_layer, n_head, T), one value a row of a causal run, NaN where a row has none."""
    layers, heads, rows, _ = result.weights.shape
    out = {name: np.full((layers, heads, rows), np.nan) for name in STATISTICS}
    for layer in range(layers):
        for t in range(rows):
            first = result.first_key(layer, t)
            a = result.weights[layer, :, t, first : t + 1]
            scores = result.scores[layer, :, t, first : t + 1]
            found = row_values(a, scores, np.arange(t - first, -1, -1.0))
            if first > 0:
                found["first_weight"] = np.zeros(heads)
            for name, values in found.items():
                out[name][layer, :, t] = values
    return out


def jacobian_frobenius(a: Array) -> Array:
    """||diag(a) - a a^T||_F over the last axis, at temperature 1.

    Sum over i of a_i^2 ((1 - a_i)^2 + sum of a_j^2, j != i), where the largest weight's two
    brackets are summed over the others: the power-sum form would cancel in a row near one-hot.
    """
    top = a.argmax(axis=-1)[..., None]
    others = a.copy()
    np.put_along_axis(others, top, 0.0, axis=-1)
    largest = np.take_along_axis(a, top, axis=-1)[..., 0]
    square = (a * a).sum(axis=-1)
    rest = others * others * ((1.0 - others) ** 2 + square[..., None] - others * others)
    total = rest.sum(axis=-1)
    total += largest**2 * (others.sum(axis=-1) ** 2 + (others * others).sum(axis=-1))
    norm: Array = np.sqrt(total)
    return norm


def prefix_means(values: Array, lengths: Sequence[int]) -> Array:
    """Mean over rows t <= L for every L, on a new last axis; NaN rows are left out."""
    means: Array = np.stack([np.nanmean(values[..., :length], axis=-1) for length in lengths], -1)
    return means


def statistics(result: Run, lengths: Sequence[int]) -> dict[str, Array]:
    """Each (n_layer, n_head, lengths)."""
    rows = row_statistics(result)
    return {name: prefix_means(rows[name], lengths) for name in STATISTICS}


def next_token_log_probs(result: Run, tokens: Sequence[int]) -> Array:
    """log p(x_(t+1) | x_1 .. x_t) for t = 1 .. T - 1."""
    logits = result.logits[:-1]
    picked: Array = np.take_along_axis(logits, np.array(tokens[1:])[:, None], axis=1)[:, 0]
    return picked - log_sum_exp(logits)


def losses(log_probs: Array, lengths: Sequence[int]) -> Array:
    return np.array([-log_probs[: length - 1].mean() for length in lengths])


def relative(value: Array, reference: Array) -> float:
    scale = np.maximum(np.abs(reference), np.finfo(np.float64).tiny)
    return float((np.abs(value - reference) / scale).max())


def golden_values(family: Any, folder: Path, tokens: Sequence[int], lengths: Sequence[int]) -> dict[str, Any]:
    """Everything that a golden file keeps of a causal model; README.md says what each key is. `family`
    is the module that runs it: load(), run() and sizes()."""
    model = family.load(folder, double=True)
    size = family.sizes(model.config)
    exact = family.run(model, tokens)
    del model
    check_weights(exact)
    single = family.run(family.load(folder, double=False), tokens)

    vocab = exact.logits.shape[1]
    columns = vocab if vocab <= 64 else 32
    rows = sorted({0, len(tokens) // 2, len(tokens) - 1})
    log_probs = next_token_log_probs(exact, tokens)
    loss = losses(log_probs, lengths)
    stats = statistics(exact, lengths)
    single_stats = statistics(single, lengths)
    single_loss = losses(next_token_log_probs(single, tokens), lengths)
    deviation = float(np.abs(single.logits - exact.logits).max())
    return {
        "sizes": size,
        "tokens": list(tokens),
        "lengths": list(lengths),
        "logits": {
            "rows": rows,
            "values": exact.logits[rows, :columns],
            "argmax": exact.logits[rows].argmax(axis=-1),
            "max": exact.logits[rows].max(axis=-1),
            "log_sum_exp": log_sum_exp(exact.logits[rows]),
        },
        "logit_tolerance": max(1e-4, 3.0 * deviation),
        "next_token_log_probs": log_probs,
        "loss": loss,
        "hidden": {
            "rows": rows,
            "values": exact.hidden[:, rows, :8],
            "norms": np.linalg.norm(exact.hidden[:, rows], axis=-1),
        },
        "statistics": stats,
        "float32_deviation": {
            "logits": deviation,
            "loss": float(np.abs(single_loss - loss).max()),
            "hidden": float(np.abs(single.hidden - exact.hidden).max()),
            "statistics": {name: relative(single_stats[name], stats[name]) for name in stats},
        },
    }
