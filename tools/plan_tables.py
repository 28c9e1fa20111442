#!/usr/bin/env python3
"""Prints the tables of docs/plan.md from results of headgauge plan.

tools/plan_tables.py RESULTS...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:+.{digits}f}"


def table(results: dict) -> str:
    coords, metrics = results["coords"], results["metrics"]
    text = coords["outcome"].index("text")

    def at(name: str, method: int, budget: int, part: str = "values") -> float | None:
        cell = metrics[name][part][method][budget]
        return cell[text] if "outcome" in metrics[name]["dims"] else cell

    rows = metrics["planned_change"]["values"]
    known = [cell[text] for row in rows for cell in row if cell[text] is not None]
    digits = 3 if max(map(abs, known)) > 0.1 else 4
    lines = ["| | " + " | ".join(coords["budget"]) + " |", "|---" * (1 + len(coords["budget"])) + "|"]
    for m, method in enumerate(coords["method"]):
        cells = []
        for b in range(len(coords["budget"])):
            change = at("planned_change", m, b)
            if change is None:
                cells.append("")
                continue
            low, high = (number(at("planned_change", m, b, end), digits) for end in ("low", "high"))
            star = "*" if (at("plan_difference", m, b, "p") or 1) <= 0.05 else ""
            share = 100 * at("planned_cache_share", m, b)
            cells.append(f"{number(change, digits)}{star} ({low} to {high}), {share:.0f} %")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
        if method == "random heads" and "random_change" in metrics:
            spread = [[v for v in row if v is not None] for row in metrics["random_change"]["values"]]
            ends = [
                f"{number(min(row), digits)} to {number(max(row), digits)}" if row else "" for row in spread
            ]
            lines.append(f"| - its {len(spread[0])} assignments | " + " | ".join(ends) + " |")
    return "\n".join(lines)


def main() -> None:
    for path in sys.argv[1:]:
        file = Path(path)
        file = file / "results.json" if file.is_dir() else file
        print(table(json.loads(file.read_text(encoding="utf-8"))), end="\n\n")


if __name__ == "__main__":
    main()
