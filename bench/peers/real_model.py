"""The forward pass of a checkpoint folder or a GGUF file (package gguf) in transformers, float32. Each line of stdin
is a length and gives a line with the seconds of one run, on the clock and of the processor, so that runs can take
turns with another program's.

sdpa: without logits. sdpa-blocks: the same, but a layer with a window takes blocks of queries as long as the window,
each with the keys that it can see. sdpa-loss: with the logits and the loss. eager: with output_attentions=True and the
entropy of every row.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from measure import load
from torch.nn.functional import scaled_dot_product_attention


def in_blocks(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: Any,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """SDPA that reads no key which the window hides from a whole block of queries."""
    group, length = query.shape[1] // key.shape[1], query.shape[2]
    key, value = (x.repeat_interleave(group, 1) for x in (key, value))
    window = getattr(module, "sliding_window", None) or length
    if window >= length:
        out = scaled_dot_product_attention(query, key, value, is_causal=True, scale=options["scaling"])
        return out.transpose(1, 2).contiguous(), None
    out = torch.empty_like(query)
    for begin in range(0, length, window):
        rows = slice(begin, min(begin + window, length))
        seen = slice(max(0, begin - window + 1), rows.stop)
        back = torch.arange(rows.start, rows.stop)[:, None] - torch.arange(seen.start, seen.stop)[None]
        out[:, :, rows] = scaled_dot_product_attention(
            query[:, :, rows],
            key[:, :, seen],
            value[:, :, seen],
            attn_mask=(back >= 0) & (back < window),
            scale=options["scaling"],
        )
    return out.transpose(1, 2).contiguous(), None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("attention", choices=("sdpa", "sdpa-blocks", "sdpa-loss", "eager"))
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    way, _, more = args.attention.partition("-")
    if more == "blocks":
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        way = "blocks"
        ALL_ATTENTION_FUNCTIONS.register(way, in_blocks)
        ALL_MASK_ATTENTION_FUNCTIONS.register(way, lambda *_, **__: None)
    model = load(args.model, way)

    def run(ids: torch.Tensor) -> None:
        with torch.no_grad():
            if more == "loss":
                model(ids, labels=ids, use_cache=False)
                return
            weights = model.base_model(ids, use_cache=False, output_attentions=way == "eager").attentions
            for a in weights or ():
                -(a * torch.log(a + 1e-12)).sum(-1).mean(-1)

    run(torch.arange(64)[None])
    print(json.dumps({"loaded": True}), flush=True)
    for line in sys.stdin:
        ids = torch.arange(int(line))[None] % 1000  # how long it takes depends on no id
        began, used = time.perf_counter(), time.process_time()
        run(ids)
        print(
            json.dumps({"seconds": time.perf_counter() - began, "cpu": time.process_time() - used}),
            flush=True,
        )


if __name__ == "__main__":
    main()
