#!/usr/bin/env python3
"""Scores forecasts of effective tokens out of sample, and writes the table of docs/mathematics.md 7b.

    tools/forecasts.py MODEL=FOLDER...      folders of `headgauge scan --measures weights`

FOLDER holds the results.json of one text; a MODEL that is named several times has several. From all
octaves of a head but the last one or two, each model forecasts the last one, and its 95 % interval is
scored in logs (Gneiting and Raftery 2007): the width, and 40 times what the measured value lies
outside. Lower is better.
"""

from __future__ import annotations

import functools
import json
import math
import pathlib
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.reference.inference import p_of_t

DOCUMENT = ROOT / "docs/mathematics.md"
NARROWEST = 1.5  # an octave spans at least this factor
MISSED = 0.05  # of the measured values, by an interval of 95 %
ROUNDING = 1e-4  # of a mean in single precision, relative

Points = list[tuple[float, float]]  # log position, log effective tokens
Forecast = tuple[float, float, int]  # centre, standard deviation, degrees of freedom


def joined(edges: list[int]) -> list[tuple[int, int]]:
    """The position bins [first, last) of each octave, the last octave last."""
    octaves, last = [], len(edges)
    for first in range(len(edges) - 1, 0, -1):
        if edges[last - 1] >= NARROWEST * edges[first - 1]:
            octaves.insert(0, (first, last))
            last = first
    return octaves


def by_position(edges: list[int], means: list[float]) -> Points:
    points = []
    for first, last in joined(edges):
        rows = [edges[k] - edges[k - 1] for k in range(first, last)]
        middles = [(edges[k] + edges[k - 1] + 1) / 2 for k in range(first, last)]
        mean = sum(n * m for n, m in zip(rows, means[first:last])) / sum(rows)
        middle = sum(n * m for n, m in zip(rows, middles)) / sum(rows)
        points.append((math.log(middle), math.log(mean)))
    return points


def heads(folder: str) -> list[Points]:
    """Of every head; where every row sees the whole text the lengths take the place of octaves."""
    path = pathlib.Path(folder) / "results.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    coords, metrics = results["coords"], results["metrics"]
    if results["model"].get("causal", True):
        values = metrics["effective_tokens_with_sinks_by_position"]["values"]
        return [by_position(coords["position"], head) for layer in values for head in layer]
    values = metrics["effective_tokens_with_sinks"]["values"]
    places = [(math.log(length), k) for k, length in enumerate(coords["length"])]
    return [[(x, math.log(head[k])) for x, k in places] for layer in values for head in layer]


Step = tuple[float, float, float]  # growth of log position and of log effective tokens, weight


def steps_of(points: Points) -> list[Step]:
    """Each octave back weighs 1/sqrt 2 of the next one."""
    end = points[-1][0]
    return [(b[0] - a[0], b[1] - a[1], math.exp((b[0] - end) / 2)) for a, b in pairwise(points)]


def with_drift(points: Points, to: float) -> Forecast:
    """The random walk of mathematics.md 7b."""
    steps = steps_of(points)
    total = sum(w for _, _, w in steps)
    drift = sum(w * d / h for h, d, w in steps) / total
    of_drift = sum((w / total) ** 2 / h for h, _, w in steps)
    mean = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
    squares = sum((d - mean * h) ** 2 / h for h, d, _ in steps)
    ahead = to - points[-1][0]
    deviation = math.sqrt(squares / (len(steps) - 1) * (ahead + ahead**2 * of_drift))
    return points[-1][1] + drift * ahead, deviation, len(steps) - 1


def last_octave(points: Points, to: float) -> Forecast:
    """The same walk without drift."""
    steps = steps_of(points)
    squares = sum(d * d / h for h, d, _ in steps) / len(steps)
    return points[-1][1], math.sqrt(squares * (to - points[-1][0])), len(steps)


def noisier_back(points: Points, to: float) -> Forecast:
    """The walk without drift whose steps have a variance of s^2 h / w: the older, the larger."""
    steps = steps_of(points)
    squares = sum(w * d * d / h for h, d, w in steps) / len(steps)
    return points[-1][1], math.sqrt(squares * (to - points[-1][0])), len(steps)


def power_law(points: Points, to: float) -> Forecast:
    """A line in logs by least squares, with the interval of another point."""
    count = len(points)
    x, y = (sum(point[k] for point in points) / count for k in (0, 1))
    information = sum((a - x) ** 2 for a, _ in points)
    slope = sum((a - x) * (b - y) for a, b in points) / information
    squares = sum((b - y - slope * (a - x)) ** 2 for a, b in points)
    spread = 1 + 1 / count + (to - x) ** 2 / information
    return y + slope * (to - x), math.sqrt(squares / (count - 2) * spread), count - 2


MODELS: dict[str, Callable[[Points, float], Forecast]] = {
    "random walk with drift": with_drift,
    "last octave": last_octave,
    "last octave, older steps noisier": noisier_back,
    "power law": power_law,
}


@functools.cache
def student(freedom: int) -> float:
    """The |t| that is exceeded in MISSED of the cases."""
    low, high = 0.0, 1e3
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if p_of_t(middle, freedom) > MISSED else (low, middle)
    return low


def score(forecast: Forecast, measured: float, most: float) -> tuple[float, bool]:
    """The interval score, and whether the interval holds what was measured."""
    centre, deviation, freedom = forecast
    reach = student(freedom) * math.hypot(deviation, ROUNDING)
    low, high = (min(max(centre + sign * reach, 0.0), most) for sign in (-1, 1))
    outside = max(low - measured, measured - high, 0.0)
    return high - low + 2 / MISSED * outside, outside <= ROUNDING


def of_text(folder: str, model: Callable[[Points, float], Forecast], ahead: int) -> tuple[float, float]:
    """Mean score and coverage over the heads of one text."""
    found = []
    for points in heads(folder):
        to, measured = points[-1]
        found.append(score(model(points[:-ahead], to), measured, to))
    return tuple(sum(part) / len(found) for part in zip(*found))  # type: ignore[return-value]


def table(texts: dict[str, list[str]]) -> str:
    lines = [
        f"| octaves ahead | model | {' | '.join(texts)} | mean |",
        "|---" * (len(texts) + 3) + "|",
    ]
    for ahead in (1, 2):
        for name, model in MODELS.items():
            cells = []
            for folders in texts.values():
                of_texts = [of_text(folder, model, ahead) for folder in folders]
                cells.append([sum(part) / len(folders) for part in zip(*of_texts)])
            cells.append([sum(part) / len(cells) for part in zip(*cells)])
            shown = [f"{s:.2f} ({100 * held:.0f} %)" for s, held in cells]
            lines.append(f"| {ahead} | {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    texts: dict[str, list[str]] = {}
    for argument in sys.argv[1:]:
        name, folder = argument.split("=", 1)
        texts.setdefault(name, []).append(folder)
    text = DOCUMENT.read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- tools/forecasts.py -->\n).*?(<!-- end -->)", re.DOTALL)
    written = marked.sub(lambda m: f"{m[1]}{table(texts)}\n{m[2]}", text)
    DOCUMENT.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
