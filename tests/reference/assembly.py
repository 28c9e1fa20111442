"""From the means of heads and layers to labelled arrays, those of the whole model included."""

from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array
from tests.reference.averages import Mean, RowIndex, row_mean, stack
from tests.reference.catalogue import base_name, dims_of, part_of
from tests.reference.coverage import OF_QUERIES
from tests.reference.critical import (
    HeadRatios,
    closest,
    closest_sizes,
    critical_n_paper,
    doubt_of_closest,
    equality_of_heads,
    first_equal,
)
from tests.reference.normalizers import make_normalizer
from tests.reference.sensitivity import envelope, envelope_paper
from tests.reference.settings import Metric, Settings

Cells = dict[str, Mean]  # means of one head or layer, leading axis length or position


@dataclass
class PrefixAtLength:
    """What critical N needs of one head at one length, for N = 1, 2, ..."""

    distance: Array
    context: Array
    ratios: HeadRatios


PrefixMeans = list[PrefixAtLength]  # by length
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


def critical_of_paper(means: list[PrefixMeans], settings: Settings) -> dict[str, Metric]:
    """critical_n_paper, and critical_ks_d with its p."""
    found = []
    for place in range(len(settings.lengths)):
        distance = np.stack([head[place].distance for head in means])
        context = np.stack([head[place].context for head in means])
        known = distance.shape[1] > 0 and not np.isnan(distance[:, 0]).any()
        of_paper = critical_n_paper(distance, context, settings.critical_level) if known else None
        found.append((of_paper.n, of_paper.d, of_paper.p) if of_paper else (np.nan,) * 3)
    names = ("critical_n_paper", "critical_ks_d", "critical_ks_d p")
    columns = np.asarray(found, dtype=np.float64).T
    return {n: Metric(("length",), v) for n, v in zip(names, columns, strict=True)}


TIED = 1e-9  # log ratios of heads that are equal: single precision puts them in either order


def doubt_of_critical_p(p: Array, curves: list[Array]) -> Array:
    """Heads that tie change places in the ranks, as if their signs were drawn anew: 3 standard errors."""
    tied = []
    for curve in curves:
        gaps = np.diff(np.sort(curve, axis=0), axis=0)
        tied.append(bool((gaps < TIED).any()))
    return np.where(tied, 3 * np.sqrt(2 * np.nan_to_num(p * (1 - p)) / 2001), 0.0)


def share(n: Array, lengths: list[int]) -> Array:
    return np.where(n > 0, n / np.asarray(lengths, dtype=np.float64), np.nan)


def critical_metrics(
    prefixes: dict[tuple[int, int], PrefixMeans], shape: tuple[int, int], settings: Settings
) -> dict[str, Metric]:
    """What is derived from the distances at N = 1, 2, ..., of all heads and of each."""
    means, lengths = list(prefixes.values()), settings.lengths
    metrics = critical_of_paper(means, settings)
    equal = [
        first_equal(
            equality_of_heads([head[place].ratios for head in means], settings.seed, place),
            settings.critical_level,
        )
        for place in range(len(lengths))
    ]
    n, p = np.asarray(equal).T
    metrics["critical_n"] = Metric(("length",), n)
    curves = [np.stack([head[place].ratios.log_ratio for head in means]) for place in range(len(lengths))]
    metrics["critical_n p"] = Metric(("length",), p, doubt=doubt_of_critical_p(p, curves))
    metrics["critical_fraction"] = Metric(("length",), share(n, lengths))
    for name, (values, doubt) in closest_sizes(curves, lengths, settings.seed).items():
        metrics[name] = Metric(dims_of(name), np.asarray(values), doubt=np.asarray(doubt))
    own = {k: np.full((*shape, len(lengths)), np.nan) for k in ("n", "closest", "ratio", "error")}
    doubt = np.zeros((*shape, len(lengths)))
    for where, head in prefixes.items():
        for place, at_length in enumerate(head):
            ratios, cell = at_length.ratios, (*where, place)
            own["n"][cell] = first_equal(ratios.p(), settings.critical_level)[0]
            own["closest"][cell], middle = closest(ratios.log_ratio[None, :])
            if np.isnan(middle):
                continue
            doubt[cell] = doubt_of_closest(ratios.log_ratio[None, :])
            own["ratio"][cell] = np.exp(middle)
            own["error"][cell] = np.exp(middle) * ratios.error[int(own["closest"][cell]) - 1]
    dims = dims_of("critical_n_head")
    metrics["critical_n_head"] = Metric(dims, own["n"])
    metrics["critical_fraction_head"] = Metric(dims, share(own["n"], lengths))
    metrics["closest_n_head"] = Metric(dims, own["closest"], doubt=doubt)
    metrics["closest_ratio_head"] = Metric(dims, own["ratio"], own["error"])
    return metrics


