"""The folder of `headgauge plan --export` for a GGUF file: its tokenizer is the one that measured the plan."""

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from commands import BINARY, ROOT
from needs_torch import MISSING, TorchTest
from tests.cli.test_gguf import VOCABULARY, gguf, metadata

import headgauge
from headgauge import _core

if not MISSING:
    from transformers import AutoTokenizer

TEXTS = [
    "", " ", "the king", " the  king\n\n and\tthe thing ", "don't 12345", "caf\u00e9 \u4e2d\u6587 \ufdfa",
    "</s>", "a</s><s>b", (ROOT / "demo/text.txt").read_text()[:3000],
]  # fmt: skip
TEMPLATE = "{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}"


def byte_level() -> dict[str, object]:
    fields = metadata()
    words: Any = fields["tokenizer.ggml.tokens"]
    # Tokens of the last bytes, which no UTF-8 text has.
    words[-4:] = ["th", "the", "<s>", "</s>"]
    return {**fields, "tokenizer.ggml.merges": ["t h", "th e"], "tokenizer.ggml.bos_token_id": VOCABULARY - 2,
            "tokenizer.ggml.eos_token_id": VOCABULARY - 1,
            "tokenizer.ggml.token_type": [1] * (VOCABULARY - 2) + [3] * 2}  # fmt: skip


def sentence_piece() -> dict[str, object]:
    words = ["<unk>", "<s>", "</s>", "\u2581", *"abcdefghijklmnopqrstuvwxyz", "th", "he", "the"]
    words += ["\u2581the", "ing", "in", *(f"<0x{byte:02X}>" for byte in range(VOCABULARY - len(words) - 3))]
    types = [2, 3, 3] + [6 if word.startswith("<0x") else 1 for word in words[3:]]
    scores = [-float(k) for k in range(VOCABULARY)]
    named = {"unknown": 0, "bos": 1, "eos": 2, "model": "llama", "tokens": words, "scores": scores}
    named["token_type"] = types
    keys = {k: k + "_token_id" if isinstance(v, int) else k for k, v in named.items()}
    kept = {key: value for key, value in metadata().items() if not key.startswith("tokenizer.")}
    return kept | {f"tokenizer.ggml.{keys[k]}": value for k, value in named.items()}


@unittest.skipUnless(BINARY.exists(), f"there is no {BINARY}, which writes the folder")
class Tokenizers(TorchTest):
    def test_ids_and_templates_are_those_of_the_file(self) -> None:
        plan = {"schema": "headgauge.plan/1", "model": {"layers": 1, "heads": 2, "kv_heads": 2}, "heads": []}
        for fields in (byte_level(), sentence_piece()):
            for form in ("hf", "hf-layers"):
                with (
                    self.subTest(fields["tokenizer.ggml.model"], form=form),
                    tempfile.TemporaryDirectory() as scratch,
                ):
                    place = Path(scratch)
                    (place / "plan.json").write_text(json.dumps(plan))
                    (place / "tiny.gguf").write_bytes(gguf(fields | {"tokenizer.chat_template": TEMPLATE}))
                    own = _core.Tokenizer.load(str(place / "tiny.gguf"))
                    call = [BINARY, "plan", place / "tiny.gguf", "--plan", place / "plan.json", "--quiet"]
                    call += ["--export", form, "--out", place]
                    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
                    (place / "tiny.gguf").unlink()
                    folder = shutil.copytree(place / form, place / "copy", symlinks=True)
                    its = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
                    again = _core.Tokenizer.load(str(folder))
                    for text in TEXTS:
                        self.assertEqual(its(text)["input_ids"], own.encode(text), text)
                        self.assertEqual(again.encode(text), own.encode(text), text)
                    self.assertEqual((its.bos_token, its.eos_token), ("<s>", "</s>"))
                    said = its.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False)
                    self.assertEqual(said, "[user]a")
                    self.assertTrue(headgauge.prove(folder, "the king and the thing").holds)
