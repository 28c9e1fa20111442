#!/usr/bin/env python3
"""Write a random GPT-2 checkpoint in the Hugging Face layout, the same bytes everywhere.

The weights of the real GPT-2 widths are too large to commit: the golden values are committed, and
the weights drawn again at test time, here (numpy only) or by `random_checkpoint.hpp`, which writes
the same bytes. Every weight is an exact function of (seed, tensor name, element index):

    key    = mix(seed XOR fnv1a64(name))                  name with the `transformer.` prefix
    z_k    = mix(key + (k + 1) * 0x9E3779B97F4A7C15)      k = row-major element index (splitmix64)
    c_k    = 2 * (z_k >> 40) + 1 - 2^24                   odd integer, |c_k| < 2^24
    w_k    = mean + c_k * n / 2^34                        uniform on mean +- n / 1024

with mix the finaliser of splitmix64. c_k * n / 2^34 and the sum are exact in float64; one rounding
to float32 follows, then one more to float16 or bfloat16 if asked. numpy's random module takes no
part, so the result does not depend on a numpy version.

The numerator n of the half-width follows the tensor's role (see `recipe`): scores, activations and
logits come out of the order of one, so that attention is far from uniform.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Config = dict[str, Any]

MASK64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
CHUNK = 1 << 20

# width, heads
SIZES: dict[str, tuple[int, int]] = {
    "small": (768, 12),
    "medium": (1024, 16),
    "large": (1280, 20),
    "xl": (1600, 25),
}

# safetensors name, bytes
DTYPES: dict[str, tuple[str, int]] = {"f32": ("F32", 4), "f16": ("F16", 2), "bf16": ("BF16", 2)}
TORCH_NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Tensor:
    """One tensor as it lies in a safetensors file."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def mix(z: int) -> int:
    """The finaliser of splitmix64."""
    z &= MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def fnv1a64(text: str) -> int:
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK64
    return h


def stream_key(seed: int, name: str) -> int:
    return mix(seed ^ fnv1a64(name))


def raw(key: int, first: int, count: int) -> npt.NDArray[np.uint64]:
    """z_first .. z_(first + count - 1) of the stream."""
    z = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    z *= np.uint64(GOLDEN_GAMMA)
    z += np.uint64(key)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def integers(seed: int, name: str, count: int, bound: int) -> list[int]:
    """`count` integers in [0, bound): the high 32 bits of the stream, scaled."""
    return [(int(z) >> 32) * bound >> 32 for z in raw(stream_key(seed, name), 0, count)]


def uniform(seed: int, name: str, count: int, mean: float, numerator: int) -> Array:
    """float32 values uniform on mean +- numerator / 1024."""
    key = stream_key(seed, name)
    out = np.empty(count, dtype=np.float32)
    for first in range(0, count, CHUNK):
        size = min(CHUNK, count - first)
        c = (raw(key, first, size) >> np.uint64(40)).astype(np.int64)
        c = (2 * c + 1 - (1 << 24)) * numerator
        out[first : first + size] = mean + c.astype(np.float64) * 2.0**-34
    return out


