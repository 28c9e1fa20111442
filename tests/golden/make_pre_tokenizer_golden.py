#!/usr/bin/env python3
"""Writes tests/golden/gguf/pre_tokenizers.json: the strings of llama.cpp's vocabulary test as byte-level
BPE has them with GPT-2's merges, for every pre-tokenizer that headgauge knows by name. A plain
implementation with the package regex (`pip install gguf==0.19.0 regex`), and nothing of Hugging Face.

    make_pre_tokenizer_golden.py ../shared/data/tokenizers/vectors/ggml-vocab-gpt-2.gguf SMOLLM2.gguf

The second file is SmolLM2 (tools/smollm.sh), whose own ids stand under its name.
"""

import json
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import regex
from gguf import GGUFReader

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
PATTERNS = {
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "starcoder": [r"\p{N}", GPT2],
    "llama-bpe": [LLAMA3],
    "qwen2": [QWEN2],
}
MORE = [
    "I'LL say 1234567 it's DON'T",
    "a\r\n\r\n  b  \n c",
    "x = 3.14; y=2\n\treturn",
    "½ and ² and १२३",
    "cafe\u0301 na\u00efve",
]


def characters_of_bytes():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    further = iter(range(256, 512))
    return {b: chr(b) if b in plain else chr(next(further)) for b in range(256)}


def cut(text, patterns):
    """The text cut by each pattern in turn: what it finds and what lies between."""
    pieces = [text]
    for pattern in patterns:
        further = []
        for piece in pieces:
            end = 0
            for found in regex.finditer(pattern, piece):
                further += [piece[end : found.start()], found.group()]
                end = found.end()
            further.append(piece[end:])
        pieces = [piece for piece in further if piece]
    return pieces


def merge(word, ranks):
    parts = list(word)
    while len(parts) > 1:
        rank, at = min((ranks.get((a, b), len(ranks)), i) for i, (a, b) in enumerate(pairwise(parts)))
        if rank == len(ranks):
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def read(path):
    fields = GGUFReader(path).fields
    ids = {token: i for i, token in enumerate(fields["tokenizer.ggml.tokens"].contents())}
    ranks = {tuple(m.split(" ")): i for i, m in enumerate(fields["tokenizer.ggml.merges"].contents())}
    return ids, ranks


def encode(text, name, ids, ranks):
    shown = characters_of_bytes()
    found = []
    for piece in cut(unicodedata.normalize("NFC", text) if name == "qwen2" else text, PATTERNS[name]):
        word = "".join(shown[b] for b in piece.encode())
        whole = name == "llama-bpe" and word in ids
        found += [ids[part] for part in ([word] if whole else merge(word, ranks))]
    return found


def main() -> None:
    path = Path(sys.argv[1])
    texts = path.with_suffix(".gguf.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n") + MORE
    gpt2 = read(path)
    golden = {name: [encode(text, name, *gpt2) for text in texts] for name in PATTERNS}
    smollm2 = read(sys.argv[2])
    golden["SmolLM2"] = [encode(text, "smollm", *smollm2) for text in texts]
    target = Path(__file__).parent / "gguf/pre_tokenizers.json"
    target.write_text(json.dumps({"texts": texts, "ids": golden}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
