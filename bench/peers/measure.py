"""What the peers share: arguments, the model, timing, peak memory."""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import torch


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("model", type=Path, help="checkpoint folder")
    parser.add_argument("tokens", type=Path, help="file of token ids")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    return parser


def read_tokens(path: Path, length: int) -> torch.Tensor:
    ids = [int(word) for word in path.read_text().split()][:length]
    return torch.tensor([ids])


def load(model: Path, attention: str) -> torch.nn.Module:
    from transformers import AutoModelForCausalLM

    file = {"gguf_file": model.name} if model.suffix == ".gguf" else {}
    loaded = AutoModelForCausalLM.from_pretrained(
        model.parent if file else model, attn_implementation=attention, dtype=torch.float32, **file
    )
    return loaded.eval()


def best_of(runs: int, body: Callable[[], object]) -> float:
    """Seconds of the quickest of `runs` calls."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        body()
        times.append(time.perf_counter() - start)
    return min(times)


def report(**figures: object) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**figures, "peak_rss_mb": round(peak)}))
