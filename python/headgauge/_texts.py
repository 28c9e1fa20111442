"""Texts and token ids in memory."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from headgauge import _core
from headgauge.errors import BadInputError

# A text, the path of a text file, a list of token ids, or several of the same kind.
TextOrIds: TypeAlias = Any


def texts_of(documents: TextOrIds, option: str = "text", are_files: bool = False) -> list[_core.Text]:
    """Returns the documents given as `option` (text, tokens, confirm, fit). A str is a text or,
    with `are_files`, the path of a file of ids. Raises BadInputError."""
    items = split(documents)
    if not items:
        raise BadInputError(f"{option}: expected a text or token ids, found none")
    of_ids = [are_files or not isinstance(item, str | os.PathLike) for item in items]
    if any(of_ids) and not all(of_ids):
        raise BadInputError(f"{option}: expected texts or token ids, found both; give one kind")
    texts = []
    for k, item in enumerate(items):
        name = option if len(items) == 1 else f"{option} {k + 1}"
        if isinstance(item, os.PathLike) or (isinstance(item, str) and are_files):
            texts.append(_core.Text(checked_path(item), are_files))
        elif isinstance(item, str):
            if not _is_unicode(item):
                raise BadInputError(f"{name}: expected Unicode text, found half of a surrogate pair")
            if os.path.isfile(item):
                raise BadInputError(
                    f"{name}: expected a text, found the name of a file, {item!r}; write pathlib.Path({item!r}) "
                    "for what it holds, or give ids for the name itself"
                )
            texts.append(_core.Text(name, False, utf8=item))
        else:
            texts.append(_core.Text(name, True, ids=as_ids(item, option)))
    return texts


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def checked_path(path: str | os.PathLike[str]) -> str:
    """Raises BadInputError for a name that is not UTF-8."""
    text = os.fspath(path)
    if not _is_unicode(text):
        raise BadInputError(f"{text!a}: expected names in UTF-8, found other bytes; rename it")
    return text


def split(documents: TextOrIds) -> list[Any]:
    """Returns the documents one by one. Raises BadInputError."""
    if isinstance(documents, str | os.PathLike):
        return [documents]
    if isinstance(documents, bytes | bytearray):
        raise BadInputError("text: expected a text, found bytes; decode them")
    if isinstance(documents, Mapping):
        return _of_tokenizer(documents)
    if getattr(documents, "ndim", 0) > 0:
        return [documents] if documents.ndim == 1 else list(documents)
    if hasattr(documents, "ndim") or not isinstance(documents, Iterable):
        raise BadInputError(f"text: expected a text, a path or token ids, found {documents!r}")
    items = list(documents)
    if items and isinstance(items[0], numbers.Integral):
        return [items]
    return items


def _of_tokenizer(batch: Mapping[str, Any]) -> list[Any]:
    """Returns the rows of a tokenizer's output, without the padding at either end that its mask
    marks."""
    if "input_ids" not in batch:
        raise BadInputError(
            f"text: expected a text, a path or token ids, found a {type(batch).__name__} without input_ids"
        )
    rows, mask = split(batch["input_ids"]), batch.get("attention_mask")
    if mask is None:
        return rows
    masks = [as_ids(row, "attention_mask") for row in split(mask)]
    texts = [as_ids(row, "input_ids") for row in rows]
    if [len(row) for row in masks] != [len(row) for row in texts]:
        raise BadInputError("attention_mask: expected the shape of input_ids, found another")
    found = []
    for ids, of_row in zip(texts, masks, strict=True):
        places = [place for place, seen in enumerate(of_row) if seen]
        if places and places[-1] - places[0] + 1 != len(places):
            raise BadInputError("attention_mask: expected padding at the ends of a text, found some within")
        found.append(ids[places[0] : places[-1] + 1] if places else [])
    return found


def as_ids(ids: Any, where: str = "ids") -> list[int]:
    """Returns token ids as a list. Raises BadInputError unless they are whole numbers in one
    row."""
    if hasattr(ids, "detach"):  # a torch tensor on any device
        ids = ids.detach().cpu()
    if isinstance(ids, bytes | bytearray | Mapping):
        raise BadInputError(f"{where}: expected a text or token ids, found a {type(ids).__name__}")
    try:
        array = np.asarray(ids)
    except ValueError:
        raise BadInputError(
            f"{where}: expected token ids in one row, found rows of different lengths"
        ) from None
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise BadInputError(
            f"{where}: expected token ids in one row of whole numbers, found {array.dtype} of "
            f"shape {array.shape}; give the ids of one text"
        )
    if array.size and (array.min() < 0 or array.max() > 2**31 - 1):
        wrong = array.min() if array.min() < 0 else array.max()
        raise BadInputError(f"{where}: expected ids from 0 to 2147483647, found {wrong}")
    return [int(i) for i in array]
