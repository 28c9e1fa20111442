"""Texts of retrieval tasks, of any length, in which many answers are asked for.

A text begins with a token that names its task and gives facts. Behind a separator it asks for all of
them in random order, and then again until it is full:

    copy     a b c d e f ... | c d e f  a b c d ...    pieces of four tokens; the last three are answers
    recall   k v k v k v ... | k v  k v  k v ...       each v behind the separator is an answer
    chains   x v z u y x ... | y x v  w z u ...        y means x, whose value is v: x and v are answers

`headgauge task` writes the same tasks in the words of a model and asks once in each text. A model
that learns them from nothing needs many answers in each. Words are drawn without replacement, so
what follows a word in the facts is known; only in chains a name stands there again, as a value.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

TASKS = ("copy", "recall", "chains")
WORDS = 512
PIECES = (4, 8, 16, 32)
SEPARATOR = len(TASKS)
FIRST_WORD = SEPARATOR + 1
VOCABULARY = FIRST_WORD + WORDS


class Texts(NamedTuple):
    ids: torch.Tensor
    """(texts, length) tokens."""
    answers: torch.Tensor
    """(length) bool: tokens that the facts before them decide."""


def _words(count: int, size: int, random: torch.Generator) -> torch.Tensor:
    """Draws (count, size) words; those of a text are all different."""
    return FIRST_WORD + torch.rand((count, WORDS), generator=random).argsort(dim=1)[:, :size]


def _copy(count: int, pairs: int, random: torch.Generator, piece: int) -> tuple[torch.Tensor, torch.Tensor]:
    facts = _words(count, max(2 * pairs, PIECES[0]), random)
    return facts, facts.unfold(1, min(piece, facts.shape[1]), 1)


def _recall(count: int, pairs: int, random: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    facts = _words(count, 2 * pairs, random)
    return facts, facts.unflatten(1, (pairs, 2))


def _chains(count: int, pairs: int, random: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Half of the names have a value, the others mean one of these names."""
    words = _words(count, pairs + pairs // 2, random)
    names, values = words[:, :pairs], words[:, pairs:]
    meant = torch.randint(pairs // 2, (count, pairs - pairs // 2), generator=random)
    told = torch.cat([values, names.gather(1, meant)], dim=1)
    true = torch.stack([names[:, pairs // 2 :], names.gather(1, meant), values.gather(1, meant)], dim=2)
    return torch.stack([names, told], dim=2).flatten(1), true


_PAIRED = {"recall": _recall, "chains": _chains}


def texts(
    task: str,
    length: int,
    count: int,
    random: torch.Generator,
    pairs: int | None = None,
    piece: int | None = None,
) -> Texts:
    """Draws `count` texts of `length` tokens. They have so many pairs of facts, or twice as many
    tokens to copy; by default their facts fill half of the text. `piece`: tokens of a piece to copy;
    by default drawn."""
    size = length // 4 if pairs is None else pairs
    if task == "copy":
        drawn = PIECES[int(torch.randint(len(PIECES), (), generator=random))]
        facts, parts = _copy(count, size, random, piece or drawn)
    else:
        facts, parts = _PAIRED[task](count, size, random)
    room = length - 2 - facts.shape[1]
    rounds = -(-room // (parts.shape[1] * parts.shape[2]))
    asked = torch.cat([_shuffled(parts, random) for _ in range(rounds)], dim=1)
    return _joined(task, facts, asked.flatten(1)[:, :room], parts.shape[2])


def _shuffled(parts: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    """Puts the parts (texts, parts, tokens) of each text in random order."""
    order = torch.rand(parts.shape[:2], generator=random).argsort(dim=1)
    return parts.gather(1, order[..., None].expand(-1, -1, parts.shape[2]))


def _joined(task: str, facts: torch.Tensor, asked: torch.Tensor, piece: int) -> Texts:
    """All but the first token of each piece that is asked for are answers."""
    marks = torch.tensor([TASKS.index(task), SEPARATOR]).expand(len(facts), 2)
    ids = torch.cat([marks[:, :1], facts, marks[:, 1:], asked], dim=1)
    at = torch.arange(ids.shape[1]) - facts.shape[1] - 2
    return Texts(ids, (at >= 0) & (at % piece > 0))


def scattered(length: int, count: int, random: torch.Generator, pairs: int) -> Texts:
    """Draws texts of recall with so many pairs at random places among words that are not asked for. Each
    pair is asked for once."""
    words = _words(count, WORDS, random)
    facts, others = words[:, : 2 * pairs].unflatten(1, (pairs, 2)), words[:, 2 * pairs :]
    room = (length - 2 - 2 * pairs) // 2 * 2
    filled = others.gather(1, torch.randint(others.shape[1], (count, room), generator=random))
    filled = filled.unflatten(1, (room // 2, 2))
    places = (
        torch.rand((count, room // 2), generator=random).argsort(dim=1)[:, :pairs, None].expand(-1, -1, 2)
    )
    filled = filled.scatter(1, places, facts).flatten(1)
    return _joined("recall", filled, _shuffled(facts, random).flatten(1), 2)


def first_asked(drawn: Texts) -> torch.Tensor:
    """Returns (texts, length) bool: the answers that the text has not given behind the separator yet."""
    first = drawn.answers.expand(drawn.ids.shape).clone()
    for row, ids in enumerate(drawn.ids.tolist()):
        given: set[tuple[int, int]] = set()
        for at in range(ids.index(SEPARATOR) + 2, len(ids)):
            first[row, at] &= (ids[at - 1], ids[at]) not in given
            given.add((ids[at - 1], ids[at]))
    return first