def recipe(name: str, config: Config) -> tuple[tuple[int, ...], float, int]:
    """Shape, mean and half-width numerator (in 1/1024) of a tensor, by its name."""
    width = config["n_embd"]
    inner = config["n_inner"] or 4 * width
    role = name.split(".", 3)[3] if name.startswith("transformer.h.") else name
    # Half-width sqrt(4.5 / width) is variance 1.5 / width: scores with a deviation of 1.5.
    sharp = math.isqrt((1024 * 1024 * 9) // (2 * width))
    shapes: dict[str, tuple[tuple[int, ...], float, int]] = {
        "transformer.wte.weight": ((config["vocab_size"], width), 0.0, sharp),
        "transformer.wpe.weight": ((config["n_positions"], width), 0.0, sharp),
        "ln_1.weight": ((width,), 1.0, 256),
        "ln_1.bias": ((width,), 0.0, 128),
        "attn.c_attn.weight": ((width, 3 * width), 0.0, sharp),
        "attn.c_attn.bias": ((3 * width,), 0.0, 256),
        "attn.c_proj.weight": ((width, width), 0.0, sharp),
        "attn.c_proj.bias": ((width,), 0.0, 128),
        "ln_2.weight": ((width,), 1.0, 256),
        "ln_2.bias": ((width,), 0.0, 128),
        "mlp.c_fc.weight": ((width, inner), 0.0, sharp),
        "mlp.c_fc.bias": ((inner,), 0.0, 256),
        "mlp.c_proj.weight": ((inner, width), 0.0, sharp // 2),
        "mlp.c_proj.bias": ((width,), 0.0, 128),
        "transformer.ln_f.weight": ((width,), 1.0, 256),
        "transformer.ln_f.bias": ((width,), 0.0, 128),
        "lm_head.weight": ((config["vocab_size"], width), 0.0, sharp),
    }
    return shapes[role]


def tensor_names(config: Config) -> list[str]:
    names = ["transformer.wte.weight", "transformer.wpe.weight"]
    for layer in range(config["n_layer"]):
        for role in (
            "ln_1.weight",
            "ln_1.bias",
            "attn.c_attn.weight",
            "attn.c_attn.bias",
            "attn.c_proj.weight",
            "attn.c_proj.bias",
            "ln_2.weight",
            "ln_2.bias",
            "mlp.c_fc.weight",
            "mlp.c_fc.bias",
            "mlp.c_proj.weight",
            "mlp.c_proj.bias",
        ):
            names.append(f"transformer.h.{layer}.{role}")
    names += ["transformer.ln_f.weight", "transformer.ln_f.bias"]
    if not config.get("tie_word_embeddings", True):
        names.append("lm_head.weight")
    return names


def encode(values: Array, dtype: str) -> bytes:
    """float32 values as little-endian bytes of the given type, rounded to nearest even."""
    if dtype == "f32":
        return values.astype("<f4").tobytes()
    if dtype == "f16":
        return values.astype("<f2").tobytes()
    if dtype == "bf16":
        bits = values.astype("<f4").view("<u4")
        bits += np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        return (bits >> np.uint32(16)).astype("<u2").tobytes()
    raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype!r}")


def make_tensor(name: str, config: Config, seed: int, dtype: str) -> Tensor:
    shape, mean, numerator = recipe(name, config)
    values = uniform(seed, name, math.prod(shape), mean, numerator)
    return Tensor(DTYPES[dtype][0], shape, encode(values, dtype))


def base_config(
    width: int,
    heads: int,
    layers: int,
    vocab: int,
    positions: int,
    dtype: str = "f32",
    changes: Config | None = None,
) -> Config:
    """A GPT-2 config.json with every field that matters, and a few that must not."""
    config: Config = {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.1,
        "bos_token_id": vocab - 1,
        "embd_pdrop": 0.1,
        "eos_token_id": vocab - 1,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "gpt2",
        "n_ctx": positions,
        "n_embd": width,
        "n_head": heads,
        "n_inner": None,
        "n_layer": layers,
        "n_positions": positions,
        "resid_pdrop": 0.1,
        "torch_dtype": TORCH_NAMES[dtype],
        "vocab_size": vocab,
    }
    config.update(changes or {})
    return config


def size_config(size: str, layers: int, vocab: int, positions: int, dtype: str) -> Config:
    width, heads = SIZES[size]
    return base_config(width, heads, layers, vocab, positions, dtype)


def write_config(folder: Path, config: Config) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")


def split_names(sizes: Mapping[str, int], shards: int) -> list[list[str]]:
    """Consecutive groups of nearly equal bytes; tensors of one layer may part ways."""
    total = sum(sizes.values())
    groups: list[list[str]] = [[] for _ in range(shards)]
    done = 0
    for name, size in sizes.items():
        groups[min(shards - 1, done * shards // total)].append(name)
        done += size
    if not all(groups):
        raise ValueError(f"cannot cut {len(sizes)} tensors into {shards} shards")
    return groups


def write_safetensors(
    path: Path,
    layout: Mapping[str, tuple[str, tuple[int, ...], int]],
    read: Callable[[str], bytes],
) -> None:
    """Write one file, one tensor at a time; `layout` gives dtype, shape and bytes by name."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, (dtype, shape, size) in layout.items():
        header[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for name in layout:
            file.write(read(name))


def write_weights(
    folder: Path,
    layout: Mapping[str, tuple[str, tuple[int, ...], int]],
    read: Callable[[str], bytes],
    shards: int = 1,
) -> None:
    """model.safetensors, or its shards with the index."""
    folder.mkdir(parents=True, exist_ok=True)
    if shards == 1:
        write_safetensors(folder / "model.safetensors", layout, read)
        return
    sizes = {name: size for name, (_, _, size) in layout.items()}
    weight_map: dict[str, str] = {}
    for number, names in enumerate(split_names(sizes, shards), start=1):
        file = f"model-{number:05d}-of-{shards:05d}.safetensors"
        write_safetensors(folder / file, {name: layout[name] for name in names}, read)
        weight_map.update({name: file for name in names})
    index = {"metadata": {"total_size": sum(sizes.values())}, "weight_map": weight_map}
    text = json.dumps(index, indent=2) + "\n"
    (folder / "model.safetensors.index.json").write_text(text, encoding="utf-8")


def write_checkpoint(folder: Path, config: Config, seed: int, dtype: str, shards: int) -> None:
    """A whole checkpoint; one tensor is in memory at a time."""
    layout: dict[str, tuple[str, tuple[int, ...], int]] = {}
    for name in tensor_names(config):
        shape, _, _ = recipe(name, config)
        layout[name] = (DTYPES[dtype][0], shape, math.prod(shape) * DTYPES[dtype][1])
    write_config(folder, config)
    write_weights(folder, layout, lambda name: make_tensor(name, config, seed, dtype).data, shards)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="written to; created if missing")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--vocab", type=int, default=512)
    parser.add_argument("--positions", type=int, default=128)
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    config = size_config(args.size, args.layers, args.vocab, args.positions, args.dtype)
    write_checkpoint(args.folder, config, args.seed, args.dtype, args.shards)


if __name__ == "__main__":
    main()
