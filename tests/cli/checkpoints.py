"""Checkpoints for the tests: copies of golden ones, and damaged or made ones."""

import json
import math
import random
import shutil
import struct
from array import array
from dataclasses import replace
from pathlib import Path

from tests.golden.catalogue.files import write_config, write_safetensors
from tests.golden.catalogue.gpt2 import Gpt2
from tests.places import GOLDEN

Header = dict[str, dict]


def copy_golden(name: str, folder: Path) -> Path:
    """config and weights of a golden checkpoint, in a folder that a test may damage."""
    return Path(shutil.copytree(GOLDEN / name, folder, copy_function=shutil.copyfile, dirs_exist_ok=True))


def read_weights(path: Path) -> tuple[Header, bytearray]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), bytearray(raw[8 + length :])


def write_weights(path: Path, header: Header, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def change_config(folder: Path, **changes) -> None:
    """None removes a field."""
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in config.items() if v is not None}))


def make_gpt2(
    folder: Path,
    layers: int,
    heads: int,
    width: int,
    positions: int,
    vocabulary: int = 41,
    sparse: bool = False,
) -> Path:
    """A GPT-2 of random weights; `sparse`: of zeros that take no room on the disk."""
    case = Gpt2("made", "", width, heads, layers, vocabulary, positions, prefix=False)
    if not sparse:
        case.write(folder)
        return folder
    tensors = case.tensors()
    write_config(folder, case.config())
    path = folder / "model.safetensors"
    write_safetensors(path, {n: replace(t, data=lambda: b"") for n, t in tensors.items()})
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + sum(tensor.size for tensor in tensors.values()))
    return folder


def draws(*shape: int, seed: int = 3) -> tuple[list[int], list[float]]:
    """A tensor of random numbers, as make_dump() takes it."""
    draw = random.Random(seed)
    return list(shape), [draw.gauss(0, 1) for _ in range(math.prod(shape))]


def make_dump(path: Path, layers: int, heads: int, length: int, width: int, metadata=(), **extra) -> Path:
    """A dump of random queries and keys, with more metadata than it needs; `extra` are more tensors, as
    name -> (shape, values)."""
    draw = random.Random(2)
    tensors: dict[str, tuple[list[int], list[float]]] = {}
    for layer in range(layers):
        for part in ("q", "k"):
            values = [draw.gauss(0, 1) for _ in range(heads * length * width)]
            tensors[f"layers.{layer}.{part}"] = ([heads, length, width], values)
    tensors |= extra
    header: Header = {"__metadata__": {"format": "headgauge.dump/1", "causal": "true", **dict(metadata)}}
    data = array("f")
    for name, (shape, values) in tensors.items():
        offsets = [4 * len(data), 4 * (len(data) + len(values))]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
        data.extend(values)
    write_weights(path, header, data.tobytes())
    return path
