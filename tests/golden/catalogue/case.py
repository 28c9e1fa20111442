"""A checkpoint of random weights: what the families have in common."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.golden.catalogue.draw import draw_integers, draw_tensor
from tests.golden.catalogue.files import Tensor, write_config, write_weights

Config = dict[str, Any]
Recipe = tuple[tuple[int, ...], float, int]  # shape, mean, half-width in 1/1024

TORCH_NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True)
class Case:
    """A checkpoint, and how many random tokens it is run on. A family gives it fields(), recipes()
    and what is its own."""

    name: str
    about: str
    width: int = 12
    heads: int = 2
    layers: int = 2
    vocab: int = 31
    positions: int = 64
    tokens: int = 64
    dtype: str = "f32"
    norm_dtype: str = ""  # dtype of layer norms and biases, if another
    changes: Config = field(default_factory=dict)  # fields of config.json, None for null
    drop: Sequence[str] = ()  # fields to leave out of config.json
    shards: int = 1
    left_out: Sequence[str] = ()  # tensors that the file does not have
    copies: dict[str, str] = field(default_factory=dict)  # tensors that repeat another one

    def fields(self) -> Config:
        """config.json before `changes` and `drop`."""
        raise NotImplementedError

    def recipes(self) -> dict[str, Recipe]:
        """Every weight by the name that it is drawn by."""
        raise NotImplementedError

    def extras(self) -> dict[str, Tensor]:
        """Tensors that follow the weights, such as buffers of old checkpoints."""
        return {}

    def stored_name(self, name: str) -> str:
        return name

    @property
    def seed(self) -> int:
        """A checkpoint keeps its weights when others come or go."""
        return seed_of(self.name)

    @property
    def sharp(self) -> int:
        """Half-width sqrt(4.5 / width) is variance 1.5 / width: scores with a deviation of 1.5."""
        return math.isqrt((1024 * 1024 * 9) // (2 * self.width))

    def config(self) -> Config:
        config = self.fields() | self.changes
        return {key: value for key, value in config.items() if key not in self.drop}

    def tensors(self) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = {}
        for name, (shape, mean, half_width) in self.recipes().items():
            dtype = self.norm_dtype if self.norm_dtype and len(shape) == 1 else self.dtype
            tensors[name] = draw_tensor(self.seed, name, shape, mean, half_width, dtype)
        tensors |= self.extras()
        tensors |= {name: tensors[of] for name, of in self.copies.items()}
        return {self.stored_name(name): t for name, t in tensors.items() if name not in self.left_out}

    def token_ids(self) -> list[int]:
        return draw_integers(self.seed, "tokens", self.tokens, self.vocab)

    def write(self, folder: Path) -> None:
        write_config(folder, self.config())
        write_weights(folder, self.tensors(), self.shards)


def table(name: str) -> list[dict[str, Any]]:
    """The cases of NAME.jsonl, a line each: the fields that are not the default."""
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def seed_of(name: str) -> int:
    return sum((k + 1) * byte for k, byte in enumerate(name.encode()))
