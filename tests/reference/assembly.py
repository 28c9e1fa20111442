"""From the means of heads and layers to labelled arrays, those of the whole model included."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.averages import Mean, RowIndex, row_mean, stack
from tests.reference.catalogue import dims_of
from tests.reference.critical import critical_n
from tests.reference.normalizers import make_normalizer
from tests.reference.sensitivity import envelope, envelope_paper
from tests.reference.settings import Metric, Settings

Array = npt.NDArray[Any]
Cells = dict[str, Mean]  # means of one head or layer, leading axis length or position
PrefixMeans = dict[str, Array]  # what critical N needs of one head
LayerResult = tuple[dict[int, Cells], dict[int, PrefixMeans], Cells]  # by head, by head, coverage
Grid = dict[tuple[int, ...], Mean]


def spread(name: str, placed: Grid, shape: tuple[int, ...]) -> Metric:
    """Lays cells out over (layer, head) or (layer,); what was not scanned stays NaN, rows 0."""
    sample = next(iter(placed.values()))
    values = np.full((*shape, *sample.value.shape), np.nan)
    stderr, rows = values.copy(), np.zeros(values.shape, dtype=np.int64)
    for where, cell in placed.items():
        values[where], stderr[where], rows[where] = cell.value, cell.stderr, cell.rows
    doubt = None if sample.doubt is None else np.zeros(values.shape)
    for where, cell in placed.items():
        if doubt is not None and cell.doubt is not None:
            doubt[where] = np.nan_to_num(cell.doubt)
    return Metric(dims_of(name), values, stderr, rows, doubt)


def whole_model_critical(distance: Array, context: Array, settings: Settings) -> dict[str, Metric]:
    """critical_n and its companions from the (heads, length, N) means."""
    rows: dict[str, list[float]] = {name: [] for name in ("n", "fraction", "ks_d", "ks_p")}
    for place, length in enumerate(settings.lengths):
        reach = min(length - 1, settings.critical_max)
        if reach < 1 or np.isnan(distance[:, place, 0]).any():
            for column in rows.values():
                column.append(np.nan)
            continue
        found = critical_n(
            distance[:, place, :reach], context[:, place, :reach], settings.critical_level
        )
        rows["n"].append(found.n)
        rows["fraction"].append(found.n / length if found.n > 0 else np.nan)
        rows["ks_d"].append(found.d)
        rows["ks_p"].append(found.p)
    return {f"critical_{k}": Metric(("length",), np.asarray(v)) for k, v in rows.items()}


def critical_metrics(
    prefixes: dict[tuple[int, int], PrefixMeans], shape: tuple[int, int], settings: Settings
) -> dict[str, Metric]:
    distance = np.stack([means["distance"] for means in prefixes.values()])
    context = np.stack([means["context"] for means in prefixes.values()])
    metrics = whole_model_critical(distance, context, settings)
    own = np.full((*shape, len(settings.lengths)), np.nan)
    for where, means in prefixes.items():
        own[where] = means["own"]
    fraction = np.where(own > 0, own / np.asarray(settings.lengths, dtype=np.float64), np.nan)
    dims = dims_of("critical_n_head")
    metrics["critical_n_head"] = Metric(dims, own)
    metrics["critical_fraction_head"] = Metric(dims, fraction)
    return metrics


def sensitivity_bounds(
    sensitivity: Metric, settings: Settings, steepest: float
) -> dict[str, Metric]:
    """The envelopes, the same for every head scanned, and the largest of the heads."""
    scanned = ~np.isnan(sensitivity.values).all(axis=(2, 3))[:, :, None, None]
    grids = settings.temperatures, settings.epsilons
    simplex = make_normalizer(settings.normalizer).simplex
    valid = np.where(scanned, envelope(*grids, steepest, simplex), np.nan)
    printed = np.where(scanned, envelope_paper(*grids), np.nan)
    largest = np.nanmax(sensitivity.values, axis=(0, 1))
    return {
        "sensitivity_bound": Metric(sensitivity.dims, valid),
        "sensitivity_bound_paper": Metric(sensitivity.dims, printed),
        "sensitivity_max": Metric(dims_of("sensitivity_max"), largest),
    }


def capacity_metrics(metrics: dict[str, Metric]) -> dict[str, Metric]:
    """Slopes and forecasts, which no rows are counted for, and the share of forecasts that held."""
    bare = {}
    for name in ("entropy_slope", "max_weight_slope"):
        bare[name] = Metric(metrics[name].dims, metrics[name].values, metrics[name].stderr)
    for end in ("", "_low", "_high"):
        name = f"effective_tokens_forecast{end}"
        bare[name] = Metric(metrics[name].dims, metrics[name].values)
    held = metrics["forecast_coverage"]
    judged = ~np.isnan(held.values)
    share = np.asarray(held.values[judged].mean() if judged.any() else np.nan)
    doubt = None if held.doubt is None else np.asarray(held.doubt.sum() / max(judged.sum(), 1))
    return bare | {"forecast_coverage": Metric((), share, doubt=doubt)}


def loss_metric(losses: list[Array], index: RowIndex, lengths: list[int]) -> Metric:
    """Mean of -log p(x_{t+1}) over t = 1..L-1; row L predicts past the text of that length."""
    values = np.concatenate([np.append(loss, np.nan) for loss in losses])
    means = [row_mean(values, index, index.up_to(n) & (index.t < n)) for n in lengths]
    joined = stack(means)
    return Metric(dims_of("loss"), joined.value, joined.stderr, joined.rows)


def assemble(
    results: dict[int, LayerResult], settings: Settings, steepest: float = 0.5
) -> dict[str, Metric]:
    """All metrics but the loss, from those of the layers; `steepest` is sup ||J|| of all rows."""
    layers = sorted(results)
    heads = sorted({head for _, head in settings.heads})
    shape = len(layers), len(heads)
    metrics: dict[str, Metric] = {}
    grid: dict[str, Grid] = {}
    prefixes: dict[tuple[int, int], PrefixMeans] = {}
    for i, layer in enumerate(layers):
        by_head, prefixes_of, together = results[layer]
        for head, cells in by_head.items():
            for name, cell in cells.items():
                grid.setdefault(name, {})[i, heads.index(head)] = cell
            if prefixes_of[head]:
                prefixes[i, heads.index(head)] = prefixes_of[head]
        for name, cell in together.items():
            grid.setdefault(name, {})[(i,)] = cell
    for name, placed in grid.items():
        by_head_too = "head" in dims_of(name) or name == "forecast_coverage"
        metrics[name] = spread(name, placed, shape if by_head_too else shape[:1])
    for name in ("union_coverage_paper", "top_overlap", "top_overlap_partner"):
        if name in metrics:  # a function of other means, not a mean of rows
            bare = metrics[name]
            metrics[name] = Metric(bare.dims, bare.values, doubt=bare.doubt)
    if "forecast_coverage" in metrics:
        metrics |= capacity_metrics(metrics)
    if prefixes:
        metrics |= critical_metrics(prefixes, shape, settings)
    if "sensitivity" in metrics:
        metrics |= sensitivity_bounds(metrics["sensitivity"], settings, steepest)
    return metrics
