"""FAMILY.safetensors: what was computed for every case of a family.

A list of numbers is a tensor named CASE/KEY or CASE/KEY/KEY. The metadata hold the rest of a case as
JSON under its name.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.places import GOLDEN
from tests.reference.safetensors_io import Tensors, read_file, write_file

Golden = dict[str, Any]


def path_of(family: str) -> Path:
    return GOLDEN / f"{family}.safetensors"


@cache
def read_family(family: str) -> dict[str, Golden]:
    """Every case by its name, with arrays for the tensors."""
    tensors, metadata = read_file(path_of(family))
    cases: dict[str, Golden] = {name: json.loads(text) for name, text in metadata.items()}
    for name, values in tensors.items():
        case, *keys, last = name.split("/")
        place = cases[case]
        for key in keys:
            place = place[key]
        place[last] = values
    return cases


def write_family(family: str, cases: dict[str, Golden]) -> None:
    tensors: Tensors = {}
    metadata = {
        name: json.dumps(take_arrays(golden, name, tensors), separators=(",", ":"))
        for name, golden in sorted(cases.items())
    }
    write_file(path_of(family), tensors, metadata)


def take_arrays(golden: Golden, name: str, tensors: Tensors) -> Golden:
    """Moves the lists of numbers to `tensors` and returns the rest."""
    rest: Golden = {}
    for key, value in golden.items():
        if isinstance(value, dict):
            rest[key] = take_arrays(value, f"{name}/{key}", tensors)
        elif isinstance(value, list | np.ndarray):
            array = np.asarray(value)
            is_whole = array.size == 0 or array.dtype.kind == "i"
            tensors[f"{name}/{key}"] = array.astype(np.int32 if is_whole else np.float64)
        else:
            rest[key] = value
    return rest
