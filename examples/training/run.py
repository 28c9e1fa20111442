"""Trains small decoders from nothing under each rule, and keeps their logs.

    python run.py [--out runs] [--text FILE] [--quick] [--workers 2]

With --text the models also learn the bytes of a text. Every rule first trains with each learning
rate from one seed; then from the other seeds with the rate of the lowest loss, and where a seed does not
learn with that, with half of it. Some rules also train with other parameters, from more seeds with other
texts to test, with more steps, and in deeper models. A run that is interrupted goes on from its last state, and finished runs are not trained
again. `tables.py` makes the tables of docs/training.md and its notes. Needs torch and transformers.
The whole takes hours on two cores, --quick (two rules, one seed, few steps) minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from data import KINDS, Text
from forecast import CASES, forecast
from logs import learnt
from rules import RULES
from train import Run, train

RATES = {"tasks": (3e-3, 1.5e-3, 6e-3, 1.2e-2), "text": (6e-3, 3e-3)}
# Rules that also learn a text.
OF_TEXT = ("softmax", "ssmax", "logn", "softmax1", "sparsemax", "entmax-logn")
# A rule whose highest or lowest rate is its best tries twice or half of that, within these.
LOWEST, HIGHEST = 3.75e-4, 4.8e-2
SEEDS = (0, 1, 2)
# Rules whose results are tested once more, and the seeds, which had no part in them.
ONCE_MORE, FRESH_SEEDS = ("softmax", "logn", "ssmax", "entmax-logn"), tuple(range(3, 9))
# Rules whose answers without training are tested once more.
UNTRAINED = ("ssmax", "softpick", "sasoftmax", "entmax", "entmax-logn")
# Rules that also learn with more steps, and in deeper models, and the seeds there.
FURTHER, FURTHER_SEEDS = ("softmax", "logn"), tuple(range(5))
# A constant factor in place of log n: log 64, at every length.
CONTROL = "softmax:t=0.2404"
# Other parameters of a rule.
VARIANTS = (("entmax-logn", "entmax-logn:s=0.05"), ("entmax-logn", "entmax-logn:s=1"))


def one(job: tuple[Run, str | None, str, int | None]) -> str:
    run, text, out, steps = job
    kind = KINDS[run.data]
    log = train(run, Text(Path(text or "")) if kind is Text else kind(), Path(out), steps)
    tested = log.get("test", {}).get("1", {})
    return f"{run.name}: " + (
        ", ".join(f"{kind} {of['loss']:.3f} nats, {of['right']:.0%} right" for kind, of in tested.items())
        or f"failed at step {log['failed']}"
    )


def foresee(job: tuple[Run, str, int, tuple[str, ...]]) -> str:
    run, out, cases, rules = job
    forecast(run, Path(out), cases, rules)
    return f"forecast from {run.name}"


def log_of(folder: Path, run: Run) -> dict[str, Any]:
    return dict(json.loads((folder / f"{run.name}.json").read_text("utf-8")))


def train_or_retry(
    folder: Path, runs: list[Run], train_all: Callable[[list[Run]], None], factors: tuple[float, ...] = (0.5,)
) -> None:
    """Trains; a run whose loss does not fall to half of its first is repeated at half the rate, or at these
    multiples of it."""
    train_all(runs)
    failed = [run for run in runs if not learnt(log_of(folder, run))]
    train_all([replace(run, rate=run.rate * factor) for factor in factors for run in failed])


def best_rates(
    folder: Path,
    data: str,
    rules: tuple[str, ...],
    rates: tuple[float, ...],
    seed: int,
    train_all: Callable[[list[Run]], None],
) -> dict[str, float]:
    """Returns the rate of each rule with the lowest loss at the trained length, on texts that test nothing
    else. A rule whose best rate is at an end of those it has tried goes on to twice or half of it."""

    def loss(run: Run) -> float:
        return float(log_of(folder, run).get("choice", math.inf))

    tried = {rule: list(rates) for rule in rules}
    new = [Run(data, rule, rate, seed) for rate in rates for rule in rules]
    while True:
        train_all(new)
        best = {
            rule: min(tried[rule], key=lambda rate, rule=rule: loss(Run(data, rule, rate, seed)))
            for rule in rules
        }
        new = []
        for rule, rate in best.items():
            further = {max(tried[rule]): 2 * rate, min(tried[rule]): rate / 2}.get(rate, 0.0)
            if len(rates) > 1 and LOWEST <= further <= HIGHEST:
                tried[rule].append(further)
                new.append(Run(data, rule, further, seed))
        if not new:
            return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="runs", help="folder of logs and models (default runs)")
    parser.add_argument("--text", help="a UTF-8 file whose bytes are learnt, too")
    parser.add_argument("--quick", action="store_true", help="two rules, one seed, few steps")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time, one core each (default 2)")
    given = parser.parse_args()
    rules_of = {"tasks": tuple(RULES), "text": OF_TEXT}
    seeds = SEEDS[:1] if given.quick else SEEDS
    steps = 32 if given.quick else None
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    # Processes are spawned, for torch's threads do not survive a fork.
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:

        def all_of(runs: list[Run]) -> None:
            say(pool.imap(one, [(run, given.text, given.out, steps) for run in runs]))

        def seeds_of(runs: list[Run], factors: tuple[float, ...] = (0.5,)) -> None:
            train_or_retry(folder, runs, all_of, factors)

        best: dict[str, dict[str, float]] = {}
        for data in ["tasks", *(["text"] if given.text else [])]:
            rates = RATES[data][: 1 if given.quick else None]
            rules = ("softmax", "entmax-logn") if given.quick else rules_of[data]
            best[data] = best_rates(folder, data, rules, rates, seeds[0], all_of)
            seeds_of([Run(data, rule, best[data][rule], seed) for seed in seeds[1:] for rule in rules])
        rate, cases = best["tasks"], 4 if given.quick else CASES

        def foresee_all(data: str, seeds: tuple[int, ...], rules: tuple[str, ...] = ()) -> None:
            runs = [Run(data, "softmax", rate["softmax"], seed) for seed in seeds]
            say(pool.imap(foresee, [(run, given.out, cases, rules) for run in runs]))

        foresee_all("tasks", seeds)
        if not given.quick:
            seeds_of([Run("tasks", name, rate[rule], seed) for seed in seeds for rule, name in VARIANTS])
            seeds_of([Run("fresh", rule, rate[rule], seed) for seed in FRESH_SEEDS for rule in ONCE_MORE])
            control = best_rates(folder, "tasks", (CONTROL,), RATES["tasks"], seeds[0], all_of)[CONTROL]
            seeds_of([Run("tasks", CONTROL, control, seed) for seed in seeds[1:]])
            seeds_of([Run("fresh", CONTROL, control, seed) for seed in FRESH_SEEDS[:2]])
            foresee_all("fresh", FRESH_SEEDS, UNTRAINED)
            seeds_of([Run("longer", rule, rate[rule], seed) for seed in FURTHER_SEEDS for rule in FURTHER])
            deep = [Run("deep", rule, rate[rule] / 2, seed) for rule in FURTHER for seed in FURTHER_SEEDS]
            seeds_of(deep, (2, 0.5))


def say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
