#!/usr/bin/env python3
"""Gradients of a loss by activations and by gates, by torch's autograd in float64, for gradients.safetensors.

    python3 -m tests.golden.make_gradient_golden

Every head mixes four outputs by gates: its own, that of 2 sinks and a window of 5 keys, the running mean, and
that of its scores divided by 2. The loss is a weighted sum over tokens.
"""

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers

from tests.golden.golden_file import Golden, read_family, write_family
from tests.golden.hugging_face import gpt2, llama
from tests.golden.make_golden import plain
from tests.places import GOLDEN

SINKS, WINDOW = 2, 5
MODULES = {"gpt2": gpt2, "llama": llama}


def draw_gates(layers: int, heads: int) -> torch.Tensor:
    """(layers, heads, choices), some of them 0."""
    at = torch.arange(layers * heads * 4, dtype=torch.float64).reshape(layers, heads, 4)
    gates = 0.3 + 0.6 * torch.sin(1.7 * at)
    gates[:, :, 1] *= (torch.arange(heads) % 3 != 1).double()
    return gates.requires_grad_()


def token_weights(count: int) -> torch.Tensor:
    return (torch.arange(count, dtype=torch.float64) % 3 + 0.5) / count


def mixed(own: Any, gates: torch.Tensor) -> Any:
    """The eager attention of a modeling module, with a sum over choices in place of its weights."""

    def attend(module: Any, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        _, weights = own(module, query, key, value, *args, **kwargs)
        visible = weights > 0
        count = weights.shape[-1]
        away = torch.arange(count)[:, None] - torch.arange(count)[None]
        kept = visible & ((away < WINDOW) | (torch.arange(count)[None] < SINKS))
        root = torch.where(visible, weights, 1.0).sqrt() * visible
        choices = [weights, weights * kept, visible.to(weights.dtype), root]
        of_layer = gates[module.layer_idx]
        sum_of = sum(
            of_layer[:, c, None, None] * choice / choice.sum(-1, keepdim=True)
            for c, choice in enumerate(choices)
        )
        values = value.repeat_interleave(query.shape[1] // value.shape[1], dim=1)
        return (sum_of @ values).transpose(1, 2).contiguous(), weights

    return attend


def gradients(
    family: str, folder: Path, tokens: list[int], double: bool = True, rounded: int | None = None
) -> dict[str, Any]:
    """`rounded`: the seed of changes of the weights by about the step of float32."""
    runner: Any = MODULES[family]
    model = runner.load(folder, double=double)
    if rounded is not None:
        steps = torch.Generator().manual_seed(rounded)
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=steps, dtype=torch.float64)
            parameter.data *= 1 + 2**-23 * noise
    kind = llama.model_type(folder)
    inner = model.transformer if family == "gpt2" else model.model
    layers = inner.h if family == "gpt2" else inner.layers
    entering: list[torch.Tensor] = []

    def keep(_: Any, args: Any, kwargs: Any) -> None:
        entering.append(args[0] if args else kwargs["hidden_states"])
        entering[-1].retain_grad()

    for layer in layers:
        layer.register_forward_pre_hook(keep, with_kwargs=True)
        if family == "gpt2":
            layer.attn.reorder_and_upcast_attn = False  # it has a function of its own
    gates = draw_gates(len(layers), model.config.num_attention_heads)
    used = gates if double else gates.detach().float().requires_grad_()
    module = llama.modeling(kind)
    with (
        llama.in_float64(kind, double),
        mock.patch.object(module, "eager_attention_forward", mixed(module.eager_attention_forward, used)),
    ):
        logits = model(torch.tensor([tokens]), use_cache=False).logits[0]
    assert logits.dtype == used.dtype
    losses = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(tokens[1:]), reduction="none")
    (losses * token_weights(len(tokens) - 1)).sum().backward()
    return {
        "losses": losses.detach().numpy(),
        "gates": used.detach().numpy(),
        "by_gates": used.grad.numpy(),
        "by_residual": np.stack([h.grad[0].numpy() for h in entering]),
    }


def figures(family: str, name: str, tokens: list[int]) -> Golden:
    folder = GOLDEN / family / name
    exact = gradients(family, folder, tokens)
    # How far from float64 a pass in float32 may be: as far as torch's is, or as rounded weights are.
    others = [gradients(family, folder, tokens, double=False)]
    others += [gradients(family, folder, tokens, rounded=seed) for seed in range(3)]
    away = {
        key: max(
            float(np.linalg.norm(other[key] - exact[key]) / np.linalg.norm(exact[key])) for other in others
        )
        for key in ("by_gates", "by_residual")
    }
    of_layers = exact.pop("by_residual")
    norms = np.linalg.norm(of_layers, axis=(1, 2))
    kept = {"by_residual": of_layers[:, :, :8], "residual_norms": norms}
    return {"folder": f"{family}/{name}", "tokens": tokens, **exact, **kept, "float32_deviation": away}


def main() -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    found: dict[str, Golden] = {}
    for family in MODULES:
        for name, case in read_family(family).items():
            if not (GOLDEN / family / name).exists():
                continue
            tokens = np.asarray(case["tokens"])[:40].tolist()
            found[f"{family}-{name}"] = plain(figures(family, name, tokens))
            print(name, found[f"{family}-{name}"]["float32_deviation"])
    write_family("gradients", found)


if __name__ == "__main__":
    main()
