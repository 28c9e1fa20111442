#!/usr/bin/env python3
"""Entropy of every head of a live GPT-2-small-shaped model: headgauge, output_attentions, TransformerLens.

    OMP_NUM_THREADS=2 bench/python_scan.py [LENGTH...]     needs headgauge[hf]; transformer_lens if it is installed

Each way runs in a process of its own, after a forward pass of 64 tokens; prints its seconds, what they are
of the plain SDPA forward pass, and the memory that the process took beyond that after loading.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

WAYS = ("forward", "headgauge", "output_attentions", "transformer_lens")


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def model(length: int, attention: str) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    config = transformers.GPT2Config(n_positions=length)
    return transformers.GPT2LMHeadModel._from_config(config, attn_implementation=attention).eval()


def entropy_of(weights: Any) -> Any:
    import torch

    return -torch.special.xlogy(weights, weights).sum(-1).mean(-1)


def run(way: str, length: int) -> None:
    import numpy as np
    import torch

    ids = np.random.default_rng(0).integers(0, 50257, length)
    given, short = torch.tensor(ids)[None], torch.tensor(ids[:64])[None]
    if way == "transformer_lens":
        from transformer_lens import HookedTransformer, HookedTransformerConfig

        config = HookedTransformerConfig(
            n_layers=12, d_model=768, n_ctx=length, d_head=64, n_heads=12, d_vocab=50257, act_fn="gelu_new",
            normalization_type="LN", seed=0,
        )  # fmt: skip
        lens = HookedTransformer(config)

        def measure(tokens: Any) -> Any:
            _, cache = lens.run_with_cache(tokens, names_filter=lambda name: name.endswith("hook_pattern"))
            return torch.stack([entropy_of(cache["pattern", layer][0]) for layer in range(12)])
    elif way == "headgauge":
        import headgauge

        live = model(length, "sdpa")

        def measure(tokens: Any) -> Any:
            row = tokens[0].numpy()
            return headgauge.scan(live, row, lengths=[len(row)], measures="weights", threads=2)[
                "entropy_with_sinks"
            ].values
    else:
        live = model(length, "sdpa" if way == "forward" else "eager")

        def measure(tokens: Any) -> Any:
            if way == "forward":
                return live(tokens).logits
            weights = live(tokens, output_attentions=True, use_cache=False).attentions
            return torch.stack([entropy_of(layer[0]) for layer in weights])

    with torch.no_grad():
        measure(short)
        before = memory()
        begin = time.perf_counter()
        measure(given)
        print(json.dumps({"seconds": time.perf_counter() - begin, "mib": memory() - before}))


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "run":
        run(sys.argv[2], int(sys.argv[3]))
        return 0
    for length in map(int, sys.argv[1:] or ("1024", "4096")):
        plain = None
        for way in WAYS:
            command = [sys.executable, __file__, "run", way, str(length)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                print(f"L = {length}, {way}: {done.stderr.strip().splitlines()[-1]}")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            plain = plain or found["seconds"]
            print(
                f"L = {length}, {way}: {found['seconds']:.2f} s, {found['seconds'] / plain:.2f} forward passes, "
                f"{found['mib']:.0f} MiB"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
