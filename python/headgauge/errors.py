"""The exceptions of headgauge: one hierarchy, in which each is also a built-in exception.

The message is one line: where, what was expected, what was found, and what to do about it.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "BadInputError",
    "Error",
    "InterruptedError",
    "ResourceError",
    "UnsupportedError",
    "UsageError",
]


class Error(Exception):
    """The base of all exceptions of headgauge."""


class UsageError(Error, ValueError):
    """The call is invalid."""


class BadInputError(Error, ValueError):
    """A file, an array or a value is invalid."""


class UnsupportedError(Error, NotImplementedError):
    """The request is valid, but headgauge cannot do it."""


class ResourceError(Error, MemoryError):
    """There is not enough memory, disk space or threads."""


class InterruptedError(Error):
    """The computation was stopped before its end."""


def imported(name: str, extra: str) -> Any:
    """Imports a module that needs what `extra` installs. Raises ModuleNotFoundError that says how."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        wanted = "lightning" if "lightning" in str(error.name) else f'"headgauge[{extra}]"'
        raise ModuleNotFoundError(
            f"{error.name}: expected it to be installed, found it is not; run: pip install {wanted}",
            name=error.name,
        ) from error
