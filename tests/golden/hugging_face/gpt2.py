"""Hugging Face's GPT-2, run in float64."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.golden.hugging_face.values import EAGER, Array, Run, check_loaded, check_types


def load(folder: Path, double: bool) -> GPT2LMHeadModel:
    """The model with eager attention. float64 also switches off the cast to float32 that
    `reorder_and_upcast_attn` asks for; in exact arithmetic that flag changes nothing."""
    config = GPT2Config.from_pretrained(folder)
    config.reorder_and_upcast_attn = config.reorder_and_upcast_attn and not double
    model, info = GPT2LMHeadModel.from_pretrained(folder, config=config, dtype=torch.float32, **EAGER)
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    check_loaded(folder, info, tied, lambda key: key.endswith((".attn.bias", ".masked_bias")))
    model.eval()
    return model.double() if double else model


def run(model: GPT2LMHeadModel, tokens: Sequence[int]) -> Run:
    hidden: list[torch.Tensor] = []
    projections: list[torch.Tensor] = []
    blocks = model.transformer.h
    hooks = [block.register_forward_pre_hook(lambda _, args: hidden.append(args[0])) for block in blocks]
    hooks.append(model.transformer.ln_f.register_forward_pre_hook(lambda _, args: hidden.append(args[0])))
    hooks += [
        block.attn.c_attn.register_forward_hook(lambda _, __, out: projections.append(out))
        for block in blocks
    ]
    with torch.no_grad():
        out = model(torch.tensor([list(tokens)]), output_attentions=True, use_cache=False)
    for hook in hooks:
        hook.remove()
    found = (out.logits, *out.attentions, *hidden, *projections)
    check_types(found, model.transformer.wte.weight.dtype)
    scores = [
        scaled_scores(model.config, layer, projection[0].double().numpy())
        for layer, projection in enumerate(projections)
    ]
    return Run(
        logits=out.logits[0].double().numpy(),
        hidden=np.stack([h[0].double().numpy() for h in hidden]),
        weights=np.stack([a[0].double().numpy() for a in out.attentions]),
        scores=np.stack(scores),
    )


def scaled_scores(config: GPT2Config, layer: int, projection: Array) -> Array:
    """(n_head, T, T) from the (T, 3 width) output of c_attn."""
    rows, width = projection.shape[0], config.n_embd
    heads = config.n_head
    query, key = (
        projection[:, part * width : (part + 1) * width].reshape(rows, heads, -1).swapaxes(0, 1)
        for part in (0, 1)
    )
    scores: Array = query @ key.swapaxes(1, 2)
    if config.scale_attn_weights:
        scores = scores / math.sqrt(width // heads)
    if config.scale_attn_by_inverse_layer_idx:
        scores = scores / (layer + 1)
    return scores


def sizes(config: GPT2Config) -> dict[str, int]:
    return {
        "n_layer": config.n_layer,
        "n_head": config.n_head,
        "n_embd": config.n_embd,
        "d_head": config.n_embd // config.n_head,
        "n_inner": config.n_inner or 4 * config.n_embd,
        "n_positions": config.n_positions,
        "vocab_size": config.vocab_size,
    }
