"""Figures of results with matplotlib. Every function returns its Axes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headgauge._metric_names import MetricName
from headgauge._options import pairs
from headgauge.errors import UsageError, imported
from headgauge.results import label_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from headgauge.results import Metric, Results


class Plot:
    """If a metric has more dims than a figure can show, one label of each is used, by default the
    last: the longest length, the largest set. Choose another by the name of the dim:
    map("distance", top_n=20). Arguments that name no dim are passed to matplotlib."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def map(
        self, name: MetricName | str, *, length: float | None = None, ax: Axes | None = None, **options: Any
    ) -> Axes:
        """Draws a metric as an image: layers down and heads across. If the metric lacks one of
        these dims, its first other dims are used. `options`: labels of further dims, and arguments
        of Axes.imshow."""
        metric = self._results[name]
        picked = self._named(metric, length, options)
        free = [dim for dim in metric.dims if dim not in picked]
        down, across = [*free, None, None][:2]
        values, where = self._pick(metric, free[:2], picked)
        if down is not None and across is None and down != "layer":
            down, across = None, down  # one row
        ax = _axes(ax)
        image = ax.imshow(
            values.reshape([1 if dim is None else len(self._results.coords[dim]) for dim in (down, across)]),
            aspect="auto",
            **options,
        )
        for axis, dim in ((ax.xaxis, across), (ax.yaxis, down)):
            labels = [] if dim is None else [label_text(label) for label in self._results.coords[dim]]
            axis.set_ticks(range(len(labels)), labels)
            axis.set_label_text(dim or "")
        ax.set_title(metric.title + where)
        colors = ax.figure.colorbar(image, ax=ax)
        colors.set_label(metric.unit)
        return ax

    def curve(
        self,
        name: MetricName | str,
        heads: str | Sequence[str | tuple[int, int]] | None = None,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draws a metric against the context length, or the step of a training, with a line for each head of
        `heads`, (layer, head) or "1.3"; by default the mean over all heads. Bands are one standard error; for a mean over heads it comes from
        their spread. `options`: labels of further dims, and arguments of Axes.plot."""
        metric = self._results[name]
        along = "length" if "length" in metric.dims else "step"
        kept = ["layer", "head", along]
        if not set(kept) <= set(metric.dims):
            raise UsageError(
                f"{name}: expected a metric of layer, head and length or step, found {', '.join(metric.dims) or 'no dims'}"
            )
        picked = self._named(metric, None, options)
        values, where = self._pick(metric, kept, picked)
        ax = _axes(ax)
        lengths = np.asarray(self._results.coords[along], dtype=float)
        if heads is None:
            of_heads = values.reshape(-1, len(lengths))
            count = np.maximum(1, np.isfinite(of_heads).sum(axis=0))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a length at which no head has a value
                mean, spread = np.nanmean(of_heads, axis=0), np.nanstd(of_heads, axis=0)
            _line(ax, lengths, mean, spread / np.sqrt(count), "all heads", options)
        for layer, head in pairs(heads or ()):
            cell = (metric._place("layer", layer), metric._place("head", head))
            errors = None
            if metric.stderr is not None:
                errors = self._pick(metric, kept, picked, metric.stderr)[0][cell]
            _line(ax, lengths, values[cell], errors, f"head {layer}.{head}", options)
        if where:
            ax.set_title(metric.title + where)
        if along == "length":
            ax.set_xscale("log", base=2)
            ax.set_xticks(lengths, [f"{length:g}" for length in lengths])
        ax.set_xlabel("context length (tokens)" if along == "length" else along)
        ax.set_ylabel(f"{metric.title} ({metric.unit})")
        ax.legend()
        return ax

    def _named(self, metric: Metric, length: float | None, options: dict[str, Any]) -> dict[str, Any]:
        """Removes the labels of dims from `options` and returns them."""
        picked = {} if length is None else {"length": length}
        for dim in [name for name in options if name in metric.dims or name in self._results.coords]:
            if dim not in metric.dims:
                raise UsageError(
                    f"{metric.name}: expected labels of {', '.join(metric.dims)}, found one of {dim}"
                )
            picked[dim] = options.pop(dim)
        return picked

    def _pick(
        self, metric: Metric, kept: list[str], picked: dict[str, Any], values: Any = None
    ) -> tuple[Any, str]:
        """Returns the values over the dims `kept`, and a text with the labels used for the others:
        the picked ones, else those of default_label()."""
        index: list[Any] = []
        texts = []
        for dim in metric.dims:
            if dim in kept:
                index.append(slice(None))
                continue
            label = picked[dim] if dim in picked else default_label(metric, dim)
            index.append(metric._place(dim, label))
            texts.append(f"{dim} {label_text(label)}")
        where = f" at {', '.join(texts)}" if texts else ""
        return (metric.values if values is None else values)[tuple(index)], where


def default_label(metric: Metric, dim: str) -> float | str:
    """The label that stands for a dim that is not named: the last, such as the longest length; of outcomes the text."""
    labels = metric.coords[dim]
    return "text" if dim == "outcome" and "text" in labels else labels[-1]


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    return imported("matplotlib.pyplot", "plot").subplots()[1]


def _line(ax: Axes, x: Any, y: Any, error: Any, label: str, options: dict[str, Any]) -> None:
    (line,) = ax.plot(x, y, marker="o", label=label, **options)
    if error is not None:
        ax.fill_between(x, y - error, y + error, alpha=0.2, color=line.get_color(), linewidth=0)
