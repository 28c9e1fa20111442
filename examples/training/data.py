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
    length, texts, steps = 64, 63, 1000
    layers, width, heads, window = 2, 64, 4, 32
    kinds = tasks.TASKS
    test_seed = 10**6

    def batch(self, random: torch.Generator) -> Batch:
        ids, answers = [], []
        for task in tasks.TASKS:
            pairs = int(torch.randint(2, self.length // 4 + 1, (), generator=random))
            drawn = tasks.texts(task, self.length, self.texts // len(tasks.TASKS), random, pairs)
            ids.append(drawn.ids)
            answers.append(drawn.answers.expand(drawn.ids.shape))
        return torch.cat(ids), torch.cat(answers)

    def test(self, kind: str, length: int, count: int, random: torch.Generator) -> Batch:
        """Answers count when a text gives them for the first time; copied pieces are of all sizes."""
        parts = 4 if kind == "copy" else 1
        drawn = [
            tasks.texts(kind, length, count // parts, random, piece=tasks.PIECES[part])
            for part in range(parts)
        ]
        return torch.cat([each.ids for each in drawn]), torch.cat(list(map(tasks.first_asked, drawn)))

    def few(self, length: int, count: int, random: torch.Generator) -> Batch:
        """Texts of recall with as many pairs at every length: one less than at the trained length, so that
        each is asked for once."""
        drawn = tasks.scattered(length, count, random, self.length // 4 - 1)
        return drawn.ids, drawn.answers.expand(drawn.ids.shape)


class Fresh(Tasks):
    """The same with other texts to test, for rules that were chosen by the first ones."""

    name = "fresh"
    test_seed = 6 * 10**6


class Longer(Tasks):
    """The same with three times the steps."""

    name = "longer"
    steps = 3000


class Deep(Tasks):
    """The same for models of four layers, which learn the tasks later."""

    name = "deep"
    layers, steps = 4, 2000


class Text:
    """The bytes of a file: its first nine tenths to learn, the rest to test. In tests the bytes of the
    second half of each text count, where the context is long."""

    name = "text"
    vocabulary = 256
    length, texts, steps = 128, 12, 1000
    layers, width, heads, window = 2, 64, 4, 32
    kinds = ("text",)
    test_seed = 10**6

    def __init__(self, path: Path) -> None:
        self._bytes = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
        self._split = len(self._bytes) * 9 // 10

    def batch(self, random: torch.Generator) -> Batch:
        return self._pieces(0, self._split, self.length, self.texts, random)

    def test(self, kind: str, length: int, count: int, random: torch.Generator) -> Batch:
        ids, counts = self._pieces(self._split, len(self._bytes), length, count, random)
        return ids, counts & (torch.arange(length) >= length // 2)

    def _pieces(self, begin: int, end: int, length: int, count: int, random: torch.Generator) -> Batch:
        at = torch.randint(begin, end - length, (count,), generator=random)
        ids = torch.stack([self._bytes[k : k + length] for k in at.tolist()]).long()
        return ids, (torch.arange(length) > 0).expand(count, -1)


KINDS: dict[str, type[Tasks | Text]] = {kind.name: kind for kind in (Tasks, Fresh, Longer, Deep, Text)}
