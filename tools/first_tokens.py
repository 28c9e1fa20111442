#!/usr/bin/env python3
"""Writes places of a text behind each of five first tokens, as files of token ids.

    tools/first_tokens.py MODEL TEXT --length 1024 --out FOLDER

FOLDER/NAME.ids holds four places, spread over the text, of `length` tokens each with the first token. The
verdicts of `headgauge reproduce limits MODEL --tokens FOLDER/NAME.ids` should not turn with NAME
(docs/reproduce.md). Needs the built Python package on PYTHONPATH.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from headgauge import _core

PLACES = 4
FIRST = {"line-break": "\n", "comma": ",", "and": " and", "zebra": "Zebra", "the": " the"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a checkpoint with a tokenizer, or a GGUF file")
    parser.add_argument("text", type=Path)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    tokenizer = _core.Tokenizer.load(options.model)
    ids = tokenizer.encode(options.text.read_text("utf-8"))
    own = options.length - 1
    starts = [place * (len(ids) - own) // PLACES for place in range(PLACES)]
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in FIRST.items():
        first = tokenizer.encode(text)[-1]
        words = [word for start in starts for word in (first, *ids[start : start + own])]
        (options.out / f"{name}.ids").write_text(" ".join(map(str, words)))


if __name__ == "__main__":
    main()
