"""A safetensors reader of its own: one file, or the shards that an index names.

The format: 8 bytes little-endian header length, a JSON header, then the raw tensors. Every
floating-point tensor is widened to float64 on reading. The writer is for the tests.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference.arrays import Array

Tensors = dict[str, Array]

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U8": "<u1",
    "BOOL": "<u1",
}
_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32"}


def _decode(raw: bytes, dtype: str, shape: list[int]) -> Array:
    if dtype == "BF16":
        wide = np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64).reshape(shape)
    if dtype not in _DTYPES:
        raise ValueError(f"unknown dtype {dtype}")
    values = np.frombuffer(raw, dtype=_DTYPES[dtype]).reshape(shape)
    return np.asarray(values, dtype=np.float64 if dtype.startswith("F") else np.int64)


def read_header(path: Path) -> tuple[dict[str, dict[str, Any]], dict[str, str], int]:
    """Entries by tensor name, the metadata, and the offset where the tensors begin."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    metadata = header.pop("__metadata__", {})
    return header, metadata, 8 + length


def read_file(path: Path) -> tuple[Tensors, dict[str, str]]:
    """All tensors of one file, and its metadata."""
    header, metadata, start = read_header(path)
    data = path.read_bytes()
    tensors: Tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = _decode(data[start + begin : start + end], entry["dtype"], entry["shape"])
    return tensors, metadata


def read_checkpoint(folder: Path) -> Tensors:
    """The tensors of a Hugging Face folder: model.safetensors or its sharded index."""
    index = folder / "model.safetensors.index.json"
    single = folder / "model.safetensors"
    if single.exists():
        return read_file(single)[0]
    if not index.exists():
        raise FileNotFoundError(f"neither {single} nor {index}")
    placed: dict[str, str] = json.loads(index.read_text())["weight_map"]
    tensors: Tensors = {}
    for shard in sorted(set(placed.values())):
        content = read_file(folder / shard)[0]
        tensors.update({name: t for name, t in content.items() if placed.get(name) == shard})
    return tensors


def write_file(path: Path, tensors: Tensors, metadata: dict[str, str] | None = None) -> None:
    """Writes tensors in their own dtype."""
    header: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    blobs: list[bytes] = []
    offset = 0
    for name, values in tensors.items():
        blob = np.ascontiguousarray(values).tobytes()
        dtype = _NAMES[values.dtype.name]
        span = [offset, offset + len(blob)]
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": span}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
