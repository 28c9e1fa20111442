"""Trains a small decoder to copy, and shows when its heads form.

    python checkpoints.py [OUT]

Each text is a few random tokens, said again and again. A decoder of two layers learns to copy: a
head of the first layer looks at the previous token, and a head of the second then finds what
followed the present token before. The scans of all checkpoints are joined along the step, and a
table says which values changed and by which step they were past the middle of their change. This
takes 90 s of processor time and needs torch and transformers. OUT, the folder for results and page, is
`checkpoints` by default.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import headgauge

TOKENS, LENGTH, TEXTS = 64, 64, 32
SHORTEST, LONGEST = 12, 30  # tokens that are said again
STEPS = (0, 50, 100, 150, 200, 300, 400, 600)
METRICS = ["weight_previous_with_sinks", "weight_induction_with_sinks", "entropy_with_sinks", "max_logit"]


def texts(count: int, seed: int) -> torch.Tensor:
    """(count, LENGTH) tokens: the first ones of each text, of which there may be any number from
    SHORTEST to LONGEST, come again and again."""
    random = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(count):
        period = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=random))
        first = torch.randint(TOKENS, (period,), generator=random)
        rows.append(first.repeat(LENGTH // period + 1)[:LENGTH])
    return torch.stack(rows)


def decoder(seed: int = 0) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=TOKENS, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=LENGTH,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def copying_loss(model: LlamaForCausalLM, ids: torch.Tensor) -> torch.Tensor:
    """Mean loss in nats of the tokens that were surely said before."""
    logits = model(input_ids=ids).logits[:, LONGEST:-1]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, LONGEST + 1 :].flatten())


def table(series: headgauge.Results) -> str:
    """A line for each metric: the change of every head that is shown to change, and the step of half of it."""
    change, half = series["series_change"].values, series["series_half_step"].values
    p = series["series_change"].p
    lines = ["| metric | heads 0 to 3 of layer 0 | of layer 1 |", "|---|---|---|"]
    for place, metric in enumerate(series.coords["series_metric"]):
        layers = [
            ", ".join(
                f"{change[layer, head, place]:+.2f} ({half[layer, head, place]:g})"
                if p[layer, head, place] < 0.05
                else "-"
                for head in range(4)
            )
            for layer in range(2)
        ]
        lines.append(f"| `{metric}` | {layers[0]} | {layers[1]} |")
    return "\n".join(lines)


def main(out: Path) -> None:
    model = decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    held_out = texts(8, seed=1)
    scans = []
    for step in range(STEPS[-1] + 1):
        if step in STEPS:
            with torch.no_grad():
                loss = float(copying_loss(model, held_out))
            print(f"step {step}: {loss:.3f} nats")
            scans.append(
                headgauge.scan(model, list(held_out.numpy()), measures=["weights", "roles", "logits"])
            )
        loss_of_batch = copying_loss(model, texts(TEXTS, seed=1000 + step))
        optimizer.zero_grad()
        loss_of_batch.backward()
        optimizer.step()
    series = headgauge.series(scans, steps=list(STEPS), metrics=METRICS, out=out)
    print(series.summary())
    print(table(series))
    series.report(out / "report.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "checkpoints"))
