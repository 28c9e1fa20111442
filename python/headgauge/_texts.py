"""Texts and token ids in memory."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np

from headgauge import _core
from headgauge.errors import BadInputError, UsageError

# A text, the path of a text file, a list of token ids, or several of the same kind.
TextOrIds: TypeAlias = Any
# The ids of texts, and what else a model is given with each token of them.
Texts: TypeAlias = "tuple[list[list[int]], list[dict[str, list[int]]]]"
MASK, ENDS = "attention_mask", ("cu_seq_lens_q", "cu_seq_lens_k")
# What forward() takes with each token.
PER_TOKEN = ("input_ids", MASK, "position_ids", "token_type_ids", "mm_token_type_ids", "seq_idx")
# What is for the loss, the output or a reader alone: no query and no key depends on it.
HARMLESS = {"labels", "shift_labels", "num_items_in_batch", "return_loss", "logits_to_keep", "use_cache", "return_dict",
            "output_attentions", "output_hidden_states", "output_router_logits", "offset_mapping", "length",
            "special_tokens_mask", "overflow_to_sample_mapping", "max_length_q", "max_length_k"}  # fmt: skip


def texts_of(documents: TextOrIds, option: str = "text", are_files: bool = False) -> list[_core.Text]:
    """Returns the documents given as `option` (text, tokens, confirm). A str is a text or,
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


