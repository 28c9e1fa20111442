"""headgauge: measures what the attention heads of a transformer can and cannot do."""

from headgauge import errors
from headgauge._arrays import analyze
from headgauge._commands import compare, converge, diff, phantom, plan, reproduce, scan, validate
from headgauge._core import __version__
from headgauge._dump import dump
from headgauge.results import Results

__all__ = [
    "Results",
    "__version__",
    "analyze",
    "compare",
    "converge",
    "diff",
    "dump",
    "errors",
    "phantom",
    "plan",
    "reproduce",
    "scan",
    "validate",
]
