"""What headgauge says of each rule from the softmax model alone, before any other model is trained.

compare() puts each rule into the trained softmax model and asks for the answers of tasks, at the
trained length and at eight times it, and measures the heads under the rule. And the definition of
each rule says what a longer row leaves of the weight that the strongest induction head has.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from data import KINDS, Tasks
from decoder import decoder
from rules import RULES
from train import Run

import headgauge

TIMES = (1, 8)
CASES = 100  # of each task and length
SPECS = {name: rule.spec for name, rule in RULES.items()} | {
    # compare() learns no scale: these are 1 at the trained length, and the default.
    "ssmax": "ssmax:s=0.24",
    "asentmax": "asentmax",
}


def write_cases(data: Tasks, times: int, count: int, path: Path) -> None:
    """Writes texts that the models did not learn as cases: each ends in its last answer."""
    with path.open("w", encoding="utf-8") as out:
        for kind in data.kinds:
            random = torch.Generator().manual_seed(data.test_seed + 10**6 + times)
            ids, counts = data.test(kind, times * data.length, count, random)
            for text, counted in zip(ids.tolist(), counts.tolist(), strict=True):
                end = max(place for place, counts_here in enumerate(counted) if counts_here)
                out.write(json.dumps({"task": kind, "prompt": text[:end], "answer": [text[end]]}) + "\n")


def kept(spec: str, weight: float, keys: int, times: int) -> float:
    """Returns what a key's weight becomes in a row of `times` as many keys. All others have logit 0, and
    its own logit gives it `weight` in a row of `keys`."""

    def of(logit: float, count: int) -> float:
        row = torch.zeros(count)
        row[0] = logit
        return float(headgauge.normalize(row, spec)[0])

    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle, keys) < weight else (low, middle)
    return of(high, times * keys)


def forecast(run: Run, folder: Path, cases: int = CASES, rules: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns what compare() says of each rule, or of those given, in the model of a softmax run; kept in
    the folder."""
    log_path = folder / f"forecast-{run.name}.json"
    if log_path.exists():
        return dict(json.loads(log_path.read_text("utf-8")))
    data = KINDS[run.data]()
    if not isinstance(data, Tasks):
        raise TypeError(f"forecast: expected a run on tasks, found {run.data}")
    model = decoder(RULES["softmax"], run.seed, data)
    model.load_state_dict(torch.load(folder / f"{run.name}.model", weights_only=True)["model"])
    changed = {name: SPECS[name] for name in rules or SPECS if name != "softmax"}
    found: dict[str, Any] = {name: {} for name in ("softmax", *changed)}
    for times in TIMES:
        path = folder / f"cases-{run.name}-{times}.jsonl"
        write_cases(data, times, cases, path)
        results = headgauge.compare(
            model, tasks=[path], cases=10**6, normalizer=list(changed.values()), measures=["weights"],
            lengths=[data.length * times - 1], queries=16, threads=1,
        )  # fmt: skip
        loss = results["loss_change"].values[..., -1].mean(axis=1)
        right = results["answer_right"].values.mean(axis=1)
        entropy = results["entropy_normalized_with_sinks"]
        of_rules = np.moveaxis(entropy.values, entropy.dims.index("normalizer"), 0)
        for place, name in enumerate(found):
            found[name][f"loss_change_{times}"] = round(float(loss[place]), 5)
            found[name][f"right_{times}"] = round(float(right[place]), 5)
            found[name][f"entropy_{times}"] = round(float(np.nanmean(of_rules[place])), 5)
        path.unlink()
    looks = json.loads((folder / f"{run.name}.json").read_text("utf-8"))["looks"]
    weight = float(np.nanmax(np.array(looks[-1]["weight_induction_with_sinks"], dtype=float)))
    for name, of_rule in found.items():
        of_rule["kept_8"] = round(kept(SPECS[name], weight, data.length, TIMES[-1]), 5)
    log = {"data": data.name, "forecast": run.name, "seed": run.seed, "weight": weight, "rules": found}
    log_path.write_text(json.dumps(log) + "\n", "utf-8")
    return log
