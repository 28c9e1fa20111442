"""Draws answers by length, and how heads of the last layer change while a model learns."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from logs import TIMES, Logs, mean_of


def figure(logs: Logs, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "headgauge", "font.size": 9})
    from matplotlib import pyplot

    times = [int(at) for at in TIMES]
    whole, panels = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    by_length, *by_step = panels.flat
    # Each panel draws one number of the heads of the last layer at every look.
    drawn = {
        "weight_induction_with_sinks": ("weight of the strongest induction head", np.nanmax),
        "entropy_normalized_with_sinks": ("entropy of its maximum, mean", np.nanmean),
        "sink_weight": ("weight on sinks, mean", np.nanmean),
    }
    styles = itertools.cycle(("-", "--", ":", "-."))
    for place, (rule, style) in enumerate(zip(logs.rules, styles, strict=False)):
        runs = [run for run in logs.at_best(rule) if "test" in run]
        look: dict[str, Any] = {
            "color": f"C{place}" if place < 10 else "black", "linestyle": style, "label": rule, "marker": ".",
        }  # fmt: skip
        if not runs:
            continue
        right = [[mean_of(run, at, "right") for at in TIMES] for run in runs]
        error = np.std(right, axis=0, ddof=len(right) > 1) / np.sqrt(len(right))
        by_length.errorbar(times, np.mean(right, axis=0), error, **look)
        steps = [seen["step"] for seen in runs[0]["looks"]]
        for panel, (metric, (_, of_heads)) in zip(by_step, drawn.items(), strict=True):
            values = [
                [of_heads(np.array(seen[metric][-1], dtype=float)) for seen in run["looks"]] for run in runs
            ]
            panel.plot(steps, np.mean(values, axis=0), **look)
    by_length.set(
        xscale="log", xlabel="length, times the trained one", ylabel="share of right answers", ylim=(0, 1)
    )
    by_length.set_xticks(times, TIMES)
    whole.legend(*by_length.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    for panel, (name, _) in zip(by_step, drawn.values(), strict=True):
        panel.set(xlabel="step", ylabel=name, ylim=(0, None))
    pyplot.savefig(path, metadata={"Date": None})
    pyplot.close()
