"""Recomputes a results.json in float64 and says, metric by metric, how far it is off.

    python3 -m tests.reference.compare RESULTS.json --model DIR --tokens FILE [FILE...]
    python3 -m tests.reference.compare RESULTS.json --dump FILE.safetensors

Prints for each metric how many values were compared, the worst deviation and where it is, and the
tolerance. Exit status 0 when all agree and none is missing, 1 otherwise, 2 on a usage error.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference.arrays import Array
from tests.reference.catalogue import (
    GROUPS,
    PARTS,
    Tolerance,
    base_name,
    expected_metrics,
    group_of,
    tolerance_of,
)
from tests.reference.oracle import Oracle
from tests.reference.results_io import Results, demanded_groups, read_settings, scanned_heads, to_array
from tests.reference.settings import Metric
from tests.reference.sources import Document, dump_document, model_documents

ERROR_RELATIVE = 0.02  # a standard error agrees to 2 %, or to the tolerance of its value


@dataclass
class Check:
    """What became of one metric."""

    name: str
    compared: int = 0
    worst: float = 0.0  # |found - expected|
    share: float = 0.0  # of what the tolerance allows
    where: str = ""
    errors_compared: int = 0
    rows_compared: int = 0
    failures: list[str] = field(default_factory=list)


def _place(index: tuple[int, ...], dims: tuple[str, ...], coords: dict[str, list[Any]]) -> str:
    parts = []
    for dim, i in zip(dims, index, strict=True):
        value = coords[dim][i]
        parts.append(f"{dim}={value:.4g}" if isinstance(value, float) else f"{dim}={value}")
    return " ".join(parts)


def _worst(found: Array, expected: Array, allowed: Array) -> tuple[tuple[int, ...], float, float]:
    """Index, deviation and share of the tolerance of the worst finite pair."""
    deviation = np.abs(found - expected)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(deviation == 0.0, 0.0, deviation / allowed)
    share = np.where(np.isnan(share), -1.0, share)
    index = np.unravel_index(int(share.argmax()), share.shape)
    return tuple(int(i) for i in index), float(deviation[index]), float(share[index])


def _nulls(found: Array, expected: Array, what: str, where: Any) -> list[str]:
    differing = np.argwhere(np.isnan(found) != np.isnan(expected))
    if not len(differing):
        return []
    first = tuple(int(i) for i in differing[0])
    state = "null" if np.isnan(found[first]) else "a number"
    return [f"{what}: {len(differing)} of {found.size} wrongly null or not, {where(first)} {state}"]


def check_metric(name: str, entry: dict[str, Any], expected: Metric, coords: dict[str, list[Any]]) -> Check:
    """Values, standard errors and row counts of one metric."""
    check, tolerance = Check(name), tolerance_of(name)
    if tuple(entry["dims"]) != expected.dims:
        check.failures.append(f"dims {entry['dims']}, expected {list(expected.dims)}")
        return check

    def where(index: tuple[int, ...]) -> str:
        return _place(index, expected.dims, coords)

    allowed = check_numbers(check, "values", entry["values"], expected, tolerance, where)
    if allowed is None:
        return check
    for part in PARTS:
        if (part in entry) != (part in expected.parts):
            check.failures.append(f"no {part}" if part in expected.parts else f"the reference has no {part}")
        elif part in expected.parts:
            of_part = expected.parts[part]
            check_numbers(check, part, entry[part], of_part, tolerance_of(f"{name} {part}"), where)
    check_stderr(check, entry, expected, allowed, where)
    check_rows(check, entry, expected, where)
    return check


def check_numbers(
    check: Check, what: str, nested: Any, expected: Metric, tolerance: Tolerance, where: Any
) -> Array | None:
    """Returns what is allowed of each number; None if the shape is wrong."""
    found = to_array(nested)
    if found.shape != expected.values.shape:
        check.failures.append(f"{what}: shape {found.shape}, expected {expected.values.shape}")
        return None
    check.failures += _nulls(found, expected.values, what, where)
    allowed = tolerance.allowed(expected.values)
    if expected.doubt is not None:
        allowed = allowed + expected.doubt
    both = ~np.isnan(found) & ~np.isnan(expected.values)
    if both.any():
        index, worst, share = _worst(found, expected.values, allowed)
        if share > 1.0:
            check.failures.append(
                f"{what} {found[index]:.9g}, expected {expected.values[index]:.9g} at {where(index)}"
            )
        if not check.compared or share > check.share:
            check.worst, check.share, check.where = worst, share, where(index)
        check.compared += int(both.sum())
    return allowed


def check_stderr(check: Check, entry: dict[str, Any], expected: Metric, allowed: Array, where: Any) -> None:
    if expected.stderr is None:
        return
    if entry.get("stderr") is None:
        if not np.isnan(expected.stderr).all():
            check.failures.append("no stderr")
        return
    found = to_array(entry["stderr"])
    if found.shape != expected.stderr.shape:
        check.failures.append(f"stderr: shape {found.shape}, expected {expected.stderr.shape}")
        return
    check.failures += _nulls(found, expected.stderr, "stderr", where)
    check.errors_compared = int((~np.isnan(found) & ~np.isnan(expected.stderr)).sum())
    limit = np.maximum(ERROR_RELATIVE * np.abs(expected.stderr), allowed)
    index, _, share = _worst(found, expected.stderr, limit)
    if share > 1.0:
        check.failures.append(
            f"stderr {found[index]:.6g}, expected {expected.stderr[index]:.6g} at {where(index)}"
        )


def check_rows(check: Check, entry: dict[str, Any], expected: Metric, where: Any) -> None:
    if expected.rows is None or entry.get("rows") is None:
        return
    found = np.nan_to_num(to_array(entry["rows"]))  # null: not scanned, no row
    if found.shape != expected.rows.shape:
        check.failures.append(f"rows: shape {found.shape}, expected {expected.rows.shape}")
        return
    check.rows_compared = found.size
    differing = np.argwhere(found != expected.rows)
    if len(differing):
        first = tuple(int(i) for i in differing[0])
        check.failures.append(f"rows {found[first]:g}, expected {expected.rows[first]} at {where(first)}")


def check_all(results: Results, metrics: dict[str, Metric], required: list[str]) -> list[Check]:
    """Every required metric, and every other one that both sides have."""
    checks = []
    for group in GROUPS:
        names = [name for name in required if group_of(name) == group]
        names += [n for n in results["metrics"] if group_of(n) == group and n not in names]
        for name in names:
            if name not in results["metrics"]:
                checks.append(Check(name, failures=["absent"]))
            elif name not in metrics:
                checks.append(Check(name, failures=["the reference has no such metric"]))
            else:
                checks.append(check_metric(name, results["metrics"][name], metrics[name], results["coords"]))
    return checks


def report(checks: list[Check], elapsed: float) -> None:
    print(f"{'metric':<38}{'values':>8}  {'worst deviation':<16}{'tolerance':<30}at")
    for check in checks:
        tolerance: Tolerance = tolerance_of(check.name)
        state = "ok  " if not check.failures else "FAIL"
        worst = f"{check.worst:.3g}" if check.compared else "-"
        line = f"{check.name:<38}{check.compared:>8}  {worst:<16}{tolerance!s:<30}"
        print(f"{line}{state} {check.where}".rstrip())
        for failure in check.failures:
            print(f"    {failure}")
    failed = sum(bool(check.failures) for check in checks)
    values = sum(check.compared for check in checks)
    errors = sum(check.errors_compared for check in checks)
    counts = sum(check.rows_compared for check in checks)
    print(
        f"{len(checks)} metrics, {values} values, {errors} standard errors and {counts} row counts "
        f"compared in {elapsed:.0f} s: {len(checks) - failed} agree, {failed} do not"
    )


def read_tokens(paths: list[Path]) -> list[list[int]]:
    return [[int(word) for word in path.read_text().split()] for path in paths]


def compare(
    results: Results,
    *,
    model: Path | None = None,
    texts: list[list[int]] | None = None,
    dump: Path | None = None,
    jobs: int = 1,
) -> list[Check]:
    """Recomputes what results.json holds and checks it."""
    settings = read_settings(results)
    documents: list[Document]
    if dump is not None:
        documents = [dump_document(dump, settings.longest, settings.x, settings.unit_sphere)]
    else:
        assert model is not None and texts is not None
        documents = model_documents(model, texts, settings.longest, settings.x, settings.unit_sphere)
    first = documents[0]
    oracle = Oracle(documents, settings)
    edges = results["coords"].get("position", [])
    metrics = oracle.run(jobs)
    points = first.points(first.layers[0], 0) is not None
    required = expected_metrics(demanded_groups(results), points, first.next_token_loss is not None)
    checks = check_all(results, metrics, required)
    if list(edges) != oracle.edges and any(base_name(name) != name for name in required):
        failure = f"coords.position {edges}, expected {oracle.edges}"
        checks.append(Check("coords.position", failures=[failure]))
    missing = sorted({layer for layer, _ in scanned_heads(results)} - set(first.layers))
    if missing:
        checks.append(Check("coords.layer", failures=[f"layers {missing} do not exist"]))
    return checks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--model", type=Path, help="Hugging Face folder")
    parser.add_argument("--tokens", type=Path, nargs="+", help="token ids, a file per document")
    parser.add_argument("--dump", type=Path, help="headgauge.dump/1 file, instead of a model")
    parser.add_argument("--jobs", type=int, default=1, help="processes; they share the layers")
    args = parser.parse_args()
    if (args.dump is None) == (args.model is None) or (args.model and not args.tokens):
        parser.error("give --model with --tokens, or --dump")
    start = time.monotonic()
    results = json.loads(args.results.read_text())
    checks = compare(
        results,
        model=args.model,
        texts=read_tokens(args.tokens) if args.tokens else None,
        dump=args.dump,
        jobs=args.jobs,
    )
    report(checks, time.monotonic() - start)
    # tests/agreement/test_compare.py has what smaller caches cost.
    unknown = [
        name
        for name, metric in results["metrics"].items()
        if not group_of(name) and "smaller" not in metric["dims"]
    ]
    if unknown:
        print("not checked, the reference does not know them: " + ", ".join(unknown))
    return 1 if any(check.failures for check in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
