"""Random GPT-2 checkpoints: a tiny one for every switch of a config, and the real widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.golden.catalogue.case import TORCH_NAMES, Case, Config, Recipe
from tests.golden.catalogue.draw import draw_integers, draw_tensor
from tests.golden.catalogue.files import Tensor

PREFIX = "transformer."


@dataclass(frozen=True)
class Gpt2(Case):
    prefix: bool = True
    buffers: str = ""  # dtype of the old attn.bias buffers, if any
    repeat_head: bool = False  # store the tied lm_head.weight once more
    drawn_from: int = 0  # the seed, if it does not follow from the name

    @property
    def seed(self) -> int:
        return self.drawn_from or super().seed

    def stored_name(self, name: str) -> str:
        return name if self.prefix else name.removeprefix(PREFIX)

    def fields(self) -> Config:
        """Every field that matters, and a few that must not."""
        return {
            "activation_function": "gelu_new",
            "architectures": ["GPT2LMHeadModel"],
            "attn_pdrop": 0.1,
            "bos_token_id": self.vocab - 1,
            "embd_pdrop": 0.1,
            "eos_token_id": self.vocab - 1,
            "initializer_range": 0.02,
            "layer_norm_epsilon": 1e-05,
            "model_type": "gpt2",
            "n_ctx": self.positions,
            "n_embd": self.width,
            "n_head": self.heads,
            "n_inner": None,
            "n_layer": self.layers,
            "n_positions": self.positions,
            "resid_pdrop": 0.1,
            "torch_dtype": TORCH_NAMES[self.dtype],
            "vocab_size": self.vocab,
        }

    def recipes(self) -> dict[str, Recipe]:
        width, sharp = self.width, self.sharp
        inner = self.changes.get("n_inner") or 4 * width
        block: dict[str, Recipe] = {
            "ln_1.weight": ((width,), 1.0, 256),
            "ln_1.bias": ((width,), 0.0, 128),
            "attn.c_attn.weight": ((width, 3 * width), 0.0, sharp),
            "attn.c_attn.bias": ((3 * width,), 0.0, 256),
            "attn.c_proj.weight": ((width, width), 0.0, sharp),
            "attn.c_proj.bias": ((width,), 0.0, 128),
            "ln_2.weight": ((width,), 1.0, 256),
            "ln_2.bias": ((width,), 0.0, 128),
            "mlp.c_fc.weight": ((width, inner), 0.0, sharp),
            "mlp.c_fc.bias": ((inner,), 0.0, 256),
            "mlp.c_proj.weight": ((inner, width), 0.0, sharp // 2),
            "mlp.c_proj.bias": ((width,), 0.0, 128),
        }
        recipes: dict[str, Recipe] = {
            "transformer.wte.weight": ((self.vocab, width), 0.0, sharp),
            "transformer.wpe.weight": ((self.positions, width), 0.0, sharp),
        }
        for layer in range(self.layers):
            recipes |= {f"transformer.h.{layer}.{role}": each for role, each in block.items()}
        recipes["transformer.ln_f.weight"] = ((width,), 1.0, 256)
        recipes["transformer.ln_f.bias"] = ((width,), 0.0, 128)
        if not self.changes.get("tie_word_embeddings", True):
            recipes["lm_head.weight"] = ((self.vocab, width), 0.0, sharp)
        return recipes

    def extras(self) -> dict[str, Tensor]:
        """What transformers stored before 4.31, the causal mask and what masked scores became, and
        the tied head."""
        found: dict[str, Tensor] = {}
        if self.buffers:
            mask = np.tril(np.ones((self.positions, self.positions)))
            bias = mask.astype({"F32": "<f4", "BOOL": "u1"}[self.buffers]).tobytes()
            for layer in range(self.layers):
                attention = f"{PREFIX}h.{layer}.attn."
                shape = (1, 1, *mask.shape)
                found[f"{attention}bias"] = Tensor(self.buffers, shape, lambda: bias)
                if self.repeat_head:
                    value = np.array(-1e4, dtype="<f4").tobytes()
                    found[f"{attention}masked_bias"] = Tensor("F32", (), lambda: value)
        if self.repeat_head:
            name = "transformer.wte.weight"
            recipe = self.recipes()[name]
            found["lm_head.weight"] = draw_tensor(self.seed, name, *recipe, self.dtype)
        return found


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

CASES: tuple[Gpt2, ...] = (
    Gpt2(
        "plain",
        "nothing special; 97 tokens, so that blocks of 64 rows end unevenly",
        width=20,
        heads=4,
        vocab=41,
        positions=128,
        tokens=97,
    ),
    *(
        Gpt2(
            f"activation-{name.replace('_', '-')}",
            f"activation_function {name}",
            changes={"activation_function": name},
        )
        for name in ACTIVATIONS
    ),
    Gpt2(
        "unscaled",
        "scale_attn_weights false",
        heads=3,
        changes={"scale_attn_weights": False},
    ),
    Gpt2(
        "inverse-layer",
        "scale_attn_by_inverse_layer_idx true",
        layers=3,
        changes={"scale_attn_by_inverse_layer_idx": True},
    ),
    Gpt2(
        "unscaled-inverse-layer",
        "scale_attn_weights false and scale_attn_by_inverse_layer_idx true",
        layers=3,
        changes={"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True},
    ),
    Gpt2(
        "upcast",
        "reorder_and_upcast_attn true, with the inverse layer scale: the same result",
        layers=3,
        changes={"reorder_and_upcast_attn": True, "scale_attn_by_inverse_layer_idx": True},
    ),
    Gpt2("inner-narrow", "n_inner 7, narrower than the model", changes={"n_inner": 7}),
    Gpt2("inner-wide", "n_inner 101, not a multiple of anything", changes={"n_inner": 101}),
    Gpt2(
        "epsilon",
        "layer_norm_epsilon 0.05",
        changes={"layer_norm_epsilon": 0.05},
    ),
    Gpt2(
        "defaults",
        "config.json without any optional field: GPT-2's defaults hold",
        drop=OPTIONAL_FIELDS,
    ),
    Gpt2(
        "special-ids",
        "special-token ids outside the vocabulary, unused",
        changes={"bos_token_id": 50256, "eos_token_id": 50257, "pad_token_id": 99999},
    ),
    Gpt2(
        "no-prefix",
        "tensor names of the base GPT2Model, without `transformer.`",
        changes={"architectures": ["GPT2Model"]},
        prefix=False,
    ),
    Gpt2(
        "untied",
        "tie_word_embeddings false, with an lm_head.weight of its own",
        changes={"tie_word_embeddings": False},
    ),
    Gpt2(
        "buffers-f32",
        "names without prefix and the old attn.bias buffers as F32, as `gpt2` is published",
        prefix=False,
        buffers="F32",
        positions=48,
        tokens=48,
    ),
    Gpt2(
        "buffers-bool",
        "attn.bias as BOOL, a scalar attn.masked_bias, and the tied lm_head.weight stored again",
        buffers="BOOL",
        repeat_head=True,
    ),
    Gpt2("f16", "F16 weights", dtype="f16", width=20, vocab=41),
    Gpt2(
        "bf16",
        "BF16 weights, the type given by `dtype`, not `torch_dtype`",
        width=20,
        vocab=41,
        dtype="bf16",
        changes={"dtype": "bfloat16"},
        drop=("torch_dtype",),
    ),
    Gpt2(
        "mixed",
        "matrices F16, biases and layer norms F32, some at offsets that 4 does not divide",
        width=9,
        heads=3,
        dtype="f16",
        norm_dtype="f32",
    ),
    Gpt2("sharded", "three shards with an index, layers parted between them", shards=3, layers=3),
    Gpt2("sharded-no-prefix", "two shards, names without `transformer.`", shards=2, prefix=False),
    Gpt2(
        "sharp",
        "unscaled scores of one wide head, a single layer: rows near one-hot",
        width=24,
        heads=1,
        layers=1,
        changes={"scale_attn_weights": False},
    ),
    Gpt2("one-head", "a single head as wide as the model", heads=1, width=9),
    Gpt2("narrow-heads", "heads one number wide", heads=8, width=8),
    Gpt2("odd-heads", "heads 7 wide, vocabulary above 64", heads=3, width=21, vocab=67),
)

# width, heads
SIZES: dict[str, tuple[int, int]] = {
    "small": (768, 12),
    "medium": (1024, 16),
    "large": (1280, 20),
    "xl": (1600, 25),
}
CUT = {"layers": 2, "vocab": 512, "positions": 128}


def of_size(
    size: str, *, dtype: str, shards: int, seed: int, layers: int, vocab: int, positions: int
) -> Gpt2:
    """A real GPT-2 width, too large to commit: written again wherever it is needed."""
    width, heads = SIZES[size]
    return Gpt2(
        f"random-{size}",
        f"the width of GPT-2 {size}; weights are drawn by random_checkpoint",
        width=width,
        heads=heads,
        layers=layers,
        vocab=vocab,
        positions=positions,
        tokens=positions,
        dtype=dtype,
        shards=shards,
        drawn_from=seed,
    )


# The options of of_size: the object `random` of a golden file.
WIDTHS: tuple[dict[str, Any], ...] = tuple(
    {"size": size, "dtype": dtype, "shards": shards, "seed": seed, **CUT}
    for size, dtype, shards, seed in (
        ("small", "f32", 1, 11),
        ("medium", "f32", 2, 12),
        ("large", "bf16", 1, 13),
        ("xl", "f16", 3, 14),
    )
)


def capp_tokens(count: int, seed: int = 7) -> list[int]:
    """Orders as capp-gpt knows them: six features, <SOS>, a chain of processes, <EOC>, again.

    Ids by tokenizer.json: features in the groups below, processes 29 to 48, <SOS> 49, <EOC> 50.
    """
    groups = ((0, 7), (7, 14), (14, 16), (16, 20), (20, 24), (24, 29))
    numbers = draw_integers(seed, "capp", 2 * count, 1 << 32)
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
