#!/usr/bin/env python3
"""Writes one layer of bert-base's shape with random weights, as Hugging Face lays it out.

    python3 bench/bert_checkpoint.py DIR

Queries and keys are so large that the heads have horizons near 1.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path

import numpy as np

WIDTH, HEADS, INNER, POSITIONS, VOCABULARY = 768, 12, 3072, 512, 1000


def shapes() -> dict[str, tuple[int, ...]]:
    layer = "encoder.layer.0."
    linear = {
        "attention.self.query": (WIDTH, WIDTH),
        "attention.self.key": (WIDTH, WIDTH),
        "attention.self.value": (WIDTH, WIDTH),
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (INNER, WIDTH),
        "output.dense": (WIDTH, INNER),
    }
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY, WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    for name, shape in linear.items():
        found |= {f"{layer}{name}.weight": shape, f"{layer}{name}.bias": shape[:1]}
    norms = ["embeddings.LayerNorm", layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
    for name in norms:
        found |= {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}
    return found


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "num_hidden_layers": 1,
        "hidden_size": WIDTH,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS,
        "vocab_size": VOCABULARY,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    draw = np.random.default_rng(1)
    header, parts, end = {}, [], 0
    for name, shape in shapes().items():
        wide = 0.1 if "query" in name or "key" in name else 0.02
        tensor = draw.standard_normal(shape, dtype=np.float32) * np.float32(wide)
        if "LayerNorm.weight" in name:
            tensor += np.float32(1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + tensor.nbytes]}
        end += tensor.nbytes
        parts.append(tensor.tobytes())
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)
