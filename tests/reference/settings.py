"""The options of a scan that change its numbers, and the labelled arrays that it gives."""

from dataclasses import dataclass, field

from tests.reference.arrays import Array


@dataclass
class Settings:
    lengths: list[int]
    top_n: list[int]
    temperatures: list[float]
    epsilons: list[float]
    groups: list[str]
    x: str = "embedding"
    normalizer: str = "softmax"
    seed: int = 0
    critical_max: int = 128
    critical_level: float = 0.01
    unit_sphere: bool = True
    heads: list[tuple[int, int]] = field(default_factory=list)  # (layer, head) scanned

    @property
    def longest(self) -> int:
        return max(self.lengths)

    @property
    def depth(self) -> int:
        """How many of the largest weights of a row are needed: for top_overlap eleven."""
        return max(11, self.critical_max, *self.top_n)


@dataclass
class Metric:
    dims: tuple[str, ...]
    values: Array
    stderr: Array | None = None
    rows: Array | None = None
    doubt: Array | None = None  # what a tolerance is widened by, see averages.Mean
    parts: dict[str, "Metric"] = field(default_factory=dict)  # low, high and p: values and doubt
