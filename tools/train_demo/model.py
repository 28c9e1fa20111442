"""GPT-2 for training: Hugging Face's names, shapes and formulas, fast on a CPU."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

# Up to here the plain product of matrices is faster on a CPU than PyTorch's fused kernel, whose
# backward pass took twice as long at 256 tokens of 32 features; at 1024 the fused one wins.
PLAIN_ATTENTION_UP_TO = 256


@dataclass(frozen=True)
class Shape:
    """The sizes of a GPT-2, in the vocabulary of its config.json."""

    vocab_size: int
    n_positions: int = 1024
    n_embd: int = 192
    n_layer: int = 6
    n_head: int = 6


class Projection(nn.Module):
    """A linear layer whose weight is stored (inputs, outputs), as GPT-2's checkpoints have it."""

    def __init__(self, inputs: int, outputs: int, deviation: float = 0.02) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * deviation)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight.t(), self.bias)


class Dropout(nn.Module):
    """Dropout from cheap random bytes: PyTorch's CPU generator took a seventh of a step.

    The probability is rounded to a multiple of 1/256.
    """

    def __init__(self, probability: float, generator: np.random.Generator) -> None:
        super().__init__()
        self.dropped_ = round(probability * 256)
        self.generator_ = generator

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or self.dropped_ == 0:
            return x
        noise = torch.frombuffer(bytearray(self.generator_.bytes(x.numel())), dtype=torch.uint8)
        kept = (noise >= self.dropped_).view(x.shape)
        return x * (kept.to(x.dtype) * (256 / (256 - self.dropped_)))


def causal_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """softmax(q k^T / sqrt(d)) v where row t sees keys 0..t."""
    length, width = q.shape[-2:]
    if length > PLAIN_ATTENTION_UP_TO:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = (q * (1 / math.sqrt(width))) @ k.transpose(-1, -2)
    hidden = torch.full((length, length), -math.inf, dtype=scores.dtype).triu(1)
    return torch.softmax(scores + hidden, dim=-1, dtype=scores.dtype) @ v


class Attention(nn.Module):
    def __init__(self, shape: Shape, deviation: float) -> None:
        super().__init__()
        self.heads = shape.n_head
        self.c_attn = Projection(shape.n_embd, 3 * shape.n_embd)
        self.c_proj = Projection(shape.n_embd, shape.n_embd, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.c_attn(x).split(width, dim=2)
        )
        y = causal_attention(q, k, v)
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, shape: Shape, deviation: float) -> None:
        super().__init__()
        self.c_fc = Projection(shape.n_embd, 4 * shape.n_embd)
        self.c_proj = Projection(4 * shape.n_embd, shape.n_embd, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, shape: Shape, dropout: Dropout) -> None:
        super().__init__()
        residual_deviation = 0.02 / (2 * shape.n_layer) ** 0.5
        self.ln_1 = nn.LayerNorm(shape.n_embd)
        self.attn = Attention(shape, residual_deviation)
        self.ln_2 = nn.LayerNorm(shape.n_embd)
        self.mlp = FeedForward(shape, residual_deviation)
        self.dropout = dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.dropout(self.attn(self.ln_1(x)))
        return x + self.dropout(self.mlp(self.ln_2(x)))


class Gpt2(nn.Module):
    def __init__(self, shape: Shape, dropout: float, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.shape = shape
        self.wte = nn.Embedding(shape.vocab_size, shape.n_embd)
        self.wpe = nn.Embedding(shape.n_positions, shape.n_embd)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.01)
        self.dropout = Dropout(dropout, np.random.Generator(np.random.SFC64(seed)))
        self.h = nn.ModuleList(Block(shape, self.dropout) for _ in range(shape.n_layer))
        self.ln_f = nn.LayerNorm(shape.n_embd)

    def forward(self, ids: torch.Tensor, first_position: torch.Tensor | None = None) -> torch.Tensor:
        """Logits (batch, length, vocabulary); row b's tokens stand at first_position[b] onward."""
        positions = torch.arange(ids.shape[1])
        if first_position is not None:
            positions = first_position[:, None] + positions
        x = self.dropout(self.wte(ids) + self.wpe(positions))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def config_json(shape: Shape, end_of_text: int, dropout: float) -> dict[str, object]:
    """What Hugging Face's GPT2LMHeadModel needs to know."""
    return {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.0,
        "bos_token_id": end_of_text,
        "embd_pdrop": dropout,
        "eos_token_id": end_of_text,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-5,
        "model_type": "gpt2",
        "n_ctx": shape.n_positions,
        "n_embd": shape.n_embd,
        "n_head": shape.n_head,
        "n_inner": None,
        "n_layer": shape.n_layer,
        "n_positions": shape.n_positions,
        "reorder_and_upcast_attn": False,
        "resid_pdrop": dropout,
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
        "use_cache": True,
        "vocab_size": shape.vocab_size,
    }


def save_hugging_face(model: Gpt2, folder: Path, config: dict[str, object]) -> None:
    """config.json and model.safetensors in float16; the tied output layer is not stored."""
    tensors = {
        f"transformer.{name}": tensor.detach().half().contiguous()
        for name, tensor in model.state_dict().items()
    }
    temporary = folder / "model.safetensors.tmp"
    save_file(tensors, temporary, metadata={"format": "pt"})
    temporary.rename(folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
