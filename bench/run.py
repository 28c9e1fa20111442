#!/usr/bin/env python3
"""Prints each figure of docs/performance.md as a ratio to something measured in the same run.

    python3 bench/run.py [--quick] [--normalizers | --compare | --converge | --real] [--model DIR]

Needs the bench preset built (`make bench` does both). The checkpoint is GPT-2 small's shape with
random weights and 16384 positions, written once into build/bench/; that of --real is SmolLM2-135M as `make
smollm2` fetches it. Peers (bench/peers) run where torch can
be imported by $HEADGAUGE_PEER_PYTHON (default: this interpreter).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

from common import BUILD, LENGTH, LONG, LONGEST, PEER_PYTHON, ROOT, THREADS, at, bar, line, timed
from real_model import one_thread, real_model


def engine(level: str, heads: int, lengths: str) -> None:
    """The engine against the roofline; bars on the ratios."""
    print(f"\nengine, {heads} heads, d = 64, causal, {level}")
    output = subprocess.run(
        [BUILD / "bench/scan/bench_engine", str(heads), "1,2", lengths],
        env={**os.environ, "HEADGAUGE_SIMD": level},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    limits = {"with top 100": (2.5, 3.0), "with distances at five N": (10.0, 12.0)}
    base: dict[tuple[int, str], float] = {}
    for row in map(json.loads, output.splitlines()):
        where = f"{row['figure']}, L = {row['length']}, {row['threads']} threads"
        cost = f"{row['ns_per_score'] * row['threads']:.2f} ns a score"
        if row["figure"] == "entropy set":
            line(where, f"{row['of_roof']:.2f} of the roof", bar(row["of_roof"], 0.75, True))
        else:
            ratio = row["to_entropy_set"]
            limit = limits.get(row["figure"])
            verdict = bar(ratio, limit[0 if level == "avx512" else 1], False) if limit else ""
            line(where, f"{ratio:.2f} x entropy set", verdict)
        first = base.setdefault((row["threads"], row["figure"]), row["ns_per_score"])
        if row["ns_per_score"] is not first:
            ratio = row["ns_per_score"] / first
            line(f"  {cost}; against the shortest length", f"{ratio:.2f} x", bar(ratio, 2, False))


# Weights and sums of a row as a ratio to softmax: the bar, or None.
NORMALIZERS: dict[str, float | None] = {
    "logn": 1.1,
    "ssmax": 1.1,
    "sigmoid": 1.5,
    "softpick": 1.5,
    "sparsemax": 3,
    "entmax": 3,
    "entmax:alpha=1.25": 8,
    "entmax:alpha=1.7": 8,
    "entmax:alpha=3": 8,
    "asentmax": None,
    "sasoftmax": None,
    "softmax1": None,
    "topk": None,
    "topk:k=64": None,
    "softcap": None,
    "adaptive-temperature": None,
}
PEER_SPREAD = 2  # of the logits that the entmax package gets


def row_costs(level: str) -> dict[tuple[str, int, int], float]:
    """Nanoseconds a weight by (normalizer, length, spread), one thread: the least of 5 rounds."""
    output = subprocess.run(
        [
            BUILD / "bench/kernels/bench_kernels",
            "--benchmark_filter=^normalizer/",
            "--benchmark_format=json",
            "--benchmark_repetitions=5",
            "--benchmark_min_time=0.03",
            "--benchmark_enable_random_interleaving=true",
        ],
        env={**os.environ, "HEADGAUGE_SIMD": level},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    costs: dict[tuple[str, int, int], float] = {}
    for run in json.loads(output)["benchmarks"]:
        if run["run_type"] != "iteration":
            continue
        _, normalizer, length, spread = run["name"].split("/")[:4]
        key = (normalizer, int(length.split(":")[1]), int(spread.split(":")[1]))
        cost = 1e9 / run["items_per_second"]
        costs[key] = min(cost, costs.get(key, cost))
    return costs


def normalizers(level: str) -> dict[tuple[str, int, int], float]:
    """Every normalizer against softmax on rows of the same length."""
    costs = row_costs(level)
    for spread in sorted({key[2] for key in costs}):
        print(f"\nnormalizers, logits of deviation {spread}, one thread, {level}")
        for length in (LENGTH, LONGEST):
            softmax = costs["softmax", length, spread]
            line(f"softmax, rows of {length}", f"{softmax:.2f} ns a weight")
            for normalizer, limit in NORMALIZERS.items():
                cost = costs[normalizer, length, spread]
                ratio = cost / softmax
                line(
                    f"  {normalizer}",
                    f"{cost:.2f} ns, {ratio:.2f} x softmax",
                    bar(ratio, limit, False) if limit else "",
                )
    return costs


def entmax_peer(costs: dict[tuple[str, int, int], float]) -> None:
    command = [
        PEER_PYTHON,
        ROOT / "bench/peers/entmax_package.py",
        "--length",
        str(LONG),
        "--spread",
        str(PEER_SPREAD),
        "--threads",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print("  entmax package left out: torch and entmax are not installed")
        return
    print(f"\nrows of {LONG}, one thread: entmax package / headgauge")
    for normalizer, cost in json.loads(done.stdout.splitlines()[-1])["ns_per_weight"].items():
        ratio = cost / costs[normalizer, LONG, PEER_SPREAD]
        line(
            normalizer,
            f"{cost:.1f} ns a weight, {ratio:.0f} x",
            "" if ":" in normalizer else bar(ratio, 10, True),
        )


def write_tokens(path: Path, count: int) -> None:
    """Token ids that repeat as in prose (Zipf)."""
    draw = random.Random(1)
    path.write_text(" ".join(str(int(50257 ** draw.random()) - 1) for _ in range(count)))


def scan(model: Path, tokens: Path, level: str, *options: str) -> dict[str, float]:
    return timed(level, "scan", model, "--tokens", tokens, *options)


def comparisons() -> None:
    """Six normalizers in the demo model, everything measured again at all lengths to 1024."""
    print("\nDemo model, compare at all lengths to 1024")
    demo = ROOT / "demo"
    specs = "ssmax,logn,sparsemax,entmax,softmax1,topk"
    for level, limit in (("avx512", 30), ("avx2", 60)):
        command = (
            "compare",
            demo / "model",
            "--text",
            demo / "text.txt",
            "--measures",
            "all",
            "--normalizer",
            specs,
        )
        total = timed(level, *command)["total_s"]
        line(f"6 normalizers, all measures, {level}", f"{total:.1f} s", bar(total, limit, False))
    each = timed("avx512", *command, "--each", "head", "--measures", "weights")["total_s"]
    line("  one head at a time (216 interventions), weights only", f"{each:.1f} s")


TURNS = 2  # of what is compared, so that all meet the same machine
TIMED = 10  # replicates of 500 that the peers run


def convergence(quick: bool) -> None:
    """Paper B on the demo model, and its experiment on the first layer of BERT against PyTorch."""
    demo = ROOT / "demo"
    print("\nDemo model, converge at L = 1024")
    for level in ("avx512", "avx2"):
        total = timed(level, "converge", demo / "model", "--text", demo / "text.txt")["total_s"]
        line(f"all 36 heads, {level}", f"{total:.1f} s", bar(total, 60, False))

    model = BUILD / "bert-layer"
    if not (model / "model.safetensors").exists():
        subprocess.run([sys.executable, ROOT / "bench/bert_checkpoint.py", model], check=True)
    tokens = BUILD / "bert-tokens.txt"
    draw = random.Random(2)
    tokens.write_text(" ".join(str(draw.randrange(1000)) for _ in range(512)))
    print("\nPaper B's experiment on BERT: 12 heads, n = 64 to 384 in 10 points, 500 replicates")
    peers = () if quick or not has_torch() else ("float32", "float16")
    own: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for _ in range(TURNS if peers else 1):
        found = timed(
            "avx512",
            "converge",
            model,
            "--tokens",
            tokens,
            *at(512),
            "--measures",
            "weights",
            "--points",
            "10",
            "--replicates",
            "500",
        )
        for key in ("converge_s", "total_s"):
            own[key] = min(found[key], own.get(key, found[key]))
        for peer in peers:
            half = ("--half",) if peer == "float16" else ()
            other = peer(
                "bert_convergence.py", model, tokens, "--length", "512", "--timed", str(TIMED), *half
            )
            if other:
                theirs[peer] = min(other["seconds"], theirs.get(peer, other["seconds"]))
    line("sampling and key budgets", f"{own['converge_s']:.2f} s")
    line("the whole run", f"{own['total_s']:.2f} s")
    for peer, seconds in theirs.items():
        ratio = seconds / own["total_s"]
        best = seconds == min(theirs.values())
        line(
            f"plain PyTorch, {peer} / the whole run",
            f"{seconds:.0f} s, {ratio:.0f} x",
            bar(ratio, 20, True) if best else "",
        )
    if not peers:
        print("  peers left out" + ("" if quick else ": torch and transformers are not installed"))


def synthetic() -> None:
    """Paper B on random tokens: the quick settings, and what a score costs at d = 50."""
    print("\nSynthetic tokens, quick settings (12 scales, n = 500 to 4000, 20 replicates)")
    for tokens in ("gaussian", "sphere"):
        total = timed("avx512", "converge", "--synthetic", tokens)["total_s"]
        line(tokens, f"{total:.1f} s", bar(total, 20, False))
    n, replicates = 30_000, 4
    for level, limit in (("avx512", 1.0), ("avx2", None)):
        found = timed(
            level,
            "converge",
            "--synthetic",
            "gaussian",
            "--horizons",
            "1",
            "--radii",
            "1",
            "--grid",
            str(n),
            "--replicates",
            str(replicates),
        )
        cost = 1e9 * found["sampling_s"] / (replicates * n * n)
        line(
            f"Gaussian, n = {n}, a score, {level}", f"{cost:.2f} ns", bar(cost, limit, False) if limit else ""
        )


def peer(script: str, model: Path, tokens: Path, *options: str) -> dict[str, float] | None:
    command = [PEER_PYTHON, ROOT / "bench/peers" / script, model, tokens, "--threads", str(THREADS), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"  {script} failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def has_torch() -> bool:
    command = [PEER_PYTHON, "-c", "import torch, transformers"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def long_attention() -> None:
    """The attention of the forward pass at the longest length, in turns with torch's."""
    print(f"\nattention of the forward pass, 4 heads, d = 64, causal, L = {LONGEST}, {THREADS} threads")
    ours, theirs, peers = [], [], has_torch()
    for _ in range(TURNS if peers else 1):
        done = subprocess.run(
            [BUILD / "bench/scan/bench_attention", "4", str(THREADS), str(LONGEST)],
            check=True,
            capture_output=True,
            text=True,
        )
        ours.append(json.loads(done.stdout))
        if peers:
            command = [PEER_PYTHON, ROOT / "bench/peers/attention_sdpa.py", "--threads", str(THREADS)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            theirs.append(json.loads(done.stdout)["seconds"])
    best = min(ours, key=lambda figure: figure["seconds"])
    line("share of the roofline", f"{best['of_roof']:.2f}", bar(best["of_roof"], 0.8, True))
    if theirs:
        ratio = min(theirs) / best["seconds"]
        line("PyTorch sdpa / headgauge", f"{ratio:.2f} x", bar(ratio, 1.5, True))


def groups(model: Path, tokens: Path) -> None:
    """What a group of metrics costs beside the entropy set."""
    sets = ("weights", "weights,logits", "weights,dispersion", "weights,separability")
    seconds = dict.fromkeys(sets, math.inf)
    for _ in range(TURNS):
        for measures in sets:
            found = scan(model, tokens, "avx512", *at(LENGTH), "--measures", measures)["total_s"]
            seconds[measures] = min(seconds[measures], found)
    for measures in sets[1:]:
        ratio = seconds[measures] / seconds["weights"]
        line(f"{measures} / weights, L = {LENGTH}", f"{ratio:.2f} x")


def whole_scans(model: Path, tokens: Path, quick: bool) -> None:
    weights = sum(f.stat().st_size for f in model.glob("*.safetensors")) / 2**20
    print(f"\nGPT-2 small's shape, random weights ({weights:.0f} MB), L = {LENGTH}")
    suite = {}
    for level, limit in (("avx512", 10), ("avx2", 20)):
        suite[level] = scan(model, tokens, level, "--critical-max", "100")
        total = suite[level]["total_s"]
        line(f"paper A's algorithms, all 144 heads, {level}", f"{total:.2f} s", bar(total, limit, False))
    entropy = {}
    for length, limit, rows in ((LENGTH, 300, ()), (LONG, None, ()), (LONGEST, 1024, ("64",))):
        options = (*at(length), "--measures", "weights", *(("--queries", *rows) if rows else ()))
        entropy[length] = scan(model, tokens, "avx512", *options)
        above = entropy[length]["peak_mb"] - weights
        line(
            f"entropy scan, L = {length}{', sampled queries' if rows else ''}",
            f"{entropy[length]['total_s']:.2f} s",
        )
        line("  peak memory above the weights", f"{above:.0f} MB", bar(above, limit, False) if limit else "")
    groups(model, tokens)
    if not has_torch():
        print("  peers left out: torch and transformers are not installed")
        return
    forward = scan(model, tokens, "avx512", *at(LENGTH), "--measures", "model")
    sdpa = peer("forward_sdpa.py", model, tokens)
    if sdpa:
        ratio = sdpa["seconds"] / forward["forward_s"]
        line("forward pass: PyTorch sdpa / headgauge", f"{ratio:.2f} x", bar(ratio, 1, True))
    for length, limit in ((LENGTH, 3), (LONG, 8)):
        if quick and length > LENGTH:
            continue
        eager = peer(
            "eager_entropy.py",
            model,
            tokens,
            "--length",
            str(length),
            "--runs",
            "3" if length == LENGTH else "1",
        )
        if eager:
            ratio = eager["seconds"] / entropy[length]["total_s"]
            line(
                f"entropy of all heads, L = {length}: eager PyTorch / headgauge",
                f"{ratio:.2f} x",
                bar(ratio, limit, True),
            )
            line("  peak memory of eager PyTorch", f"{eager['peak_rss_mb']:.0f} MB")
    naive = None if quick else peer("paper_naive.py", model, tokens)
    if naive:
        ratio = naive["seconds"] / suite["avx512"]["total_s"]
        line("paper A's algorithms: plain PyTorch / headgauge", f"{ratio:.0f} x", bar(ratio, 200, True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer heads, no slow peers")
    parser.add_argument("--normalizers", action="store_true", help="the normalizers and no more")
    parser.add_argument("--compare", action="store_true", help="compare and no more")
    parser.add_argument("--converge", action="store_true", help="converge and no more")
    parser.add_argument("--real", action="store_true", help="scans of SmolLM2-135M and no more")
    parser.add_argument(
        "--one-thread", action="store_true", help="both real models on one thread and no more"
    )
    parser.add_argument("--model", type=Path, default=BUILD / "gpt2-small")
    args = parser.parse_args()
    if args.compare:
        return comparisons()
    if args.converge:
        convergence(args.quick)
        return synthetic()
    if args.one_thread:
        return one_thread()
    if args.real:
        return real_model(args.quick)
    for level in ("avx512", "avx2"):
        costs = normalizers(level)
        if level == "avx512":
            entmax_peer(costs)
    if args.normalizers:
        return
    for level in ("avx512", "avx2"):
        engine(level, 24 if args.quick else 144, "1024" if args.quick else "1024,4096")
    if not (args.model / "model.safetensors").exists():
        subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.golden.random_checkpoint",
                args.model.resolve(),
                "--size",
                "small",
                "--layers",
                "12",
                "--vocab",
                "50257",
                "--positions",
                str(LONGEST),
            ],
            check=True,
            cwd=ROOT,
        )
    tokens = BUILD / "tokens.txt"
    write_tokens(tokens, LONGEST)
    comparisons()
    convergence(args.quick)
    synthetic()
    long_attention()
    whole_scans(args.model, tokens, args.quick)
    real_model(args.quick)


if __name__ == "__main__":
    main()
