"""Hugging Face's models of the Llama families, run in float64.

Their code casts to float32 in RMS norms, rotary positions and the eager softmax: for the float64
run its `torch.float32` and `Tensor.float` mean float64, while the model is built (the frequencies)
and while it runs. The run then checks that no tensor of float32 is left.
"""

import contextlib
import importlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, modeling_rope_utils

from tests.golden.hugging_face.values import EAGER, Array, Run, check_loaded, check_types


class WideTorch:
    """torch, but for its float32."""

    def __getattr__(self, name: str) -> Any:
        return torch.float64 if name in ("float", "float32") else getattr(torch, name)


def modeling(family: str) -> Any:
    family = family.removesuffix("_text")
    return importlib.import_module(f"transformers.models.{family}.modeling_{family}")


def model_type(folder: Path) -> str:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return str(config["model_type"])


@contextlib.contextmanager
def in_float64(family: str, double: bool) -> Iterator[None]:
    if not double:
        yield
        return
    with contextlib.ExitStack() as stack:
        for module in (modeling(family), modeling_rope_utils):
            stack.enter_context(mock.patch.object(module, "torch", WideTorch()))
        stack.enter_context(mock.patch.object(torch.Tensor, "float", torch.Tensor.double))
        yield


def load(folder: Path, double: bool) -> Any:
    """The model with eager attention; weights of 16 or 32 bits are widened exactly."""
    with in_float64(model_type(folder), double):
        dtype = torch.float64 if double else torch.float32
        model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **EAGER)
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    check_loaded(folder, info, tied, lambda key: key.endswith("inv_freq"))
    check_types(model.model.rotary_emb.buffers(), torch.float64 if double else torch.float32)
    model.eval()
    round_embedding_scale(model, folder)
    return model


def round_embedding_scale(model: Any, folder: Path) -> None:
    """Gemma multiplies its embeddings by sqrt(width) in the type that it runs in. headgauge does so
    in the type of the table, as it was trained; float32 and float64 runs must be asked for it."""
    if not model_type(folder).startswith("gemma"):
        return
    stored = AutoConfig.from_pretrained(folder).dtype or torch.float32
    root = model.config.hidden_size**0.5
    rounded = float(torch.tensor(root, dtype=stored))
    if stored != torch.float32:
        model.model.embed_tokens.register_forward_hook(lambda _, __, out: out * (rounded / root))


def windows_of(config: Any) -> list[int]:
    """Of each layer; 0: none."""
    window = getattr(config, "sliding_window", None) or 0
    if config.model_type == "mistral":
        return [window] * config.num_hidden_layers
    types = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    return [window if kind == "sliding_attention" else 0 for kind in types]


def run(model: Any, tokens: Sequence[int]) -> Run:
    config = model.config
    hidden: list[torch.Tensor] = []
    turned: list[tuple[torch.Tensor, torch.Tensor]] = []
    module = modeling(config.model_type)
    attend = module.eager_attention_forward

    def recorded(of: Any, query: torch.Tensor, key: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        turned.append((query, key))
        return attend(of, query, key, *args, **kwargs)

    def entering(_: Any, args: Any, kwargs: Any) -> None:
        hidden.append(args[0] if args else kwargs["hidden_states"])

    layers = [*model.model.layers, model.model.norm]
    hooks = [layer.register_forward_pre_hook(entering, with_kwargs=True) for layer in layers]
    expected = model.model.embed_tokens.weight.dtype
    with (
        torch.no_grad(),
        in_float64(config.model_type, expected == torch.float64),
        mock.patch.object(module, "eager_attention_forward", recorded),
    ):
        out = model(torch.tensor([list(tokens)]), output_attentions=True, use_cache=False)
    for hook in hooks:
        hook.remove()
    found = (out.logits, *out.attentions, *hidden, *(t for pair in turned for t in pair))
    check_types(found, expected)
    scores = [
        scaled_scores(config, model.model.layers[layer].self_attn.scaling, query, key)
        for layer, (query, key) in enumerate(turned)
    ]
    return Run(
        logits=out.logits[0].double().numpy(),
        hidden=np.stack([h[0].double().numpy() for h in hidden]),
        weights=np.stack([a[0].double().numpy() for a in out.attentions]),
        scores=np.stack(scores),
        windows=windows_of(config),
    )


def scaled_scores(config: Any, scaling: float, query: torch.Tensor, key: torch.Tensor) -> Array:
    """(n_head, T, T), soft-capped."""
    groups = config.num_attention_heads // config.num_key_value_heads
    keys = np.repeat(key[0].double().numpy(), groups, axis=0)
    scores: Array = query[0].double().numpy() @ keys.swapaxes(1, 2) * scaling
    cap = getattr(config, "attn_logit_softcapping", None)
    return cap * np.tanh(scores / cap) if cap else scores


def sizes(config: Any) -> dict[str, int]:
    return {
        "n_layer": config.num_hidden_layers,
        "n_head": config.num_attention_heads,
        "n_kv_head": config.num_key_value_heads,
        "n_embd": config.hidden_size,
        "d_head": getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
        "n_inner": config.intermediate_size,
        "n_positions": config.max_position_embeddings,
        "vocab_size": config.vocab_size,
    }
