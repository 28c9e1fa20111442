"""Tables of what the softmax model says before training, beside what training brought."""

from __future__ import annotations

import numpy as np
from logs import (
    TIMES,
    Logs,
    holm,
    mean_of,
    p_of_mean,
    p_of_ranks,
    rank_correlation,
    seed_of,
    shown,
    shown_p,
    table,
)


def foreseen_table(logs: Logs) -> str:
    """By rule: the weight that a key keeps, right answers in the softmax model without training, and what
    training brought; the order is that of the first."""
    runs = {(run["rule"], run["seed"]): run for rule in logs.rules for run in logs.at_best(rule)}
    both = [
        (of["rules"], {rule: runs[rule, of["seed"]] for rule in logs.rules if (rule, of["seed"]) in runs})
        for of in logs.forecasts
    ]

    def weight(rule: str) -> float:
        return float(np.mean([said[rule]["kept_8"] for said, _ in both]))

    rows = []
    for rule in sorted(logs.rules, key=weight, reverse=True):
        came = [came[rule] for _, came in both if rule in came]
        rows.append([
            f"`{rule}`", shown(said[rule]["kept_8"] for said, _ in both),
            *(shown(said[rule][f"right_{at}"] for said, _ in both) for at in "18"),
            *(shown(mean_of(run, at, "right") for run in came) for at in "18"),
        ])  # fmt: skip
    head = ["weight kept at 8 x", "not trained: right at 1 x", "at 8 x", "trained: right at 1 x", "at 8 x"]
    return table(["rule", *head], rows)


def forecast_table(logs: Logs) -> str:
    """Rank correlation over the rules of what the softmax model says with the answers after training, of
    the rules that learnt with every seed and of all; p from 20000 permutations of the rules, the same in
    all seeds, and adjusted for the number of forecasts."""
    predictors = {
        "answers lose least at 1 x": ("loss_change_1", -1), "answers lose least at 8 x": ("loss_change_8", -1),
        "most right at 8 x": ("right_8", 1),
        "lowest entropy at 1 x": ("entropy_1", -1), "lowest entropy at 8 x": ("entropy_8", -1),
        "a key keeps most weight at 8 x": ("kept_8", 1),
    }  # fmt: skip
    others = [rule for rule in logs.rules if rule != "softmax"]
    columns: dict[str, tuple[list[str], str]] = {
        "learnt: right at 1 x": (logs.learnt(others), "1"), "learnt: right at 8 x": (logs.learnt(others), "8"),
        "all: right at 8 x": (others, "8"),
    }  # fmt: skip
    runs = {(rule, run["seed"]): run for rule in others for run in logs.at_best(rule)}
    cells: list[list[str]] = []
    for rules, times in columns.values():
        found: list[list[float]] = []
        p: list[float] = []
        for key, sign in predictors.values():
            pairs = []
            for each in logs.forecasts:
                if all((rule, each["seed"]) in runs for rule in rules):
                    said = np.array([sign * each["rules"][rule][key] for rule in rules])
                    came = np.array([mean_of(runs[rule, each["seed"]], times, "right") for rule in rules])
                    pairs.append((said, came))
            found.append([rank_correlation(said, came) for said, came in pairs])
            p.append(p_of_ranks(pairs))
        cells.append([
            "-" if np.isnan(raw) else
            f"{np.mean(each):+.2f} ({', '.join(f'{v:+.2f}' for v in each)}), p {raw:.3f}, adjusted {adjusted:.3f}"
            for each, raw, adjusted in zip(found, p, holm(p), strict=True)
        ])  # fmt: skip
    return table(
        ["the softmax model says", *columns],
        ([name, *of] for name, *of in zip(predictors, *cells, strict=True)),
    )


def untrained_table(logs: Logs) -> str:
    """Right answers of softmax models with another rule in all heads and no training; the difference to
    softmax at 8 times the length, with p of a paired t test, adjusted for the number of rules."""
    said = [of["rules"] for of in logs.forecasts]
    others = [rule for rule in said[0] if rule != "softmax"]
    less = {rule: [of[rule]["right_8"] - of["softmax"]["right_8"] for of in said] for rule in said[0]}
    p = dict(zip(others, holm([p_of_mean(less[rule]) for rule in others]), strict=True))
    rows = [
        [
            f"`{rule}`",
            *(shown((of[rule][f"right_{at}"] for of in said), 3) for at in "18"),
            *([shown(less[rule], 3), shown_p(p[rule])] if rule in p else ["-", "-"]),
        ]
        for rule in said[0]
    ]
    return table(["rule", "right at 1 x", "at 8 x", "at 8 x less `softmax`", "p at 8 x"], rows)


def contrast_table(logs: Logs) -> str:
    """Right answers of the rules by whose definition a key keeps a weight of .5 at 8 x, less those of
    the others, with the same seed: one t test. Rules that did not learn with every seed are left out."""
    rules = logs.learnt(logs.rules)
    runs = {(rule, seed_of(run)): run for rule in rules for run in logs.at_best(rule)}
    said = [of["rules"] for of in logs.forecasts]
    keep = {rule: float(np.mean([of[rule]["kept_8"] for of in said])) >= 0.5 for rule in rules}

    def mean(seed: int, at: str, which: bool) -> float:
        return float(
            np.mean([mean_of(runs[rule, seed], at, "right") for rule in rules if keep[rule] == which])
        )

    seeds = sorted({seed for _, seed in runs if all((rule, seed) in runs for rule in rules)})
    less = {at: [mean(seed, at, True) - mean(seed, at, False) for seed in seeds] for at in TIMES}
    cells = [*(shown(less[at]) for at in TIMES), f"{p_of_mean(less['8']):.4f}"]
    names = [f"`{rule}`" for rule in rules if not keep[rule]]
    head = [f"keep less {', '.join(names)}", *(f"{at} x" for at in TIMES), "p at 8 x"]
    return table(head, [[f"{sum(keep.values())} rules", *cells]])
