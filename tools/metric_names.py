#!/usr/bin/env python3
"""Writes the names of all metrics of catalogue/ as types: web/src/catalogue/metrics.ts, with which tsc finds a
misspelt name, and python/headgauge/_metric_names.py, from which editors complete names and mypy checks them.
The build writes those of C++ itself (cmake/metric_names.cmake).

    tools/metric_names.py [--check]     --check writes nothing and ends with status 1 where one is stale
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def catalogue() -> tuple[list[str], list[str]]:
    """The names of the metrics that results files contain, and of the experiments."""
    metrics, experiments = [], []
    for path in sorted((ROOT / "catalogue").glob("*.json")):
        group = json.loads(path.read_text(encoding="utf-8"))
        experiments += [experiment["name"] for experiment in group.get("experiments", [])]
        for metric in group["metrics"]:
            if metric["kind"] == "hidden":
                continue
            metrics.append(metric["name"])
            if metric.get("by_position"):
                metrics.append(f"{metric['name']}_by_position")
    return metrics, experiments


def union(name: str, members: Iterable[str]) -> str:
    return f"export type {name} =\n" + "".join(f'  | "{member}"\n' for member in members).rstrip() + ";\n"


def files() -> dict[Path, str]:
    metrics, experiments = catalogue()
    listed = "".join(f'    "{metric}",\n' for metric in metrics)
    return {
        ROOT / "web/src/catalogue/metrics.ts": "// Written by tools/metric_names.py from catalogue/.\n"
        + union("DeclaredMetric", metrics)
        + "\n"
        + union("ExperimentName", experiments),
        ROOT
        / "python/headgauge/_metric_names.py": '"""Written by tools/metric_names.py from catalogue/."""\n\n'
        f"from typing import Literal\n\nMetricName = Literal[\n{listed}]\n",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where one is stale")
    check = parser.parse_args().check
    stale = []
    for path, text in files().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"stale: {', '.join(stale)}; run tools/metric_names.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
