"""The files of a checkpoint in the Hugging Face layout."""

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "BOOL": 1}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a safetensors file; its bytes are made when they are written."""

    dtype: str
    shape: tuple[int, ...]
    data: Callable[[], bytes]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * BYTES[self.dtype]


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")


def write_weights(folder: Path, tensors: Mapping[str, Tensor], shards: int = 1) -> None:
    """model.safetensors, or its shards with the index."""
    folder.mkdir(parents=True, exist_ok=True)
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors)
        return
    weight_map: dict[str, str] = {}
    for number, names in enumerate(split_names(tensors, shards), start=1):
        file = f"model-{number:05d}-of-{shards:05d}.safetensors"
        write_safetensors(folder / file, {name: tensors[name] for name in names})
        weight_map.update({name: file for name in names})
    total = sum(tensor.size for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    text = json.dumps(index) + "\n"
    (folder / "model.safetensors.index.json").write_text(text, encoding="utf-8")


def split_names(tensors: Mapping[str, Tensor], shards: int) -> list[list[str]]:
    """Consecutive groups of nearly equal bytes; tensors of one layer may part ways."""
    total = sum(tensor.size for tensor in tensors.values())
    groups: list[list[str]] = [[] for _ in range(shards)]
    done = 0
    for name, tensor in tensors.items():
        groups[min(shards - 1, done * shards // total)].append(name)
        done += tensor.size
    if not all(groups):
        raise ValueError(f"cannot cut {len(tensors)} tensors into {shards} shards")
    return groups


def write_safetensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """One file, one tensor in memory at a time."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + tensor.size
        header[name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for tensor in tensors.values():
            file.write(tensor.data())
