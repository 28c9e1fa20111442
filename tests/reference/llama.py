"""The forward pass of the Llama families in float64, from a Hugging Face folder.

Written from the published architectures: RMS norms, rotary positions (unscaled ones only), grouped
heads, gated MLPs; Gemma's offset norms, scaled embeddings, further norms, windows and soft-caps.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference.arrays import Array
from tests.reference.gpt2 import ACTIVATIONS, LayerTrace, Trace
from tests.reference.safetensors_io import read_checkpoint, read_header

FAMILIES = (
    *("llama", "mistral", "ministral", "qwen2", "qwen3", "smollm3"),
    *("gemma", "gemma2", "gemma3_text", "seed_oss"),
)
ROUNDED = {"BF16": 8, "F16": 11}  # binary digits of sqrt(width) in a Gemma of that type


@dataclass(frozen=True)
class Config:
    raw: dict[str, Any]

    def of(self, key: str, otherwise: Any = None) -> Any:
        return self.raw.get(key, otherwise)

    @property
    def family(self) -> str:
        return str(self.raw["model_type"])

    @property
    def layers(self) -> int:
        return int(self.raw["num_hidden_layers"])

    @property
    def heads(self) -> int:
        return int(self.raw["num_attention_heads"])

    @property
    def kv_heads(self) -> int:
        return int(self.raw.get("num_key_value_heads") or self.heads)

    @property
    def head_width(self) -> int:
        return int(self.raw.get("head_dim") or self.raw["hidden_size"] // self.heads)

    @property
    def cap(self) -> float:
        """Of the scores; 0: none."""
        return float(self.of("attn_logit_softcapping", 50.0) or 0) if self.is_gemma2 else 0.0

    @property
    def logit_cap(self) -> float:
        otherwise = 30.0 if self.is_gemma2 else 0.0
        return float(self.of("final_logit_softcapping", otherwise) or 0) if self.has_four_norms else 0.0

    @property
    def is_gemma(self) -> bool:
        return self.family.startswith("gemma")

    @property
    def is_gemma2(self) -> bool:
        return self.family == "gemma2"

    @property
    def is_gemma3(self) -> bool:
        return self.family == "gemma3_text"

    @property
    def has_four_norms(self) -> bool:
        return self.is_gemma2 or self.is_gemma3

    @property
    def norms_heads(self) -> bool:
        return self.is_gemma3 or self.family == "qwen3"

    def scale(self, layer: int) -> float:
        del layer
        by = self.of("query_pre_attn_scalar", 256) if self.has_four_norms else self.head_width
        return 1.0 / math.sqrt(by)

    def window(self, layer: int) -> int:
        """How many keys a row of the layer sees at most; 0: all before it."""
        size = int(self.of("sliding_window", 4096) or 0)
        uses = self.of("use_sliding_window", False)
        if self.family == "mistral":
            return size
        if self.family.startswith("qwen"):
            slides = layer >= self.of("max_window_layers", 28)
            size = size if uses else 0
        elif self.has_four_norms:
            pattern = 2 if self.is_gemma2 else self.of("sliding_window_pattern", 6)
            slides = (layer + 1) % pattern > 0
        elif self.family == "smollm3":
            slides = uses and self.theta(layer) is None
        elif self.family == "ministral":
            slides = True
        else:
            return 0
        types = self.of("layer_types")
        if types is not None:
            slides = types[layer] == "sliding_attention"
        return size if slides else 0

    def theta(self, layer: int) -> float | None:
        """The base of the rope of a layer; None: it has no positions."""
        if self.family == "smollm3":
            interval = self.of("no_rope_layer_interval", 4)
            stated = self.of("no_rope_layers")
            turns = stated[layer] if stated else (layer + 1) % interval
            return float(self.of("rope_theta", 2e6)) if turns else None
        if self.is_gemma3 and self.window(layer):
            return float(self.of("rope_local_base_freq", 1e4))
        return float(self.of("rope_theta", 1e6 if self.is_gemma3 else 1e4))


def read_config(folder: Path) -> Config:
    raw = json.loads((folder / "config.json").read_text())
    if raw.get("model_type") not in FAMILIES:
        raise ValueError(f"model_type {raw.get('model_type')!r}: none of {', '.join(FAMILIES)}")
    if raw.get("rope_scaling") or raw.get("rope_parameters"):
        raise ValueError("scaled rotary positions are not known here")
    return Config(raw)


def rotate(x: Array, theta: float | None) -> Array:
    """(heads, L, d): component i and i + d/2 of position p are turned by p theta^(-2i/d)."""
    if theta is None:
        return x
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[1])[:, None] * theta ** (-np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag], axis=-1)


class LlamaModel:
    def __init__(self, folder: Path) -> None:
        self.config = read_config(folder)
        self._tensors = {
            name.removeprefix("model."): tensor for name, tensor in read_checkpoint(folder).items()
        }
        tied = self.config.of("tie_word_embeddings", self.config.is_gemma or self.config.family == "smollm3")
        self._head = self._tensors["embed_tokens.weight" if tied else "lm_head.weight"]
        self._embedding_scale = 1.0
        if self.config.is_gemma:
            file = min(folder.glob("*.safetensors"))
            kind = read_header(file)[0]["model.embed_tokens.weight"]["dtype"]
            self._embedding_scale = round_to(math.sqrt(self._head.shape[1]), ROUNDED.get(kind, 53))

    def _norm(self, x: Array, name: str) -> Array:
        root = np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.config.of("rms_norm_eps", 1e-6))
        weight = self._tensors[name + ".weight"]
        return np.asarray(x / root * (weight + 1.0 if self.config.is_gemma else weight))

    def _linear(self, x: Array, name: str) -> Array:
        bias = self._tensors.get(name + ".bias", 0.0)
        return np.asarray(x @ self._tensors[name + ".weight"].T + bias)

    def _heads(self, x: Array, block: str, part: str) -> Array:
        """(heads, L, d) without positions, those of a group side by side and alike."""
        split = self._linear(x, f"{block}self_attn.{part}_proj")
        split = split.reshape(len(x), -1, self.config.head_width).transpose(1, 0, 2)
        if self.config.norms_heads and part != "v":
            split = self._norm(split, f"{block}self_attn.{part}_norm")
        return np.repeat(split, self.config.heads // len(split), axis=0)

    def _attend(self, layer: int, q: Array, k: Array, v: Array) -> Array:
        positions = np.arange(q.shape[1])
        back = positions[:, None] - positions[None, :]
        window = self.config.window(layer) or q.shape[1]
        outputs = []
        for head in range(self.config.heads):
            scores = cap(q[head] @ k[head].T * self.config.scale(layer), self.config.cap)
            scores[(back < 0) | (back >= window)] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            outputs.append(weights @ v[head] / weights.sum(axis=1, keepdims=True))
        return np.concatenate(outputs, axis=1)

    def forward(self, ids: list[int]) -> Trace:
        tokens = np.asarray(ids, dtype=np.int64)
        embedding = self._tensors["embed_tokens.weight"][tokens]
        x = embedding * self._embedding_scale
        gemma = self.config.is_gemma
        name = self.config.of("hidden_activation" if self.config.has_four_norms else "hidden_act")
        activation = ACTIVATIONS[name or ("gelu_pytorch_tanh" if gemma else "silu")]
        layers = []
        for layer in range(self.config.layers):
            block = f"layers.{layer}."
            hidden, normed = x, self._norm(x, block + "input_layernorm")
            plain_q, plain_k, v = (self._heads(normed, block, part) for part in "qkv")
            theta = self.config.theta(layer)
            q, k = rotate(plain_q, theta), rotate(plain_k, theta)
            added = self._linear(self._attend(layer, q, k, v), block + "self_attn.o_proj")
            after = block + "post_attention_layernorm"
            if self.config.has_four_norms:
                x = x + self._norm(added, after)
                normed = self._norm(x, block + "pre_feedforward_layernorm")
            else:
                x = x + added
                normed = self._norm(x, after)
            gate = activation(self._linear(normed, block + "mlp.gate_proj"))
            up = self._linear(normed, block + "mlp.up_proj")
            added = self._linear(gate * up, block + "mlp.down_proj")
            if self.config.has_four_norms:
                added = self._norm(added, block + "post_feedforward_layernorm")
            x = x + added
            layers.append(LayerTrace(q, k, v, hidden, plain_q, plain_k))
        logits = cap(self._norm(x, "norm") @ self._head.T, self.config.logit_cap)
        top = logits.max(axis=1)
        log_sum = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        picked = logits[np.arange(len(tokens) - 1), tokens[1:]]
        return Trace(layers, embedding, log_sum[:-1] - picked)


def cap(values: Array, at: float) -> Array:
    return np.asarray(at * np.tanh(values / at)) if at else values


def round_to(value: float, digits: int) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits)
