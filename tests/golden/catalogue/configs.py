"""Configs that versions of transformers may read differently: tiny checkpoints, each with one edit."""

from tests.golden.catalogue.case import Case, table
from tests.golden.catalogue.gpt2 import Gpt2
from tests.golden.catalogue.llama import Llama

KINDS = {"gpt2": Gpt2, "llama": Llama}
ROWS = table("configs")
# What is refused: the exit code, and what the message names. And the field that a notice names.
REFUSED, NOTICES = (
    {row["name"]: row.pop(key) for row in ROWS if key in row} for key in ("refused", "notice")
)
CASES: tuple[Case, ...] = tuple(KINDS[row.pop("kind")](**row) for row in ROWS)
