"""Results in a notebook: the summary, the tables of the view, the flags and a map of the heads, without a script."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from headgauge._metric_names import MetricName

if TYPE_CHECKING:
    from headgauge.results import Metric, Results

MAPPED: tuple[MetricName, ...] = ("entropy", "loss_change")
SHOWN_HEADS = 24  # heads shown per flag
SHOWN_ROWS = 30  # rows shown of a table


def page(results: Results) -> str:
    parts = [f"<p><b>{html.escape(repr(results)[1:-1])}</b></p>"]
    lines = results.summary().splitlines()
    if lines:
        parts.append("<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>")
    parts += [_table(table) for table in json.loads(results._core.tables())]
    mapped = _mapped(results)
    if mapped is not None:
        parts.append(_map(results, mapped))
    parts.append(_flags(results))
    parts += [f"<p><i>{html.escape(notice)}</i></p>" for notice in results.notices]
    return "<div>" + "".join(parts) + "</div>"


def _table(table: dict[str, Any]) -> str:
    """A table of the view; what a test shows is bold and has a star."""
    columns = table["columns"]
    head = "".join(
        f"<th>{html.escape(column['title'])}<br><small>{html.escape(column['unit'])}</small></th>"
        for column in columns
    )
    rows = ""
    for row in table["rows"][:SHOWN_ROWS]:
        rows += "<tr>"
        for column, (text, _, mark) in zip(columns, row, strict=True):
            shown = html.escape(text)
            shown = f"<b>{shown}*</b>" if mark == "strong" else shown
            rows += f'<td style="text-align:{"right" if column["number"] else "left"}">{shown}</td>'
        rows += "</tr>"
    more = len(table["rows"]) + table["left_out"] - min(SHOWN_ROWS, len(table["rows"]))
    notes = [*([f"and {more} more rows"] if more else []), *table["notes"]]
    return f"<table><caption>{html.escape(table['title'])}</caption><tr>{head}</tr>{rows}</table>" + "".join(
        f"<p><small>{html.escape(note)}</small></p>" for note in notes
    )


def _flags(results: Results) -> str:
    heads: dict[str, list[str]] = {}
    for flag in results.flags:
        heads.setdefault(flag["name"], []).append(f"{flag['layer']}.{flag['head']}")
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{len(found)}</td>"
        f'<td style="text-align:left">{" ".join(found[:SHOWN_HEADS])}'
        f"{' ...' if len(found) > SHOWN_HEADS else ''}</td></tr>"
        for name, found in heads.items()
    )
    if not rows:
        return ""
    return f"<table><tr><th>roles, flags</th><th>heads</th><th></th></tr>{rows}</table>"


def _mapped(results: Results) -> Metric | None:
    for name in (*MAPPED, *results.metrics):
        metric = results.metrics.get(name)
        if metric is not None and metric.dims in (("layer", "head"), ("layer", "head", "length")):
            return metric
    return None


def _map(results: Results, metric: Metric) -> str:
    values = metric.values
    where = ""
    if "length" in metric.dims:
        values = values[..., -1]
        where = f" at length {results.coords['length'][-1]:.15g}"
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    heads = "".join(f"<th>{head:.15g}</th>" for head in results.coords["head"])
    rows = "".join(
        f"<tr><th>{layer:.15g}</th>" + "".join(_cell(float(v), low, high) for v in row) + "</tr>"
        for layer, row in zip(results.coords["layer"], values, strict=True)
    )
    title = html.escape(f"{metric.title} ({metric.unit}){where}, layers down, heads across")
    return f"<table><caption>{title}</caption><tr><th></th>{heads}</tr>{rows}</table>"


def _cell(value: float, low: float, high: float) -> str:
    if not np.isfinite(value):
        return "<td></td>"
    share = (value - low) / (high - low) if high > low else 0.0
    # The scale runs from white to a blue on which black text is legible.
    red, green = round(255 - 150 * share), round(255 - 95 * share)
    return f'<td style="background:rgb({red},{green},255);color:#000;text-align:right">{value:.3g}</td>'
