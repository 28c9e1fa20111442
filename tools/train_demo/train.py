#!/usr/bin/env python3
"""Trains the demo model: a small GPT-2 on one novel, on two CPU cores, in under an hour.

The folder given by --out receives tokenizer.json, tokenizer_config.json, config.json,
model.safetensors (float16) and training.json. The checkpoint of best validation loss is kept and
written whenever it improves, so a run that is stopped early leaves a usable model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from corpus import END_OF_TEXT, default_novel, encode, read_split, sample_windows, train_tokenizer
from evaluate import mean_loss
from model import Gpt2, Shape, config_json, save_hugging_face
from tokenizers import Tokenizer


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what the run does, written to training.json."""

    minutes: float
    steps: int | None
    threads: int
    seed: int
    vocabulary: int
    batch_tokens: int
    short_context: int
    long_context: int
    long_fraction: float
    learning_rate: float
    final_rate: float
    warmup: float
    weight_decay: float
    dropout: float
    bfloat16: bool
    evaluate_every: float


@dataclass
class Record:
    """What happened: the validation losses in order and the best of them."""

    steps: int = 0
    tokens: int = 0
    minutes: float = 0.0
    best_loss: float = math.inf
    best_step: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--novel", type=Path, default=default_novel(), help="UTF-8 text")
    parser.add_argument("--out", type=Path, default=root / "demo" / "model")
    parser.add_argument("--minutes", type=float, default=40.0, help="wall-clock budget")
    parser.add_argument("--steps", type=int, help="exact number of steps; overrides --minutes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1805)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="tokens in a step")
    parser.add_argument("--short-context", type=int, default=256)
    parser.add_argument("--long-context", type=int, default=1024, help="the model's context")
    parser.add_argument("--long-fraction", type=float, default=0.1, help="share at long context")
    parser.add_argument("--learning-rate", type=float, default=1.5e-3)
    parser.add_argument("--final-rate", type=float, default=0.05, help="share left at the end")
    parser.add_argument("--warmup", type=float, default=0.02, help="share of the run")
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--dropout", type=float, default=0.25)
    parser.add_argument("--evaluate-every", type=float, default=0.04, help="share of the run")
    parser.add_argument("--no-bfloat16", action="store_true", help="compute in float32")
    return parser.parse_args()


def recipe_of(arguments: argparse.Namespace) -> Recipe:
    values = {k: v for k, v in vars(arguments).items() if k in Recipe.__dataclass_fields__}
    return Recipe(**values, bfloat16=not arguments.no_bfloat16)


def precision(recipe: Recipe) -> contextlib.AbstractContextManager[object]:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=recipe.bfloat16)


def rate_at(progress: float, recipe: Recipe) -> float:
    """Linear warm-up, then a cosine down to `final_rate` of the peak."""
    if progress < recipe.warmup:
        return recipe.learning_rate * (progress + 1e-3) / (recipe.warmup + 1e-3)
    angle = math.pi * (progress - recipe.warmup) / (1 - recipe.warmup)
    share = recipe.final_rate + (1 - recipe.final_rate) * 0.5 * (1 + math.cos(angle))
    return recipe.learning_rate * share