def checked_path(path: str | os.PathLike[str], name: str = "path") -> str:
    """Raises UsageError for what is no path, BadInputError for a name that is not UTF-8."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise UsageError(f"{name}: expected a path, found {path!r:.80}")
    if not _is_unicode(text):
        raise BadInputError(f"{text!a}: expected names in UTF-8, found other bytes; rename it")
    return text


def checked_spec(spec: str, name: str) -> str:
    """Raises UsageError for what is no text, such as half of a surrogate pair."""
    if not isinstance(spec, str) or not _is_unicode(spec):
        raise UsageError(f"{name}: expected a text, found {spec!r:.80}")
    return spec


def unmasked(values: Any, name: str) -> None:
    """Raises BadInputError for a masked array, whose hidden numbers would count as the others."""
    if isinstance(values, list | tuple):
        for value in values:
            unmasked(value, name)
    elif np.ma.is_masked(values):
        raise BadInputError(f"{name}: expected numbers, found an array with a mask that hides some; fill it")


def whole(value: Any, name: str) -> int:
    """Returns the value as an int. Raises UsageError for what is no whole number of at least 1."""
    if not isinstance(value, int | np.integer) or not 1 <= value < 2**31:
        raise UsageError(f"{name}: expected a whole number of at least 1, found {value!r:.80}")
    return int(value)


def flag(value: Any, name: str = "force") -> bool:
    if not isinstance(value, bool | np.bool_ | None):
        raise TypeError(f"{name}: expected True or False, found {value!r:.80}")
    return bool(value)


def split(documents: TextOrIds) -> list[Any]:
    """Returns the documents one by one. Raises BadInputError."""
    if isinstance(documents, str | os.PathLike):
        return [documents]
    if isinstance(documents, bytes | bytearray):
        raise BadInputError("text: expected a text, found bytes; decode them")
    if hasattr(documents, "read"):
        raise BadInputError(
            'text: expected a text, a path or token ids, found an open file; give pathlib.Path("book.txt") or what '
            "read() returns"
        )
    if isinstance(documents, Mapping):
        return list(of_batch(documents)[0])
    if getattr(documents, "ndim", 0) > 0:
        return [documents] if documents.ndim == 1 else list(documents)
    if hasattr(documents, "ndim") or not isinstance(documents, Iterable):
        raise BadInputError(f"text: expected a text, a path or token ids, found {documents!r}")
    items = list(documents)
    if items and isinstance(items[0], numbers.Integral):
        return [items]
    return items


def of_batch(batch: Mapping[str, Any], passes_on: bool = False, packs: bool = False) -> Texts:
    """Returns the texts of what a tokenizer or a collator gives, without the padding at either end that the mask
    marks, and what else a pass over each is given with its tokens; only with `passes_on` may this differ from the
    default. `packs`: the model separates texts in a row that has no mask, where positions do not ascend by one; they
    become texts of their own. Raises BadInputError for all else that may change what the model computes."""
    given = {name: value for name, value in batch.items() if value is not None and name not in HARMLESS}
    if "input_ids" not in given:
        raise BadInputError(
            f"text: expected a text, a path or token ids, found a {type(batch).__name__} without input_ids"
        )
    rows = {k: [as_ids(row, k) for row in split(given.pop(k))] for k in PER_TOKEN if k in given}
    if len({tuple(map(len, of_rows)) for of_rows in rows.values()}) > 1:
        raise BadInputError(f"{' and '.join(rows)}: expected one shape, found several")
    packs = packs and "position_ids" in rows and MASK not in rows
    found: list[dict[str, list[int]]] = []
    for number in range(len(rows["input_ids"])):
        row = _unpadded({name: of_rows[number] for name, of_rows in rows.items()}, number)
        starts = np.flatnonzero(np.diff(row["position_ids"] if packs else []) != 1) + 1
        found += [
            {k: v[a:b] for k, v in row.items()} for a, b in pairwise([0, *starts, len(row["input_ids"])])
        ]
    ends = [0, *accumulate(len(text["input_ids"]) for text in found)]
    others = [k for k, v in given.items() if not (packs and k in ENDS and as_ids(v, k) == ends)]
    others += [k for text in found for k, v in text.items() if not (passes_on or _is_default(k, v))]
    if others:
        raise BadInputError(f"{others[0]}: expected none, found one that may change the model; leave it out")
    return [text.pop("input_ids") for text in found], found if passes_on else []


def _unpadded(row: dict[str, list[int]], number: int) -> dict[str, list[int]]:
    """Returns the row without padding, and without the mask unless positions are given: these would separate texts
    if no mask stood beside them."""
    mask = row.get(MASK, [1] * len(row["input_ids"]))
    begin, end = (mask.index(1), len(mask) - mask[::-1].index(1)) if 1 in mask else (0, 0)
    if mask and mask[begin:end] != [1] * max(1, end - begin):
        found = f"{'others' if any(mask) else 'zeros alone'} in row {number + 1}"
        raise BadInputError(f"{MASK}: expected ones with zeros only at the ends, found {found}; leave it out")
    return {name: row[name][begin:end] for name in row if name != MASK or "position_ids" in row}


def _is_default(name: str, values: list[int]) -> bool:
    return name in ("input_ids", MASK) or values == [k * (name == "position_ids") for k in range(len(values))]


def as_ids(ids: Any, where: str = "ids") -> list[int]:
    """Returns token ids as a list. Raises BadInputError unless they are whole numbers in one
    row."""
    if hasattr(ids, "detach"):  # a torch tensor on any device
        ids = ids.detach().cpu().float() if ids.is_floating_point() else ids.detach().cpu()
    unmasked(ids, where)
    if isinstance(ids, bytes | bytearray | Mapping):
        raise BadInputError(f"{where}: expected a text or token ids, found a {type(ids).__name__}")
    try:
        array = np.asarray(ids)
    except ValueError:
        raise BadInputError(
            f"{where}: expected whole numbers in one row, found rows of different lengths"
        ) from None
    if where == MASK and np.isin(array, (0, 1)).all():
        array = array.astype(int)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise BadInputError(
            f"{where}: expected whole numbers in one row, found {array.dtype} of shape {array.shape}; give those of "
            "one text"
        )
    if array.size and (array.min() < 0 or array.max() > 2**31 - 1):
        wrong = array.min() if array.min() < 0 else array.max()
        raise BadInputError(f"{where}: expected ids from 0 to 2147483647, found {wrong}")
    return [int(i) for i in array]
