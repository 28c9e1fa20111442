"""Inputs of a model in addition to token ids, or instead of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headgauge._attention import arguments_of
from headgauge.errors import BadInputError, UsageError

Inputs = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


def main_input(model: Any) -> str:
    return str(getattr(model, "main_input_name", next(iter(arguments_of(model)), "pixel_values")))


def as_tensors(model: Any, inputs: Any) -> Inputs:
    """Converts arrays and lists of numbers to tensors. Raises UsageError unless `inputs` is a dict
    of these or a list of such dicts."""
    if inputs is None:
        return None
    several = isinstance(inputs, Sequence) and not isinstance(inputs, str)
    found = list(inputs) if several else [inputs]
    if not found or not all(isinstance(given, Mapping) and given for given in found):
        empty = not found or any(isinstance(given, Mapping) for given in found)
        raise UsageError(
            f"inputs: expected a dict that names what the model takes, or a list of such, found "
            f"{'an empty one' if empty else type(found[0]).__name__}; write inputs={{{main_input(model)!r}: ...}}"
        )
    made = [{name: _as_tensor(name, value) for name, value in given.items()} for given in found]
    return made if several else made[0]


def _as_tensor(name: str, value: Any) -> Any:
    if not isinstance(value, (str, list, np.ndarray)):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"inputs: expected {name} as a tensor or an array of numbers, found {type(value).__name__}; give what the "
            "model's processor makes with return_tensors='pt'"
        ) from error


def inputs_of(inputs: Inputs, documents: int, alone: bool) -> list[Mapping[str, Any] | None]:
    """Returns the inputs of the encoder for each document."""
    if inputs is None:
        return [None] * documents
    found: list[Mapping[str, Any] | None] = [inputs] if isinstance(inputs, Mapping) else list(inputs)
    if len(found) != documents:
        raise BadInputError(f"inputs: expected those of {documents} texts, found {len(found)}")
    for each in found:
        for name, value in (each or {}).items():
            if name.startswith("decoder_"):
                raise BadInputError(
                    f"inputs: expected what the encoder gets, found {name}; give the ids to scan()"
                )
            # A model that takes inputs alone may have all patches in one row; the attention shows
            # their number.
            if isinstance(value, torch.Tensor) and not alone and value.ndim > 0 and value.shape[0] != 1:
                raise BadInputError(
                    f"inputs: expected {name} of one text, (1, ...), found {tuple(value.shape)}; give a list of one "
                    "for each text"
                )
    return found
