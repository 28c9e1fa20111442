"""The forward pass of a checkpoint folder or a GGUF file (package gguf) in transformers, float32. Each line of stdin
is a length and gives a line with the seconds of one run, so that runs can take turns with another program's.

sdpa: without logits. eager: with output_attentions=True and the entropy of every row.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from measure import best_of, load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("attention", choices=("sdpa", "eager"))
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = load(args.model, args.attention).base_model

    def run(ids: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            found = model(ids, use_cache=False, output_attentions=args.attention == "eager").attentions or ()
            return [-(a * torch.log(a + 1e-12)).sum(-1).mean(-1) for a in found]

    run(torch.arange(64)[None])
    print(json.dumps({"loaded": True}), flush=True)
    for line in sys.stdin:
        ids = torch.arange(int(line))[None] % 1000  # how long it takes depends on no id
        print(json.dumps({"seconds": best_of(1, lambda: run(ids))}), flush=True)


if __name__ == "__main__":
    main()
