"""Measures, normalizers and patterns of a researcher's own, in numpy, for scan(), compare() and use()."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from headgauge._texts import checked_spec, unmasked
from headgauge.errors import BadInputError, UsageError

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

BLOCK = 64  # queries of one call, at most


@dataclass(frozen=True)
class _Block:
    layer: int
    head: int
    document: int
    query: npt.NDArray[np.int64]
    """(n,): position of each query in its text, from 0."""


@dataclass(frozen=True)
class Rows(_Block):
    """Up to 64 rows of the attention of one head: n queries and the keys from 0 to the last that one sees."""

    logits: Floats
    """(n, keys): -inf where a query does not see a key."""
    weights: Floats
    """(n, keys): 0 where a query does not see a key."""


@dataclass(frozen=True)
class Queries(_Block):
    """Up to 64 queries of one head, and the keys of its text (while a text is generated, the keys so far)."""

    queries: Floats
    """(n, d)"""
    keys: Floats
    """(length, d)"""
    scale: float
    """Logits are scale * queries @ keys.T."""
    visible: Mask
    """(n, length): the keys that the model shows each query."""


class Measure:
    """Numbers of each row of attention, which the scan averages over rows, lengths and texts as it does its own.

    A subclass names its `metrics`, {name: (unit, meaning)}, and computes them in observe(). It goes into
    `measures=` of scan(), compare() and converge(), beside the names of groups.
    """

    metrics: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def observe(self, rows: Rows) -> Mapping[str, Any]:
        """An array (n,) for each metric; NaN, or masked, where it is undefined for a row."""
        raise NotImplementedError


class Normalizer:
    """A rule that turns logits into weights.

    A subclass has a `name` and computes weigh(). It goes into `normalizer=` of scan(), compare() and use(). The
    group `sensitivity` and training need jacobian(), which is computed by differences unless it is there.
    """

    name: ClassVar[str] = "own"
    simplex: ClassVar[bool] = True
    """Weights are non-negative and sum to 1."""
    by_position: ClassVar[bool] = False
    """Weights depend on `position`."""
    unit_norms: ClassVar[bool] = False

    def weigh(self, logits: Doubles, position: npt.NDArray[np.int64]) -> Any:
        """Returns the weights (n, keys) of the logits (n, keys) of n queries, up to 64. A logit is
        -inf, and its weight must be 0, if the query does not see the key; each query sees a key. In a scan,
        column j is the j-th key that the query sees. `position` (n,) is that of each query in its text,
        from 0."""
        raise NotImplementedError

    def jacobian(self, logits: Doubles, position: int) -> Any:
        """(keys, keys): derivative of weight i by logit j, for one row whose keys are all seen."""
        step = 1e-6
        moved = np.repeat(logits[None], 2 * logits.size, axis=0)
        index = np.arange(logits.size)
        moved[index, index] += step
        moved[index + logits.size, index] -= step
        weights = np.asarray(self.weigh(moved, np.full(len(moved), position)), np.float64)
        return ((weights[: logits.size] - weights[logits.size :]) / (2 * step)).T

    def parameter(self, key: str) -> float | str:
        raise KeyError(key)


class Pattern:
    """A sparse pattern: which keys each query keeps.

    A subclass has a `name` and computes select(). It goes into `pattern=` of scan(), compare() and use().
    """

    name: ClassVar[str] = "own"

    def select(self, rows: Queries) -> Any:
        """(n, length) bool: the keys that each query keeps; those that are not visible stay hidden."""
        raise NotImplementedError


def require_declared(own: Measure | Normalizer | Pattern) -> None:
    """Raises UsageError unless the attributes of an object of the caller's own are of their types."""
    where = type(own).__name__
    if not isinstance(own, Measure):
        checked_spec(own.name, f"{where}.name")
        return
    try:
        for name, (unit, meaning) in own.metrics.items():
            checked_spec(name + unit + meaning, f"{where}.metrics")
    except (AttributeError, TypeError, ValueError):
        expected = "a dict of names, each with its (unit, meaning)"
        raise UsageError(f"{where}.metrics: expected {expected}, found {own.metrics!r:.80}") from None


class Rule:
    """A Normalizer as use() takes rules: with logits of rows whose keys are those from begin to end."""

    def __init__(self, own: Normalizer) -> None:
        self._own = own
        self.name, self.by_position, self.unit_norms = own.name, own.by_position, own.unit_norms

    def parameter(self, key: str) -> float | str:
        return self._own.parameter(key)

    def weigh(self, logits: Doubles, begin: Any, end: Any, position: Any, threads: int) -> Doubles:
        keys = np.arange(logits.shape[1])
        seen = (keys >= begin[:, None]) & (keys < end[:, None])
        weights = np.zeros_like(logits)
        rows = np.flatnonzero(begin < end)
        for first in range(0, rows.size, BLOCK):
            block = rows[first : first + BLOCK]
            shown = np.where(seen[block], logits[block], -np.inf)
            found = _finite_weights(self._own, shown, seen[block], position[block])
            weights[block] = np.where(seen[block], found, 0.0)
        return weights

    def vjp(
        self, logits: Doubles, begin: Any, end: Any, position: Any, gradient: Doubles, threads: int
    ) -> Doubles:
        product = np.zeros_like(logits)
        for row, (first, last) in enumerate(zip(begin, end, strict=True)):
            if first < last:
                jacobian = self._own.jacobian(logits[row, first:last], int(position[row]))
                product[row, first:last] = gradient[row, first:last] @ np.asarray(jacobian, np.float64)
        return product


