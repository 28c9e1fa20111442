"""The reference: Hugging Face models run in float64, and what the golden files keep of them. GPT-2
is run here, the Llama families by hugging_face_llama.py.

Attention weights come from the model itself (eager attention, `output_attentions`). The model does
not hand out its scores, so they are formed again from the queries and keys it computed, and their
softmax must return the model's own weights. Entropy and the Jacobian norm are then taken from both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import GPT2Config, GPT2LMHeadModel

Array = npt.NDArray[np.float64]

STATISTICS = (
    "entropy",
    "entropy_normalized",
    "effective_tokens",
    "participation_ratio",
    "max_weight",
    "sink_weight",
    "attention_distance",
    "logit_range",
    "jacobian_frobenius",
)


@dataclass(frozen=True)
class Run:
    """One forward pass over T tokens, everything widened to float64."""

    logits: Array  # (T, vocab)
    hidden: Array  # (n_layer + 1, T, width): into each block, and out of the last, before ln_f
    weights: Array  # (n_layer, n_head, T, T)
    scores: Array  # (n_layer, n_head, T, T): scaled; meaningful for visible keys only
    windows: Sequence[int] = ()  # of each layer; 0 or empty: none

    def first_key(self, layer: int, query: int) -> int:
        window = self.windows[layer] if self.windows else 0
        return max(0, query + 1 - window) if window else 0

    def visible(self) -> npt.NDArray[np.bool_]:
        """(n_layer, 1, T, T)"""
        layers, _, rows, _ = self.weights.shape
        seen = np.zeros((layers, 1, rows, rows), dtype=bool)
        for layer in range(layers):
            for t in range(rows):
                seen[layer, 0, t, self.first_key(layer, t) : t + 1] = True
        return seen


def load(folder: Path, double: bool) -> GPT2LMHeadModel:
    """The model with eager attention. float64 also switches off the cast to float32 that
    `reorder_and_upcast_attn` asks for; in exact arithmetic that flag changes nothing."""
    config = GPT2Config.from_pretrained(folder)
    config.reorder_and_upcast_attn = config.reorder_and_upcast_attn and not double
    model, info = GPT2LMHeadModel.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        attn_implementation="eager",
        output_loading_info=True,
    )
    missing = set(info["missing_keys"])
    if config.tie_word_embeddings:
        missing -= {"lm_head.weight"}
    if missing or info["mismatched_keys"]:
        raise ValueError(f"{folder}: missing {missing}, mismatched {info['mismatched_keys']}")
    unexpected = {
        key for key in info["unexpected_keys"] if not key.endswith((".attn.bias", ".masked_bias"))
    }
    if unexpected:
        raise ValueError(f"{folder}: unexpected {unexpected}")
    model.eval()
    return model.double() if double else model


def run(model: GPT2LMHeadModel, tokens: Sequence[int]) -> Run:
    hidden: list[torch.Tensor] = []
    projections: list[torch.Tensor] = []
    blocks = model.transformer.h
    hooks = [
        block.register_forward_pre_hook(lambda _, args: hidden.append(args[0])) for block in blocks
    ]
    hooks.append(
        model.transformer.ln_f.register_forward_pre_hook(lambda _, args: hidden.append(args[0]))
    )
    hooks += [
        block.attn.c_attn.register_forward_hook(lambda _, __, out: projections.append(out))
        for block in blocks
    ]
    with torch.no_grad():
        out = model(torch.tensor([list(tokens)]), output_attentions=True, use_cache=False)
    for hook in hooks:
        hook.remove()
    expected = model.transformer.wte.weight.dtype
    for tensor in (out.logits, *out.attentions, *hidden, *projections):
        if tensor.dtype != expected:
            raise TypeError(f"the model cast to {tensor.dtype}; all must be {expected}")
    scores = [
        scaled_scores(model.config, layer, projection[0].double().numpy())
        for layer, projection in enumerate(projections)
    ]
    return Run(
        logits=out.logits[0].double().numpy(),
        hidden=np.stack([h[0].double().numpy() for h in hidden]),
        weights=np.stack([a[0].double().numpy() for a in out.attentions]),
        scores=np.stack(scores),
    )


def scaled_scores(config: GPT2Config, layer: int, projection: Array) -> Array:
    """(n_head, T, T) from the (T, 3 width) output of c_attn."""
    rows, width = projection.shape[0], config.n_embd
    heads = config.n_head
    query, key = (
        projection[:, part * width : (part + 1) * width].reshape(rows, heads, -1).swapaxes(0, 1)
        for part in (0, 1)
    )
    scores: Array = query @ key.swapaxes(1, 2)
    if config.scale_attn_weights:
        scores = scores / math.sqrt(width // heads)
    if config.scale_attn_by_inverse_layer_idx:
        scores = scores / (layer + 1)
    return scores


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


def row_statistics(result: Run) -> dict[str, Array]:
    """Each (n_layer, n_head, T), one value a row, NaN where a row has none."""
    layers, heads, rows, _ = result.weights.shape
    out = {name: np.full((layers, heads, rows), np.nan) for name in STATISTICS}
    for layer in range(layers):
        for t in range(rows):
            first = result.first_key(layer, t)
            n = t + 1 - first
            a = result.weights[layer, :, t, first : t + 1]
            scores = result.scores[layer, :, t, first : t + 1]
            log_a = scores - log_sum_exp(scores)[..., None]
            entropy = -(np.exp(log_a) * log_a).sum(axis=-1)
            row = {name: values[layer, :, t] for name, values in out.items()}
            row["entropy"][:] = entropy
            if n >= 2:
                row["entropy_normalized"][:] = entropy / math.log(n)
            row["effective_tokens"][:] = np.exp(entropy)
            row["participation_ratio"][:] = 1.0 / (a * a).sum(axis=-1)
            row["max_weight"][:] = a.max(axis=-1)
            row["sink_weight"][:] = a[..., 0] if first == 0 else 0.0
            row["attention_distance"][:] = (a * np.arange(n - 1, -1, -1.0)).sum(axis=-1)
            row["logit_range"][:] = scores.max(axis=-1) - scores.min(axis=-1)
            row["jacobian_frobenius"][:] = jacobian_frobenius(a)
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


def sizes(config: GPT2Config) -> dict[str, int]:
    return {
        "n_layer": config.n_layer,
        "n_head": config.n_head,
        "n_embd": config.n_embd,
        "d_head": config.n_embd // config.n_head,
        "n_inner": config.n_inner or 4 * config.n_embd,
        "n_positions": config.n_positions,
        "vocab_size": config.vocab_size,
    }


def golden_values(
    family: Any, folder: Path, tokens: Sequence[int], lengths: Sequence[int]
) -> dict[str, Any]:
    """Everything that golden.json keeps of a checkpoint; README.md says what each key is. `family`
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
            "columns": columns,
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
            "columns": min(8, size["n_embd"]),
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
