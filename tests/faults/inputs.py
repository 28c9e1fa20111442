"""Hostile models in one file and hostile cases of tasks: refused, or right, in little memory."""

import json
import math
import struct

from tests.cli.test_gguf import VOCABULARY, gguf, metadata
from tests.faults.materials import SMALL
from tests.faults.mutate import NUMBERS, WORDS, hostile_bytes, hostile_json, json_text
from tests.faults.readers import AS_MEMORY, small_model_with_text
from tests.faults.trial import Done, Fault, Trial

RUN = ("--measures", "weights,model", "--json", *SMALL)
TEXT = "the tide house at the pier: a dark and stormy night, and the rain fell on the tide house "
# Bytes that the program itself may hold; the system counts what the suite held when it started it.
PROGRAM = 256 << 20
OF_GGUF = 40  # bytes that each byte of a GGUF file may take besides
OF_TASKS, MOST_OF_TASKS = 160, 448 << 20  # of a task file: bytes for each byte, and in all
CASES = (
    {"prompt": "the tide house at the pier the tide", "answer": " house", "source": "tide house"},
    {"task": "t", "input": "the tide house", "outputs": [" at", " the"], "control": "the tide at"},
    {"prompt": "the tide house", "answer": " at", "context": "the pier at the tide", "distance": 2},
    {"prompt": [3, 1, 4, 1, 5], "answer": [9, 2], "control": [3, 1, 4, 1, 6]},
)


def within(done: Done, limit: int) -> None:
    if done.memory > limit:
        raise Fault(f"held {done.memory >> 20} MB, more than {limit >> 20}: {done}")


def metrics_of(done: Done) -> dict:
    """The metrics that were printed; each value is finite and has rows, or is null and has none."""
    found = json.loads(done.out)["metrics"]
    for name, metric in found.items():
        waiting = [(metric["values"], metric.get("rows"))]
        while waiting:
            value, rows = waiting.pop()
            if isinstance(value, list):
                waiting += zip(value, rows or [None] * len(value), strict=True)
            elif (value is not None and not math.isfinite(value)) or (value is None and rows):
                raise Fault(f"{name} is {value} in the mean of {rows} rows: {done}")
    return found


def sentence_piece(draw) -> dict:
    """A vocabulary of letters and what merges of them, or of one letter said many times."""
    tokens = ["<unk>", "<s>", "</s>", "\u2581", *"abcdefghijklmnopqrstuvwxyz:,"]
    step = draw.choice((0, 0, 1, 8, 9))  # 9: beyond the longest token
    while len(tokens) < VOCABULARY:
        joined = (
            "a" * (step * (len(tokens) - 29)) if step else draw.choice(tokens[3:]) + draw.choice(tokens[3:])
        )
        if joined not in tokens:
            tokens.append(joined)
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [draw.choice((-float(i), -float(i), -1.0)) for i in range(VOCABULARY)],
        "tokenizer.ggml.token_type": [2, 3, 3] + [1] * (VOCABULARY - 3),
    }


def change_fields(fields: dict, draw) -> None:
    """One entry of the metadata is another value, of another type, twice, or not there."""
    key = draw.choice(sorted(fields))
    value = fields[key]
    if isinstance(value, list) and value and draw.random() < 0.8:
        odd = [word.encode("utf-8", "replace").decode() for word in WORDS]
        at = draw.randrange(len(value))
        others = (
            odd if isinstance(value[0], str) else [1e30, -1e30] if isinstance(value[0], float) else [0, 9]
        )
        value[at] = draw.choice([*others, value[at - 1]])
        return
    small = [one for one in NUMBERS if isinstance(one, int) and 0 <= one < 2**32]
    fields[key] = draw.choice((*small, 0.5, -1.0, 1e30, 1e-30, "", "x", [], ["a"]))
    if draw.random() < 0.2:
        del fields[key]


def gguf_files(trial: Trial) -> None:
    """Metadata, vocabulary or tensors of a GGUF file are changed; or only what the model does not need,
    which changes no number."""
    draw = trial.draw
    fields = metadata()
    if draw.random() < 0.6:
        del fields["tokenizer.ggml.pre"], fields["tokenizer.ggml.merges"]
        fields |= sentence_piece(draw)
    good = gguf(fields)
    trial.write("text.txt", TEXT)
    run = ("scan", "model.gguf", "--text", "text.txt", "--lengths", "16,32", *RUN)
    how = draw.randrange(5)
    bad = good
    if how == 0:  # the header, in which the data begin behind the last name
        end = good.rindex(b".weight") + 64
        bad = hostile_bytes(good[:end], draw) + good[end:]
    elif how == 1:
        bad = hostile_bytes(good, draw)
    elif how == 2:
        for _ in range(draw.choice((1, 1, 2))):
            change_fields(fields, draw)
        bad = gguf(fields)
    elif how == 3:  # a value of a tensor
        data = bytearray(good)
        value = draw.choice((math.nan, math.inf, 3e38, -3e38, 1e-45))
        for _ in range(draw.choice((1, 400))):
            at = len(data) - 4 * draw.randrange(1, 2000)
            data[at : at + 4] = struct.pack("<f", value)
        bad = bytes(data)
    trial.write("model.gguf", bad)
    done = trial.run(*run, shell=AS_MEMORY, quiet=False)
    within(done, PROGRAM + OF_GGUF * len(bad))
    found = metrics_of(done) if done.code == 0 else None
    if how == 4 and found is not None:
        items = [*fields.items(), ("general.name", draw.choice(("", "a", "x" * 70000))), ("other.key", [1.5])]
        draw.shuffle(items)
        trial.write("model.gguf", gguf(dict(items)))
        if metrics_of(trial.run(*run, shell=AS_MEMORY, quiet=False)) != found:
            raise Fault("metadata that the model does not need change its numbers")


def task_files(trial: Trial) -> None:
    """Cases with other keys, types and texts, odd lines, and lines of any length."""
    draw = trial.draw
    small_model_with_text(trial)
    trial.write("model/tokenizer.json", json_text(trial.materials.tokenizer))
    lines = [json_text(draw.choice(CASES)).encode() for _ in range(draw.choice((1, 2, 5)))]
    at = draw.randrange(len(lines))
    how = draw.randrange(4)
    if how <= 1:
        lines[at] = hostile_json(json.loads(lines[at]), draw)
    elif how == 2:
        lines[at] = draw.choice((b"", b" \t", b"null", b"[]", b"\xef\xbb\xbf" + lines[at], lines[at] + b"\r"))
    else:
        long = "the tide house " * draw.choice((1000, 30000, 300000, 1200000))
        lines[at] = json_text({**CASES[0], draw.choice(("prompt", "control", "note")): long}).encode()
    content = draw.choice((b"\n", b"\n", b"\n\n", b"\r\n")).join(lines)
    if draw.random() < 0.2:
        content = hostile_bytes(content, draw)
    trial.write("cases.jsonl", content)
    done = trial.run("scan", "model", "--tasks", "cases.jsonl", *RUN, shell=AS_MEMORY, quiet=False)
    within(done, PROGRAM + min(OF_TASKS * len(content), MOST_OF_TASKS))
    if done.code == 0:
        metrics_of(done)
