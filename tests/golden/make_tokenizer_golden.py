#!/usr/bin/env python3
"""Make tokenizer/*.json: what the Hugging Face tokenizers give for a set of strings.

One file per tokenizer of the shared data. GPT-2's is read three ways that must agree:
tokenizer.json by the tokenizers library, vocab.json + merges.txt by both classes of transformers.
"""

import json
from typing import Any

import tokenizers
import transformers
from tokenizers import Tokenizer
from transformers import GPT2Tokenizer, GPT2TokenizerFast

from tests.places import DATA, GOLDEN

OUT = GOLDEN / "tokenizer"

GPT2_STRINGS: tuple[str, ...] = (
    "",
    " ",
    "a",
    "Hello, world!",
    " Hello",
    "The quick brown fox jumps over the lazy dog.",
    "It's they're I'm we've he'd you'll DON'T",
    "  two  spaces   three    four ",
    "tab\tand\ttabs\t\t",
    "line\nline\r\nline\n\n\nline\n",
    " \n \t \n",
    "trailing space ",
    "1234567890 3.14159 1,000,000 v2.0-rc1",
    "snake_case camelCase kebab-case #hash @at $5 50% a/b\\c",
    "if (x < 0) { return -1; }  // comment",
    "caf\u00e9 na\u00efve \u00fcber \u00c5ngstr\u00f6m",
    "cafe\u0301 with a combining accent",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
    "\u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22",
    "\U0001f600 \U0001f680\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "\u2764\ufe0f \u2603 \u221e \u2260 \u2211 \u222b",
    "non\u00a0breaking\u2003em\u3000ideographic\u200bzero width",
    "quotes \u201ccurly\u201d \u2018single\u2019 \u2014 dash \u2026",
    "control \u0000 \u0001 \u007f \u0085 \ufeff",
    "surrogate-range neighbours \ud7ff \ue000 \uffff \U0010ffff",
    "\u00b2 \u00bd \u2167 \u0661\u0662\u0663",
    "<|endoftext|>",
    "before<|endoftext|>after",
    "a <|endoftext|> b",
    "<|endoftext|",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Pneumonoultramicroscopicsilicovolcanoconiosis",
)

CAPP_STRINGS: tuple[str, ...] = (
    "",
    "   ",
    "geometry_prismatic",
    "geometry_prismatic holes_normal external_threads_no surface_finish_normal tolerance_medium "
    "batch_size_small <SOS> Milling Drilling <EOC>",
    "geometry_prismatic\tholes_none\n\nexternal_threads_yes  <SOS>",
    "<SOS> 5-axis Milling Hole Milling Thread Milling <EOC>",
    "<SOS> Turning Turning Secondary Milling Milling Secondary <EOC> <EOS>",
    "<SOS> Sand Casting High Pressure Die Casting Investment Casting <EOC>",
    "<SOS>Milling<EOC>",
    "Grinding 5-axis Grinding Special Finishing <PAD> <PAD>",
    "geometry_prismatic unheard_of Milling",
    "caf\u00e9",
)


def entry(text: str, ids: list[int] | None, error: str | None = None) -> dict[str, Any]:
    result: dict[str, Any] = {"text": text, "ids": ids}
    if error is not None:
        result["error"] = error
    return result


def encode(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    """A word-level tokenizer without an unknown token refuses what it does not know."""
    try:
        with_special = tokenizer.encode(text, add_special_tokens=True).ids
        bare = tokenizer.encode(text, add_special_tokens=False).ids
    except Exception as error:  # noqa: BLE001 - the library raises bare Exception
        return entry(text, None, str(error))
    if with_special != bare:
        raise ValueError(f"special tokens are added to {text!r}: the format has no place for them")
    return entry(text, bare)


def write(name: str, source: list[str], entries: list[dict[str, Any]]) -> None:
    head = {
        "format": "headgauge.golden.tokenizer/1",
        "name": name,
        "source": source,
        "made_with": {
            "tokenizers": tokenizers.__version__,
            "transformers": transformers.__version__,
        },
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps({**head, "strings": entries}) + "\n", encoding="ascii")
    refused = sum(item["ids"] is None for item in entries)
    print(f"{name:10} {len(entries)} strings, {refused} refused")


def make_gpt2() -> None:
    folder = DATA / "tokenizers" / "gpt2"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    vocab, merges = str(folder / "vocab.json"), str(folder / "merges.txt")
    fast = GPT2TokenizerFast(vocab_file=vocab, merges_file=merges)
    slow = GPT2Tokenizer(vocab_file=vocab, merges_file=merges)
    entries = [encode(tokenizer, text) for text in GPT2_STRINGS]
    for item in entries:
        for other in (fast, slow):
            ids = other.encode(item["text"], add_special_tokens=False)
            if ids != item["ids"]:
                name = type(other).__name__
                raise ValueError(f"{name}: {item['text']!r} gives {ids}, not {item['ids']}")
    source = [f"tokenizers/gpt2/{name}" for name in ("tokenizer.json", "vocab.json", "merges.txt")]
    write("gpt2", source, entries)


def make_capp() -> None:
    path = "models/capp-gpt/tokenizer.json"
    tokenizer = Tokenizer.from_file(str(DATA / path))
    write("capp-gpt", [path], [encode(tokenizer, text) for text in CAPP_STRINGS])


if __name__ == "__main__":
    make_gpt2()
    make_capp()
