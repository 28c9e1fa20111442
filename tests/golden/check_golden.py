#!/usr/bin/env python3
"""Do the golden files agree with themselves, and with the weights beside them? Needs numpy only.

    check_golden.py             files, shapes, sums, bounds, the embedding of the first rows
    check_golden.py --random    also write the four real widths again and compare their SHA-256

This finds a file that was cut, edited or made from other weights; whether the numbers are right is
for the tests to say, which compare them with two independent forward passes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.golden.catalogue import (
    REAL,
    TINY,
    capp_tokens,
    real_tokens,
    tiny_tokens,
    write_real,
    write_tiny,
)
from tests.golden.llama_catalogue import LLAMAS, llama_tokens, write_llama

HERE = Path(__file__).resolve().parent
GPT2, LLAMA = HERE / "gpt2", HERE / "llama"
SHARED = Path(os.environ.get("HEADGAUGE_TEST_DATA", HERE.parents[2] / "shared" / "data"))
SIZE_LIMIT = 3_000_000

PREFIXES = ("transformer.", "model.", "")

Golden = dict[str, Any]
Keys = dict[str, str]  # field of config.json -> key of sizes
Array = npt.NDArray[np.float64]


class Checker:
    """Counts what was compared and remembers what failed."""

    def __init__(self) -> None:
        self.count = 0
        self.failures: list[str] = []

    def true(self, condition: bool, what: str) -> None:
        self.count += 1
        if not condition:
            self.failures.append(what)

    def close(self, value: Any, expected: Any, tolerance: float, what: str) -> None:
        value, expected = np.asarray(value), np.asarray(expected)
        if value.shape != expected.shape:
            self.true(False, f"{what}: shape {value.shape}, expected {expected.shape}")
            return
        worst = float(np.abs(value - expected).max(initial=0.0))
        self.true(worst <= tolerance, f"{what}: off by {worst:.3g}, allowed {tolerance:.3g}")


def check_shapes(check: Checker, name: str, golden: Golden) -> None:
    sizes, rows = golden["sizes"], golden["logits"]["rows"]
    layers, heads = sizes["n_layer"], sizes["n_head"]
    count, lengths = len(golden["tokens"]), len(golden["lengths"])
    columns, hidden_columns = golden["logits"]["columns"], golden["hidden"]["columns"]
    expected: list[tuple[str, Any, tuple[int, ...]]] = [
        ("logits.values", golden["logits"]["values"], (len(rows), columns)),
        ("logits.argmax", golden["logits"]["argmax"], (len(rows),)),
        ("logits.max", golden["logits"]["max"], (len(rows),)),
        ("logits.log_sum_exp", golden["logits"]["log_sum_exp"], (len(rows),)),
        ("next_token_log_probs", golden["next_token_log_probs"], (count - 1,)),
        ("loss", golden["loss"], (lengths,)),
        ("hidden.values", golden["hidden"]["values"], (layers + 1, len(rows), hidden_columns)),
        ("hidden.norms", golden["hidden"]["norms"], (layers + 1, len(rows))),
    ]
    for metric, values in golden["statistics"].items():
        expected.append((f"statistics.{metric}", values, (layers, heads, lengths)))
    for what, values, shape in expected:
        array = np.asarray(values, dtype=np.float64)
        check.true(array.shape == shape, f"{name}: {what} is {array.shape}, expected {shape}")
        check.true(bool(np.isfinite(array).all()), f"{name}: {what} holds a number not finite")
    check.true(golden["format"] == "headgauge.golden/1", f"{name}: format {golden['format']}")
    check.true(golden["lengths"] == sorted(set(golden["lengths"])), f"{name}: lengths not sorted")
    check.true(golden["lengths"][-1] == count, f"{name}: the last length is not that of the text")
    check.true(max(golden["tokens"]) < sizes["vocab_size"], f"{name}: a token above the vocabulary")
    if "n_kv_head" in sizes:  # Llama: positions have no end, heads are as wide as they like
        return
    check.true(count <= sizes["n_positions"], f"{name}: more tokens than positions")
    check.true(sizes["d_head"] * heads == sizes["n_embd"], f"{name}: d_head n_head is not n_embd")


def check_logits(check: Checker, name: str, golden: Golden) -> None:
    logits, tokens = golden["logits"], golden["tokens"]
    log_probs = np.array(golden["next_token_log_probs"])
    for length, loss in zip(golden["lengths"], golden["loss"], strict=True):
        check.close(loss, -log_probs[: length - 1].mean(), 1e-10, f"{name}: loss at {length}")
    values = np.array(logits["values"])
    total = np.log(np.exp(values).sum(axis=1))
    if logits["columns"] == golden["sizes"]["vocab_size"]:
        check.close(values.argmax(axis=1), logits["argmax"], 0, f"{name}: argmax")
        check.close(values.max(axis=1), logits["max"], 0, f"{name}: largest logit")
        check.close(total, logits["log_sum_exp"], 1e-10, f"{name}: log-sum-exp")
    else:
        check.true(bool((total < logits["log_sum_exp"]).all()), f"{name}: log-sum-exp too small")
    for k, row in enumerate(logits["rows"]):
        if row + 1 < len(tokens) and tokens[row + 1] < logits["columns"]:
            picked = values[k, tokens[row + 1]] - logits["log_sum_exp"][k]
            check.close(picked, log_probs[row], 1e-10, f"{name}: log-probability after row {row}")
    tolerance = max(1e-4, 3 * golden["float32_deviation"]["logits"])
    check.close(golden["logit_tolerance"], tolerance, 1e-15, f"{name}: logit_tolerance")


def check_statistics(check: Checker, name: str, golden: Golden) -> None:
    """What holds for every row of softmax weights holds for the means."""
    stats = {metric: np.array(values) for metric, values in golden["statistics"].items()}
    lengths = np.array(golden["lengths"], dtype=np.float64)
    slack = 1.0 + 1e-11
    top, participation = stats["max_weight"], stats["participation_ratio"]
    mean_keys = (lengths + 1) / 2
    rules: dict[str, tuple[Array, Array]] = {
        "max_weight <= 1": (top, np.ones_like(top)),
        "sink_weight <= max_weight": (stats["sink_weight"], top),
        "participation_ratio <= effective_tokens": (participation, stats["effective_tokens"]),
        "effective_tokens <= mean number of keys": (
            stats["effective_tokens"],
            np.broadcast_to(mean_keys, top.shape),
        ),
        "exp(entropy) <= effective_tokens": (np.exp(stats["entropy"]), stats["effective_tokens"]),
        "1 / max_weight <= participation_ratio": (1.0 / top, participation),
        "entropy_normalized <= 1": (stats["entropy_normalized"], np.ones_like(top)),
        "jacobian_frobenius <= 1/2": (stats["jacobian_frobenius"], np.full_like(top, 0.5)),
        "jacobian_frobenius <= sqrt(max_weight)": (stats["jacobian_frobenius"], np.sqrt(top)),
        "attention_distance <= mean number of keys - 1": (
            stats["attention_distance"],
            np.broadcast_to(mean_keys - 1, top.shape),
        ),
    }
    for rule, (small, large) in rules.items():
        check.true(bool((small <= large * slack).all()), f"{name}: not {rule}")
    for metric, values in stats.items():
        check.true(bool((values > 0).all()), f"{name}: {metric} not positive")


def read_matrix(folder: Path, name: str) -> Array:
    """One matrix out of the safetensors files of a folder, with or without the prefix."""
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        (size,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + size])
        entry = next((header[p + name] for p in PREFIXES if p + name in header), None)
        if entry is None:
            continue
        first, last = (8 + size + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            wide = np.frombuffer(data[first:last], "<u2").astype("<u4") << 16
            values = wide.astype("<u4").view("<f4")
        else:
            values = np.frombuffer(data[first:last], {"F32": "<f4", "F16": "<f2"}[entry["dtype"]])
        matrix: Array = values.astype(np.float64).reshape(entry["shape"])
        return matrix
    raise KeyError(name)


def check_files(check: Checker, name: str, golden: Golden, folder: Path) -> None:
    files = sorted(folder.glob("*.safetensors"))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    check.true(sums == golden["sha256"], f"{name}: SHA-256 of the weights differs")


def check_first_rows(check: Checker, name: str, golden: Golden, rows: Array) -> None:
    """What enters the first layer, of the golden rows."""
    hidden = golden["hidden"]
    columns = hidden["columns"]
    for k, x in enumerate(rows):
        what = f"{name}: embedding of row {hidden['rows'][k]}"
        check.close(x[:columns], hidden["values"][0][k], 1e-11, what)
        check.close(np.linalg.norm(x), hidden["norms"][0][k], 1e-9, f"{what}: its norm")


def check_config(check: Checker, name: str, golden: Golden, folder: Path, keys: Keys) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for key, size in keys.items():
        check.true(config[key] == golden["sizes"][size], f"{name}: {key} differs from config.json")


def check_weights(check: Checker, name: str, golden: Golden, folder: Path) -> None:
    check_files(check, name, golden, folder)
    rows = golden["hidden"]["rows"]
    tokens = [golden["tokens"][row] for row in rows]
    embedded = read_matrix(folder, "wte.weight")[tokens] + read_matrix(folder, "wpe.weight")[rows]
    check_first_rows(check, name, golden, embedded)
    keys = ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size")
    check_config(check, name, golden, folder, {key: key for key in keys})


def check_llama(check: Checker, name: str, golden: Golden, folder: Path) -> None:
    check_files(check, name, golden, folder)
    tokens = [golden["tokens"][row] for row in golden["hidden"]["rows"]]
    embedded = read_matrix(folder, "embed_tokens.weight")[tokens]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["model_type"].startswith("gemma"):
        embedded *= rounded(math.sqrt(embedded.shape[1]), config["torch_dtype"])
    check_first_rows(check, name, golden, embedded)
    keys = {
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "hidden_size": "n_embd",
        "intermediate_size": "n_inner",
        "vocab_size": "vocab_size",
    }
    check_config(check, name, golden, folder, keys)


def rounded(value: float, dtype: str) -> float:
    """To nearest, in a type of so many binary digits; float32 counts as exact here, as in the run."""
    digits = {"bfloat16": 8, "float16": 11}.get(dtype, 53)
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits)


def check_same_files(check: Checker, name: str, made: Path, kept: Path) -> None:
    for path in sorted(made.iterdir()):
        same = (kept / path.name).is_file() and (kept / path.name).read_bytes() == path.read_bytes()
        check.true(same, f"{name}: {path.name} is not what the catalogue makes")


def read_golden(name: str) -> Golden:
    folder = next(family / name for family in (GPT2, LLAMA) if (family / name).is_dir())
    golden: Golden = json.loads((folder / "golden.json").read_text(encoding="ascii"))
    return golden


def check_all(with_random: bool) -> Checker:
    check = Checker()
    names = [case.name for case in (*TINY, *LLAMAS, *REAL)] + ["capp-gpt", "stories260k"]
    folders = sorted(path.name for family in (GPT2, LLAMA) for path in family.iterdir())
    check.true(folders == sorted(names), f"gpt2/ and llama/ hold {', '.join(folders)}")
    files = (path for family in (GPT2, LLAMA) for path in family.rglob("*") if path.is_file())
    total = sum(path.stat().st_size for path in files)
    check.true(total < SIZE_LIMIT, f"gpt2/ and llama/ hold {total} bytes, limit {SIZE_LIMIT}")
    for name in names:
        golden = read_golden(name)
        check_shapes(check, name, golden)
        check_logits(check, name, golden)
        check_statistics(check, name, golden)
    for case in TINY:
        golden = read_golden(case.name)
        check.true(golden["tokens"] == tiny_tokens(case), f"{case.name}: other tokens")
        check_weights(check, case.name, golden, GPT2 / case.name)
        with tempfile.TemporaryDirectory() as scratch:
            write_tiny(Path(scratch), case)
            check_same_files(check, case.name, Path(scratch), GPT2 / case.name)
    for llama in LLAMAS:
        golden = read_golden(llama.name)
        check.true(golden["tokens"] == llama_tokens(llama), f"{llama.name}: other tokens")
        check_llama(check, llama.name, golden, LLAMA / llama.name)
        with tempfile.TemporaryDirectory() as scratch:
            write_llama(Path(scratch), llama)
            check_same_files(check, llama.name, Path(scratch), LLAMA / llama.name)
    for real in REAL:
        golden = read_golden(real.name)
        check.true(golden["tokens"] == real_tokens(real), f"{real.name}: other tokens")
        if with_random:
            with tempfile.TemporaryDirectory() as scratch:
                write_real(Path(scratch), real)
                check_weights(check, real.name, golden, Path(scratch))
    golden = read_golden("capp-gpt")
    check.true(golden["tokens"] == capp_tokens(len(golden["tokens"])), "capp-gpt: other tokens")
    for name, weights in (("capp-gpt", check_weights), ("stories260k", check_llama)):
        folder = SHARED / "models" / name
        if folder.is_dir():
            weights(check, name, read_golden(name), folder)
        else:
            print(f"{name}: weights not compared, {folder} is absent")
    return check


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random", action="store_true", help="write the real widths again")
    check = check_all(parser.parse_args().random)
    for failure in check.failures:
        print(failure)
    print(f"{check.count - len(check.failures)} passed, {len(check.failures)} failed")
    sys.exit(1 if check.failures else 0)


if __name__ == "__main__":
    main()
