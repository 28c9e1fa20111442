"""Makes the tables and the figure of the notes on training (docs/training.md) from the logs of run.py.

    python tables.py [--collect runs] [--logs logs.jsonl] [--page PAGE...]

--collect first joins the logs of a folder into the kept file. Needs numpy and matplotlib; seconds.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from figure import figure
from forecast_tables import contrast_table, forecast_table, foreseen_table, untrained_table
from logs import (
    TIMES,
    Log,
    Logs,
    holm,
    learnt,
    mean_of,
    p_of_counts,
    p_of_mean,
    seed_of,
    shown,
    shown_p,
    table,
)

HERE = Path(__file__).parent
MEASURES = {
    "entropy of max": "entropy_normalized_with_sinks", "effective keys": "effective_tokens_with_sinks", "entropy slope": "entropy_slope_with_sinks",
    "separability above chance": "separability_excess_with_sinks", "sensitivity": "sensitivity", "norm of J": "jacobian_spectral",
    "largest logit": "largest_logit", "on sinks": "sink_weight",
}  # fmt: skip


def runs_table(logs: Logs) -> str:
    """What the other tables rest on, without rules of other parameters."""
    runs = [run for run in logs.runs if run["rule"] in logs.rules]
    seeds = sorted({len(logs.at_best(rule)) for rule in logs.rules})
    cells = [
        str(len(runs)), str(sum(not learnt(run) for run in runs)),
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


def learnt_table(logs: Logs) -> str:
    """Right answers of the seeds that learnt, and how many did; p is Fisher's, that as many learn as under
    softmax."""
    counts = {}
    rows = []
    for rule in logs.rules:
        runs = logs.at_best(rule)
        well = [run for run in runs if learnt(run)]
        counts[rule] = len(well), len(runs)
        p = "-" if rule == "softmax" else shown_p(p_of_counts(counts["softmax"], counts[rule]))
        cells = [shown(mean_of(run, at, "right") for run in well) for at in TIMES]
        rows.append([f"`{rule}`", f"{len(well)} of {len(runs)}", p, *cells])
    return table(["rule", "seeds that learnt", "p", *(f"{at} x" for at in TIMES)], rows)


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


def forming_table(logs: Logs) -> str:
    """By headgauge.series(): in how many heads of a run the weight is shown to grow, and of the head
    where it grows most, by how much, and from which step on half of that was there."""
    watched = {
        "induction": "weight_induction_with_sinks",
        "previous token": "weight_previous_with_sinks",
        "sinks": "sink_weight",
    }
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
    tested = {at: holm([p_of_mean(values) for values in less[at]]) for at in ("1", "8")}
    rows = [
        [
            f"`{other}`",
            *(shown(less[at][place]) for at in ("1", "4", "8", "16")),
            *(shown_p(of[place]) for of in tested.values()),
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
    "learnt right": learnt_table,
    "foreseen": foreseen_table,
    "untrained": untrained_table,
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


def tables_of(logs: Logs) -> dict[str, str]:
    """Returns every table that the logs have the runs for."""
    foretold = bool(logs.forecasts) and all(set(logs.rules) <= set(of["rules"]) for of in logs.forecasts)
    without = () if foretold else OF_FORECASTS if logs.forecasts else (*OF_FORECASTS, "untrained")
    return {name: make(logs) for name, make in MAKERS.items() if name not in without}


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
    parser.add_argument(
        "--page", type=Path, nargs="+", default=[], help="pages whose tables to rewrite; default: print them"
    )
    parser.add_argument("--figure", type=Path, help="SVG file to write")
    given = parser.parse_args()
    if given.collect:
        kept = [path.read_text("utf-8") for path in sorted(given.collect.glob("*.json"))]
        given.logs.write_text("".join(kept), "utf-8")
    logs = [json.loads(line) for line in given.logs.read_text("utf-8").splitlines()]
    parts: dict[str, str] = {}
    for data in dict.fromkeys(log["data"] for log in logs):
        parts |= {f"{data} {name}": part for name, part in tables_of(Logs(logs, data)).items()}
    for page in given.page:
        marks = page.read_text("utf-8")
        rewrite(page, {name: part for name, part in parts.items() if f"training: {name} " in marks})
    if not given.page:
        for name, part in parts.items():
            print(f"\n{name}\n\n{part}")
    if given.figure:
        figure(Logs(logs, "tasks"), given.figure)


if __name__ == "__main__":
    main()
