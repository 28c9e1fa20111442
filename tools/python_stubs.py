"""Writes the stub of the Python package, _commands.pyi: its functions with every option, its type and what it means,
as editors and type checkers read them. The build runs it on the package that it has made.

    tools/python_stubs.py FOLDER STUB     FOLDER is where the package is
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path
from unittest.mock import MagicMock

HEAD = """# Written by tools/python_stubs.py from the declarations of the options.
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from headgauge._own import Measure, Normalizer, Pattern
from headgauge.results import Results

Progress: TypeAlias = Callable[[str, float, float], None] | bool
TextOrIds: TypeAlias = Any
"""


def stub(folder: str) -> str:
    sys.path.insert(0, folder)
    # The Python that builds the package may lack numpy, and signatures need none.
    sys.modules["numpy"] = sys.modules["numpy.typing"] = MagicMock()
    from headgauge import _commands

    own = [
        declaration(name, each)
        for name, each in vars(_commands).items()
        if inspect.isfunction(each) and each.__module__ == _commands.__name__ and not name.startswith("_")
    ]
    return "\n".join([HEAD, *own])


def declaration(name: str, function: object) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    lines = [f"def {name}("]
    named_alone = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not named_alone:
            lines.append("    *,")
            named_alone = True
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        lines.append(f"    {parameter.name}: {parameter.annotation}{default},")
    lines.append(f") -> {signature.return_annotation}:")
    doc = inspect.cleandoc(function.__doc__ or "").replace("\\", "\\\\")
    text = textwrap.indent(f'"""{doc}"""', "    ", lambda line: bool(line.strip()))
    return "\n".join([*lines, text, "    ...", ""])


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(stub(sys.argv[1]), "utf-8")
