"""Random GPT-2 checkpoints: a tiny one for every switch of a config, and the real widths."""

from dataclasses import dataclass

import numpy as np

from tests.golden.catalogue.case import TORCH_NAMES, Case, Config, Recipe, table
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


CASES = tuple(Gpt2(**row) for row in table("gpt2"))
# The published widths, too large to commit: written again wherever they are needed.
WIDTHS = tuple(Gpt2(**row) for row in table("widths"))


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
