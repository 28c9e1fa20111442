"""A small decoder that attends by any of headgauge's normalizers, from its first step on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from transformers import SmolLM3Config, SmolLM3ForCausalLM

import headgauge


@dataclass(frozen=True)
class Rule:
    """A normalizer, and the scale of its logits if the model learns one."""

    spec: str
    scale: str | None = None
    """"log": s log n with s of each head. "power": 1 + beta (log n)^gamma with beta and gamma of each
    head and token. None: the logits are not scaled further."""


RULES = {
    "softmax": Rule("softmax"),
    "ssmax": Rule("softmax", "log"),
    "logn": Rule("logn"),
    "entmax": Rule("entmax"),
    "asentmax": Rule("entmax", "power"),
    "entmax-logn": Rule("entmax-logn"),
    "sparsemax": Rule("sparsemax"),
    "softmax1": Rule("softmax1"),
    "sigmoid": Rule("sigmoid"),
    "sasoftmax": Rule("sasoftmax"),
    "softpick": Rule("softpick"),
}


class ScaledQueries(torch.nn.Module):
    """Queries times the learned scale of their logits; n is the number of tokens so far."""

    def __init__(self, queries: torch.nn.Linear, heads: int, kind: str, length: int) -> None:
        super().__init__()
        self.queries, self.heads, self.kind = queries, heads, kind
        if kind == "log":  # 1 at the trained length
            self.s = torch.nn.Parameter(torch.full((heads,), 1 / math.log(length)))
        else:
            self.beta = torch.nn.Linear(queries.in_features, heads)
            self.gamma = torch.nn.Linear(queries.in_features, heads)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        log_n = torch.arange(1, hidden.shape[1] + 1, device=hidden.device).log()[:, None]
        if self.kind == "log":
            scale = self.s * log_n
        else:  # Vasylenko et al. 2025: beta above 0, gamma from -2 to 2; 0 to a power has no gradient
            beta = torch.nn.functional.softplus(self.beta(hidden))
            gamma = 2 * torch.tanh(self.gamma(hidden))
            scale = 1 + beta * torch.where(log_n > 0, log_n.clamp_min(0.1) ** gamma, 0.0)
        found = self.queries(hidden).unflatten(-1, (self.heads, -1))
        return (found * scale[..., None]).flatten(-2)


def decoder(
    rule: Rule, seed: int, *, vocabulary: int, length: int, layers: int, width: int, heads: int
) -> SmolLM3ForCausalLM:
    """Makes a decoder for texts of `length` tokens. Layers with rotary positions and without any take
    turns, as in SmolLM3 and Llama 4: what a layer without positions finds, it finds at any distance.
    The rotary base fits the length. Call use() of it before the first step."""
    torch.manual_seed(seed)
    config = SmolLM3Config(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=64 * length,
        no_rope_layers=[1 - layer % 2 for layer in range(layers)], rope_theta=20.0,
        tie_word_embeddings=True, pad_token_id=0, bos_token_id=0, eos_token_id=0, use_cache=False,
    )  # fmt: skip
    model = SmolLM3ForCausalLM(config)
    if rule.scale is not None:
        for layer in model.model.layers:
            attention = layer.self_attn
            attention.q_proj = ScaledQueries(attention.q_proj, heads, rule.scale, length)
    return model


def use(model: SmolLM3ForCausalLM, rule: Rule) -> headgauge.use:
    return headgauge.use(model, rule.spec)
