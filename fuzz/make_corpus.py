#!/usr/bin/env python3
"""Writes the seed files that the fuzz targets and tests/checkpoint/mutation_test.cpp start from.

They are small on purpose: a mutation of a short file is likely to hit something that matters.
Run it from anywhere; the files it writes are committed.
"""

import json
import struct
import zlib
from pathlib import Path

import made_results

CORPUS = Path(__file__).parent / "corpus"
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "BOOL": 1, "U8": 1}


def safetensors(tensors, metadata=None):
    """A file of (name, dtype, shape) tensors with small values."""
    header = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, dtype, shape in tensors:
        count = 1
        for size in shape:
            count *= size
        if dtype == "F64":
            part = struct.pack(f"<{count}d", *(0.25 * i for i in range(count)))
        elif dtype == "F32":
            part = struct.pack(f"<{count}f", *(0.5 * i for i in range(count)))
        elif dtype == "F16":
            part = struct.pack(f"<{count}e", *(0.5 - i for i in range(count)))
        else:
            part = bytes(i % 2 for i in range(count * SIZES[dtype]))
        begin = len(data)
        data += part
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def dump(tensors, **metadata):
    return safetensors(tensors, {"format": "headgauge.dump/1", **metadata})


def gguf(metadata, tensors, version=3):
    """A file of (key, type, value) metadata and (name, sizes, type, bytes) tensors, sizes fastest first."""

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def value_of(kind, value):
        if kind == 9:
            item, values = value
            return struct.pack("<IQ", item, len(values)) + b"".join(value_of(item, v) for v in values)
        return text(value) if kind == 8 else struct.pack({4: "<I", 5: "<i", 6: "<f", 7: "<?"}[kind], value)

    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, kind, value in metadata:
        head += text(key) + struct.pack("<I", kind) + value_of(kind, value)
    data = b""
    for name, sizes, kind, content in tensors:
        head += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, len(data))
        data += content + b"\0" * (-len(content) % 32)
    return head + b"\0" * (-len(head) % 32) + data


GGUF_LLAMA = [
    ("general.architecture", 8, "llama"),
    ("llama.block_count", 4, 1),
    ("llama.context_length", 4, 64),
    ("llama.embedding_length", 4, 32),
    ("llama.feed_forward_length", 4, 32),
    ("llama.attention.head_count", 4, 4),
    ("llama.attention.layer_norm_rms_epsilon", 6, 1e-5),
    ("tokenizer.ggml.model", 8, "gpt2"),
    ("tokenizer.ggml.pre", 8, "gpt-2"),
    ("tokenizer.ggml.tokens", 9, (8, ["a", "b", "ab"])),
    ("tokenizer.ggml.merges", 9, (8, ["a b"])),
    ("tokenizer.ggml.token_type", 9, (5, [1, 1, 1])),
    ("tokenizer.ggml.add_bos_token", 7, False),
]
GGUF_TENSORS = [
    ("token_embd.weight", [32, 3], 8, bytes(i % 60 for i in range(3 * 34))),
    ("blk.0.attn_q.weight", [32, 32], 3, bytes(i % 60 for i in range(32 * 20))),
    ("blk.0.attn_norm.weight", [32], 0, struct.pack("<32f", *(0.5 * i for i in range(32)))),
]

FILES = {
    "gguf/empty.gguf": gguf([], [], version=2),
    "gguf/llama.gguf": gguf(GGUF_LLAMA, GGUF_TENSORS),
    "gguf/types.gguf": gguf(
        [("general.architecture", 8, "llama"), ("list", 9, (6, [0.5, -1.0]))],
        [
            ("k", [256], 14, bytes(i % 60 for i in range(210))),
            ("h", [3, 2], 1, bytes(12)),
            ("f", [1], 0, struct.pack("<f", 2.0)),
        ],
    ),
    "safetensors/empty.safetensors": safetensors([]),
    "safetensors/one.safetensors": safetensors([("w", "F32", [2, 3])], {"format": "pt"}),
    "safetensors/types.safetensors": safetensors(
        [
            ("d", "F64", [2]),
            ("s", "F32", []),
            ("h", "F16", [3, 1]),
            ("b", "BF16", [2]),
            ("z", "U8", [0, 4]),
            ("m", "BOOL", [1]),
        ]
    ),
    "dump/qk.safetensors": dump(
        [("layers.0.k", "F32", [1, 2, 3]), ("layers.0.q", "F32", [2, 2, 3])], causal="true"
    ),
    "dump/all.safetensors": dump(
        [
            ("x", "F32", [2, 2]),
            ("layers.0.q", "F16", [2, 2, 1]),
            ("layers.0.k", "F16", [1, 2, 1]),
            ("layers.0.v", "BF16", [1, 2, 1]),
            ("layers.1.q", "F16", [2, 2, 1]),
            ("layers.1.k", "F16", [1, 2, 1]),
            ("layers.1.v", "BF16", [1, 2, 1]),
        ],
        causal="false",
        scale="0.5",
    ),
    "dump/scores.safetensors": dump(
        [("layers.0.scores", "F32", [2, 2, 2]), ("layers.0.x", "F16", [2, 1])], causal="true"
    ),
    "config/gpt2.json": json.dumps(
        {
            "model_type": "gpt2",
            "n_layer": 2,
            "n_head": 3,
            "n_embd": 12,
            "n_positions": 64,
            "vocab_size": 31,
            "n_inner": None,
            "layer_norm_epsilon": 1e-05,
            "activation_function": "gelu_new",
            "scale_attn_weights": True,
            "architectures": ["GPT2LMHeadModel"],
            "eos_token_id": [1, 2],
        },
        indent=1,
    ).encode(),
    "config/nested.json": b'{"rope_scaling":{"factor":8.0,"type":"llama3"},"a":[{"b":[-1,1e3]}]}\n',
    "config/index.json": json.dumps(
        {
            "metadata": {"total_size": 8},
            "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"},
        }
    ).encode(),
    **made_results.FILES,
}

