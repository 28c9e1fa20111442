"""The metrics that a scan must report, with their dims and tolerances (design.md 4 and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

GROUPS: dict[str, list[str]] = {
    "weights": [
        "mass",
        "entropy",
        "entropy_normalized",
        "entropy_without_sink",
        "effective_tokens",
        "participation_ratio",
        "max_weight",
        "mass_90",
        "sink_weight",
        "attention_distance",
        "logit_range",
        "scaled_weight_min",
        "scaled_weight_max",
        "visible_keys",
    ],
    "distance": [
        "selected_mass",
        "distance",
        "distance_bound",
        "distance_bound_paper",
        "expected_distance",
        "expected_distance_upper",
        "expected_distance_context",
        "margin",
        "critical_n",
        "critical_fraction",
        "critical_ks_d",
        "critical_ks_p",
        "critical_n_head",
        "critical_fraction_head",
    ],
    "separability": [
        "separability",
        "separability_lower",
        "separability_model_lower",
        "separability_model_upper",
        "separability_lower_paper",
        "separability_upper_paper",
        "separability_null",
    ],
    "sensitivity": [
        "sensitivity",
        "sensitivity_top2",
        "sensitivity_bound",
        "sensitivity_bound_paper",
        "sensitivity_max",
        "jacobian_frobenius",
        "jacobian_spectral",
        "jacobian_bound",
        "jacobian_bound_paper",
    ],
    "coverage": [
        "union_coverage",
        "union_coverage_independent",
        "union_coverage_paper",
        "top_overlap",
        "top_overlap_partner",
    ],
    "dispersion": [
        "entropy_slope",
        "max_weight_slope",
        "effective_tokens_forecast",
        "forecast_coverage",
    ],
    "model": ["loss"],
}
NEEDS_POINTS = {"distance", "separability", "coverage"}
TWIN = "_by_position"

_HEAD = ("layer", "head")
_DIMS: dict[str, tuple[str, ...]] = {
    "critical_n": ("length",),
    "critical_fraction": ("length",),
    "critical_ks_d": ("length",),
    "critical_ks_p": ("length",),
    "critical_n_head": (*_HEAD, "length"),
    "critical_fraction_head": (*_HEAD, "length"),
    "sensitivity": (*_HEAD, "temperature", "epsilon"),
    "sensitivity_bound": (*_HEAD, "temperature", "epsilon"),
    "sensitivity_bound_paper": (*_HEAD, "temperature", "epsilon"),
    "sensitivity_max": ("temperature", "epsilon"),
    "sensitivity_top2": _HEAD,
    "top_overlap": _HEAD,
    "top_overlap_partner": _HEAD,
    "entropy_slope": _HEAD,
    "max_weight_slope": _HEAD,
    "effective_tokens_forecast": (*_HEAD, "forecast_length"),
    "forecast_coverage": (),
    "loss": ("length",),
}
_GROUP_DIMS: dict[str, tuple[str, ...]] = {
    "weights": (*_HEAD, "length"),
    "distance": (*_HEAD, "length", "top_n"),
    "separability": (*_HEAD, "length", "top_n"),
    "sensitivity": (*_HEAD, "length"),
    "coverage": ("layer", "length", "top_n"),
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
_SINGLE = {
    "mass_90": Tolerance(1e-3, 1.0),
    "logit_range": Tolerance(2e-5, 1.0),  # a difference of logits, which may be near 0
    "critical_n": EQUAL,
    "critical_fraction": Tolerance(0.0, absolute=1e-12),
    "critical_n_head": EQUAL,
    "critical_fraction_head": Tolerance(0.0, absolute=1e-12),
    "sensitivity": Tolerance(5e-3, 1e-3),
    "sensitivity_max": Tolerance(5e-3, 1e-3),
    "sensitivity_top2": Tolerance(5e-3, 1e-3),
    "top_overlap": Tolerance(0.0, absolute=2e-3),
    "top_overlap_partner": EQUAL,
    "visible_keys": Tolerance(1e-12, 1.0),
    "sensitivity_bound": Tolerance(1e-12, 1.0),
    "sensitivity_bound_paper": Tolerance(1e-12, 1.0),
    "separability_lower_paper": Tolerance(1e-2, 1.0),
    "entropy_slope": Tolerance(0.0, absolute=5e-5),
    "max_weight_slope": Tolerance(0.0, absolute=5e-5),
    "effective_tokens_forecast": Tolerance(2e-4, 1.0),
    "forecast_coverage": Tolerance(0.0, absolute=1e-12),
    "loss": Tolerance(1e-4, 1.0),
}
_BY_GROUP = {
    "weights": Tolerance(2e-5, 1e-2),
    "distance": Tolerance(1e-3, 1e-3),
    "separability": Tolerance(0.0, absolute=1e-2),
    "sensitivity": Tolerance(2e-5, 1e-2),
    "coverage": Tolerance(0.0, absolute=1e-2),
}


def base_name(name: str) -> str:
    return name.removesuffix(TWIN)


def group_of(name: str) -> str:
    """The group of a metric or of its twin, "" for one that is not checked here."""
    for group, names in GROUPS.items():
        if base_name(name) in names:
            return group
    return ""


def tolerance_of(name: str) -> Tolerance:
    base = base_name(name)
    return _SINGLE.get(base, _BY_GROUP.get(group_of(base), Tolerance(0.0)))


def dims_of(name: str) -> tuple[str, ...]:
    base = base_name(name)
    dims = _DIMS.get(base, _GROUP_DIMS.get(group_of(base), ()))
    return tuple("position" if d == "length" else d for d in dims) if name != base else dims


def has_twin(name: str) -> bool:
    """Row averages of the first three groups exist by position too; critical N does not, and the
    number of keys is known there."""
    group = group_of(name)
    left_out = name.startswith("critical") or name == "visible_keys"
    return group in ("weights", "distance", "separability") and not left_out


def expected_metrics(groups: list[str], points: bool, loss: bool) -> list[str]:
    """What must be there for these groups, given whether there are points x and a loss."""
    names: list[str] = []
    for group in groups:
        if (group in NEEDS_POINTS and not points) or (group == "model" and not loss):
            continue
        names += GROUPS[group]
        names += [name + TWIN for name in GROUPS[group] if has_twin(name)]
    return names
