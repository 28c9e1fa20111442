"""What headgauge raises: one hierarchy, in which each is also what Python users expect.

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
    """The base of everything that headgauge raises."""


class UsageError(Error, ValueError):
    """The call itself makes no sense."""


class BadInputError(Error, ValueError):
    """A file, an array or a value is not what it should be."""


class UnsupportedError(Error, NotImplementedError):
    """Understood, but not something that headgauge can do."""


class ResourceError(Error, MemoryError):
    """The memory, the disk or the threads do not suffice."""


class InterruptedError(Error):
    """The computation was stopped before its end."""
