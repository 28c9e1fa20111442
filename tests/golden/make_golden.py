#!/usr/bin/env python3
"""Make the golden files: tiny random checkpoints, and what Hugging Face computes on them.

    make_golden.py                          everything under gpt2/ and llama/
    make_golden.py --only plain,f16         some of it
    make_golden.py --checkpoint DIR --tokens FILE --out FILE [--lengths 32,64]
                                            the same values for any checkpoint

Needs torch and transformers (requirements.txt); the tests that read the files need neither.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers

from tests.golden import hugging_face, hugging_face_llama
from tests.golden.catalogue import (
    REAL,
    TINY,
    capp_tokens,
    lengths_for,
    real_tokens,
    tiny_tokens,
    write_real,
    write_tiny,
)
from tests.golden.llama_catalogue import ARCHITECTURES, LLAMAS, llama_tokens, write_llama

HERE = Path(__file__).resolve().parent
GPT2, LLAMA = HERE / "gpt2", HERE / "llama"
SHARED = Path(os.environ.get("HEADGAUGE_TEST_DATA", HERE.parents[2] / "shared" / "data"))
FORMAT = "headgauge.golden/1"
CAPP_LENGTH = 320
STORY_LENGTH = 384


def plain(value: Any) -> Any:
    """Arrays as lists, floats with 12 digits: far below every tolerance, and half the bytes."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return value


def dump(value: Any, indent: str = "") -> str:
    """JSON with one line for each member of an object, and one for an array."""
    if not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    if not value:
        return "{}"
    inner = indent + " "
    lines = [f"{inner}{json.dumps(key)}: {dump(item, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_golden(
    out: Path,
    about: dict[str, Any],
    folder: Path,
    tokens: Sequence[int],
    lengths: Sequence[int],
) -> None:
    golden: dict[str, Any] = {"format": FORMAT}
    golden.update(about)
    golden["made_with"] = {
        "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "numpy": np.__version__,
    }
    weights = sorted(folder.glob("*.safetensors"))
    golden["sha256"] = {path.name: sha256(path) for path in weights}
    family = hugging_face_llama.family_of(folder)
    module = hugging_face_llama if family in ARCHITECTURES else hugging_face
    golden.update(hugging_face.golden_values(module, folder, tokens, lengths))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(dump(plain(golden)) + "\n", encoding="ascii")
    print(
        f"{about['name']:28} logits off by {golden['float32_deviation']['logits']:.1e} in float32"
    )


def make_all(only: set[str] | None) -> None:
    names = {case.name for case in (*TINY, *LLAMAS, *REAL)} | {"capp-gpt", "stories260k"}
    unknown = (only or set()) - names
    if unknown:
        raise SystemExit(f"no such checkpoint: {', '.join(sorted(unknown))}")
    wanted = only or names
    for case in TINY:
        if case.name in wanted:
            folder = GPT2 / case.name
            write_tiny(folder, case)
            about = {"name": case.name, "about": case.about}
            tokens = tiny_tokens(case)
            write_golden(folder / "golden.json", about, folder, tokens, lengths_for(len(tokens)))
    for llama in LLAMAS:
        if llama.name in wanted:
            folder = LLAMA / llama.name
            write_llama(folder, llama)
            about = {"name": llama.name, "about": llama.about}
            tokens = llama_tokens(llama)
            write_golden(folder / "golden.json", about, folder, tokens, lengths_for(len(tokens)))
    if "stories260k" in wanted:
        folder = SHARED / "models" / "stories260k"
        about = {"name": "stories260k", "about": "a real trained Llama; weights in shared data"}
        out = LLAMA / "stories260k" / "golden.json"
        write_golden(out, about, folder, story_tokens(folder), [32, 64, 128, 256, STORY_LENGTH])
    if "capp-gpt" in wanted:
        folder = SHARED / "models" / "capp-gpt"
        about = {"name": "capp-gpt", "about": "a real trained checkpoint; weights in shared data"}
        tokens = capp_tokens(CAPP_LENGTH)
        out = GPT2 / "capp-gpt" / "golden.json"
        write_golden(out, about, folder, tokens, [32, 64, 128, 256, CAPP_LENGTH])
    for real in REAL:
        if real.name in wanted:
            make_real(real.name)


def story_tokens(folder: Path) -> list[int]:
    """The beginning of the demo text, by the model's own tokenizer."""
    text = (HERE.parents[1] / "demo" / "text.txt").read_text(encoding="utf-8")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return list(tokenizer.encode(text).ids[:STORY_LENGTH])


def make_real(name: str) -> None:
    case = next(case for case in REAL if case.name == name)
    about: dict[str, Any] = {
        "name": case.name,
        "about": f"the width of GPT-2 {case.size}; weights are drawn by random_checkpoint",
        "random": dataclasses.asdict(case),
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_real(folder, case)
        tokens = real_tokens(case)
        out = GPT2 / case.name / "golden.json"
        write_golden(out, about, folder, tokens, [16, 32, 64, 100, len(tokens)])


def make_one(folder: Path, token_file: Path, out: Path, lengths: Sequence[int] | None) -> None:
    tokens = [int(word) for word in token_file.read_text(encoding="ascii").split()]
    if lengths and max(lengths) > len(tokens):
        raise SystemExit(f"{token_file} holds {len(tokens)} tokens, fewer than {max(lengths)}")
    about = {"name": folder.resolve().name, "about": "made by --checkpoint"}
    write_golden(out, about, folder, tokens, lengths or lengths_for(len(tokens)))


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of checkpoints, with commas")
    parser.add_argument("--checkpoint", type=Path, help="folder of any checkpoint")
    parser.add_argument("--tokens", type=Path, help="its token ids, separated by white space")
    parser.add_argument("--out", type=Path, help="the golden file to write")
    parser.add_argument("--lengths", type=numbers, help="lengths, with commas")
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    if args.checkpoint:
        if not args.tokens or not args.out:
            parser.error("--checkpoint needs --tokens and --out")
        make_one(args.checkpoint, args.tokens, args.out, args.lengths)
    else:
        make_all(set(args.only.split(",")) if args.only else None)


if __name__ == "__main__":
    main()
