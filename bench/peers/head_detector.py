"""TransformerLens's head detector on the attention of transformers, against the roles of a scan.

    headgauge scan MODEL --tokens IDS --lengths 1000 --measures roles --out OUT
    python bench/peers/head_detector.py MODEL IDS OUT/results.json

The detector is asked with error_measure="mul": the share of all attention that falls on the keys of a
kind. headgauge leaves rows without such keys out of its mean, where the detector counts them as 0: its
mean times its number of rows over the length is the detector's score.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from transformer_lens.head_detector import detect_head
from transformers import GPT2LMHeadModel

HEADS = {
    "weight_previous_with_sinks": "previous_token_head",
    "weight_copies_with_sinks": "duplicate_token_head",
    "weight_induction_with_sinks": "induction_head",
}


def attention_of(folder: Path, ids: torch.Tensor) -> list[torch.Tensor]:
    """The weights of every head of a layer, (heads, L, L), as transformers computes them."""
    model = GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        return [layer[0] for layer in model(ids, output_attentions=True).attentions]


def detector_scores(attention: list[torch.Tensor], ids: torch.Tensor, head: str) -> np.ndarray:
    """detect_head() asks a model for no more than this where it is given the attention."""
    config = SimpleNamespace(
        n_layers=len(attention),
        n_heads=len(attention[0]),
        n_ctx=ids.shape[1] + 1,
        device="cpu",
        dtype=torch.float32,
    )
    model = SimpleNamespace(cfg=config, to_tokens=lambda _: ids)
    cache = {("pattern", layer, "attn"): weights for layer, weights in enumerate(attention)}
    return detect_head(model, "", head, cache=cache).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder of a GPT-2 checkpoint")
    parser.add_argument("tokens", type=Path, help="file of token ids")
    parser.add_argument("results", type=Path, help="results.json of a scan of both")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    results = json.loads(args.results.read_text())
    length = int(results["coords"]["length"][-1])
    ids = torch.tensor([[int(word) for word in args.tokens.read_text().split()][:length]])
    attention = attention_of(args.model, ids)
    for metric, head in HEADS.items():
        score = detector_scores(attention, ids, head)
        measured = results["metrics"][metric]
        share = np.array(measured["values"], dtype=float)[..., -1]
        rows = np.array(measured["rows"], dtype=float)[..., -1]
        ours = np.nan_to_num(share * rows / length)
        top = np.unravel_index(score.argmax(), score.shape)
        top_of_ours = np.unravel_index(ours.argmax(), ours.shape)
        print(
            json.dumps(
                {
                    "head": head,
                    "heads": int(score.size),
                    "rows": int(rows.max()),
                    "largest_difference": float(np.abs(score - ours).max()),
                    "highest": [".".join(map(str, map(int, top))), float(score[top])],
                    "highest_of_headgauge": [
                        ".".join(map(str, map(int, top_of_ours))),
                        float(ours[top_of_ours]),
                        float(share[top_of_ours]),
                    ],
                }
            )
        )


if __name__ == "__main__":
    main()
