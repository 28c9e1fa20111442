"""Examples of a head (docs/examples.md), from their definition: every row of the head at once."""

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from tests.reference.arrays import Array
from tests.reference.rows import probes_of, sinks_in

FAR, STRETCH, KEYS, SHARE, FIRST = 64, 16, 32, 0.95, 64
CRITERIA = ["change", "far", "near", "spread"]


@dataclass
class HeadWeights:
    """Weights of one head in one document, (L, L) with 0 where a query does not see a key."""

    weights: Array
    visible: Array  # (L, L) booleans
    original: Array | None = None  # weights without what is changed

    def shares(self) -> Array:
        size = np.abs(self.weights)
        return np.asarray(size / size.sum(axis=1, keepdims=True))

    def original_shares(self) -> Array:
        assert self.original is not None
        size = np.abs(self.original)
        return np.asarray(size / size.sum(axis=1, keepdims=True))

    def values(self, longest: int) -> dict[str, Array]:
        """The value of each criterion for each query; 0 for those that are never kept."""
        shares = self.shares()
        query, key = np.indices(shares.shape)
        far = np.abs(query - key) >= FAR
        rows = probes_of(len(shares))
        content = ~sinks_in(self.weights[rows], self.visible[rows], rows)[None, :]
        safe = np.where(shares > 0.0, shares, 1.0)
        entropy = -(safe * np.log(safe)).sum(axis=1)
        keys = self.visible.sum(axis=1)
        found = {
            "far": (shares * (far & content)).max(axis=1),
            "near": (shares * (~far & content)).max(axis=1),
            "spread": np.where(keys > 1, entropy / np.log(np.maximum(keys, 2)), 0.0),
        }
        if self.original is not None:
            moved = 0.5 * np.abs(shares - self.original_shares()).sum(axis=1)
            found["change"] = moved
        early = np.arange(len(shares)) < min(FIRST, longest // 2)
        return {name: np.where(early, 0.0, value) for name, value in found.items()}

    def heaviest(self, query: int) -> list[int]:
        """The keys kept of a query, heaviest first."""
        share = self.shares()[query]
        with_change = until_enough(share)
        if self.original is None:
            return [j for j in with_change if share[j] > 0.0]
        before = self.original_shares()[query]
        without = until_enough(before)
        chosen: list[int] = []
        for pair in zip_longest(with_change, without):
            chosen += [j for j in dict.fromkeys(pair) if j is not None and j not in chosen]
        larger = np.maximum(share, before)
        return sorted((j for j in chosen[:KEYS] if larger[j] > 0.0), key=lambda j: (-larger[j], j))

    def others(self, query: int, keys: list[int]) -> int:
        """How many keys the query sees beside these."""
        return int(self.visible[query].sum() - self.visible[query, keys].sum())


def until_enough(share: Array) -> list[int]:
    """The heaviest keys until they hold enough of the weight."""
    keys = sorted(range(len(share)), key=lambda j: (-share[j], j))[:KEYS]
    held = np.cumsum(share[keys])
    return keys[: int(np.searchsorted(held, SHARE)) + 1]


@dataclass
class Kept:
    why: str
    value: float
    document: int
    query: int


def examples_of_head(documents: list[HeadWeights], count: int, longest: int) -> list[Kept]:
    """Criterion after criterion takes the best query that is left, of the best of each stretch."""
    lists: dict[str, list[Kept]] = {}
    for number, head in enumerate(documents):
        for why, values in head.values(longest).items():
            best: dict[int, Kept] = {}
            for query, value in enumerate(values):
                known = best.get(query // STRETCH)
                if value > 0.0 and (known is None or value > known.value):
                    best[query // STRETCH] = Kept(why, float(value), number, query)
            lists.setdefault(why, []).extend(best.values())
    for rows in lists.values():
        rows.sort(key=lambda row: (-row.value, row.document, row.query))
    kept: list[Kept] = []
    while len(kept) < count:
        before = len(kept)
        for why in [name for name in CRITERIA if name in lists]:
            taken = {(row.document, row.query) for row in kept}
            free = [row for row in lists[why] if (row.document, row.query) not in taken]
            if free and len(kept) < count:
                kept.append(free[0])
        if len(kept) == before:
            break
    return kept
