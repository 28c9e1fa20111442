#!/usr/bin/env python3
"""Prints token ids sampled from a GPT-2 model, sequence after sequence: texts of its own kind.

    tools/sample_tokens.py MODEL --prompt 0-6/7-13/14-15 --end 50,51 --tokens 320 --seed 1 > 1.ids

Each sequence begins with a prompt, one id drawn from each range, and goes on as the model predicts
until one of the ids of --end. The forward pass is that of tests/reference, in float64.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.reference.gpt2 import Model


def numbers(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def sequence(
    model: Model, prompt: list[list[int]], ends: set[int], longest: int, draw: np.random.Generator
) -> list[int]:
    ids = [int(draw.choice(choices)) for choices in prompt]
    while ids[-1] not in ends and len(ids) < longest:
        logits = model.forward(ids).last_logits
        weights = np.exp(logits - logits.max())
        ids.append(int(draw.choice(len(weights), p=weights / weights.sum())))
    return ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompt", required=True, help="ranges of ids, such as 0-6/7-13/14")
    parser.add_argument("--end", required=True, help="ids that end a sequence, such as 50,51")
    parser.add_argument("--tokens", type=int, default=320)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = Model(options.model)
    prompt = [numbers(part) for part in options.prompt.split("/")]
    ends = {int(end) for end in options.end.split(",")}
    draw = np.random.default_rng(options.seed)
    ids: list[int] = []
    while len(ids) < options.tokens:
        ids += sequence(model, prompt, ends, model.config.positions, draw)
    print(*ids[: options.tokens], sep="\n")


if __name__ == "__main__":
    main()
