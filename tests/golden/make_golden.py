#!/usr/bin/env python3
"""Make tiny random checkpoints, and the golden files: what Hugging Face computes on them.

    python3 -m tests.golden.make_golden                 everything but the tokenizers
    python3 -m tests.golden.make_golden --only gpt2/plain,bert/f16

Needs torch and transformers (requirements.txt); the tests that read the files need neither.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers

from tests.golden.catalogue import FAMILIES
from tests.golden.catalogue.case import Case
from tests.golden.catalogue.gpt2 import WIDTHS, capp_tokens
from tests.golden.golden_file import Golden, path_of, read_family, write_family
from tests.golden.hugging_face import bert, gpt2, llama
from tests.golden.hugging_face.values import golden_values
from tests.places import DATA, GOLDEN, MINILM, ROOT

TEXT = "demo/text.txt"
CAPP_LENGTH = 320
STORY_LENGTH = 384

# How a family is run.
RUNNERS: dict[str, Callable[..., Golden]] = {
    "gpt2": partial(golden_values, gpt2),
    "llama": partial(golden_values, llama),
    "bert": bert.golden_values,
}


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


def run(
    family: str, folder: Path, tokens: Sequence[int], lengths: Sequence[int], **around: Sequence[int]
) -> Golden:
    """`folder` has the checkpoint; `around` is what a bidirectional pass has `before` and `after`."""
    files = sorted(folder.glob("*.safetensors"))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return {"sha256": sums, **RUNNERS[family](folder, tokens, lengths, **around)}


def lengths_for(count: int) -> list[int]:
    """16, 32, 48, 64, 96, 128, ... below the number of tokens, and that number."""
    steps = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
    return [step for step in steps if step < count] + [count]


def make_case(family: str, case: Case) -> Golden:
    folder = GOLDEN / family / case.name
    case.write(folder)
    lengths = lengths_for(case.tokens)
    if family == "bert":  # a pass each
        lengths = lengths[-3:]
    return run(family, folder, case.token_ids(), lengths)


def make_width(case: Case) -> Golden:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        case.write(folder)
        lengths = [16, 32, 64, 100, case.tokens]
        return run("gpt2", folder, case.token_ids(), lengths)


def make_capp() -> Golden:
    lengths = [32, 64, 128, 256, CAPP_LENGTH]
    return run("gpt2", DATA / "models/capp-gpt", capp_tokens(CAPP_LENGTH), lengths)


def make_stories() -> Golden:
    """The beginning of the demo text, by the model's own tokenizer."""
    folder = DATA / "models/stories260k"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens = tokenizer.encode((ROOT / TEXT).read_text(encoding="utf-8")).ids[:STORY_LENGTH]
    return run("llama", folder, tokens, [32, 64, 128, 256, STORY_LENGTH])


def make_minilm() -> Golden:
    """The first pieces of the demo text."""
    tokenizer = transformers.BertTokenizerFast.from_pretrained(MINILM)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    ids = tokenizer((ROOT / TEXT).read_text(encoding="utf-8"))["input_ids"]
    lengths = [32, 128, 512]
    around = {"before": [tokenizer.cls_token_id], "after": [tokenizer.sep_token_id]}
    return {"text": TEXT, **run("bert", MINILM, ids[1 : lengths[-1] - 1], lengths, **around)}


def makers() -> dict[str, Callable[[], Golden]]:
    """The maker of every case."""
    found: dict[str, Callable[[], Golden]] = {
        f"{family}/{case.name}": partial(make_case, family, case)
        for family, cases in FAMILIES.items()
        for case in cases
    }
    found |= {f"gpt2/{case.name}": partial(make_width, case) for case in WIDTHS}
    trained = {"gpt2/capp-gpt": make_capp, "llama/stories260k": make_stories}
    return found | trained | {"bert/minilm": make_minilm}


def make_all(only: Sequence[str] | None) -> None:
    known = makers()
    unknown = set(only or ()) - set(known)
    if unknown:
        raise SystemExit(f"no such case: {', '.join(sorted(unknown))}")
    made: dict[str, dict[str, Golden]] = {}
    for name in only or known:
        golden = known[name]()
        worst = max(golden["float32_deviation"]["statistics"].values())
        print(f"{name:33} statistics off by {worst:.1e} in float32")
        family, _, case = name.partition("/")
        made.setdefault(family, {})[case] = plain(golden)
    for family, cases in made.items():
        kept = read_family(family) if only and path_of(family).exists() else {}
        write_family(family, kept | cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=lambda text: text.split(","), help="cases, with commas")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    make_all(parser.parse_args().only)


if __name__ == "__main__":
    main()
