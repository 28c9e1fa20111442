#!/usr/bin/env python3
"""Writes the seed files that the fuzz targets and tests/checkpoint/mutation_test.cpp start from.

They are small on purpose: a mutation of a short file is likely to hit something that matters.
Run it from anywhere; the files it writes are committed.
"""

import json
import struct
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "BOOL": 1, "U8": 1}


def safetensors(tensors, metadata=None):
    """A file of (name, dtype, shape) tensors with small values."""
    header = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, dtype, shape in tensors:
        count = 1
        for size in shape:
            count *= size
        if dtype == "F64":
            part = struct.pack(f"<{count}d", *(0.25 * i for i in range(count)))
        elif dtype == "F32":
            part = struct.pack(f"<{count}f", *(0.5 * i for i in range(count)))
        elif dtype == "F16":
            part = struct.pack(f"<{count}e", *(0.5 - i for i in range(count)))
        else:
            part = bytes(i % 2 for i in range(count * SIZES[dtype]))
        begin = len(data)
        data += part
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def dump(tensors, **metadata):
    return safetensors(tensors, {"format": "headgauge.dump/1", **metadata})


FILES = {
    "safetensors/empty.safetensors": safetensors([]),
    "safetensors/one.safetensors": safetensors([("w", "F32", [2, 3])], {"format": "pt"}),
    "safetensors/types.safetensors": safetensors(
        [("d", "F64", [2]), ("s", "F32", []), ("h", "F16", [3, 1]), ("b", "BF16", [2]),
         ("z", "U8", [0, 4]), ("m", "BOOL", [1])]
    ),
    "dump/qk.safetensors": dump(
        [("layers.0.k", "F32", [1, 2, 3]), ("layers.0.q", "F32", [2, 2, 3])], causal="true"
    ),
    "dump/all.safetensors": dump(
        [("x", "F32", [2, 2]), ("layers.0.q", "F16", [2, 2, 1]), ("layers.0.k", "F16", [1, 2, 1]),
         ("layers.0.v", "BF16", [1, 2, 1]), ("layers.1.q", "F16", [2, 2, 1]),
         ("layers.1.k", "F16", [1, 2, 1]), ("layers.1.v", "BF16", [1, 2, 1])],
        causal="false", scale="0.5",
    ),
    "dump/scores.safetensors": dump(
        [("layers.0.scores", "F32", [2, 2, 2]), ("layers.0.x", "F16", [2, 1])], causal="true"
    ),
    "config/gpt2.json": json.dumps(
        {"model_type": "gpt2", "n_layer": 2, "n_head": 3, "n_embd": 12, "n_positions": 64,
         "vocab_size": 31, "n_inner": None, "layer_norm_epsilon": 1e-05,
         "activation_function": "gelu_new", "scale_attn_weights": True,
         "architectures": ["GPT2LMHeadModel"], "eos_token_id": [1, 2]},
        indent=1,
    ).encode(),
    "config/nested.json": b'{"rope_scaling":{"factor":8.0,"type":"llama3"},"a":[{"b":[-1,1e3]}]}\n',
    "config/index.json": json.dumps(
        {"metadata": {"total_size": 8},
         "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    ).encode(),
}

for name, content in FILES.items():
    path = CORPUS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
