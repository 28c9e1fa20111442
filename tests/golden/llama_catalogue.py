"""The tiny checkpoints of the Llama families: one for every switch of their configs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from tests.golden.catalogue import layout_of, seed_of
from tests.golden.random_checkpoint import (
    DTYPES,
    TORCH_NAMES,
    Config,
    Tensor,
    encode,
    integers,
    uniform,
    write_config,
    write_weights,
)

Tensors = dict[str, Tensor]
Recipe = tuple[tuple[int, ...], float, int]  # shape, mean, half-width in 1/1024

ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
}


@dataclass(frozen=True)
class LlamaCase:
    """A committed checkpoint. `changes` are fields of its config.json, None for null."""

    name: str
    about: str
    width: int = 12
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 4
    layers: int = 2
    inner: int = 20
    vocab: int = 31
    positions: int = 64
    tokens: int = 64
    dtype: str = "f32"
    changes: Config = field(default_factory=dict)
    drop: tuple[str, ...] = ()  # fields to leave out of config.json
    tied: bool = False
    shards: int = 1
    prefix: bool = True
    buffers: bool = False  # the old rotary_emb.inv_freq of every layer

    @property
    def family(self) -> str:
        return self.name.split("-")[0]

    def config(self) -> Config:
        config: Config = {
            "architectures": [ARCHITECTURES[self.family]],
            "head_dim": self.head_dim,
            "hidden_size": self.width,
            "intermediate_size": self.inner,
            "max_position_embeddings": self.positions,
            "model_type": self.family,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "num_key_value_heads": self.kv_heads,
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": self.tied,
            "torch_dtype": TORCH_NAMES[self.dtype],
            "vocab_size": self.vocab,
        }
        if self.family.startswith("gemma"):
            config["pad_token_id"] = 0
        config.update(self.changes)
        return {key: value for key, value in config.items() if key not in self.drop}


def llama_recipes(case: LlamaCase) -> dict[str, Recipe]:
    """Every tensor of the model by its name, with the prefix."""
    config = case.config()
    width, inner = case.width, case.inner
    queries, keys = case.heads * case.head_dim, case.kv_heads * case.head_dim
    sharp = math.isqrt((1024 * 1024 * 9) // (2 * width))
    norm_mean = 0.0 if case.family.startswith("gemma") else 1.0
    attention_bias = bool(config.get("attention_bias")) and case.family != "mistral"
    recipes: dict[str, Recipe] = {
        "model.embed_tokens.weight": ((case.vocab, width), 0.0, sharp),
    }
    for layer in range(case.layers):
        block = f"model.layers.{layer}."
        linear = {
            "self_attn.q_proj": (queries, width, attention_bias or case.family == "qwen2"),
            "self_attn.k_proj": (keys, width, attention_bias or case.family == "qwen2"),
            "self_attn.v_proj": (keys, width, attention_bias or case.family == "qwen2"),
            "self_attn.o_proj": (width, queries, attention_bias),
            "mlp.gate_proj": (inner, width, bool(config.get("mlp_bias", False))),
            "mlp.up_proj": (inner, width, bool(config.get("mlp_bias", False))),
            "mlp.down_proj": (width, inner, bool(config.get("mlp_bias", False))),
        }
        for name, (out, into, bias) in linear.items():
            recipes[f"{block}{name}.weight"] = ((out, into), 0.0, sharp)
            if bias:
                recipes[f"{block}{name}.bias"] = ((out,), 0.0, 256)
        norms = {"input_layernorm": width, "post_attention_layernorm": width}
        if case.family == "qwen3":
            norms |= {"self_attn.q_norm": case.head_dim, "self_attn.k_norm": case.head_dim}
        if case.family == "gemma2":
            norms |= {"pre_feedforward_layernorm": width, "post_feedforward_layernorm": width}
        for name, size in norms.items():
            recipes[f"{block}{name}.weight"] = ((size,), norm_mean, 256)
    recipes["model.norm.weight"] = ((width,), norm_mean, 256)
    if not case.tied:
        recipes["lm_head.weight"] = ((case.vocab, width), 0.0, sharp)
    return recipes


def llama_tensors(case: LlamaCase) -> Tensors:
    seed = seed_of(case.name)
    tensors: Tensors = {}
    for name, (shape, mean, numerator) in llama_recipes(case).items():
        values = uniform(seed, name, math.prod(shape), mean, numerator)
        kept = name if case.prefix else name.removeprefix("model.")
        tensors[kept] = Tensor(DTYPES[case.dtype][0], shape, encode(values, case.dtype))
    for layer in range(case.layers if case.buffers else 0):
        name = f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"
        size = case.head_dim // 2
        tensors[name] = Tensor("F32", (size,), encode(uniform(seed, name, size, 1.0, 256), "f32"))
    return tensors


def write_llama(folder: Path, case: LlamaCase) -> None:
    tensors = llama_tensors(case)
    write_config(folder, case.config())
    write_weights(folder, layout_of(tensors), lambda name: tensors[name].data, case.shards)


def llama_tokens(case: LlamaCase) -> list[int]:
    return integers(seed_of(case.name), "tokens", case.tokens, case.vocab)


def rope(kind: str, **fields: object) -> Config:
    return {"rope_scaling": {"rope_type": kind, **fields}}


YARN_FIELDS = {"factor": 4.0, "original_max_position_embeddings": 16}
LONG_FIELDS = {
    "short_factor": [1.0, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0],
    "long_factor": [1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 9.0, 12.0],
}

LLAMAS: tuple[LlamaCase, ...] = (
    LlamaCase(
        "llama-plain",
        "nothing special; 97 tokens, three queries to a key head",
        width=24,
        heads=6,
        positions=128,
        tokens=97,
        drop=("head_dim",),
    ),
    LlamaCase(
        "llama-defaults",
        "no optional field: every head has its own keys, head_dim follows from the width",
        width=16,
        kv_heads=4,
        positions=2048,
        drop=(
            "head_dim",
            "max_position_embeddings",
            "num_key_value_heads",
            "rms_norm_eps",
            "tie_word_embeddings",
            "torch_dtype",
        ),
    ),
    LlamaCase("llama-one-key-head", "all queries share the keys of one head", kv_heads=1),
    LlamaCase("llama-wide-heads", "heads wider together than the model", head_dim=10),
    LlamaCase(
        "llama-biases",
        "attention_bias and mlp_bias true",
        changes={"attention_bias": True, "mlp_bias": True},
    ),
    LlamaCase("llama-tied", "tie_word_embeddings true", tied=True),
    LlamaCase(
        "llama-no-prefix",
        "tensor names of the base LlamaModel, without `model.`",
        tied=True,
        prefix=False,
    ),
    LlamaCase("llama-buffers", "the frequencies that older checkpoints hold", buffers=True),
    LlamaCase(
        "llama-theta",
        "rope_theta 500, rms_norm_eps 0.05, hidden_act gelu",
        changes={"rope_theta": 500.0, "rms_norm_eps": 0.05, "hidden_act": "gelu"},
    ),
    LlamaCase("llama-beyond", "more tokens than max_position_embeddings", positions=24),
    LlamaCase(
        "llama-linear",
        "linear RoPE scaling, under the old key `type`",
        changes={"rope_scaling": {"type": "linear", "factor": 2.5}},
    ),
    LlamaCase(
        "llama-dynamic",
        "dynamic RoPE scaling within max_position_embeddings: no change",
        changes=rope("dynamic", factor=2.0),
    ),
    LlamaCase(
        "llama-dynamic-beyond",
        "dynamic RoPE scaling beyond max_position_embeddings",
        positions=24,
        head_dim=8,
        changes=rope("dynamic", factor=2.0),
    ),
    LlamaCase(
        "llama-yarn",
        "YaRN with its default ramp",
        head_dim=16,
        changes=rope("yarn", **YARN_FIELDS),
    ),
    LlamaCase(
        "llama-yarn-mscale",
        "YaRN with mscale, mscale_all_dim, a ramp of its own and no truncation",
        head_dim=16,
        changes=rope(
            "yarn",
            mscale=0.8,
            mscale_all_dim=0.3,
            beta_fast=4,
            beta_slow=0.25,
            truncate=False,
            **YARN_FIELDS,
        ),
    ),
    LlamaCase(
        "llama-yarn-factor",
        "YaRN with attention_factor and max_position_embeddings as the original context",
        head_dim=16,
        changes=rope("yarn", factor=3.0, attention_factor=1.3, beta_fast=8),
    ),
    LlamaCase(
        "llama-yarn-clamped",
        "YaRN whose ramp would end beyond the last pair",
        head_dim=16,
        changes={"rope_theta": 2.0} | rope("yarn", beta_slow=0.25, **YARN_FIELDS),
    ),
    LlamaCase(
        "llama-longrope",
        "LongRoPE within the original context: the short factors, a factor that does not count",
        head_dim=16,
        positions=256,
        changes=rope("longrope", factor=3.0, **LONG_FIELDS) | {"original_max_position_embeddings": 64},
    ),
    LlamaCase(
        "llama-longrope-beyond",
        "LongRoPE beyond the original context: the long factors",
        head_dim=16,
        positions=256,
        changes=rope("longrope", **LONG_FIELDS) | {"original_max_position_embeddings": 48},
    ),
    LlamaCase(
        "llama-longrope-factor",
        "LongRoPE whose factor is stated, and no original context",
        head_dim=16,
        changes=rope("longrope", factor=8.0, **LONG_FIELDS),
    ),
    LlamaCase(
        "llama-llama3",
        "the RoPE scaling of Llama 3.1, all three of its bands",
        head_dim=16,
        changes=rope(
            "llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=32,
        ),
    ),
    LlamaCase("llama-f16", "F16 weights", dtype="f16"),
    LlamaCase("llama-sharded", "BF16 weights in three shards", dtype="bf16", shards=3),
    LlamaCase("mistral-full", "sliding_window null", changes={"sliding_window": None}),
    LlamaCase(
        "mistral-window",
        "all layers look back 20 keys; attention_bias, which mistral does not know",
        changes={"sliding_window": 20, "rope_theta": 1e6, "attention_bias": True},
    ),
    LlamaCase("mistral-default", "no sliding_window: 4096", drop=("tie_word_embeddings",)),
    LlamaCase(
        "qwen2-full",
        "sliding_window without use_sliding_window; biases of queries, keys and values",
        changes={"use_sliding_window": False, "sliding_window": 8, "max_window_layers": 1},
        drop=("head_dim",),
        width=16,
    ),
    LlamaCase(
        "qwen2-window",
        "layers from max_window_layers on look back 9 keys",
        layers=3,
        changes={"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1},
    ),
    LlamaCase(
        "qwen2-layer-types",
        "layer_types says which layers look back 17 keys",
        layers=3,
        tied=True,
        changes={
            "use_sliding_window": True,
            "sliding_window": 17,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        },
    ),
    LlamaCase("qwen3-plain", "norms of queries and keys, head_dim 6", head_dim=6),
    LlamaCase(
        "qwen3-window",
        "attention_bias, YaRN, and a window in the second layer",
        head_dim=16,
        tied=True,
        changes={
            "attention_bias": True,
            "use_sliding_window": True,
            "sliding_window": 33,
            "max_window_layers": 1,
            **rope("yarn", **YARN_FIELDS),
        },
    ),
    LlamaCase("gemma-plain", "embeddings times sqrt(width), norms by 1 + weight", tied=True),
    LlamaCase(
        "gemma-bf16",
        "BF16 weights: sqrt(width) is rounded to bfloat16",
        width=22,
        tied=True,
        dtype="bf16",
        changes={"attention_bias": True},
        drop=("tie_word_embeddings",),
    ),
    LlamaCase(
        "gemma2-plain",
        "soft-caps that bite, query_pre_attn_scalar, every other layer looks back 21 keys",
        layers=3,
        tied=True,
        changes={
            "attn_logit_softcapping": 1.5,
            "final_logit_softcapping": 2.0,
            "query_pre_attn_scalar": 7,
            "sliding_window": 21,
        },
    ),
    LlamaCase(
        "gemma2-no-caps",
        "both soft-caps null, layer_types given, untied, biased",
        changes={
            "attention_bias": True,
            "attn_logit_softcapping": None,
            "final_logit_softcapping": None,
            "query_pre_attn_scalar": 4,
            "sliding_window": 11,
            "layer_types": ["full_attention", "sliding_attention"],
        },
    ),
    LlamaCase(
        "gemma2-defaults",
        "no optional field: caps 50 and 30, scores over 16, windows of 4096; F16 weights",
        tied=True,
        dtype="f16",
        drop=("tie_word_embeddings", "max_position_embeddings", "rms_norm_eps"),
    ),
)
