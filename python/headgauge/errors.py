"""The exceptions of headgauge: one hierarchy, in which each is also a built-in exception.

The message is one line: where, what was expected, what was found, and what to do about it.
"""

from __future__ import annotations

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
