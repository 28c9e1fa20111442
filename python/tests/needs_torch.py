"""torch and transformers, and the tests that need them: these are skipped where the two are not installed."""

import unittest

try:
    import torch
    import transformers
except ImportError as error:
    MISSING = f"{error.name} is not installed"
    torch = transformers = None  # type: ignore[assignment]
else:
    MISSING = ""

__all__ = ["MISSING", "TorchTest", "torch", "transformers"]


@unittest.skipIf(MISSING, MISSING)
class TorchTest(unittest.TestCase):
    """A test that needs both."""
