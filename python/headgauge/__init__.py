"""headgauge: measures what the attention heads of a transformer can and cannot do."""

from typing import TYPE_CHECKING, Any

from headgauge import errors
from headgauge._commands import (
    analyze,
    compare,
    converge,
    diff,
    merge,
    plan,
    reproduce,
    scan,
    series,
    task,
    validate,
)
from headgauge._core import __version__
from headgauge._dump import dump
from headgauge._example import example_model
from headgauge._own import Measure, Normalizer, Pattern, Queries, Rows
from headgauge.results import Results

if TYPE_CHECKING:
    from headgauge._prove import prove
    from headgauge._swap import use
    from headgauge._weights import normalize
    from headgauge.monitor import HeadgaugeCallback, Monitor

_OF_TORCH = {
    "HeadgaugeCallback": "headgauge.monitor",
    "Monitor": "headgauge.monitor",
    "normalize": "headgauge._weights",
    "prove": "headgauge._prove",
    "use": "headgauge._swap",
}


def __getattr__(name: str) -> Any:
    """Imports parts that need torch on first use."""
    if name in ("lightning", "monitor"):
        return errors.imported(f"headgauge.{name}", "hf")
    if name not in _OF_TORCH:
        raise AttributeError(f"module 'headgauge' has no attribute {name!r}")
    return getattr(errors.imported(_OF_TORCH[name], "hf"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "HeadgaugeCallback",
    "Measure",
    "Monitor",
    "Normalizer",
    "Pattern",
    "Queries",
    "Results",
    "Rows",
    "__version__",
    "analyze",
    "compare",
    "converge",
    "diff",
    "dump",
    "errors",
    "example_model",
    "merge",
    "normalize",
    "plan",
    "prove",
    "reproduce",
    "scan",
    "series",
    "task",
    "use",
    "validate",
]
