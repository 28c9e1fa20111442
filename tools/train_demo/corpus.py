"""The novel, split into training and validation text, and the tokenizer made from it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"
VALIDATION_FRACTION = 0.05


@dataclass(frozen=True)
class Split:
    """The two parts of a text; validation is its end, so no training window overlaps it."""

    training: str
    validation: str


def default_novel() -> Path:
    """Where the novel lies: HEADGAUGE_TEST_DATA, or `shared/data` beside the repository."""
    repository = Path(__file__).resolve().parents[2]
    data = os.environ.get("HEADGAUGE_TEST_DATA") or repository.parent / "shared" / "data"
    return Path(data) / "text" / "war_and_peace.txt"


def read_split(path: Path, validation_fraction: float = VALIDATION_FRACTION) -> Split:
    """Cuts the text at the first paragraph end after `1 - validation_fraction` of it."""
    text = path.read_text(encoding="utf-8")
    cut = text.index("\n\n", int(len(text) * (1 - validation_fraction))) + 2
    return Split(training=text[:cut], validation=text[cut:])


def train_tokenizer(text: str, vocabulary: int) -> Tokenizer:
    """Byte-level BPE with GPT-2's pre-tokenisation; no truncation, padding or added tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.split("\n\n\n"), trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, text: str) -> torch.Tensor:
    """Token ids of the whole text, one long vector."""
    return torch.tensor(tokenizer.encode(text).ids, dtype=torch.long)


def windows(ids: torch.Tensor, length: int) -> torch.Tensor:
    """Consecutive windows of `length` tokens without overlap; the remainder is dropped."""
    count = len(ids) // length
    return ids[: count * length].view(count, length)


def sample_windows(ids: torch.Tensor, batch: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """`batch` windows of `length` tokens that start anywhere in the text."""
    starts = torch.randint(len(ids) - length + 1, (batch, 1), generator=generator)
    return ids[starts + torch.arange(length)]
