"""Trains one decoder under one rule, measures it while it learns and at the end, and logs all of it."""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import logs
import numpy as np
import torch
from data import Batch, Tasks, Text
from decoder import decoder, scales, use
from rules import Rule, rule_of

import headgauge

TIMES = tuple(map(int, logs.TIMES))
CHOICE_SEED, SCAN_SEED, FEW_SEED = 3 * 10**6, 4 * 10**6, 5 * 10**6
TEST_TEXTS = {1: 48, 2: 32, 4: 16, 8: 8, 16: 4}
LOOKS = (0, 1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1)  # shares of the steps
WARM_UP = 1 / 8
LOOKED_AT = (
    "weight_induction_with_sinks",
    "weight_previous_with_sinks",
    "sink_weight",
    "entropy_normalized_with_sinks",
)
KEPT = (
    "entropy_normalized_with_sinks", "effective_tokens_with_sinks", "entropy_slope_with_sinks", "separability_excess_with_sinks", "sensitivity",
    "jacobian_spectral", "largest_logit", "sink_weight",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    data: str
    rule: str
    """A rule's name or a normalizer's spec."""
    rate: float
    seed: int

    @property
    def name(self) -> str:
        return f"{self.data}-{self.rule.replace(':', '-')}-{self.rate:g}-{self.seed}"


def loss_of(model: Any, batch: Batch) -> torch.Tensor:
    """Returns the loss in nats of each token that counts."""
    ids, counts = batch
    logits = model(input_ids=ids).logits[:, :-1][counts[:, 1:]]
    return torch.nn.functional.cross_entropy(logits, ids[:, 1:][counts[:, 1:]], reduction="none")


def answer(model: Any, rule: Rule, batch: Batch) -> dict[str, float]:
    """Returns the loss in nats, and the share that is right, of the tokens that count."""
    ids, counts = batch
    losses, right = [], []
    with torch.no_grad(), use(model, rule):
        for row in range(0, len(ids), 4):
            logits = model(input_ids=ids[row : row + 4]).logits[:, :-1][counts[row : row + 4, 1:]]
            answers = ids[row : row + 4, 1:][counts[row : row + 4, 1:]]
            losses.append(torch.nn.functional.cross_entropy(logits, answers, reduction="none"))
            right.append(logits.argmax(dim=-1) == answers)
    return {"loss": float(torch.cat(losses).mean()), "right": float(torch.cat(right).float().mean())}


def test(model: Any, rule: Rule, data: Tasks | Text, times: int, seed: int) -> dict[str, dict[str, float]]:
    """Returns the answers of each kind of text. The texts of a length are the same for every model."""
    return {
        kind: answer(
            model, rule, data.test(kind, times * data.length, TEST_TEXTS[times], _drawn(seed + times))
        )
        for kind in data.kinds
    }


def _drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def measure(model: Any, rule: Rule, data: Tasks | Text, texts: int, **options: Any) -> headgauge.Results:
    """Scans the model under its rule at the trained length, on texts that it did not learn."""
    random = _drawn(SCAN_SEED)
    ids = [data.test(kind, data.length, texts, random)[0] for kind in data.kinds]
    with use(model, rule):
        return headgauge.scan(model, list(torch.cat(ids).numpy()), threads=1, **options)


def rounded(rows: list[list[float]]) -> list[list[float | None]]:
    """Returns five decimals of each number, and None for NaN."""
    return [[round(v, 5) if math.isfinite(v) else None for v in row] for row in rows]


def values(results: headgauge.Results, names: tuple[str, ...]) -> dict[str, Any]:
    """Returns the values of each head at the longest length, and for metrics over N, T or eps at the
    one in the middle."""
    found = {}
    for name in names:
        if name in results.metrics:
            metric = results[name]
            of_heads = metric.values
            for axis in reversed(range(2, of_heads.ndim)):
                at = -1 if metric.dims[axis] == "length" else of_heads.shape[axis] // 2
                of_heads = of_heads.take(at, axis=axis)
            found[name] = rounded(of_heads.tolist())
    return found


def train(run: Run, data: Tasks | Text, folder: Path, steps: int | None = None) -> dict[str, Any]:
    """Returns the log of the run: from `folder` if it is there, from the last state that is there if
    it was interrupted. One thread, so that a run has the same numbers on every machine of a kind."""
    log_path, state_path = folder / f"{run.name}.json", folder / f"{run.name}.pt"
    if log_path.exists():
        return dict(json.loads(log_path.read_text("utf-8")))
    torch.set_num_threads(1)
    steps = steps or data.steps
    rule = rule_of(run.rule)
    model = decoder(rule, run.seed, data)
    optimizer = torch.optim.AdamW(model.parameters(), lr=run.rate, weight_decay=0.01, betas=(0.9, 0.98))
    random = _drawn(1000 + run.seed)
    log: dict[str, Any] = {
        **asdict(run),
        "steps": steps,
        "curve": [],
        "looks": [],
        "warnings": [],
        "largest_gradient": 0.0,
        "largest_jacobian": 0.0,
        "began": 0,
    }
    if state_path.exists():
        state = torch.load(state_path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        random.set_state(state["random"])
        log = state["log"]
    records_path = folder / f"{run.name}.monitor"
    monitor = headgauge.Monitor(
        model, every=max(steps // 16, 1), queries=16, warn=log["warnings"].append, path=records_path,
        measures=("weights", "logits", "sensitivity"),
    )  # fmt: skip
    looks = sorted({round(share * steps) for share in LOOKS})
    look_folder = folder / f"{run.name}.looks"
    with monitor:
        for step in range(log["began"], steps + 1):
            if step in looks:
                seen = measure(
                    model, rule, data, 3, lengths=[data.length], measures=["weights", "roles", "logits"],
                    out=look_folder / f"step-{step}",
                )  # fmt: skip
                log["looks"].append({"step": step, **values(seen, LOOKED_AT)})
            if step == steps:
                break
            share = (step + 1) / steps
            rate = min(1.0, share / WARM_UP, 0.02 + 0.49 * (1 + math.cos(math.pi * share)))
            for group in optimizer.param_groups:
                group["lr"] = run.rate * rate
            with use(model, rule):
                loss = loss_of(model, data.batch(random)).mean()
                optimizer.zero_grad()
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if not math.isfinite(float(norm)):
                    log["failed"] = step + 1  # no number is left to learn from
                    break
                optimizer.step()
                record = monitor.step(step + 1)
            log["largest_gradient"] = max(log["largest_gradient"], float(norm))
            if step % (steps // 32 or 1) == 0:
                log["curve"].append([step, round(float(loss), 4), round(float(norm), 4)])
            if record is not None:
                log["largest_jacobian"] = max(log["largest_jacobian"], largest_jacobian(model, record))
            if (step + 1) % max(steps // 4, 1) == 0:
                log["began"] = step + 1
                torch.save(
                    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": random.get_state(),
                     "log": log}, state_path.with_suffix(".part"),
                )  # fmt: skip
                os.replace(state_path.with_suffix(".part"), state_path)
    del log["began"]
    if "failed" not in log:
        log["test"] = {str(times): test(model, rule, data, times, data.test_seed) for times in TIMES}
        if isinstance(data, Tasks):
            log["few"] = {
                str(times): answer(
                    model, rule, data.few(times * data.length, TEST_TEXTS[times], _drawn(FEW_SEED))
                )
                for times in TIMES
            }
        log["choice"] = float(
            np.mean([of["loss"] for of in test(model, rule, data, 1, CHOICE_SEED).values()])
        )
        seen = measure(
            model, rule, data, 8, lengths=[data.length // 4, data.length // 2, data.length],
            measures=["weights", "dispersion", "roles", "logits", "separability", "sensitivity"],
        )  # fmt: skip
        log["series"] = formed(look_folder, looks)
        log["heads"] = values(seen, KEPT) | {"scale": rounded(scales(model))}
    torch.save({"model": model.state_dict()}, folder / f"{run.name}.model")
    log_path.with_suffix(".part").write_text(json.dumps(log) + "\n", "utf-8")
    os.replace(log_path.with_suffix(".part"), log_path)
    state_path.unlink(missing_ok=True)
    records_path.unlink(missing_ok=True)
    shutil.rmtree(look_folder, ignore_errors=True)
    return log


def formed(folder: Path, steps: list[int]) -> dict[str, Any]:
    """Joins the scans of the steps by headgauge.series(); returns the change of each head from the first
    to the last, its adjusted p, and the step from which on half of it was there."""
    scans = [folder / f"step-{step}" for step in steps]
    series = headgauge.series(scans, steps=steps, metrics=list(LOOKED_AT))
    found: dict[str, Any] = {}
    for place, metric in enumerate(series.coords["series_metric"]):
        change, half = series["series_change"], series["series_half_step"]
        of_heads = {"change": change.values, "change_p": change.p, "half_step": half.values}
        found[str(metric)] = {what: rounded(values[..., place].tolist()) for what, values in of_heads.items()}
    return found


def largest_jacobian(model: Any, record: dict[str, Any]) -> float:
    """Returns the largest mean norm of the Jacobian of a head, by its logits before the learned scale."""
    norms = np.array(record["metrics"].get("jacobian_spectral", []), dtype=float)
    return round(float(np.nanmax(norms * np.array(scales(model)))), 5)
