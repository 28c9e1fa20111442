"""The logs of run.py: which run counts, and how its numbers are shown and compared."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from rules import RULES

TIMES = ("1", "2", "4", "8", "16")
Log = dict[str, Any]


class Logs:
    """The logs of one kind of data."""

    def __init__(self, logs: list[Log], data: str) -> None:
        self.runs = [log for log in logs if log["data"] == data and "rule" in log]
        self.forecasts = [log for log in logs if log["data"] == data and "forecast" in log]
        self.rules = [rule for rule in RULES if any(run["rule"] == rule for run in self.runs)]
        self.rates = sorted({run["rate"] for run in self.runs})

    def at_best(self, rule: str) -> list[Log]:
        return best_of_seeds(run for run in self.runs if run["rule"] == rule)

    def learnt(self, rules: list[str]) -> list[str]:
        """Returns the rules that learnt with every seed."""
        return [rule for rule in rules if all(map(learnt, self.at_best(rule)))]


def best_of_seeds(runs: Iterable[Log]) -> list[Log]:
    """Returns the run of each seed with the lowest loss: the first seed tried all rates, and the others the
    best of these, and half of it if they did not learn. A run that failed has no test."""
    found: dict[int, Log] = {}
    for run in sorted(runs, key=lambda run: float(run.get("choice", np.inf))):
        found.setdefault(seed_of(run), run)
    return [found[seed] for seed in sorted(found)]


def seed_of(run: Log) -> int:
    return int(run["seed"])


def learnt(run: Log) -> bool:
    """Returns whether the loss has fallen below half of its first."""
    return "choice" in run and float(run["choice"]) < run["curve"][0][1] / 2


def mean_of(run: Log, times: str, what: str) -> float:
    """Returns the mean over the kinds of texts; NaN if the run failed."""
    tested = run.get("test", {}).get(times)
    return float(np.mean([of[what] for of in tested.values()])) if tested else float("nan")


def shown(values: Iterable[float], digits: int = 2) -> str:
    """Mean, and standard error over the seeds; it says how many failed."""
    given = np.array(list(values), dtype=float)
    known = given[np.isfinite(given)]
    if not known.size:
        return "failed" if given.size else "-"
    error = f" ± {known.std(ddof=1) / np.sqrt(known.size):.{digits}f}" if known.size > 1 else ""
    return f"{known.mean():.{digits}f}{error}" + (
        f" ({known.size} of {given.size})" if known.size < given.size else ""
    )


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown_p(p: float) -> str:
    return "-" if np.isnan(p) else "< 0.001" if p < 0.0005 else f"{p:.3f}"


def ranks(values: np.ndarray) -> np.ndarray:
    return np.array([(values < v).sum() + ((values == v).sum() - 1) / 2 for v in values])


def standard_ranks(values: np.ndarray) -> np.ndarray:
    """Returns ranks less their mean, of length 1: the product of two is their rank correlation. NaN if all
    values are equal or one is NaN."""
    centred = ranks(values) - (len(values) - 1) / 2
    if np.isnan(values).any() or not centred.any():
        return np.full(len(values), np.nan)
    return np.asarray(centred / np.linalg.norm(centred))


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(standard_ranks(a) @ standard_ranks(b))


def p_of_ranks(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Returns the two-sided p of the mean rank correlation of the pairs, from 20000 permutations, each the
    same in all pairs; NaN if a correlation is."""
    random = np.random.default_rng(0)
    orders = np.array([random.permutation(len(pairs[0][0])) for _ in range(20000)])
    standard = [(standard_ranks(said), standard_ranks(came)) for said, came in pairs]
    chance = np.mean([came[orders] @ said for said, came in standard], axis=0)
    found = np.mean([came @ said for said, came in standard])
    if np.isnan(found):
        return float("nan")
    return float((1 + np.sum(np.abs(chance) >= abs(found) - 1e-12)) / (1 + len(orders)))


def p_of_mean(differences: list[float]) -> float:
    """Returns the two-sided p of Student's t for the mean of three numbers or more, else NaN. t of k degrees
    of freedom is sqrt(k) tan(angle), and the density of the angle goes as cos(angle)^(k - 1)."""
    count = len(differences)
    if count < 3 or not np.all(np.isfinite(differences)):
        return float("nan")
    error = np.std(differences, ddof=1) / np.sqrt(count)
    angle = np.arctan2(abs(np.mean(differences)), error * np.sqrt(count - 1))

    def up_to(end: float) -> float:
        places = np.linspace(0, end, 2001)
        return float(np.trapezoid(np.cos(places) ** (count - 2), places))

    return max(0.0, 1 - up_to(angle) / up_to(np.pi / 2))


def p_of_counts(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Returns the two-sided p of Fisher's exact test that two shares, (count, of), are equal."""
    (a, n), (b, m) = first, second

    def ways(count: int) -> int:
        return math.comb(n, count) * math.comb(m, a + b - count)

    possible = [ways(count) for count in range(max(0, a + b - m), min(n, a + b) + 1)]
    return sum(each for each in possible if each <= ways(a)) / sum(possible)


def holm(p: list[float]) -> list[float]:
    """Returns p adjusted for their number by Holm's method; those that are NaN stay so."""
    order = np.argsort(p)
    scaled = np.minimum(np.array(p)[order] * np.arange(len(p), 0, -1), 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(scaled)
    return [float(value) for value in adjusted]
