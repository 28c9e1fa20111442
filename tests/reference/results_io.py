"""results.json: its settings as the oracle wants them, its arrays, and writing the oracle's own."""

from typing import Any

import numpy as np

from tests.reference.arrays import Array
from tests.reference.catalogue import GROUPS, base_name, group_of
from tests.reference.dispersion import FORECASTS
from tests.reference.roles import ROLES
from tests.reference.settings import Metric, Settings

Results = dict[str, Any]

OPTIONS = ("x", "normalizer", "seed", "critical_max", "critical_level", "unit_sphere")
QUERIES_ALL = (None, "all", "auto", 0)
EVERY_QUERY_UP_TO = 8192  # the default of --queries


def to_array(nested: Any) -> Array:
    """Nested lists with null for undefined, as float64 with NaN."""
    return np.array(nested, dtype=object).astype(np.float64)


def to_nested(values: Array) -> Any:
    cleaned = values.astype(object)
    cleaned[np.isnan(values)] = None
    return cleaned.tolist()


def _spans(text: str, known: list[int]) -> list[int]:
    """'*', '3' or '0-3'."""
    if text == "*":
        return known
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def _listed(value: Any) -> list[str]:
    if value is None or value in ("", "all"):
        return []
    parts = value.split(",") if isinstance(value, str) else value
    return [str(part).strip() for part in parts]


def scanned_heads(results: Results) -> list[tuple[int, int]]:
    """Which (layer, head) the settings chose of those in coords; `--heads 3.5,7.*`."""
    layers, heads = results["coords"]["layer"], results["coords"]["head"]
    every = [(layer, head) for layer in layers for head in heads]
    patterns = _listed(results.get("settings", {}).get("heads"))
    if not patterns:
        return every
    chosen = set()
    for pattern in patterns:
        layer, _, head = pattern.partition(".")
        wanted = _spans(layer, layers), _spans(head or "*", heads)
        chosen |= {(i, j) for i in wanted[0] for j in wanted[1]}
    return [pair for pair in every if pair in chosen]


def demanded_groups(results: Results) -> list[str]:
    """The groups that `--measures` asked for: all of them by default."""
    measures = _listed(results.get("settings", {}).get("measures"))
    named = [group for group in GROUPS if group in measures]
    return named if named else ([] if measures else list(GROUPS))


def present_groups(results: Results) -> list[str]:
    found = {group_of(base_name(name)) for name in results["metrics"]}
    return [group for group in GROUPS if group in found]


def read_settings(results: Results) -> Settings:
    coords, raw = results["coords"], results.get("settings", {})
    queries = raw.get("queries", "all")
    longest = max(coords["length"])
    if queries not in QUERIES_ALL and not (queries == "default" and longest <= EVERY_QUERY_UP_TO):
        raise ValueError(f"queries = {queries!r}: only a scan of every row can be checked")
    wanted = set(demanded_groups(results)) | set(present_groups(results))
    pattern = raw.get("pattern", "none")
    if pattern != "none":
        raise ValueError(f"pattern {pattern!r}: only rows that see all their keys are known here")
    if raw.get("beyond_sinks", False):
        raise ValueError("beyond_sinks: only metrics that leave out the sinks by definition are known here")
    return Settings(
        lengths=[int(n) for n in coords["length"]],
        top_n=[int(n) for n in coords.get("top_n", [])] or [1],
        temperatures=[float(t) for t in coords.get("temperature", [])],
        epsilons=[float(e) for e in coords.get("epsilon", [])],
        groups=[group for group in GROUPS if group in wanted],
        x=raw.get("x", "embedding"),
        normalizer=raw.get("normalizer", "softmax"),
        seed=int(raw.get("seed", 0)),
        critical_max=int(raw.get("critical_max", 128)),
        critical_level=float(raw.get("critical_level", 0.01)),
        unit_sphere=bool(raw.get("unit_sphere", True)),
        heads=scanned_heads(results),
    )


def write_results(metrics: dict[str, Metric], settings: Settings, edges: list[int]) -> Results:
    """The oracle's metrics in the shape of results.json (for the tests of the comparison)."""
    return {
        "schema": "headgauge.results/3",
        "settings": {
            **{name: getattr(settings, name) for name in OPTIONS},
            "queries": "all",
            "measures": settings.groups,
        },
        "coords": {
            "layer": sorted({layer for layer, _ in settings.heads}),
            "head": sorted({head for _, head in settings.heads}),
            "length": settings.lengths,
            "top_n": settings.top_n,
            "position": edges,
            "role": ROLES,
            "copy_gap": list(range((settings.longest - 1).bit_length())),
            "forecast_length": [factor * settings.longest for factor in FORECASTS],
            "temperature": settings.temperatures,
            "epsilon": settings.epsilons,
            "outcome": ["text"],
            "gap": list(range(metrics["loss_by_gap"].values.size if "loss_by_gap" in metrics else 0)),
        },
        "metrics": {
            name: {
                "dims": list(metric.dims),
                "unit": "",
                "values": to_nested(metric.values),
                "stderr": None if metric.stderr is None else to_nested(metric.stderr),
                "rows": None if metric.rows is None else metric.rows.tolist(),
                **{part: to_nested(of_part.values) for part, of_part in metric.parts.items()},
            }
            for name, metric in metrics.items()
        },
    }
