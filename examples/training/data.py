"""What the models learn: retrieval tasks, or the bytes of a text."""

from __future__ import annotations

from pathlib import Path

import tasks
import torch

Batch = tuple[torch.Tensor, torch.Tensor]
"""(texts, length) ids, and (texts, length) bool: the tokens that count."""


class Tasks:
    """Equal parts of copy, recall and chains, of any number of facts."""

    name = "tasks"
    vocabulary = tasks.VOCABULARY
    length, texts, steps = 64, 63, 800
    layers, width, heads = 2, 64, 4
    kinds = tasks.TASKS

    def batch(self, random: torch.Generator) -> Batch:
        drawn = []
        for task in tasks.TASKS:
            pairs = int(torch.randint(2, self.length // 4 + 1, (), generator=random))
            drawn.append(tasks.texts(task, self.length, self.texts // len(tasks.TASKS), random, pairs))
        return _joined(drawn)

    def test(self, kind: str, length: int, count: int, random: torch.Generator) -> Batch:
        return _joined([tasks.texts(kind, length, count, random)])


def _joined(drawn: list[tasks.Texts]) -> Batch:
    answers = [each.answers.expand(len(each.ids), -1) for each in drawn]
    return torch.cat([each.ids for each in drawn]), torch.cat(answers)


class Text:
    """The bytes of a file: its first nine tenths to learn, the rest to test."""

    name = "text"
    vocabulary = 256
    length, texts, steps = 128, 12, 1000
    layers, width, heads = 2, 64, 4
    kinds = ("text",)

    def __init__(self, path: Path) -> None:
        self._bytes = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
        self._split = len(self._bytes) * 9 // 10

    def batch(self, random: torch.Generator) -> Batch:
        return self._pieces(0, self._split, self.length, self.texts, random)

    def test(self, kind: str, length: int, count: int, random: torch.Generator) -> Batch:
        return self._pieces(self._split, len(self._bytes), length, count, random)

    def _pieces(self, begin: int, end: int, length: int, count: int, random: torch.Generator) -> Batch:
        at = torch.randint(begin, end - length, (count,), generator=random)
        ids = torch.stack([self._bytes[k : k + length] for k in at.tolist()]).long()
        return ids, (torch.arange(length) > 0).expand(count, -1)