class AskedHead(NamedTuple):
    """The head for which a pattern selects keys."""

    layer: int
    head: int
    document: int
    causal: bool
    window: int
    """Maximum number of keys that its model lets a query see; 0: all."""
    scale: float
    softcap: float


class Selector:
    """A Pattern as use() takes patterns: for the last queries of a text."""

    first_and_last = None  # it may keep any key, so a decoder's cache holds all
    shared = follows_queries = False

    def __init__(self, own: Pattern) -> None:
        self._own, self.name = own, own.name

    def select(
        self,
        queries: Floats,
        keys: Floats,
        ranges: npt.NDArray[np.int64],
        head: AskedHead,
        logits: Floats | None,
    ) -> Mask:
        """Returns (rows, keys): the keys of `ranges` (rows, 2) that the pattern keeps for the last queries
        of `queries` (1, keys, d), one for each range."""
        count, rows = len(keys), len(ranges)
        places = np.arange(count)
        visible = (places >= ranges[:, :1]) & (places < ranges[:, 1:])
        if logits is not None:  # a mask may hide keys between those that a query sees
            visible &= logits > np.finfo(logits.dtype).min
        kept = np.zeros((rows, count), dtype=np.bool_)
        for first in range(0, rows, BLOCK):
            block = slice(first, min(first + BLOCK, rows))
            query = places[count - rows :][block]
            asked = Queries(*head[:3], query, queries[0, query], keys, head.scale, visible[block])
            kept[block] = selected(self._own, asked) & visible[block]
        return kept


def checked(values: Any, shape: tuple[int, ...], where: str) -> npt.NDArray[Any]:
    """Raises BadInputError for an array of another shape."""
    unmasked(values, where)
    array = np.ascontiguousarray(values)
    if array.dtype.kind not in "fiubV":  # V: bfloat16
        raise BadInputError(f"{where}: expected real numbers, found {array.dtype}")
    if array.shape != shape:
        raise BadInputError(f"{where}: expected an array of shape {list(shape)}, found {list(array.shape)}")
    return array


def observed(own: Measure, names: list[str], rows: Rows) -> Doubles:
    """(metrics, n): what observe() gave, checked."""
    where = f"{type(own).__name__}.observe()"
    found = own.observe(rows)
    if sorted(found) != sorted(names):
        raise BadInputError(
            f"{where}: expected {', '.join(names)}, found {', '.join(map(str, found)) or 'nothing'}"
        )
    shape, arrays = rows.query.shape, [(np.ma.asarray(found[name]), f"{where}, {name}") for name in names]
    return np.stack(
        [np.where(v.mask, np.nan, checked(v.data, shape, name).astype(np.float64)) for v, name in arrays]
    )


def weighed(
    own: Normalizer, logits: Doubles, counts: npt.NDArray[np.int64], position: npt.NDArray[np.int64]
) -> Doubles:
    """Returns the weights (n, keys) of a block of rows, of which each sees its first `counts` (n,) keys."""
    return _finite_weights(own, logits, np.arange(logits.shape[1]) < counts[:, None], position)


def _finite_weights(own: Normalizer, logits: Doubles, seen: Mask, position: npt.NDArray[np.int64]) -> Doubles:
    """Raises BadInputError for weights of another shape, and for weights of seen keys that are NaN or
    infinite although the logits of the row are finite."""
    where = f"{own.name}.weigh()"
    weights = checked(own.weigh(logits, position), logits.shape, where).astype(np.float64)
    usable = (np.isfinite(logits) | ~seen).all(
        axis=1, keepdims=True
    )  # the caller reports other logits itself
    bad = usable & seen & ~np.isfinite(weights)
    if bad.any():
        row, key = np.argwhere(bad)[0]
        raise BadInputError(
            f"{where}: expected finite weights, found {weights[row, key]} for the query at position "
            f"{position[row]}; a logit of -inf marks a key that a query does not see"
        )
    return weights


def differentiated(own: Normalizer, logits: Doubles, position: int) -> Doubles:
    """(keys, keys)"""
    shape = (logits.size, logits.size)
    return checked(own.jacobian(logits, position), shape, f"{own.name}.jacobian()").astype(np.float64)


def selected(own: Pattern, rows: Queries) -> Mask:
    """(n, length)"""
    return checked(own.select(rows), rows.visible.shape, f"{own.name}.select()").astype(np.bool_)
