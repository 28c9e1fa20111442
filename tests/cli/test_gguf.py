"""The commands on a GGUF file: a random llama of one layer with a tokenizer of single bytes."""

import json
import random
import struct
from pathlib import Path

from tests.cli.command import BAD_INPUT, UNSUPPORTED, CommandTest

U32, I32, F32, TEXT, LIST = 4, 5, 6, 8, 9
WIDTH, HEADS, INNER, VOCABULARY = 32, 2, 64, 256


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value_of(value: object) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", TEXT) + text(value)
    if isinstance(value, list):
        items = {int: (I32, "<i"), float: (F32, "<f")}.get(type(value[0]) if value else str)
        item, pack = (TEXT, text) if items is None else (items[0], lambda one: struct.pack(items[1], one))
        return struct.pack("<IIQ", LIST, item, len(value)) + b"".join(map(pack, value))
    if isinstance(value, float):
        return struct.pack("<If", F32, value)
    return struct.pack("<II", U32, value)


def byte_characters() -> list[str]:
    """A character for each byte, as GPT-2 has them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    further = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(further)) for b in range(256)]


def metadata() -> dict[str, object]:
    return {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.context_length": 64,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": byte_characters(),
        "tokenizer.ggml.merges": [],
    }


def gguf(fields: dict[str, object]) -> bytes:
    shapes = {"token_embd": [VOCABULARY, WIDTH], "output_norm": [WIDTH]}
    shapes |= {f"blk.0.{name}_norm": [WIDTH] for name in ("attn", "ffn")}
    shapes |= {f"blk.0.attn_{name}": [WIDTH, WIDTH] for name in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{name}": [INNER, WIDTH] for name in ("gate", "up")}
    shapes["blk.0.ffn_down"] = [WIDTH, INNER]
    draw = random.Random(7)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(fields))
    head += b"".join(text(key) + value_of(value) for key, value in fields.items())
    data = b""
    for name, shape in shapes.items():
        sizes = shape[::-1]
        count = sizes[0] * (sizes[1] if len(sizes) == 2 else 1)
        head += text(f"{name}.weight")
        head += struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, len(data))
        data += struct.pack(f"<{count}f", *(draw.gauss(0, 0.3) for _ in range(count)))
    return head + b"\0" * (-len(head) % 32) + data


class Gguf(CommandTest):
    def file(self, content: bytes) -> Path:
        return self.write("model.gguf", content)

    def document(self) -> Path:
        return self.write("text.txt", "It was a dark and stormy night; the rain fell.")

    def test_is_measured_on_a_text_with_the_tokenizer_that_is_in_it(self) -> None:
        model = self.file(gguf(metadata()))
        results = self.saved("scan", model, "--text", self.document(), "--lengths", "32")[0]
        self.assertEqual(results["model"]["family"], "llama")
        self.assertEqual(results["text"]["tokens_total"], [46])
        self.assertEqual(len(results["metrics"]["entropy_with_sinks"]["values"][0]), HEADS)

    def test_its_tokenizer_is_found_whatever_its_name(self) -> None:
        """Stores of other programs name files by their sums, and link to them."""
        (self.folder / "sha256-00ff").write_bytes(gguf(metadata()))
        (self.folder / "link").symlink_to("sha256-00ff")
        self.write("a.txt", "It was the best of times.")
        for name in ("sha256-00ff", "link"):
            with self.subTest(name):
                self.succeed("scan", name, "--text", "a.txt", "--out", "out", "--force")
                self.assertIn("BPE (GGUF, pre-tokenizer gpt-2)", self.succeed("inspect", name).out)

    def test_inspect_shows_types_and_metadata(self) -> None:
        model = self.file(gguf(metadata()))
        facts = json.loads(self.succeed("inspect", model, "--json").out)
        self.assertEqual(facts["types"], {"F32": 11})
        self.assertEqual(facts["tokenizer"], "BPE (GGUF, pre-tokenizer gpt-2)")
        self.assertEqual(facts["metadata"]["general.architecture"], '"llama"')
        self.assertEqual(facts["metadata"]["tokenizer.ggml.tokens"], "a list of 256 texts")
        shown = self.succeed("inspect", self.folder).out  # the folder holds this one
        self.assertIn("metadata        tokenizer.ggml.tokens a list of 256 texts\n", shown)

    def test_is_refused_in_one_line(self) -> None:
        whole = metadata()
        without = {k: v for k, v in whole.items() if not k.startswith("tokenizer.")}
        cases = [
            (BAD_INPUT, gguf(whole)[:-1], "cut short"),
            (BAD_INPUT, gguf(without), "--tokens"),
            (UNSUPPORTED, gguf({**whole, "tokenizer.ggml.pre": "tekken"}), '"tekken"'),
        ]
        for code, content, found in cases:
            with self.subTest(found):
                model = self.file(content)
                self.refuse(code, "scan", model, "--text", self.document(), says=found)
