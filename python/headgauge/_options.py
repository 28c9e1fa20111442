"""Options of the commands as keyword arguments: the declarations are those of the command line."""

from __future__ import annotations

import difflib
import functools
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headgauge import _core

# What is about the terminal has no meaning here, and a share of a run has no results: executor= does that.
TERMINAL = frozenset({"json", "quiet", "top", "sort", "shard"})


@functools.cache
def declared(command: str) -> dict[str, dict[str, str]]:
    """The options of a command by their Python names: form, help and details."""
    _, _, listed = _core.run(["options"], None, None, {}, {}, None)
    return {
        option["name"].replace("-", "_"): option
        for option in json.loads(listed)
        if option["command"] == command and option["name"] not in TERMINAL
    }


def _word(value: object) -> str:
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    # Coordinates of results are floats, and where whole numbers are asked for 32.0 is one.
    if isinstance(value, float | np.floating):
        number = float(value)
        if number.is_integer() and abs(number) < 2**53:
            return str(int(number))
    return str(value)


def _is_list(value: object) -> bool:
    if isinstance(value, str | bytes | os.PathLike | Mapping):
        return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def arguments(command: str, options: Mapping[str, Any], function: str = "") -> list[str]:
    """The words that the command line takes for them. None leaves an option as it is. `function` is
    the name that errors give, by default that of the command."""
    known = declared(command)
    words: list[str] = []
    for name, value in options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function or command.split()[0]}() has no option {name!r}{advice}")
        if value is None:
            continue
        option = "--" + name.replace("_", "-")
        form = known[name]["form"]
        if not form:
            if not isinstance(value, bool | np.bool_):
                raise TypeError(f"{name}: expected True or False, found {value!r}")
            words += [option] if value else []
        elif not _is_list(value):
            words.append(f"{option}={_word(value)}")
        elif form.endswith("...") and "," not in form:
            values = [_word(item) for item in value]
            words += [option, *("./" + v if v.startswith("-") else v for v in values)]
        else:
            words.append(f"{option}={','.join(_word(item) for item in value)}")
    return words
