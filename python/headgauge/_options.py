"""Options as keyword arguments, declared by the core."""

from __future__ import annotations

import difflib
import functools
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headgauge import _core
from headgauge._own import Measure, Normalizer, Pattern, require_declared
from headgauge._texts import flag, unmasked
from headgauge.errors import UsageError


@functools.cache
def declared(experiment: str) -> dict[str, dict[str, Any]]:
    """Returns the options of an experiment by name: form, help, details, default and type."""
    return {option["name"]: option for option in _core.options(experiment)}


def plain(value: object) -> object:
    """Converts numpy scalars, arrays, ranges and paths to plain Python values that JSON can
    represent."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bool | int | float | str):
        return value
    if (
        isinstance(value, Iterable)
        and not isinstance(value, bytes | Mapping)
        and getattr(value, "ndim", True)
    ):
        return [plain(item) for item in value]
    return value.item() if hasattr(value, "item") else str(value)


def pairs(heads: str | Iterable[Any]) -> list[tuple[int, int]]:
    """Returns heads, given as pairs (layer, head) or as "layer.head", as pairs. Raises UsageError."""
    items = heads.split(",") if isinstance(heads, str) else heads
    try:
        split = (map(int, item.split(".")) if isinstance(item, str) else item for item in items)
        return [(operator.index(layer), operator.index(head)) for layer, head in split]
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f'heads: expected [(1, 3)] or ["1.3"], layer and head, found {heads!r:.80}'
        ) from error


OWN = {"measures": Measure, "normalizer": Normalizer, "pattern": Pattern}


def take_own(options: dict[str, Any]) -> dict[str, list[Any]]:
    """Takes objects of the caller's own out of options, which keep the names; by option."""
    own: dict[str, list[Any]] = {}
    for name, kind in OWN.items():
        value = options.get(name)
        if isinstance(value, kind):
            value = [value]
        if isinstance(value, list | tuple) and any(isinstance(item, kind) for item in value):
            own[name] = [item for item in value if isinstance(item, kind)]
            for item in own[name]:
                require_declared(item)
            options[name] = [item for item in value if not isinstance(item, kind)] or None
    return own


def checked(experiment: str, options: Mapping[str, Any], function: str = "") -> dict[str, Any]:
    """Returns the given options in the form that the core takes; leaves out those that are None.
    `function` is the name in errors, by default that of the experiment."""
    known = declared(experiment)
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function or experiment.split()[0]}() has no option {name!r}{advice}")
        if value is None:
            continue
        unmasked(value, name)
        if known[name]["type"] == "bool" and not known[name]["form"]:
            flag(value, name)
        if name == "heads" and not isinstance(value, str):
            items = value if isinstance(value, Iterable) else [value]
            value = [item if np.ndim(item) == 0 else "{}.{}".format(*pairs([item])[0]) for item in items]
        given[name] = value if known[name]["type"] == "texts" else plain(value)
    return given
