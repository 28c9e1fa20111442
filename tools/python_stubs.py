"""Writes python/headgauge/_commands.pyi: the functions of the package with every option, its type and what it
means, as editors and type checkers read them. Needs the built package on PYTHONPATH."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from pathlib import Path

STUB = Path(__file__).parents[1] / "python/headgauge/_commands.pyi"
HEAD = """# Written by tools/python_stubs.py from the declarations of the options.
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from headgauge._own import Measure, Normalizer, Pattern
from headgauge.results import Results

Progress: TypeAlias = Callable[[str, float, float], None] | bool
TextOrIds: TypeAlias = Any
"""


def stub() -> str:
    from headgauge import _commands

    parts = [HEAD]
    for name in (
        "merge",
        "scan",
        "compare",
        "converge",
        "validate",
        "plan",
        "reproduce",
        "task",
        "diff",
        "series",
        "analyze",
    ):
        function = getattr(_commands, name)
        parts.append(declaration(name, function))
    return "\n".join(parts)


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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the stub is stale")
    made = stub()
    if parser.parse_args().check:
        if STUB.exists() and STUB.read_text("utf-8") == made:
            return 0
        print("stale: _commands.pyi; run tools/python_stubs.py", file=sys.stderr)
        return 1
    STUB.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
