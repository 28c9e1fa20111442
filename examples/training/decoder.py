"""A small decoder that attends by any of headgauge's normalizers, from its first step on."""

from __future__ import annotations

import math
from typing import Any

import torch
from rules import Rule
from transformers import SmolLM3Config, SmolLM3ForCausalLM

import headgauge


class ScaledQueries(torch.nn.Module):
    """Queries times the learned scale of their logits; n is the number of keys that a query sees, at
    most `most`."""

    def __init__(
        self, queries: torch.nn.Linear, heads: int, kind: str, length: int, most: int | None
    ) -> None:
        super().__init__()
        self.queries, self.heads, self.kind, self.most = queries, heads, kind, most
        self.last: torch.Tensor | None = None
        """The scales of the last pass, (texts, tokens, heads) or (tokens, heads)."""
        if kind == "log":  # 1 at the trained length
            self.s = torch.nn.Parameter(torch.full((heads,), 1 / math.log(min(length, most or length))))
        else:
            self.beta = torch.nn.Linear(queries.in_features, heads)
            self.gamma = torch.nn.Linear(queries.in_features, heads)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        log_n = (
            torch.arange(1, hidden.shape[1] + 1, device=hidden.device)
            .clamp_max(self.most or hidden.shape[1])
            .log()[:, None]
        )
        if self.kind == "log":
            scale = self.s * log_n
        else:  # Vasylenko et al. 2025: beta above 0, gamma from -2 to 2; 0 to a power has no gradient
            beta = torch.nn.functional.softplus(self.beta(hidden))
            gamma = 2 * torch.tanh(self.gamma(hidden))
            scale = 1 + beta * torch.where(log_n > 0, log_n.clamp_min(0.1) ** gamma, 0.0)
        self.last = scale.detach()
        found = self.queries(hidden).unflatten(-1, (self.heads, -1))
        return (found * scale[..., None]).flatten(-2)


def decoder(rule: Rule, seed: int, data: Any) -> SmolLM3ForCausalLM:
    """Makes a decoder for texts of data.length tokens. Layers with rotary positions see a window, and
    take turns with layers that have no positions and see all: so no layer meets a distance that it
    was not trained for. The rotary base fits the window. Call use() of it before the first step."""
    torch.manual_seed(seed)
    local = [layer % 2 == 0 for layer in range(data.layers)]
    config = SmolLM3Config(
        vocab_size=data.vocabulary, hidden_size=data.width, intermediate_size=2 * data.width,
        num_hidden_layers=data.layers, num_attention_heads=data.heads, num_key_value_heads=data.heads,
        max_position_embeddings=64 * data.length, no_rope_layers=[int(near) for near in local], rope_theta=20.0,
        use_sliding_window=True, sliding_window=data.window,
        layer_types=["sliding_attention" if near else "full_attention" for near in local],
        tie_word_embeddings=True, pad_token_id=None, bos_token_id=None, eos_token_id=None, use_cache=False,
    )  # fmt: skip
    model = SmolLM3ForCausalLM(config)
    if rule.scale is not None:
        for layer, near in zip(model.model.layers, local, strict=True):
            attention, most = layer.self_attn, data.window if near else None
            attention.q_proj = ScaledQueries(attention.q_proj, data.heads, rule.scale, data.length, most)
    return model


def scales(model: SmolLM3ForCausalLM) -> list[list[float]]:
    """Returns the learned scale of the logits of each head, the mean over the queries of the last pass; 1
    where there is none."""
    queries = [layer.self_attn.q_proj for layer in model.model.layers]
    return [
        each.last.flatten(end_dim=-2).mean(dim=0).tolist()
        if isinstance(each, ScaledQueries) and each.last is not None
        else [1.0] * model.config.num_attention_heads
        for each in queries
    ]


def use(model: SmolLM3ForCausalLM, rule: Rule) -> headgauge.use:
    return headgauge.use(model, rule.spec)
