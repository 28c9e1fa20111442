#!/usr/bin/env python3
"""Measures the trained demo model through transformers in float32 and writes its model card."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from corpus import default_novel, encode, read_split, windows
from evaluate import loss_by_position
from heads import CLASSES, HeadFigures, effective_keys, measure
from tokenizers import Tokenizer
from transformers import GPT2LMHeadModel

SHORT, LONG = 256, 1024
HEAD_WINDOWS = 8


@dataclass(frozen=True)
class Measured:
    """All figures that the card reports."""

    training_tokens: int
    validation_tokens: int
    text_tokens: int
    parameters: int
    size: int
    long_losses: torch.Tensor
    short_loss: float
    text_loss: float
    on_text: HeadFigures
    on_validation: HeadFigures


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    demo = Path(__file__).resolve().parents[2] / "demo"
    parser.add_argument("--novel", type=Path, default=default_novel())
    parser.add_argument("--model", type=Path, default=demo / "model")
    parser.add_argument("--text", type=Path, default=demo / "text.txt")
    parser.add_argument("--note", default="", help="a remark on this run, for the Training part")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def measure_all(arguments: argparse.Namespace) -> Measured:
    model = GPT2LMHeadModel.from_pretrained(
        arguments.model, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    tokenizer = Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    split = read_split(arguments.novel)
    validation = encode(tokenizer, split.validation)
    text = encode(tokenizer, arguments.text.read_text(encoding="utf-8"))

    def logits(ids: torch.Tensor) -> torch.Tensor:
        return model(ids).logits

    return Measured(
        training_tokens=len(encode(tokenizer, split.training)),
        validation_tokens=len(validation),
        text_tokens=len(text),
        parameters=model.num_parameters(),
        size=(arguments.model / "model.safetensors").stat().st_size,
        long_losses=loss_by_position(logits, validation, LONG),
        short_loss=float(loss_by_position(logits, validation, SHORT).mean()),
        text_loss=float(loss_by_position(logits, text[:LONG], LONG).mean()),
        on_text=measure(model, text[None, :LONG]),
        on_validation=measure(model, spread_windows(validation)),
    )


def spread_windows(ids: torch.Tensor) -> torch.Tensor:
    """HEAD_WINDOWS windows of LONG tokens, evenly spread over the text."""
    rows = windows(ids, LONG)
    return rows[torch.linspace(0, len(rows) - 1, HEAD_WINDOWS).long()]


def position_table(losses: torch.Tensor) -> list[str]:
    """Mean loss by how many tokens stand before the predicted one; `losses` starts at one."""
    lines = ["| tokens before | loss |", "|---|---|"]
    first = 1
    while first <= len(losses):
        last = min(2 * first - 1, len(losses))
        label = str(first) if first == last else f"{first} to {last}"
        lines.append(f"| {label} | {float(losses[first - 1 : last].mean()):.3f} |")
        first = last + 1
    return lines


def names_of(figures: HeadFigures, label: str) -> list[str]:
    layers, heads = figures.sink.shape
    return [
        f"{layer}.{head}"
        for layer in range(layers)
        for head in range(heads)
        if label in figures.labels(layer, head)
    ]


def class_table(measured: Measured) -> list[str]:
    lines = ["| class | threshold | heads, demo text | heads, validation |", "|---|---|---|---|"]
    for label, rule in CLASSES.items():
        on_text = names_of(measured.on_text, label)
        on_validation = names_of(measured.on_validation, label)
        cells = [f"{len(n)}: {', '.join(n)}" if n else "absent" for n in (on_text, on_validation)]
        lines.append(f"| {label} | {rule} | {cells[0]} | {cells[1]} |")
    return lines


def class_sentences(measured: Measured) -> list[str]:
    """Says plainly which classes are absent, and which heads change class between the texts."""
    absent = [
        label
        for label in CLASSES
        if not names_of(measured.on_text, label) and not names_of(measured.on_validation, label)
    ]
    if absent:
        lines = [f"Absent in this model by these thresholds: {', '.join(absent)}."]
    else:
        lines = ["None of the four classes is absent from both texts."]
    layers, heads = measured.on_text.sink.shape
    moved = [
        f"{layer}.{head}"
        for layer in range(layers)
        for head in range(heads)
        if measured.on_text.labels(layer, head) != measured.on_validation.labels(layer, head)
    ]
    unlabelled = sum(
        not measured.on_text.labels(layer, head) for layer in range(layers) for head in range(heads)
    )
    lines.append(f"Heads whose labels differ between the texts: {', '.join(moved) or 'none'}.")
    lines.append(f"Heads with no label on the demo text: {unlabelled} of {layers * heads}.")
    return lines


def head_table(measured: Measured) -> list[str]:
    lines = [
        "| head | first token | token before | nearest 32 | entropy / log n | labels |",
        "|---|---|---|---|---|---|",
    ]
    layers, heads = measured.on_text.sink.shape
    for layer in range(layers):
        for head in range(heads):
            cells = [
                f"{float(a[layer, head]):.2f} / {float(b[layer, head]):.2f}"
                for a, b in (
                    (measured.on_text.sink, measured.on_validation.sink),
                    (measured.on_text.previous, measured.on_validation.previous),
                    (measured.on_text.near, measured.on_validation.near),
                    (measured.on_text.entropy, measured.on_validation.entropy),
                )
            ]
            labels = ", ".join(measured.on_text.labels(layer, head)) or "none"
            lines.append(f"| {layer}.{head} | {' | '.join(cells)} | {labels} |")
    return lines


def recipe_lines(training: dict) -> list[str]:
    recipe = training["recipe"]
    precision = "bfloat16 autocast" if recipe["bfloat16"] else "float32"
    return [
        f"- {training['steps']} steps of {recipe['batch_tokens']} tokens"
        f" ({training['tokens'] / 1e6:.1f} M) in {training['minutes']:.0f} minutes on"
        f" {recipe['threads']} CPU core{'s'[: recipe['threads'] > 1]}, {precision}, seed {recipe['seed']}.",
        f"- Context {recipe['short_context']} for most of the run, {recipe['long_context']} for the"
        f" last {recipe['long_fraction']:.0%}. In the first part half of the windows start at"
        " position 0 and half at a random position, so that all position embeddings are trained.",
        f"- AdamW, learning rate {recipe['learning_rate']:g} after a warm-up of"
        f" {recipe['warmup']:.0%} of the run, cosine down to {recipe['final_rate']:.0%} of it;"
        f" weight decay {recipe['weight_decay']:g}, gradient norm clipped at 1, dropout"
        f" {recipe['dropout']:g} on embeddings and residual branches (none on attention weights).",
        f"- Of {len(training['history'])} checkpoints the one of best validation loss at context"
        f" {recipe['long_context']} is kept: step {training['best_step']}.",
    ]


def loss_row(text: str, window: int, loss: float) -> str:
    return f"| {text} | {window} | {loss:.4f} | {math.exp(loss):.1f} |"


def card(measured: Measured, training: dict, note: str) -> str:
    loss = float(measured.long_losses.mean())
    lines = [
        "# Demo model",
        "",
        "A small GPT-2 (6 layers, 6 heads, width 192, context 1024) trained by this project so"
        " that headgauge can be tried on real, if modest, attention heads without a download."
        " It is a specimen to measure, not a language model to use: it has read one novel.",
        "No head was planted, initialised or trained to behave in any particular way.",
        "",
        "- Layout: Hugging Face `GPT2LMHeadModel`, float16, output layer tied to the token"
        f" embedding and not stored; {measured.parameters / 1e6:.2f} M parameters,"
        f" {measured.size / 1e6:.1f} MB.",
        "- Tokenizer: byte-level BPE of 4096 tokens with GPT-2's pre-tokenisation, learned from"
        " the training part alone; no truncation, no padding, no tokens added around a text."
        " `<|endoftext|>` exists but never occurs in training.",
        "",
        "## Data and licence",
        "",
        "Leo Tolstoy, *War and Peace*, English translation of Louise and Aylmer Maude, Project"
        " Gutenberg no. 2600, in the public domain. The last 5 % of the text (the end of the"
        " second epilogue, an essay on history unlike the story before it) is held out:"
        f" {measured.training_tokens} tokens for training, {measured.validation_tokens} for"
        " validation. Nothing else was used. `../text.txt` was written for this project and is"
        " in neither part. Weights, tokenizer and text come under the project's own licence.",
        "",
        "## Training",
        "",
        *recipe_lines(training),
        *([f"- {note}"] if note else []),
        "- Made by `tools/train_demo/train.py`; its settings and every validation loss are in"
        " `training.json`. This card is written by `tools/train_demo/card.py`.",
        "",
        "## Loss",
        "",
        "Nats per token on consecutive windows, nothing carried over between windows, the"
        " checkpoint as stored, computed by transformers in float32.",
        "",
        "| text | window | loss | perplexity |",
        "|---|---|---|---|",
        loss_row("validation", LONG, loss),
        loss_row("validation", SHORT, measured.short_loss),
        loss_row(f"demo text, first {LONG} tokens", LONG, measured.text_loss),
        "",
        f"The training script saw {training['best_loss']:.4f} for the first of these, in its own"
        " arithmetic and before rounding to float16.",
        "",
        "Loss against position (validation, windows of 1024):",
        "",
        *position_table(measured.long_losses),
        "",
        "## Heads",
        "",
        "Named layer.head from 0. Measured on the first 1024 tokens of `../text.txt`"
        f" ({measured.text_tokens} tokens in all) and on {HEAD_WINDOWS} validation windows of 1024."
        " A head bears every label whose threshold it passes. At the threshold of `diffuse` a row"
        f" of 1024 keys is as spread out as {effective_keys(LONG)} equal ones.",
        "",
        *class_table(measured),
        "",
        *class_sentences(measured),
        "",
        "Each cell: demo text / validation.",
        "",
        *head_table(measured),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    training = json.loads((arguments.model / "training.json").read_text(encoding="utf-8"))
    measured = measure_all(arguments)
    page = card(measured, training, arguments.note)
    (arguments.model / "README.md").write_text(page, encoding="utf-8")
    loss = float(measured.long_losses.mean())
    print(f"validation loss {loss:.4f} (training saw {training['best_loss']:.4f})")


if __name__ == "__main__":
    main()