TOKENIZERS = Path(__file__).parent.parent / "tests/tokenize/corpus"
for name in ["byte_level_bpe", "word_piece", "byte_fallback_bpe", "unigram"]:
    FILES[f"tokenizer/{name}.json"] = (TOKENIZERS / f"{name}.json").read_bytes()
FILES["tokenizer/vocab_and_merges"] = (
    b'{"o":0,"n":1,"e":2,"on":3,"one":4,"<|endoftext|>":5}\0#version: 0.2\no n\non e\n'
)
FILES["tokenizer/vocab_txt"] = (
    b'[PAD]\n[UNK]\n[CLS]\n[SEP]\none\n##s\n\0{"do_lower_case":false,"unk_token":"[UNK]"}'
)

FILES["ids/lines"] = b"0 1 2\n50256\t7\r\n 31\n"
FILES["ids/marked"] = b"\xef\xbb\xbf12 caf\xc3\xa9 \xf0\x9f\xa6\x99\n"
FILES["ids/large"] = b"2147483647 2147483648"


def monitor_record(step, **rest):
    start = {"schema": "headgauge.monitor/2", "model": "tiny", "family": "gpt2", "step": step, "tokens": 64}
    return json.dumps({**start, **rest}, separators=(",", ":"))


def journal(records):
    """Of (layer, document, stage, content); docs/formats.md, "Journals"."""
    header = made_results.text(
        {"schema": "headgauge.journal/1", "share": [0, 2], "identity": {"MODEL": ["tiny"]}}
    )
    data = b"headgauge.journal/1 %d %08x\n%s\n" % (len(header), zlib.crc32(header), header)
    for layer, document, stage, content in records:
        record = struct.pack("<iqQQ", layer, document, len(stage), len(content)) + stage + content
        data += struct.pack("<I", zlib.crc32(record)) + record
    return data


FILES["journal/none"] = journal([])
FILES["journal/finished"] = journal([(0, 0, b"scan", b"abc"), (0, 1, b"scan", b""), (-2, 0, b"", b"")])
FILES["journal/torn"] = FILES["journal/finished"][:-9]
FILES["monitor/two.jsonl"] = "\n".join(
    [
        monitor_record(10, metrics={"entropy_with_sinks": [[1.5, 2], [0.5, None]]}, warnings=[]),
        monitor_record(
            20,
            metrics={"entropy_with_sinks": [[1.25, 2], [0.25, 1]], "own": [[0, 1], [2, 3]]},
            warnings=["step 10: dispersion began in head 1.0: entropy above 0.95"],
        ),
    ]
).encode()
FILES["monitor/torn.jsonl"] = FILES["monitor/two.jsonl"][:-70]

PLAN = {
    "schema": "headgauge.plan/1",
    "context": 64,
    "model": {"name": "tiny", "family": "gpt2", "layers": 2, "heads": 4, "kv_heads": 2},
    "heads": [
        {"layer": 0, "kv_head": 1, "pattern": "sinks:sinks=4,window=60"},
        {"layer": 1, "kv_head": 0, "normalizer": "uniform"},
    ],
}
LANGUAGES = {
    "pattern": [
        "window:size=8,global=1",
        "sinks:sinks=4,window=60",
        "topk:k=3",
        "bigbird:window=2,random=3,global=1,seed=9",
        "h2o:keys=4,recent=2",
    ],
    "normalizer": [
        "softmax:t=2",
        "uniform",
        "ssmax:s=0.43,b=0",
        "logn",
        "logn-qwen:train=512",
        "logn-entropy:train=512",
        "yarn:factor=4",
        "cosine:g=10",
        "adaptive-temperature",
        "softcap:c=50",
        "sparsemax",
        "entmax:alpha=1.5",
        "asentmax:alpha=1.5,delta=1,beta=0.55,gamma=1",
        "softmax1",
        "sink:b=0",
        "sigmoid:b=-logn",
        "sasoftmax",
        "softpick",
        "topk:k=8",
    ],
    "specs": ["ssmax:s=0.43,b=0,sparsemax,window:size=8,global=1"],
    "heads": ["0-3,4\n3.2,1.*", "*", "\n0-2.1-3"],
    "plan": [json.dumps(PLAN, separators=(",", ":"))],
    "arguments": [
        "scan --lengths 32,64 --layers 0-3,5 --heads 3.5,7.* --top-n 1,5,20 --queries all --seed 7",
        "converge --grid 64:512:8 --replicates 20 --tolerances 0.1,0.05",
        "synthetic --scales 0.05:50:12 --radii 0.5,1 --dimension 50 --variance 0.1 --full",
        "compare --normalizer ssmax:s=0.43,b=0,sparsemax --each head",
        "diff --metrics entropy_with_sinks,loss --heads 0.1",
        "plan --memory 0.5 --curve 0.25,0.5 --steps 20",
    ],
}
for language, texts in LANGUAGES.items():
    for number, content in enumerate(texts):
        FILES[f"options/{language}_{number}"] = f"{language}\n{content}".encode()

for name, content in FILES.items():
    path = CORPUS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
