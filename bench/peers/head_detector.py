"""TransformerLens's head detector on the model and tokens of a scan, against the scan's roles.

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

import numpy as np
import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig
from transformer_lens.head_detector import detect_head
from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights
from transformers import GPT2LMHeadModel

HEADS = {
    "weight_previous": "previous_token_head",
    "weight_duplicate": "duplicate_token_head",
    "weight_induction": "induction_head",
}


def load_hooked(folder: Path) -> HookedTransformer:
    theirs = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32).eval()
    config = theirs.config
    cfg = HookedTransformerConfig(
        n_layers=config.n_layer,
        n_heads=config.n_head,
        d_model=config.n_embd,
        d_head=config.n_embd // config.n_head,
        d_mlp=config.n_inner or 4 * config.n_embd,
        n_ctx=config.n_positions,
        d_vocab=config.vocab_size,
        act_fn="gelu_new",
        eps=config.layer_norm_epsilon,
        normalization_type="LN",
        attention_dir="causal",
        device="cpu",
    )
    model = HookedTransformer(cfg)
    model.load_state_dict(convert_gpt2_weights(theirs, cfg), strict=False)
    return model.eval()


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
    model = load_hooked(args.model)
    model.to_tokens = lambda *_, **__: ids  # ids in place of a text
    with torch.no_grad():
        _, cache = model.run_with_cache(ids, remove_batch_dim=True)
        for metric, head in HEADS.items():
            score = detect_head(model, "", head, cache=cache).numpy()
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
                        "same_order": bool((score.ravel().argsort() == ours.ravel().argsort()).all()),
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
