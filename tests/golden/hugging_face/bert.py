"""Hugging Face's BERT, run in float64. Every length is a pass of its own: `before`, the first tokens,
`after`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertModel

from tests.golden.hugging_face.values import (
    EAGER,
    STATISTICS,
    Array,
    Run,
    check_loaded,
    check_types,
    check_weights,
    relative,
    row_values,
)


def load(folder: Path, double: bool) -> BertModel:
    model, info = BertModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32, **EAGER)
    ignored = ("cls.", "pooler.", "embeddings.position_ids")
    check_loaded(folder, info, (), lambda key: key.removeprefix("bert.").startswith(ignored))
    model.eval()
    return model.double() if double else model


def run(model: BertModel, tokens: Sequence[int]) -> Run:
    """Weights are the model's own; scores are formed from its queries and keys, and their softmax
    must return those weights."""
    queries: list[torch.Tensor] = []
    keys: list[torch.Tensor] = []
    hooks = []
    for layer in model.encoder.layer:
        attention = layer.attention.self
        hooks.append(attention.query.register_forward_hook(lambda _, __, out: queries.append(out)))
        hooks.append(attention.key.register_forward_hook(lambda _, __, out: keys.append(out)))
    with torch.no_grad():
        out = model(torch.tensor([list(tokens)]), output_attentions=True, output_hidden_states=True)
    for hook in hooks:
        hook.remove()
    found = (*out.attentions, *out.hidden_states, *queries, *keys)
    check_types(found, model.embeddings.word_embeddings.weight.dtype)
    heads = model.config.num_attention_heads

    def split(tensor: torch.Tensor) -> Array:
        rows: Array = tensor[0].double().numpy()
        return rows.reshape(len(tokens), heads, -1).swapaxes(0, 1)

    scores = np.stack(
        [
            split(q) @ split(k).swapaxes(1, 2) / math.sqrt(q.shape[-1] // heads)
            for q, k in zip(queries, keys, strict=True)
        ]
    )
    return Run(
        hidden=np.stack([h[0].double().numpy() for h in out.hidden_states[:-1]]),
        weights=np.stack([a[0].double().numpy() for a in out.attentions]),
        scores=scores,
    )


def statistics(result: Run) -> dict[str, Array]:
    """Each (layers, heads): means over all rows, every one of which has all keys."""
    n = result.weights.shape[-1]
    away = np.abs(np.arange(n)[:, None] - np.arange(n)[None])
    rows = row_values(result.weights, result.scores, away)
    return {name: values.mean(axis=-1) for name, values in rows.items()}


def golden_values(
    folder: Path,
    tokens: Sequence[int],
    lengths: Sequence[int],
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> dict[str, Any]:
    """Everything that a golden file keeps of a checkpoint; README.md says what each key is."""
    double, single = load(folder, double=True), load(folder, double=False)
    around = len(before) + len(after)
    stats: dict[str, list[Array]] = {name: [] for name in STATISTICS}
    single_stats: dict[str, list[Array]] = {name: [] for name in STATISTICS}
    for length in lengths:
        context = [*before, *tokens[: length - around], *after]
        if len(context) != length:
            raise ValueError(f"{len(tokens)} tokens are too few for length {length}")
        exact, rough = run(double, context), run(single, context)
        check_weights(exact)
        for name, values in statistics(exact).items():
            stats[name].append(values)
        for name, values in statistics(rough).items():
            single_stats[name].append(values)
    config = double.config
    rows = sorted({0, lengths[-1] // 2, lengths[-1] - 1})
    stacked = {name: np.stack(values, axis=-1) for name, values in stats.items()}
    return {
        "sizes": {
            "layers": config.num_hidden_layers,
            "heads": config.num_attention_heads,
            "width": config.hidden_size,
            "positions": config.max_position_embeddings,
            "vocabulary": config.vocab_size,
        },
        "before": list(before),
        "tokens": list(tokens),
        "after": list(after),
        "lengths": list(lengths),
        "hidden": {
            "rows": rows,
            "values": exact.hidden[:, rows, :8],
            "norms": np.linalg.norm(exact.hidden[:, rows], axis=-1),
        },
        "statistics": stacked,
        "float32_deviation": {
            "hidden": float(np.abs(rough.hidden - exact.hidden).max()),
            "statistics": {
                name: relative(np.stack(single_stats[name], axis=-1), stacked[name]) for name in stacked
            },
        },
    }