def sensitivity_bounds(sensitivity: Metric, settings: Settings, steepest: float) -> dict[str, Metric]:
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
    for name in ("entropy_slope_with_sinks", "max_weight_slope_with_sinks"):
        bare[name] = Metric(metrics[name].dims, metrics[name].values, metrics[name].stderr)
    for end in ("", " low", " high"):
        name = f"effective_tokens_forecast_with_sinks{end}"
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
    of_text = (part[None] for part in (joined.value, joined.stderr, joined.rows))
    return Metric(dims_of("loss"), *of_text)


def octave_of(gap: int | None) -> str:
    if gap is None:
        return "none"
    first = 2 ** (gap.bit_length() - 1)
    return "1" if gap == 1 else f"{first}-{2 * first - 1}"


def gap_of(tokens: Array, t: int) -> int | None:
    """How far before position t (from 0) the pair (x_t, x_{t+1}) was last seen, by looking back."""
    for s in range(t - 1, -1, -1):
        if tokens[s] == tokens[t] and tokens[s + 1] == tokens[t + 1]:
            return t - s
    return None


def loss_by_gap(losses: list[Array], tokens: list[Array]) -> Metric:
    """The mean loss in each octave up to the longest that a text has, and of what repeats nothing."""
    octaves = [
        [octave_of(gap_of(ids, t)) for t in range(len(loss))]
        for loss, ids in zip(losses, tokens, strict=True)
    ]
    found = {label for of_text in octaves for label in of_text} - {"none"}
    longest = max((int(label.split("-")[0]) for label in found), default=0)
    labels = [octave_of(2**k) for k in range(longest.bit_length())] + ["none"]
    rows = [np.arange(1, len(loss) + 1) for loss in losses]
    index = RowIndex.of(rows, [len(loss) for loss in losses])
    values = np.concatenate(losses)
    member = np.concatenate([np.array(of_text) for of_text in octaves])
    joined = stack([row_mean(values, index, member == label) for label in labels])
    return Metric(("gap",), joined.value, joined.stderr, joined.rows)


def assemble(results: dict[int, LayerResult], settings: Settings, steepest: float = 0.5) -> dict[str, Metric]:
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
    if "induction_by_gap" in metrics:
        bare = metrics["induction_by_gap"]
        octaves = (settings.longest - 1).bit_length()
        arrays = (bare.values, bare.stderr, bare.rows, bare.doubt)
        cut = [None if array is None else array[..., :octaves] for array in arrays]
        assert cut[0] is not None
        metrics["induction_by_gap"] = Metric(bare.dims, cut[0], *cut[1:])
    for name in ("union_coverage_paper", "top_overlap", "top_overlap_partner", *OF_QUERIES):
        if name in metrics:  # a function of other means, not a mean of rows
            bare = metrics[name]
            metrics[name] = Metric(bare.dims, bare.values, doubt=bare.doubt)
    if "forecast_coverage" in metrics:
        metrics |= capacity_metrics(metrics)
    if prefixes:
        metrics |= critical_metrics(prefixes, shape, settings)
    if "sensitivity" in metrics:
        metrics |= sensitivity_bounds(metrics["sensitivity"], settings, steepest)
    return with_parts(metrics)


def with_parts(metrics: dict[str, Metric]) -> dict[str, Metric]:
    """Puts each "NAME low", "NAME high" or "NAME p" into its metric."""
    whole = {name: metric for name, metric in metrics.items() if not part_of(name)}
    for name, metric in metrics.items():
        if part_of(name):
            whole[base_name(name)].parts[part_of(name)] = metric
    return whole
