#!/usr/bin/env python3
"""Prints token ids that a causal model of transformers writes by itself, text after text.

    tools/sample_stories.py MODEL --tokens 2048 --seed 1 > 1.ids

Each text begins with the model's first token and goes on until that or the last token comes, or the
context is full. Needs torch and transformers, with their key-value cache: minutes become seconds
beside tools/sample_tokens.py, which needs neither.
"""

from __future__ import annotations

import argparse

import torch
import transformers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32)
    config = model.config
    ends = [config.bos_token_id, config.eos_token_id]
    ids: list[int] = []
    while len(ids) < options.tokens:
        text = model.generate(
            torch.tensor([[config.bos_token_id]]),
            do_sample=True,
            top_k=0,
            top_p=1.0,
            temperature=1.0,
            eos_token_id=ends,
            pad_token_id=ends[1],
            max_length=config.max_position_embeddings,
        )
        ids += text[0].tolist()
    print(*ids[: options.tokens], sep="\n")


if __name__ == "__main__":
    main()
