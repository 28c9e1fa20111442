"""Makes the tables and the figure of docs/training.md from the logs of run.py.

    python tables.py [--collect runs] [--logs logs.jsonl] [--page ../../docs/training.md]

--collect first joins the logs of a folder into the kept file. Needs numpy and matplotlib; seconds.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from figure import figure
from logs import (
    TIMES,
    Log,
    Logs,
    holm,
    learnt,
    mean_of,
    p_of_ranks,
    p_of_three,
    rank_correlation,
    seed_of,
    shown,
)

HERE = Path(__file__).parent
MEASURES = {
    "entropy of max": "entropy_normalized", "effective keys": "effective_tokens", "entropy slope": "entropy_slope",
    "separability above chance": "separability_excess", "sensitivity": "sensitivity", "norm of J": "jacobian_spectral",
    "largest logit": "largest_logit", "on sinks": "sink_weight",
}  # fmt: skip


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def runs_table(logs: Logs) -> str:
    """What the other tables rest on."""
    seeds = sorted({len(logs.at_best(rule)) for rule in logs.rules})
    cells = [
        str(len(logs.runs)), str(sum(not learnt(run) for run in logs.runs)),
        str(len(logs.rules)), " to ".join(map(str, sorted({seeds[0], seeds[-1]}))),
        ", ".join(f"{rate:g}" for rate in logs.rates),
    ]  # fmt: skip
    return table(
        ["runs", "of these did not learn", "rules", "seeds of a rule at its best rate", "learning rates"],
        [cells],
    )


def by_length(runs_of: dict[str, list[Log]], value: Callable[[Log, str], float]) -> str:
    rows = [
        [f"`{rule}`", *(shown(value(run, at) for run in runs) for at in TIMES)]
        for rule, runs in runs_of.items()
    ]
    return table(["rule", *(f"{at} x" for at in TIMES)], rows)


def tests_table(logs: Logs, what: str) -> str:
    """Rules in the order of their right answers at 8 times the length."""
    runs_of = {rule: logs.at_best(rule) for rule in logs.rules}

    def right(rule: str) -> float:
        return float(np.nanmean([0.0, *(mean_of(run, "8", "right") for run in runs_of[rule])]))

    ordered = {rule: runs_of[rule] for rule in sorted(logs.rules, key=right, reverse=True)}
    return by_length(ordered, lambda run, at: mean_of(run, at, what))


def few_table(logs: Logs) -> str:
    """Right answers of recall with as many facts at every length."""
    runs_of = {rule: logs.at_best(rule) for rule in logs.rules}
    return by_length(runs_of, lambda run, at: run.get("few", {}).get(at, {}).get("right", np.nan))


def variants_table(logs: Logs) -> str:
    """Right answers of rules with other parameters, below the rule itself."""
    variants = sorted({run["rule"] for run in logs.runs if ":" in run["rule"]})
    shown_rules = sorted({*variants, *(variant.split(":")[0] for variant in variants)})
    return by_length(
        {rule: logs.at_best(rule) for rule in shown_rules}, lambda run, at: mean_of(run, at, "right")
    )


def of_heads(run: Log, metric: str) -> float:
    """Returns the mean over the heads of the last layer, which sees all keys. The Jacobian is that by
    the logits before a learned scale."""
    heads = run.get("heads", {})
    if metric not in heads:
        return float("nan")
    of_layer = np.array(heads[metric][-1], dtype=float)
    if metric == "jacobian_spectral":
        of_layer = of_layer * np.array(heads["scale"][-1])
    return float(np.nanmean(of_layer))


def heads_table(logs: Logs) -> str:
    rows = [
        [
            f"`{rule}`",
            *(shown(of_heads(run, metric) for run in logs.at_best(rule)) for metric in MEASURES.values()),
        ]
        for rule in logs.rules
    ]
    return table(["rule", *MEASURES], rows)


def rates_table(logs: Logs) -> str:
    """The loss at the trained length for each learning rate and seed; what is largest in the runs of the
    best rate."""
    rows = []
    for rule in logs.rules:
        of_rule = [run for run in logs.runs if run["rule"] == rule]
        losses = [
            ", ".join(
                shown([mean_of(run, "1", "loss")])
                for run in sorted(of_rule, key=seed_of)
                if run["rate"] == rate
            )
            or "-"
            for rate in logs.rates
        ]
        largest = [
            shown((run[f"largest_{what}"] for run in logs.at_best(rule)), digits)
            for what, digits in (("gradient", 1), ("jacobian", 2))
        ]
        rows.append([f"`{rule}`", *losses, *largest])
    rates = [f"rate {rate:g}" for rate in logs.rates]
    return table(["rule", *rates, "largest gradient", "largest norm of J"], rows)


def same_rate_table(logs: Logs) -> str:
    """Right answers at 16 x of the first seed, by the learning rate."""
    rows = []
    for rule in logs.rules:
        right = {
            run["rate"]: shown([mean_of(run, "16", "right")])
            for run in logs.runs
            if run["rule"] == rule and seed_of(run) == 0
        }
        rows.append([f"`{rule}`", *(right.get(rate, "-") for rate in logs.rates)])
    return table(["rule", *(f"rate {rate:g}" for rate in logs.rates)], rows)


def warnings_table(logs: Logs) -> str:
    """By what the Monitor warned of: in how many runs that learnt and that did not, and from which step on."""
    steps: dict[str, dict[bool, list[int]]] = {}
    runs = [run for run in logs.runs if run["rule"] in logs.rules]
    for run in runs:
        first: dict[str, int] = {}
        for line in run["warnings"]:
            step, what = re.match(r"step (\d+): (.*) began", line).groups()
            first[what] = min(int(step), first.get(what, int(step)))
        for what, step in first.items():
            steps.setdefault(what, {True: [], False: []})[learnt(run)].append(step)
    total = {which: sum(learnt(run) == which for run in runs) for which in (True, False)}

    def cell(found: list[int], which: bool) -> str:
        begun = f", from step {min(found)} to {max(found)} on" if found else ""
        return f"{len(found)} of {total[which]}{begun}"

    rows = [
        [what, *(cell(of[which], which) for which in (True, False))] for what, of in sorted(steps.items())
    ]
    return table(["warned of", "runs that learnt", "runs that did not"], rows)


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
            f"{np.mean(each):+.2f} ({', '.join(f'{v:+.2f}' for v in each)}), p {raw:.3f}, adjusted {adjusted:.3f}"
            for each, raw, adjusted in zip(found, p, holm(p), strict=True)
        ])  # fmt: skip
    return table(
        ["the softmax model says", *columns],
        ([name, *of] for name, *of in zip(predictors, *cells, strict=True)),
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
    cells = [*(shown(less[at]) for at in TIMES), f"{p_of_three(less['8']):.4f}"]
    names = [f"`{rule}`" for rule in rules if not keep[rule]]
    head = [f"keep less {', '.join(names)}", *(f"{at} x" for at in TIMES), "p at 8 x"]
    return table(head, [[f"{sum(keep.values())} rules", *cells]])


def forming_table(logs: Logs) -> str:
    """By headgauge.series(): in how many heads of a run the weight is shown to grow, and of the head
    where it grows most, by how much, and from which step on half of that was there."""
    watched = {"induction": "weight_induction", "previous token": "weight_previous", "sinks": "sink_weight"}
    rows = []
    for rule in logs.rules:
        cells = []
        for metric in watched.values():
            heads, most, steps = [], [], []
            for run in logs.at_best(rule):
                of = {k: np.array(v, dtype=float) for k, v in run.get("series", {}).get(metric, {}).items()}
                grown = (of["change"] > 0) & (of["change_p"] < 0.05) if of else np.array([])
                heads.append(int(grown.sum()))
                if grown.any():
                    at = np.unravel_index(np.argmax(np.where(grown, of["change"], -np.inf)), grown.shape)
                    most.append(of["change"][at])
                    steps.append(of["half_step"][at])
            of_head = f"+{shown(most)}, half by {min(steps):.0f} to {max(steps):.0f}" if most else "none"
            cells += [shown(heads, 1), of_head]
        rows.append([f"`{rule}`", *cells])
    head = [part for name in watched for part in (f"{name}: heads", "most, and when")]
    return table(["rule", *head], rows)


def pairs_table(logs: Logs, base: str, what: str = "right") -> str:
    """Each other rule less `base` with the same seed; p is that of a paired t test, adjusted for the
    number of rules."""
    own = {run["seed"]: run for run in logs.at_best(base)}
    others = [rule for rule in logs.rules if rule != base]
    less: dict[str, list[list[float]]] = {at: [] for at in TIMES}
    for other in others:
        both = [(run, own[run["seed"]]) for run in logs.at_best(other) if run["seed"] in own]
        for at in TIMES:
            less[at].append([mean_of(a, at, what) - mean_of(b, at, what) for a, b in both])
    tested = {at: holm([p_of_three(values) for values in less[at]]) for at in ("1", "8")}
    rows = [
        [
            f"`{other}`",
            *(shown(less[at][place]) for at in ("1", "4", "8", "16")),
            *("-" if np.isnan(of[place]) else f"{of[place]:.3f}" for of in tested.values()),
        ]
        for place, other in enumerate(others)
    ]
    return table([f"less `{base}`", "1 x", "4 x", "8 x", "16 x", "p at 1 x", "p at 8 x"], rows)


MAKERS: dict[str, Callable[[Logs], str]] = {
    "runs": runs_table,
    "right": lambda logs: tests_table(logs, "right"),
    "loss": lambda logs: tests_table(logs, "loss"),
    "pairs": lambda logs: pairs_table(logs, "softmax"),
    "own pairs": lambda logs: pairs_table(logs, "entmax-logn"),
    "loss pairs": lambda logs: pairs_table(logs, "softmax", "loss"),
    "few": few_table,
    "foreseen": foreseen_table,
    "forecast": forecast_table,
    "contrast": contrast_table,
    "heads": heads_table,
    "rates": rates_table,
    "same rate": same_rate_table,
    "warnings": warnings_table,
    "forming": forming_table,
    "variants": variants_table,
}
OF_FORECASTS = ("foreseen", "forecast", "contrast")


def rewrite(page: Path, parts: dict[str, str]) -> None:
    """Puts each part between its marks on the page."""
    text = page.read_text("utf-8")
    for name, part in parts.items():
        begin, end = f"<!-- training: {name} -->", "<!-- end training -->"
        pattern = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{page}: expected the mark {begin}, found none")
        text = pattern.sub(lambda _, new=f"{begin}\n{part}\n{end}": new, text)
    page.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collect", type=Path, help="folder of run.py whose logs to keep first")
    parser.add_argument("--logs", type=Path, default=HERE / "logs.jsonl")
    parser.add_argument("--page", type=Path, help="page whose tables to rewrite; default: print them")
    parser.add_argument("--figure", type=Path, help="SVG file to write")
    given = parser.parse_args()
    if given.collect:
        kept = [path.read_text("utf-8") for path in sorted(given.collect.glob("*.json"))]
        given.logs.write_text("".join(kept), "utf-8")
    logs = [json.loads(line) for line in given.logs.read_text("utf-8").splitlines()]
    parts: dict[str, str] = {}
    for data in dict.fromkeys(log["data"] for log in logs):
        of = Logs(logs, data)
        for name, make in MAKERS.items():
            if name not in OF_FORECASTS or of.forecasts:
                parts[f"{data} {name}"] = make(of)
    if given.page:
        marks = given.page.read_text("utf-8")
        rewrite(given.page, {name: part for name, part in parts.items() if f"training: {name} " in marks})
    else:
        for name, part in parts.items():
            print(f"\n{name}\n\n{part}")
    if given.figure:
        figure(Logs(logs, "tasks"), given.figure)


if __name__ == "__main__":
    main()
