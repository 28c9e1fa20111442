"""The forward pass of the GPT-2 family in float64, from a Hugging Face folder.

Written from the published architecture: pre-norm blocks, learned positions, Conv1D weights stored
as (in, out). Nothing is cached and nothing is clever; L x L scores exist for one layer at a time.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.reference.arrays import Array
from tests.reference.safetensors_io import Tensors, read_checkpoint

_erf = np.frompyfunc(math.erf, 1, 1)


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1.0 + _erf(x / math.sqrt(2.0)).astype(np.float64)))


def _gelu_tanh(x: Array) -> Array:
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return np.asarray(0.5 * x * (1.0 + np.tanh(inner)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": _gelu,
    "gelu_python": _gelu,
    "gelu_new": _gelu_tanh,
    "gelu_fast": _gelu_tanh,
    "gelu_pytorch_tanh": _gelu_tanh,
    "gelu_accurate": _gelu_tanh,
    "quick_gelu": lambda x: x * _sigmoid(1.702 * x),
    "relu": lambda x: np.maximum(x, 0.0),
    "relu2": lambda x: np.maximum(x, 0.0) ** 2,
    "relu6": lambda x: np.clip(x, 0.0, 6.0),
    "leaky_relu": lambda x: np.where(x > 0.0, x, 0.01 * x),
    "silu": lambda x: x * _sigmoid(x),
    "swish": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "mish": lambda x: x * np.tanh(np.logaddexp(0.0, x)),
    "linear": lambda x: x,
}


@dataclass(frozen=True)
class Config:
    """What config.json says, as far as it changes the numbers."""

    layers: int
    heads: int
    width: int
    positions: int
    vocabulary: int
    epsilon: float
    activation: str
    scale_by_root: bool
    scale_by_layer: bool
    tied: bool

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    def scale(self, layer: int) -> float:
        """What q.k is multiplied by (D1.1, with the family's switches)."""
        root = 1.0 / math.sqrt(self.head_width) if self.scale_by_root else 1.0
        return root / (layer + 1) if self.scale_by_layer else root


def read_config(folder: Path) -> Config:
    raw = json.loads((folder / "config.json").read_text())
    if raw.get("model_type") != "gpt2":
        raise ValueError(f"model_type {raw.get('model_type')!r}: only gpt2 is known here")
    return Config(
        layers=raw["n_layer"],
        heads=raw["n_head"],
        width=raw["n_embd"],
        positions=raw["n_positions"],
        vocabulary=raw["vocab_size"],
        epsilon=raw.get("layer_norm_epsilon", 1e-5),
        activation=raw.get("activation_function", "gelu_new"),
        scale_by_root=raw.get("scale_attn_weights", True),
        scale_by_layer=raw.get("scale_attn_by_inverse_layer_idx", False),
        tied=raw.get("tie_word_embeddings", True),
    )


@dataclass
class LayerTrace:
    """What one block did: (heads, L, d) queries, keys and values; the (L, width) block input."""

    queries: Array
    keys: Array
    values: Array
    hidden: Array
    plain_queries: Array | None = None  # before rotary positions, where there are any
    plain_keys: Array | None = None


@dataclass
class Trace:
    layers: list[LayerTrace]
    embedding: Array  # (L, width), rows of the token table, no position
    next_token_loss: Array  # (L-1,), -log p(x_{t+1}) at t = 1..L-1


class Model:
    """A checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.config = read_config(folder)
        tensors = read_checkpoint(folder)
        self._tensors: Tensors = {
            name.removeprefix("transformer."): t for name, t in tensors.items() if t.dtype == np.float64
        }
        tied = self.config.tied or "lm_head.weight" not in self._tensors
        self._head = self._tensors["wte.weight" if tied else "lm_head.weight"]

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + self.config.epsilon)
        result: Array = scaled * self._tensors[name + ".weight"] + self._tensors[name + ".bias"]
        return result

    def _linear(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self._tensors[name + ".weight"] + self._tensors[name + ".bias"])

    def _split(self, x: Array) -> Array:
        heads = x.reshape(len(x), self.config.heads, self.config.head_width)
        return np.ascontiguousarray(heads.transpose(1, 0, 2))

    def _attend(self, layer: int, q: Array, k: Array, v: Array) -> Array:
        length = q.shape[1]
        hidden = np.triu(np.ones((length, length), dtype=bool), 1)
        outputs = []
        for head in range(self.config.heads):
            scores = (q[head] @ k[head].T) * self.config.scale(layer)
            scores[hidden] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            outputs.append((weights / weights.sum(axis=1, keepdims=True)) @ v[head])
        return np.concatenate(outputs, axis=1)

    def _losses(self, final: Array, tokens: Array) -> Array:
        losses = np.zeros(max(len(tokens) - 1, 0))
        for start in range(0, len(tokens), 64):
            logits = (final[start : start + 64] @ self._head.T).astype(np.float64)
            top = logits.max(axis=1)
            log_sum = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
            targets = tokens[start + 1 : start + 65]
            rows = np.arange(len(targets))
            losses[start : start + len(targets)] = log_sum[rows] - logits[rows, targets]
        return losses

    def forward(self, ids: list[int]) -> Trace:
        """One causal pass over the ids."""
        tokens = np.asarray(ids, dtype=np.int64)
        if len(tokens) > self.config.positions:
            raise ValueError(f"{len(tokens)} tokens, {self.config.positions} positions")
        if tokens.min() < 0 or tokens.max() >= self.config.vocabulary:
            raise ValueError("token id out of range")
        embedding = self._tensors["wte.weight"][tokens]
        x = embedding + self._tensors["wpe.weight"][: len(tokens)]
        activation = ACTIVATIONS[self.config.activation]
        layers = []
        for layer in range(self.config.layers):
            block = f"h.{layer}."
            hidden = x
            joined = self._linear(self._norm(x, block + "ln_1"), block + "attn.c_attn")
            q, k, v = (self._split(part) for part in np.split(joined, 3, axis=1))
            attended = self._attend(layer, q, k, v)
            x = x + self._linear(attended, block + "attn.c_proj")
            inner = activation(self._linear(self._norm(x, block + "ln_2"), block + "mlp.c_fc"))
            x = x + self._linear(inner, block + "mlp.c_proj")
            layers.append(LayerTrace(q, k, v, hidden))
        return Trace(layers, embedding, self._losses(self._norm(x, "ln_f"), tokens))
