"""Random GPT-2 checkpoints of a few kilobytes, for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.safetensors_io import Tensors, to_bf16, write_file

Array = npt.NDArray[Any]

DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


def random_tensors(layers: int, width: int, inner: int, vocabulary: int, positions: int) -> Tensors:
    rng = np.random.default_rng(layers * 1000 + width)

    def draw(*shape: int, scale: float = 0.3) -> Array:
        return np.asarray(rng.normal(size=shape) * scale)

    tensors = {"wte.weight": draw(vocabulary, width, scale=1.0)}
    tensors["wpe.weight"] = draw(positions, width)
    for layer in range(layers):
        block = f"h.{layer}."
        for name in ("ln_1", "ln_2"):
            tensors[f"{block}{name}.weight"] = 1.0 + draw(width)
            tensors[f"{block}{name}.bias"] = draw(width)
        for name, rows, columns in (
            ("attn.c_attn", width, 3 * width),
            ("attn.c_proj", width, width),
            ("mlp.c_fc", width, inner),
            ("mlp.c_proj", inner, width),
        ):
            tensors[f"{block}{name}.weight"] = draw(rows, columns)
            tensors[f"{block}{name}.bias"] = draw(columns)
    tensors["ln_f.weight"] = 1.0 + draw(width)
    tensors["ln_f.bias"] = draw(width)
    return tensors


def store(tensors: Tensors, dtype: str) -> Tensors:
    if dtype == "BF16":
        return {name: to_bf16(t) for name, t in tensors.items()}
    return {name: t.astype(DTYPES[dtype]) for name, t in tensors.items()}


def write_model(
    folder: Path,
    *,
    layers: int = 2,
    heads: int = 2,
    width: int = 8,
    vocabulary: int = 13,
    positions: int = 32,
    prefix: str = "",
    dtype: str = "F64",
    shards: int = 1,
    **config: Any,
) -> None:
    """A Hugging Face folder; further arguments go to config.json as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    inner = config.get("n_inner") or 4 * width
    tensors = random_tensors(layers, width, inner, vocabulary, positions)
    tensors = store({prefix + name: t for name, t in tensors.items()}, dtype)
    settings = {
        "model_type": "gpt2",
        "n_layer": layers,
        "n_head": heads,
        "n_embd": width,
        "n_positions": positions,
        "vocab_size": vocabulary,
        **config,
    }
    (folder / "config.json").write_text(json.dumps(settings))
    if shards == 1:
        write_file(folder / "model.safetensors", tensors)
        return
    names, placed = list(tensors), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = {name: tensors[name] for name in names[shard::shards]}
        write_file(folder / file, part)
        placed.update(dict.fromkeys(part, file))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
