#!/usr/bin/env python3
"""Writes tests/golden/gguf/gemma3.json: Gemma 3 270M by transformers in float64, on the weights that
transformers widens (transformers 5.24, `pip install gguf==0.19.0`).

    python3 -m tests.golden.make_gemma_golden GEMMA3.gguf VECTORS

VECTORS is the folder of llama.cpp's texts for tokenizers (`ggml-vocab-*.inp`). The file has their ids; the
loss and the entropy of every head on the first tokens of demo/text.txt; and the losses of the last tokens of
a longer text, docs/mathematics.md as it was, whose queries lie far beyond the windows of 512 keys.
"""

import contextlib
import hashlib
import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import transformers

from tests.golden.hugging_face.llama import in_float64, modeling
from tests.places import GOLDEN, ROOT

TOKENS, LONG, ANSWERED = 768, 4096, 64


def digits(values: Any) -> list[float]:
    return [float(f"{x:.12g}") for x in values]


def main() -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    file, vectors = Path(sys.argv[1]), Path(sys.argv[2])
    where = {"pretrained_model_name_or_path": file.parent, "gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    texts = {
        text
        for one in sorted(vectors.glob("*.inp"))
        for text in one.read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
    }
    ids = tokenizer((ROOT / "demo/text.txt").read_text(encoding="utf-8"))["input_ids"]
    long = tokenizer((ROOT / "docs/mathematics.md").read_text(encoding="utf-8"))["input_ids"][:LONG]
    short, last = run(where, ids[:TOKENS]), run(where, long, logits_to_keep=ANSWERED + 1)
    narrow = run(where, long, double=False, logits_to_keep=ANSWERED + 1)
    long_losses = losses(last.logits[0], long[-ANSWERED - 1 :])
    away = losses(narrow.logits[0].double(), long[-ANSWERED - 1 :]) - long_losses
    entropy = [torch.special.entr(weights[0]).sum(-1).mean(-1) for weights in short.attentions]
    golden = {
        "texts": [
            {"sha256": hashlib.sha256(text.encode()).hexdigest(), "ids": tokenizer(text)["input_ids"]}
            for text in sorted(texts)
            if text
        ],
        "tokens": ids,
        "count": TOKENS,
        "loss": float(losses(short.logits[0], ids[:TOKENS]).mean()),
        "entropy": [digits(heads.tolist()) for heads in entropy],
        "long_tokens": long,
        "long_losses": digits(long_losses.tolist()),
        "long_float32_deviation": float(away.abs().max()),
    }
    (GOLDEN / "gguf/gemma3.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(
        "loss", golden["loss"], "of the last tokens", float(long_losses.mean()), "+-", float(away.abs().max())
    )


def angles(_: Any, x: torch.Tensor, position_ids: torch.Tensor, layer_type: str) -> Any:
    """Cosines and sines, rounded once. transformers rounds the frequencies, which moves a loss by .017."""
    base = 1e6 if layer_type == "full_attention" else 1e4
    frequencies = base ** (-torch.arange(0, 256, 2, dtype=torch.float64) / 256)
    of_pairs = position_ids[0].double()[:, None] * frequencies
    both = torch.cat([of_pairs, of_pairs], -1)[None]
    return both.cos().to(x.dtype), both.sin().to(x.dtype)


def run(where: dict[str, Any], ids: list[int], double: bool = True, **options: int) -> Any:
    kind = torch.float64 if double else torch.float32
    module = modeling("gemma3_text")
    with in_float64("gemma3_text", double), contextlib.ExitStack() as stack:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            **where, dtype=kind, attn_implementation="eager"
        ).eval()
        if not double:
            stack.enter_context(mock.patch.object(module.Gemma3RotaryEmbedding, "forward", angles))
        with torch.no_grad():
            out = model(torch.tensor([ids]), output_attentions=not options, use_cache=False, **options)
    assert out.logits.dtype == kind
    return out


def losses(logits: torch.Tensor, ids: list[int]) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits[: len(ids) - 1], torch.tensor(ids[1:]), reduction="none")


if __name__ == "__main__":
    main()
