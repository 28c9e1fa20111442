#!/usr/bin/env python3
"""Writes tests/golden/gguf/smollm2.json: SmolLM2-135M-Instruct on the first tokens of demo/text.txt, in
float64 with numpy alone, from the weights that the package gguf widens and with llama.cpp's own RoPE on the
rows as they stand in the file (`pip install gguf==0.19.0 regex`).

    make_smollm_golden.py SMOLLM2.gguf
"""

import json
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from make_pre_tokenizer_golden import encode, read

TOKENS = 128
LAYERS, HEADS, KV_HEADS, SIZE, THETA, EPSILON = 30, 9, 3, 64, 100000.0, 1e-5


def norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight


def main() -> None:
    tensors = {tensor.name: tensor for tensor in GGUFReader(sys.argv[1]).tensors}

    def weight(name):
        return dequantize(tensors[name].data, tensors[name].tensor_type).astype(np.float64)

    text = (Path(__file__).parents[2] / "demo/text.txt").read_text()
    ids = np.array(encode(text, "smollm", *read(sys.argv[1]))[:TOKENS])
    table = weight("token_embd.weight")
    h = table[ids]
    angles = np.arange(TOKENS)[:, None, None] * THETA ** (-np.arange(0, SIZE, 2) / SIZE)

    def turned(x):
        """Neighbours turn together."""
        a, b = x[..., 0::2], x[..., 1::2]
        return np.concatenate(
            [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1
        )

    entropy = []
    for layer in range(LAYERS):
        name = f"blk.{layer}."
        x = norm(h, weight(name + "attn_norm.weight"))
        q, k, v = ((x @ weight(f"{name}attn_{of}.weight").T).reshape(TOKENS, -1, SIZE) for of in "qkv")
        q, k = turned(q), turned(k)
        attended = np.empty((TOKENS, HEADS, SIZE))
        entropy.append([])
        for head in range(HEADS):
            of = head // (HEADS // KV_HEADS)
            scores = q[:, head] @ k[:, of].T / np.sqrt(SIZE)
            scores[np.triu_indices(TOKENS, 1)] = -np.inf
            p = np.exp(scores - scores.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            attended[:, head] = p @ v[:, of]
            entropy[-1].append(float(-(p * np.log(np.where(p > 0, p, 1))).sum(-1).mean()))
        h = h + attended.reshape(TOKENS, -1) @ weight(name + "attn_output.weight").T
        x = norm(h, weight(name + "ffn_norm.weight"))
        gate = x @ weight(name + "ffn_gate.weight").T
        inner = gate / (1 + np.exp(-gate)) * (x @ weight(name + "ffn_up.weight").T)
        h = h + inner @ weight(name + "ffn_down.weight").T
    logits = norm(h, weight("output_norm.weight")) @ table.T
    logits -= logits.max(-1, keepdims=True)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -log_probs[np.arange(TOKENS - 1), ids[1:]]
    golden = {
        "tokens": ids.tolist(),
        "losses": [float(f"{x:.12g}") for x in losses],
        "entropy": [[float(f"{x:.12g}") for x in heads] for heads in entropy],
    }
    target = Path(__file__).parent / "gguf/smollm2.json"
    target.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print("mean loss", losses.mean())


if __name__ == "__main__":
    main()
