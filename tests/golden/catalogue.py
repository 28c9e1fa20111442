"""The checkpoints that the golden files are made of: one for every switch of a GPT-2 config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.golden.random_checkpoint import (
    Config,
    Tensor,
    base_config,
    integers,
    make_tensor,
    recipe,
    size_config,
    tensor_names,
    write_checkpoint,
    write_config,
    write_weights,
)

PREFIX = "transformer."
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Tiny:
    """A committed checkpoint. The first six fields are its shape, the rest what is special."""

    name: str
    about: str
    width: int = 12
    heads: int = 2
    layers: int = 2
    vocab: int = 31
    positions: int = 64
    tokens: int = 64
    dtype: str = "f32"
    changes: Config = field(default_factory=dict)
    drop: tuple[str, ...] = ()  # fields to leave out of config.json
    shards: int = 1
    prefix: bool = True
    buffers: str = ""  # dtype of the old attn.bias buffers, if any
    repeat_head: bool = False  # store the tied lm_head.weight once more
    norm_dtype: str = ""  # dtype of layer norms and biases, if another

    def config(self) -> Config:
        config = base_config(
            self.width,
            self.heads,
            self.layers,
            self.vocab,
            self.positions,
            self.dtype,
            self.changes,
        )
        return {key: value for key, value in config.items() if key not in self.drop}


@dataclass(frozen=True)
class Real:
    """A real GPT-2 width, too large to commit: written again wherever it is needed."""

    size: str
    dtype: str
    shards: int
    seed: int
    layers: int = 2
    vocab: int = 512
    positions: int = 128

    @property
    def name(self) -> str:
        return f"random-{self.size}"


ACTIVATIONS = (
    "gelu_new",
    "gelu",
    "gelu_fast",
    "gelu_pytorch_tanh",
    "quick_gelu",
    "relu",
    "silu",
    "swish",
    "tanh",
)

OPTIONAL_FIELDS = (
    "activation_function",
    "attn_pdrop",
    "bos_token_id",
    "embd_pdrop",
    "eos_token_id",
    "initializer_range",
    "layer_norm_epsilon",
    "n_ctx",
    "n_inner",
    "resid_pdrop",
    "torch_dtype",
)

TINY: tuple[Tiny, ...] = (
    Tiny(
        "plain",
        "nothing special; 97 tokens, so that blocks of 64 rows end unevenly",
        width=20,
        heads=4,
        vocab=41,
        positions=128,
        tokens=97,
    ),
    *(
        Tiny(
            f"activation-{name.replace('_', '-')}",
            f"activation_function {name}",
            changes={"activation_function": name},
        )
        for name in ACTIVATIONS
    ),
    Tiny(
        "unscaled",
        "scale_attn_weights false",
        heads=3,
        changes={"scale_attn_weights": False},
    ),
    Tiny(
        "inverse-layer",
        "scale_attn_by_inverse_layer_idx true",
        layers=3,
        changes={"scale_attn_by_inverse_layer_idx": True},
    ),
    Tiny(
        "unscaled-inverse-layer",
        "scale_attn_weights false and scale_attn_by_inverse_layer_idx true",
        layers=3,
        changes={"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True},
    ),
    Tiny(
        "upcast",
        "reorder_and_upcast_attn true, with the inverse layer scale: the same result",
        layers=3,
        changes={"reorder_and_upcast_attn": True, "scale_attn_by_inverse_layer_idx": True},
    ),
    Tiny("inner-narrow", "n_inner 7, narrower than the model", changes={"n_inner": 7}),
    Tiny("inner-wide", "n_inner 101, not a multiple of anything", changes={"n_inner": 101}),
    Tiny(
        "epsilon",
        "layer_norm_epsilon 0.05",
        changes={"layer_norm_epsilon": 0.05},
    ),
    Tiny(
        "defaults",
        "config.json without any optional field: GPT-2's defaults hold",
        drop=OPTIONAL_FIELDS,
    ),
    Tiny(
        "special-ids",
        "special-token ids outside the vocabulary, unused",
        changes={"bos_token_id": 50256, "eos_token_id": 50257, "pad_token_id": 99999},
    ),
    Tiny(
        "no-prefix",
        "tensor names of the base GPT2Model, without `transformer.`",
        changes={"architectures": ["GPT2Model"]},
        prefix=False,
    ),
    Tiny(
        "untied",
        "tie_word_embeddings false, with an lm_head.weight of its own",
        changes={"tie_word_embeddings": False},
    ),
    Tiny(
        "buffers-f32",
        "names without prefix and the old attn.bias buffers as F32, as `gpt2` is published",
        prefix=False,
        buffers="F32",
        positions=48,
        tokens=48,
    ),
    Tiny(
        "buffers-bool",
        "attn.bias as BOOL, a scalar attn.masked_bias, and the tied lm_head.weight stored again",
        buffers="BOOL",
        repeat_head=True,
    ),
    Tiny("f16", "F16 weights", dtype="f16", width=20, vocab=41),
    Tiny(
        "bf16",
        "BF16 weights, the type told by `dtype`, not `torch_dtype`",
        width=20,
        vocab=41,
        dtype="bf16",
        changes={"dtype": "bfloat16"},
        drop=("torch_dtype",),
    ),
    Tiny(
        "mixed",
        "matrices F16, biases and layer norms F32, some at offsets that 4 does not divide",
        width=9,
        heads=3,
        dtype="f16",
        norm_dtype="f32",
    ),
    Tiny("sharded", "three shards with an index, layers parted between them", shards=3, layers=3),
    Tiny("sharded-no-prefix", "two shards, names without `transformer.`", shards=2, prefix=False),
    Tiny(
        "sharp",
        "unscaled scores of one wide head, a single layer: rows near one-hot",
        width=24,
        heads=1,
        layers=1,
        changes={"scale_attn_weights": False},
    ),
    Tiny("one-head", "a single head as wide as the model", heads=1, width=9),
    Tiny("narrow-heads", "heads one number wide", heads=8, width=8),
    Tiny("odd-heads", "heads 7 wide, vocabulary above 64", heads=3, width=21, vocab=67),
)

REAL: tuple[Real, ...] = (
    Real("small", "f32", 1, seed=11),
    Real("medium", "f32", 2, seed=12),
    Real("large", "bf16", 1, seed=13),
    Real("xl", "f16", 3, seed=14),
)


def lengths_for(count: int) -> list[int]:
    """16, 32, 48, 64, 96, 128, ... below the number of tokens, and that number."""
    steps = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
    return [step for step in steps if step < count] + [count]


def seed_of(name: str) -> int:
    """A checkpoint keeps its weights when others come or go."""
    return sum((k + 1) * byte for k, byte in enumerate(name.encode()))


def tiny_tokens(case: Tiny) -> list[int]:
    return integers(seed_of(case.name), "tokens", case.tokens, case.vocab)


def real_tokens(case: Real) -> list[int]:
    return integers(case.seed, "tokens", case.positions, case.vocab)


def tiny_tensors(case: Tiny) -> Tensors:
    config = base_config(
        case.width, case.heads, case.layers, case.vocab, case.positions, case.dtype, case.changes
    )
    seed = seed_of(case.name)
    tensors: Tensors = {}
    for name in tensor_names(config):
        is_vector = len(recipe(name, config)[0]) == 1
        dtype = case.norm_dtype if is_vector and case.norm_dtype else case.dtype
        tensors[name] = make_tensor(name, config, seed, dtype)
    if case.buffers:
        tensors.update(old_buffers(case))
    if case.repeat_head:
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"]
    if not case.prefix:
        tensors = {name.removeprefix(PREFIX): tensor for name, tensor in tensors.items()}
    return tensors


def old_buffers(case: Tiny) -> Tensors:
    """What transformers stored before 4.31: the causal mask, and what masked scores became."""
    mask = np.tril(np.ones((case.positions, case.positions)))
    kinds = {"F32": "<f4", "BOOL": "u1"}
    shape = (1, 1, *mask.shape)
    buffers: Tensors = {}
    for layer in range(case.layers):
        attention = f"{PREFIX}h.{layer}.attn."
        bias = mask.astype(kinds[case.buffers]).tobytes()
        buffers[f"{attention}bias"] = Tensor(case.buffers, shape, bias)
        if case.repeat_head:
            value = np.array(-1e4, dtype="<f4").tobytes()
            buffers[f"{attention}masked_bias"] = Tensor("F32", (), value)
    return buffers


def write_tiny(folder: Path, case: Tiny) -> None:
    tensors = tiny_tensors(case)
    write_config(folder, case.config())
    write_weights(folder, layout_of(tensors), lambda name: tensors[name].data, case.shards)


def layout_of(tensors: Mapping[str, Tensor]) -> dict[str, tuple[str, tuple[int, ...], int]]:
    return {name: (t.dtype, t.shape, len(t.data)) for name, t in tensors.items()}


def write_real(folder: Path, case: Real) -> None:
    config = size_config(case.size, case.layers, case.vocab, case.positions, case.dtype)
    write_checkpoint(folder, config, case.seed, case.dtype, case.shards)


def capp_tokens(count: int, seed: int = 7) -> list[int]:
    """Orders as capp-gpt knows them: six features, <SOS>, a chain of processes, <EOC>, again.

    Ids by tokenizer.json: features in the groups below, processes 29 to 48, <SOS> 49, <EOC> 50.
    """
    groups = ((0, 7), (7, 14), (14, 16), (16, 20), (20, 24), (24, 29))
    numbers = integers(seed, "capp", 2 * count, 1 << 32)
    draw = iter(numbers)

    def below(low: int, high: int) -> int:
        return low + (next(draw) * (high - low) >> 32)

    tokens: list[int] = []
    while len(tokens) < count:
        tokens += [below(low, high) for low, high in groups]
        tokens.append(49)
        tokens += [below(29, 49) for _ in range(below(1, 6))]
        tokens.append(50)
    return tokens[:count]
