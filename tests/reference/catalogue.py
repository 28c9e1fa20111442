"""The metrics that a scan must report, as catalogue/*.json declares them, with their tolerances."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.places import ROOT
from tests.reference.arrays import Array

FOLDER = ROOT / "catalogue"
FILES: list[dict[str, Any]] = [json.loads(p.read_text()) for p in sorted(FOLDER.glob("*.json"))]
METRICS: dict[str, dict[str, Any]] = {
    metric["name"]: metric | {"group": file["group"]}
    for file in FILES
    for metric in file["metrics"]
    if metric["kind"] != "hidden"
}
# Metrics of the same meaning: twins by position, and those of an experiment of `reproduce tokens`.
TWINS = {name: f"{name}_by_position" for name, m in METRICS.items() if m.get("by_position")}
_TWIN_OF = {twin: name for name, twin in TWINS.items()}
EXPERIMENTS = [e["name"] for file in FILES for e in file.get("experiments", [])]
NEEDS_POINTS = {file["group"] for file in FILES if file.get("needs") == "x"}

# Metrics that an option adds, and the groups of a comparison, of converge and of reproduce: other
# tests hold those to their definitions.
ELSEWHERE = {
    "proportion": "tests/measures/selection_test.cpp",
    "counterfactual": "tests/agreement/test_compare.py",
    "convergence": "tests/agreement/test_converge.py",
    "budget": "tests/agreement/test_converge.py",
    "validity": "tests/experiments/validate_test.cpp",
    "plan": "tests/plan/make_plan_test.cpp",
    "synthetic": "tests/convergence",
    "warning": "tests/cli/test_reproduce.py",
    "answers": "python/tests/test_answers.py",
    "series": "tests/results/series_test.cpp",
}
GROUPS: dict[str, list[str]] = {
    file["group"]: [m["name"] for m in file["metrics"] if m["name"] in METRICS.keys() - ELSEWHERE.keys()]
    for file in FILES
    if file["group"] not in ELSEWHERE
}


@dataclass(frozen=True)
class Tolerance:
    """|found - expected| <= absolute + relative * max(|expected|, floor)."""

    relative: float
    floor: float = 0.0
    absolute: float = 0.0

    def allowed(self, expected: Array) -> Array:
        return np.asarray(self.absolute + self.relative * np.maximum(np.abs(expected), self.floor))

    def __str__(self) -> str:
        if self.relative == 0.0:
            return f"{self.absolute:g} absolute" if self.absolute else "equal"
        return f"{self.relative:g} of max(|value|, {self.floor:g})"


EQUAL = Tolerance(0.0)
_EQUAL = "critical_n critical_n_paper critical_n_head closest_n closest_n_head top_overlap_partner"
_SINGLE = {
    **dict.fromkeys(_EQUAL.split(), EQUAL),
    **dict.fromkeys(["sensitivity", "sensitivity_max", "sensitivity_top2"], Tolerance(5e-3, 1e-3)),
    **dict.fromkeys(["visible_keys", "sensitivity_bound", "sensitivity_bound_paper"], Tolerance(1e-12, 1.0)),
    **{f"effective_tokens_forecast_with_sinks{end}": Tolerance(2e-4, 1.0) for end in ("", " low", " high")},
    "mass_90_with_sinks": Tolerance(1e-3, 1.0),
    "logit_range": Tolerance(2e-5, 1.0),  # a difference of logits, which may be near 0
    "critical_fraction": Tolerance(0.0, absolute=1e-12),
    "critical_n p": Tolerance(0.0, absolute=2e-3),  # of 2001 draws
    "closest_n low": Tolerance(0.0, absolute=1.0),  # quantiles of whole numbers
    "closest_n high": Tolerance(0.0, absolute=1.0),
    "closest_n_exponent": Tolerance(0.0, absolute=1e-9),
    "closest_n_exponent low": Tolerance(0.0, absolute=2e-2),
    "closest_n_exponent high": Tolerance(0.0, absolute=2e-2),
    "critical_fraction_head": Tolerance(0.0, absolute=1e-12),
    "top_overlap": Tolerance(0.0, absolute=2e-3),
    "separability_lower_paper": Tolerance(1e-2, 1.0),
    "separability_null_lower": Tolerance(0.0, absolute=2e-3),  # small weights end at single precision
    "mean_cosine": Tolerance(0.0, absolute=1e-6),
    "equal_key_pairs": Tolerance(0.0, absolute=1e-12),  # counts alone
    "entropy_slope_with_sinks": Tolerance(0.0, absolute=5e-5),
    "max_weight_slope_with_sinks": Tolerance(0.0, absolute=5e-5),
    "forecast_coverage": Tolerance(0.0, absolute=1e-12),
    "loss": Tolerance(1e-4, 1.0),
}
_SIMPLE = Tolerance(2e-5, 1e-2)  # means of what single precision gets from the weights
_BY_GROUP = {
    "logits": Tolerance(2e-5, 1.0),
    "distance": Tolerance(1e-3, 1e-3),
    "separability": Tolerance(0.0, absolute=1e-2),
    "coverage": Tolerance(0.0, absolute=1e-2),
}


PARTS = ("low", "high", "p")  # of an estimate; the reference calls them "NAME low" until it has all


def part_of(name: str) -> str:
    return name.partition(" ")[2]


def base_name(name: str) -> str:
    whole = name.partition(" ")[0]
    return _TWIN_OF.get(whole, whole)


def group_of(name: str) -> str:
    """The group of a metric or of its twin, "" for one that is not checked here."""
    base = base_name(name)
    group = METRICS[base]["group"] if base in METRICS else ""
    return group if base in GROUPS.get(group, []) else ""


def tolerance_of(name: str) -> Tolerance:
    """That of a part is the one of its metric, unless it has its own."""
    base = base_name(name)
    if name in _SINGLE:
        return _SINGLE[name]
    return _SINGLE.get(base, _BY_GROUP.get(METRICS[base]["group"], _SIMPLE))


def dims_of(name: str) -> tuple[str, ...]:
    metric = METRICS[base_name(name)]
    implied = {"row_mean": ("layer", "head", "length"), "row_longest": ("layer", "head")}
    dims = (*implied.get(metric["kind"], ()), *metric["dims"])
    return tuple("position" if d == "length" else d for d in dims) if name in _TWIN_OF else dims


def expected_metrics(groups: list[str], points: bool, loss: bool) -> list[str]:
    """What must be there for these groups, given whether there are points x and a loss."""
    names: list[str] = []
    for group in groups:
        if (group in NEEDS_POINTS and not points) or (group == "model" and not loss):
            continue
        names += GROUPS[group]
        names += [TWINS[name] for name in GROUPS[group] if name in TWINS]
    return names
