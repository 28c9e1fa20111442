#!/usr/bin/env python3
"""Measures what the types of llama.cpp's key-value cache cost a model: one flag, beside a plan of headgauge.

    npm pack @node-llama-cpp/linux-x64@3.22.1 && tar xzf node-llama-cpp-linux-x64-3.22.1.tgz
    headgauge task replay --model MODEL.gguf --text b.txt --length 512 --cases 12 --out replay.jsonl
    tools/llama_cache.py package/bins/linux-x64 MODEL.gguf replay.jsonl passkey.jsonl ...

The files are of `headgauge task`. The first is of `replay`: the loss of its pieces is that of text, the
loss of its answers that of a replay. Of the other files it counts the answers that llama.cpp has right
with a cache in F16 and still has. Intervals are t intervals of 95 % over cases. Needs numpy.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.reference.dispersion import student

TYPES = {"f16": (1, 16.0), "q8_0": (8, 8.5), "q4_0": (2, 4.5)}  # of ggml: its number, and bits a value
CACHES = [("f16", "f16"), ("q8_0", "q8_0"), ("q8_0", "q4_0"), ("q4_0", "q4_0")]  # keys, values
CUE = 8  # tokens of a replay that are in the prompt


class Params(ctypes.Structure):
    """The params of a context or model, wherever their fields stand. The callee copies what it knows."""

    _fields_ = [("words", ctypes.c_int32 * 128)]


class Batch(ctypes.Structure):
    """llama_batch."""

    _fields_ = [
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


class Llama:
    """A model in llama.cpp."""

    def __init__(self, libraries: str, model: str) -> None:
        folder = Path(libraries).resolve()
        load = [next(folder.glob(name)) for name in ("libggml-base.so*", "libggml.*so*", "libllama.*so*")]
        _, ggml, self.llama = (ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL) for path in load)
        self.silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        self.llama.llama_log_set(self.silent, None)
        ggml.ggml_backend_load_all_from_path(str(folder).encode())
        pointers = ("model_load_from_file", "init_from_model", "get_memory", "get_logits", "model_get_vocab")
        for name in pointers:
            getattr(self.llama, f"llama_{name}").restype = ctypes.c_void_p
        for name in ("model", "context"):
            getattr(self.llama, f"llama_{name}_default_params").restype = Params
        self.llama.llama_batch_init.restype = Batch
        self.llama.llama_get_logits.restype = ctypes.POINTER(ctypes.c_float)
        params = self.llama.llama_model_default_params()
        self.model = ctypes.c_void_p(self.llama.llama_model_load_from_file(model.encode(), params))
        if not self.model:
            sys.exit(f"{model}: expected a GGUF file that llama.cpp loads")
        self.vocab = ctypes.c_void_p(self.llama.llama_model_get_vocab(self.model))
        self.vocabulary = self.llama.llama_vocab_n_tokens(self.vocab)

    def ids(self, text: str, special: bool) -> list[int]:
        """The tokens of a text."""
        raw, into = text.encode(), (ctypes.c_int32 * (len(text.encode()) + 8))()
        count = self.llama.llama_tokenize(self.vocab, raw, len(raw), into, len(into), special, False)
        return list(into[:count])

    def context(self, keys: str, values: str, tokens: int) -> ctypes.c_void_p:
        """A context with a cache of two types, whose attention reads the cache (flash attention)."""
        params = self.llama.llama_context_default_params()
        words = list(params.words)
        # The fields are found by their defaults, since their places change between versions.
        unset = next((k for k in range(40) if words[k : k + 4] == [-1] * 4), 40)  # of four enumerations
        flash = unset + 3
        types = next((k for k in range(flash, 60) if words[k : k + 2] == [1, 1]), None)  # F16 twice
        if words[:3] != [512, 2048, 512] or types is None or 4 not in words[:flash]:
            sys.exit("llama.cpp: expected the default params of a context that this script knows")
        params.words[0] = params.words[1] = params.words[2] = tokens
        threads = words.index(4)  # of decoding, then of reading
        params.words[threads] = params.words[threads + 1] = 1  # more would wait for each other
        params.words[flash] = 1
        params.words[types], params.words[types + 1] = TYPES[keys][0], TYPES[values][0]
        made = ctypes.c_void_p(self.llama.llama_init_from_model(self.model, params))
        if not made:
            sys.exit(f"llama.cpp: expected a context with a cache of {keys} and {values}")
        return made

    def logits(self, context: ctypes.c_void_p, tokens: list[int]) -> np.ndarray:
        """The logits behind each token (tokens x vocabulary)."""
        self.llama.llama_memory_clear(ctypes.c_void_p(self.llama.llama_get_memory(context)), True)
        batch = self.llama.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for k, token in enumerate(tokens):
            batch.token[k], batch.pos[k], batch.n_seq_id[k], batch.logits[k] = token, k, 1, 1
            batch.seq_id[k][0] = 0
        if self.llama.llama_decode(context, batch) != 0:
            sys.exit("llama.cpp: expected to decode a case")
        flat = np.ctypeslib.as_array(
            self.llama.llama_get_logits(context), (len(tokens), self.vocabulary)
        ).copy()
        self.llama.llama_batch_free(batch)
        return flat


def cases_of(llama: Llama, path: str) -> list[tuple[list[int], int]]:
    """The tokens of each case, and how many of them are the answer's."""
    cases = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        prompt, answer = case["prompt"], case["answer"]
        if isinstance(prompt, str):
            prompt, answer = llama.ids(prompt, True), llama.ids(answer, False)
        cases.append((prompt + answer, len(answer)))
    return cases


def with_interval(values: np.ndarray) -> str:
    half = student(len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():+.3f} ({values.mean() - half:+.3f} to {values.mean() + half:+.3f})"


def main(libraries: str, model: str, replay: str, *tasks: str) -> None:
    llama = Llama(libraries, model)
    files = {Path(path).stem: cases_of(llama, path) for path in (replay, *tasks)}
    longest = max(len(tokens) for cases in files.values() for tokens, _ in cases)
    base: dict[str, np.ndarray] = {}
    print(f"| keys | values | bytes | text | replay | {' | '.join(f'{Path(t).stem}: kept' for t in tasks)} |")
    print("|---" * (5 + len(tasks)) + "|")
    for keys, values in CACHES:
        context = llama.context(keys, values, -(-longest // 256) * 256)
        cells = [keys, values, f"{100 * (TYPES[keys][1] + TYPES[values][1]) / 32:.0f} %"]
        for stem, cases in files.items():
            text, answer, right = [], [], []
            for tokens, answered in cases:
                logits = llama.logits(context, tokens)[:-1].astype(np.float64)
                top = logits.max(axis=1)
                lost = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
                losses = lost - logits[np.arange(len(tokens) - 1), tokens[1:]]
                text.append(losses[: -answered - CUE].mean())
                answer.append(losses[-answered:].mean())
                right.append(bool((logits[-answered:].argmax(axis=1) == tokens[-answered:]).all()))
            first = base.setdefault(stem, np.array([text, answer, right], float))
            if stem == Path(replay).stem:
                cells += [
                    with_interval(np.array(now) - then)
                    for now, then in zip((text, answer), first[:2], strict=True)
                ]
            else:
                kept = np.array(right)[first[2] == 1]
                cells.append(f"{kept.sum()} of {len(kept)}")
        print(f"| {' | '.join(cells)} |", flush=True)
        llama.llama.llama_free(context)


if __name__ == "__main__":
    main(*sys.argv[1:])