def make_optimizer(model: Gpt2, recipe: Recipe) -> torch.optim.AdamW:
    """Weight decay on matrices only, as usual for GPT-2."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": recipe.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.95), fused=True)


def first_positions(batch: int, spare: int, generator: torch.Generator) -> torch.Tensor:
    """Half of the rows start at position 0, the others anywhere that leaves room for them.

    So every position embedding is trained while most steps are short, and the model still sees
    many texts that begin at position 0, as they do when it is used.
    """
    anywhere = torch.randint(spare + 1, (batch,), generator=generator)
    return anywhere * (torch.rand(batch, generator=generator) < 0.5)


def training_step(
    model: Gpt2,
    optimizer: torch.optim.Optimizer,
    ids: torch.Tensor,
    progress: float,
    recipe: Recipe,
    generator: torch.Generator,
) -> float:
    """One update; returns the training loss."""
    long = progress >= 1 - recipe.long_fraction
    length = recipe.long_context if long else recipe.short_context
    batch = max(1, recipe.batch_tokens // length)
    rows = sample_windows(ids, batch, length + 1, generator)
    start = first_positions(batch, recipe.long_context - length, generator)
    for group in optimizer.param_groups:
        group["lr"] = rate_at(progress, recipe)
    with precision(recipe):
        logits = model(rows[:, :-1], start)
    loss = F.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


class Keeper:
    """Measures the validation loss at the long context and keeps the best model so far."""

    def __init__(self, ids: torch.Tensor, out: Path, recipe: Recipe, end_of_text: int) -> None:
        self.ids_ = ids
        self.out_ = out
        self.recipe_ = recipe
        self.end_of_text_ = end_of_text
        self.record = Record()

    def visit(self, model: Gpt2, training_loss: float) -> None:
        model.eval()
        with precision(self.recipe_):
            loss = mean_loss(model, self.ids_, self.recipe_.long_context)
        model.train()
        record = self.record
        record.history.append({"step": record.steps, "training": training_loss, "validation": loss})
        if loss < record.best_loss:
            record.best_loss, record.best_step = loss, record.steps
            config = config_json(model.shape, self.end_of_text_, self.recipe_.dropout)
            save_hugging_face(model, self.out_, config)
        write_json(self.out_ / "training.json", {"recipe": asdict(self.recipe_), **asdict(record)})
        print(
            f"{record.minutes:6.1f} min  step {record.steps:6d}  training {training_loss:.4f}"
            f"  validation {loss:.4f}  best {record.best_loss:.4f}",
            flush=True,
        )


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def save_tokenizer(tokenizer: Tokenizer, out: Path, context: int) -> None:
    tokenizer.save(str(out / "tokenizer.json"))
    settings = {
        "add_prefix_space": False,
        "bos_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "eos_token": END_OF_TEXT,
        "model_max_length": context,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    write_json(out / "tokenizer_config.json", settings)


def run(recipe: Recipe, ids: torch.Tensor, keeper: Keeper, shape: Shape) -> Record:
    generator = torch.Generator().manual_seed(recipe.seed)
    model = Gpt2(shape, recipe.dropout, recipe.seed)
    optimizer = make_optimizer(model, recipe)
    record, started, next_visit, smooth = keeper.record, time.monotonic(), 0.0, math.nan
    progress = 0.0
    while progress < 1:
        loss = training_step(model, optimizer, ids, progress, recipe, generator)
        smooth = loss if math.isnan(smooth) else 0.98 * smooth + 0.02 * loss
        record.steps += 1
        record.tokens += recipe.batch_tokens
        record.minutes = (time.monotonic() - started) / 60
        if recipe.steps:
            progress = record.steps / recipe.steps
        else:
            progress = record.minutes / recipe.minutes
        if progress >= next_visit or progress >= 1:
            keeper.visit(model, smooth)
            next_visit = progress + recipe.evaluate_every
    return record


def main() -> None:
    arguments = parse_arguments()
    recipe = recipe_of(arguments)
    torch.set_num_threads(arguments.threads)
    arguments.out.mkdir(parents=True, exist_ok=True)
    split = read_split(arguments.novel)
    tokenizer = train_tokenizer(split.training, recipe.vocabulary)
    save_tokenizer(tokenizer, arguments.out, recipe.long_context)
    training, validation = encode(tokenizer, split.training), encode(tokenizer, split.validation)
    shape = Shape(vocab_size=tokenizer.get_vocab_size(), n_positions=recipe.long_context)
    print(f"{len(training)} training tokens, {len(validation)} validation tokens, {shape}")
    keeper = Keeper(validation, arguments.out, recipe, tokenizer.token_to_id(END_OF_TEXT))
    record = run(recipe, training, keeper, shape)
    print(f"best validation loss {record.best_loss:.4f} at step {record.best_step}")


if __name__ == "__main__":
    main()
