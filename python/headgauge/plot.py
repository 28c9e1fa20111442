"""Figures of results with matplotlib. Every function gives back its Axes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headgauge.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from headgauge.results import Metric, Results


class Plot:
    def __init__(self, results: Results) -> None:
        self._results = results

    def map(self, name: str, *, length: float | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """A metric of heads as an image, layers down and heads across, at one length (by default the
        longest). `options` go to Axes.imshow."""
        metric = self._of_heads(name)
        ax = _axes(ax)
        image = ax.imshow(self._at(metric, length), aspect="auto", **options)
        for axis, dim in ((ax.xaxis, "head"), (ax.yaxis, "layer")):
            labels = [f"{label:.15g}" for label in self._results.coords[dim]]
            axis.set_ticks(range(len(labels)), labels)
            axis.set_label_text(dim)
        ax.set_title(metric.title + self._length_text(metric, length))
        colors = ax.figure.colorbar(image, ax=ax)
        colors.set_label(metric.unit)
        return ax

    def curve(
        self,
        name: str,
        heads: Sequence[tuple[int, int]] | None = None,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """A metric against the context length, a line for each (layer, head); by default the mean
        over all heads. Bands are one standard error, of a mean over heads that of their spread."""
        metric = self._of_heads(name)
        if metric.dims != ("layer", "head", "length"):
            raise UsageError(
                f"{name}: expected a metric of layer, head and length, found {', '.join(metric.dims)}"
            )
        ax = _axes(ax)
        lengths = np.asarray(self._results.coords["length"], dtype=float)
        if heads is None:
            of_heads = metric.values.reshape(-1, len(lengths))
            count = np.maximum(1, np.isfinite(of_heads).sum(axis=0))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a length at which no head has a value
                mean, spread = np.nanmean(of_heads, axis=0), np.nanstd(of_heads, axis=0)
            _line(ax, lengths, mean, spread / np.sqrt(count), "all heads", options)
        for layer, head in heads or ():
            cell = (self._place("layer", layer), self._place("head", head))
            stderr = None if metric.stderr is None else metric.stderr[cell]
            _line(ax, lengths, metric.values[cell], stderr, f"head {layer}.{head}", options)
        ax.set_xscale("log", base=2)
        ax.set_xticks(lengths, [f"{length:g}" for length in lengths])
        ax.set_xlabel("context length (tokens)")
        ax.set_ylabel(f"{metric.title} ({metric.unit})")
        ax.legend()
        return ax

    def scatter(
        self, x: str, y: str, *, length: float | None = None, ax: Axes | None = None, **options: Any
    ) -> Axes:
        """Two metrics against each other, a point for each head, at one length."""
        metrics = (self._of_heads(x), self._of_heads(y))
        ax = _axes(ax)
        ax.scatter(*(self._at(metric, length).ravel() for metric in metrics), **options)
        ax.set_xlabel(f"{metrics[0].title} ({metrics[0].unit})")
        ax.set_ylabel(f"{metrics[1].title} ({metrics[1].unit})")
        return ax

    def _of_heads(self, name: str) -> Metric:
        metric = self._results[name]
        if metric.dims not in (("layer", "head"), ("layer", "head", "length")):
            raise UsageError(
                f"{name}: expected a metric of heads, found one of {', '.join(metric.dims) or 'no dims'}"
            )
        return metric

    def _place(self, dim: str, label: float) -> int:
        labels = list(self._results.coords[dim])
        if label not in labels:
            raise UsageError(
                f"{dim}: expected one of {', '.join(f'{v:.15g}' for v in labels)}, found {label}"
            )
        return labels.index(label)

    def _at(self, metric: Metric, length: float | None) -> Any:
        if "length" not in metric.dims:
            return metric.values
        return metric.values[..., -1 if length is None else self._place("length", length)]

    def _length_text(self, metric: Metric, length: float | None) -> str:
        if "length" not in metric.dims:
            return ""
        return f" at length {self._results.coords['length'][-1] if length is None else length:.15g}"


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def _line(ax: Axes, x: Any, y: Any, error: Any, label: str, options: dict[str, Any]) -> None:
    (line,) = ax.plot(x, y, marker="o", label=label, **options)
    if error is not None:
        ax.fill_between(x, y - error, y + error, alpha=0.2, color=line.get_color(), linewidth=0)
