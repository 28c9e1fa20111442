"""What the benchmarks share: places, lengths, a line of figures, a timed run of headgauge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "bench"
PEER_PYTHON = os.environ.get("HEADGAUGE_PEER_PYTHON", sys.executable)
LENGTH = 1024
LONG = 4096
LONGEST = 16384
THREADS = 2


def bar(value: float, limit: float, at_least: bool) -> str:
    met = value >= limit if at_least else value <= limit
    return f"{'at least' if at_least else 'at most'} {limit:g}: {'met' if met else 'NOT met'}"


def line(what: str, figure: str, verdict: str = "") -> None:
    print(f"  {what:<58} {figure:>24}  {verdict}", flush=True)


def timed(level: str, *arguments: str | Path, threads: int = THREADS) -> dict[str, float]:
    """Seconds, on the clock and of the processor, and peak memory of a run of headgauge."""
    with tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        command = [
            BUILD / "headgauge",
            *arguments,
            "--quiet",
            "--out",
            out,
            "--threads",
            str(threads),
        ]
        pid = subprocess.Popen(
            command, env={**os.environ, "HEADGAUGE_SIMD": level}, stdout=subprocess.DEVNULL
        ).pid
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - began
        if status != 0:
            raise RuntimeError(f"failed: {command}")
        timings = json.loads((Path(out) / "results.json").read_text())["timings"]
    used = usage.ru_utime + usage.ru_stime
    return {**timings, "wall_s": wall, "cpu_s": used, "peak_mb": usage.ru_maxrss / 1024}


def at(length: int) -> tuple[str, str]:
    """The options that measure at one length only."""
    return ("--lengths", str(length))
