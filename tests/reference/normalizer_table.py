"""What a normalizer is to the reference, and the table that the definitions of normalizers.py enter
themselves into: by name, with their parameters and the specs that whole scans are compared for."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.reference.arrays import Array

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Normalizer:
    """`n` visible keys, `t` the 1-based position of the query."""

    weigh: Callable[[Array, int, int], Array]
    jacobian: Callable[[Array, int, int], Array]  # of one row (n,), as an (n, n) matrix
    simplex: bool = True
    has_sink: bool = False  # what the weights lack to 1 is on a sink that is no key
    unit_norms: bool = False  # logits are cosines
    lipschitz: Callable[[int], float] = lambda n: math.inf  # sup ||J||_2 at n keys
    scale: Callable[[int, int], float] | None = None  # c, where the normalizer is softmax(c l)
    ridge: Callable[[Array, int], Array] | None = None  # r of J = diag(r) - r r^T / sum r

    def steepest(self, n: int, t: int) -> float:
        """sup ||J||_2 of the row."""
        return self.scale(n, t) / 2.0 if self.scale is not None else self.lipschitz(n)


Value = float | str
Maker = TypeVar("Maker", bound=Callable[..., Normalizer])


@dataclass(frozen=True)
class NormalizerEntry:
    make: Callable[..., Normalizer]
    parameters: dict[str, Value]  # with the value where none is given
    compared: tuple[str, ...]  # specs of whole scans that are compared


NORMALIZERS: dict[str, NormalizerEntry] = {}


def _parse(spec: str) -> tuple[str, dict[str, str]]:
    name, _, rest = spec.partition(":")
    return name, dict(part.split("=", 1) for part in rest.split(",") if part)


def _value(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        return text


def normalizer(defaults: str, compared: Sequence[str] = ()) -> Callable[[Maker], Maker]:
    """Enters the maker of a normalizer under `defaults`, "name:key=value,...", its arguments."""
    name, parameters = _parse(defaults)
    values = {key: _value(value) for key, value in parameters.items()}

    def enter(make: Maker) -> Maker:
        NORMALIZERS[name] = NormalizerEntry(make, values, tuple(compared) or (name,))
        return make

    return enter


def make_normalizer(spec: str) -> Normalizer:
    """`name:key=value,...` as `headgauge list normalizers` lists it."""
    name, given = _parse(spec)
    if name not in NORMALIZERS:
        raise ValueError(f"normalizer {spec!r} is not known here")
    entry = NORMALIZERS[name]
    unknown = sorted(given.keys() - entry.parameters.keys())
    if unknown:
        raise ValueError(f"normalizer {spec!r}: parameters {unknown} are not known here")
    return entry.make(**{**entry.parameters, **{key: _value(text) for key, text in given.items()}})
