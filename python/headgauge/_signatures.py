"""Options in signatures and docstrings, from their declarations in the core."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from headgauge._options import OWN, declared

Function = TypeVar("Function", bound=Callable[..., Any])

TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "ints": "int | Sequence[int] | str",
    "floats": "float | Sequence[float] | str",
    "strings": "str | Sequence[str]",
    "texts": "TextOrIds",
}
FORMS = {"LIST": "str | Sequence[int | str]", "FILE": "str | os.PathLike[str]"}
# Arguments that every analysis of a model takes.
SHARED = {
    "text": ("TextOrIds", "Texts, in place of `text_or_ids`."),
    "tokens": ("TextOrIds", "Token ids or files of them, in place of `text_or_ids`."),
    "out": ("str | os.PathLike[str]", "Folder for results.json and heads.csv, and for the journal of a run that "
            "is stopped: the same call continues it. Made if need be."),
    "force": ("bool", "Replaces finished results of another request in `out`, which are refused otherwise."),
    "shard": ("str", "\"I/N\" measures share I of N of the documents alone, into `out`, for merge()."),
}  # fmt: skip
SHARDED = ("scan", "compare", "converge", "validate")
TAKE_OWN = ("scan", "compare", "converge")  # measures, normalizers and patterns of the caller
WIDTH = 100


def annotation(option: dict[str, Any], experiment: str) -> str:
    """The type of an option, as it stands in a stub."""
    if option["type"] == "choice":
        return f"Literal[{', '.join(repr(word) for word in option['form'].split('|'))}]"
    kind = FORMS.get(option["form"], TYPES[option["type"]])
    if option["name"] in OWN and experiment in TAKE_OWN:
        own = f"{kind.split(' | ')[0]} | {OWN[option['name']].__name__}"
        kind = f"{own} | Sequence[{own}]"
    elif option["name"] == "heads":
        kind = "str | Sequence[int | str | tuple[int, int]]"
    word = option["none"]
    typed = word and option["form"].endswith("|" + word)
    return f"{kind} | Literal[{word!r}]" if typed and "str" not in kind else kind


def options(
    experiments: Collection[str], without: Collection[str] = (), shared: bool = True
) -> dict[str, tuple[str, str]]:
    """The options of the experiments by name: type and description."""
    found: dict[str, tuple[str, str]] = {}
    for experiment in experiments:
        for name, option in declared(experiment).items():
            if name not in without and name not in found:
                found[name] = annotation(option, experiment), _description(option)
    if shared:
        found.update(
            (name, entry)
            for name, entry in SHARED.items()
            if name not in found and (name != "shard" or any(e in SHARDED for e in experiments))
        )
    else:
        found.update((name, SHARED[name]) for name in ("out", "force") if name not in without)
    return found


def _description(option: dict[str, Any]) -> str:
    text = option["help"] + (". " + option["details"] if option["details"] else "")
    text = re.sub(r"\[([^]]*)\]\(([^)#]*)[^)]*\)", r"docs/\2", text)
    text = re.sub(r"--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), text)
    return text if text.endswith(".") else text + "."


def takes(
    *experiments: str, without: Collection[str] = (), shared: bool = True
) -> Callable[[Function], Function]:
    """Names the options of these experiments in the function's signature and docstring, in place of **options."""

    def add(function: Function) -> Function:
        signature = inspect.signature(function)
        named = options(experiments, without, shared)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {parameter.name for parameter in own}
        new = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f"{kind} | None")
            for name, (kind, _) in named.items()
            if name not in taken
        ]
        function.__signature__ = signature.replace(parameters=own + new)  # type: ignore[attr-defined]
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{_section(named, taken)}"
        return function

    return add


def _section(named: dict[str, tuple[str, str]], taken: Collection[str]) -> str:
    lines = ["Options (None leaves one at its default):", ""]
    for name, (kind, text) in named.items():
        if name in taken:
            continue
        lines.append(f"{name}: {kind}")
        lines += textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)
