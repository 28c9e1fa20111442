#!/usr/bin/env python3
"""Writes the tables of a note on docs/validate.md anew from the results of headgauge validate.

tools/validity.py NAME=FOLDER...    folders that hold results.json
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs/notes/2026-11-28-validity-small-models.md"
# Every flag is listed, and of the metrics those that the docs speak of.
METRICS = (
    "entropy_with_sinks",
    "max_weight_with_sinks",
    "separability_with_sinks",
    "separability_excess_with_sinks",
    "tokens_for_error sampler=recent",
    "tokens_for_error sampler=top",
    "horizon",
    "sensitivity",
    "attention_distance_with_sinks",
    "top_overlap",
    "layer",
)


def flat(values: object) -> list[float | None]:
    if isinstance(values, list):
        return [value for part in values for value in flat(part)]
    return [values]  # type: ignore[list-item]


def number(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}".replace("+-", "-")


def table(name: str, results: dict) -> str:
    coords, metrics = results["coords"], results["metrics"]
    interventions, predictors = coords["intervention"], coords["predictor"]
    outcomes = coords["outcome"]

    def values(metric: str) -> list[float | None]:
        """Those of the loss of text; the outcome is the last dim."""
        return flat(metrics[metric]["values"])[outcomes.index("text") :: len(outcomes)]

    rho = values("rank_correlation")
    predicts = values("predicts")

    def cell(predictor: int, intervention: int) -> str:
        at = predictor * len(interventions) + intervention
        if rho[at] is None:
            return ""
        return f"**{number(rho[at])}**" if predicts[at] == 1 else number(rho[at])

    def row(label: str, cells: list[str]) -> str:
        return f"| {label} | {' | '.join(cells)} |"

    lines = [
        f"### {name}",
        "",
        row("rank correlation with the loss change", [f"`{label}`" for label in interventions]),
        "|---" * (len(interventions) + 1) + "|",
    ]
    flags = [predictor for predictor in predictors if predictor.startswith("flag ")]
    for predictor in (*flags, *METRICS):
        if predictor not in predictors:
            continue
        at = predictors.index(predictor)
        cells = [cell(at, k) for k in range(len(interventions))]
        if any(cells):
            lines.append(row(f"`{predictor}`", cells))
    own = [predictors.index(f"output_change under {label}") for label in interventions]
    lines.append(row("its own `output_change`", [cell(at, k) for k, at in enumerate(own)]))
    agree = values("replication")
    lines.append(row("two texts agree by", [number(value) for value in agree]))
    return "\n".join(lines)


def main() -> None:
    tables = []
    for argument in sys.argv[1:]:
        name, folder = argument.split("=", 1)
        results = json.loads((pathlib.Path(folder) / "results.json").read_text(encoding="utf-8"))
        tables.append(table(name, results))
    text = DOCUMENT.read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- tables -->\n).*?(<!-- end -->)", re.DOTALL)
    DOCUMENT.write_text(
        marked.sub(lambda m: m[1] + "\n\n".join(tables) + "\n" + m[2], text), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
