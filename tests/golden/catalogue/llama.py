"""The tiny checkpoints of the Llama families: one for every switch of their configs."""

from __future__ import annotations

from dataclasses import dataclass

from tests.golden.catalogue.case import TORCH_NAMES, Case, Config, Recipe
from tests.golden.catalogue.draw import draw_tensor
from tests.golden.catalogue.files import Tensor

ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "ministral": "MinistralForCausalLM",
    "smollm3": "SmolLM3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "seed_oss": "SeedOssForCausalLM",
}


@dataclass(frozen=True)
class Llama(Case):
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 4
    inner: int = 20
    tied: bool = False
    prefix: bool = True
    buffers: bool = False  # the old rotary_emb.inv_freq of every layer

    @property
    def model_type(self) -> str:
        return self.name.split("-")[0]

    def stored_name(self, name: str) -> str:
        return name if self.prefix else name.removeprefix("model.")

    def fields(self) -> Config:
        config: Config = {
            "architectures": [ARCHITECTURES[self.model_type]],
            "head_dim": self.head_dim,
            "hidden_size": self.width,
            "intermediate_size": self.inner,
            "max_position_embeddings": self.positions,
            "model_type": self.model_type,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "num_key_value_heads": self.kv_heads,
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": self.tied,
            "torch_dtype": TORCH_NAMES[self.dtype],
            "vocab_size": self.vocab,
        }
        if self.model_type.startswith(("gemma", "smollm3")):
            config["pad_token_id"] = 0
        return config

    def recipes(self) -> dict[str, Recipe]:
        family, config = self.model_type, self.config()
        width, inner, sharp = self.width, self.inner, self.sharp
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        norm_mean = 0.0 if family.startswith("gemma") else 1.0
        attention_bias = bool(config.get("attention_bias")) and family != "mistral"
        input_bias = attention_bias or family == "qwen2"
        output_bias = attention_bias
        if family == "seed_oss":
            input_bias = bool(config.get("attention_bias", True))
            output_bias = bool(config.get("attention_out_bias"))
        mlp_bias = bool(config.get("mlp_bias", False))
        linear = {
            "self_attn.q_proj": (queries, width, input_bias),
            "self_attn.k_proj": (keys, width, input_bias),
            "self_attn.v_proj": (keys, width, input_bias),
            "self_attn.o_proj": (width, queries, output_bias),
            "mlp.gate_proj": (inner, width, mlp_bias),
            "mlp.up_proj": (inner, width, mlp_bias),
            "mlp.down_proj": (width, inner, mlp_bias),
        }
        norms = {"input_layernorm": width, "post_attention_layernorm": width}
        if family in ("qwen3", "gemma3_text"):
            norms |= {"self_attn.q_norm": self.head_dim, "self_attn.k_norm": self.head_dim}
        if family in ("gemma2", "gemma3_text"):
            norms |= {"pre_feedforward_layernorm": width, "post_feedforward_layernorm": width}
        recipes: dict[str, Recipe] = {
            "model.embed_tokens.weight": ((self.vocab, width), 0.0, sharp),
        }
        for layer in range(self.layers):
            block = f"model.layers.{layer}."
            for name, (out, into, bias) in linear.items():
                recipes[f"{block}{name}.weight"] = ((out, into), 0.0, sharp)
                if bias:
                    recipes[f"{block}{name}.bias"] = ((out,), 0.0, 256)
            for name, size in norms.items():
                recipes[f"{block}{name}.weight"] = ((size,), norm_mean, 256)
        recipes["model.norm.weight"] = ((width,), norm_mean, 256)
        if not self.tied:
            recipes["lm_head.weight"] = ((self.vocab, width), 0.0, sharp)
        return recipes

    def extras(self) -> dict[str, Tensor]:
        names = (f"model.layers.{layer}.self_attn.rotary_emb.inv_freq" for layer in range(self.layers))
        shape = (self.head_dim // 2,)
        return {name: draw_tensor(self.seed, name, shape, 1.0, 256, "f32") for name in names if self.buffers}


def rope(kind: str, **fields: object) -> Config:
    return {"rope_scaling": {"rope_type": kind, **fields}}


YARN_FIELDS = {"factor": 4.0, "original_max_position_embeddings": 16}
LONG_FIELDS = {
    "short_factor": [1.0, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0],
    "long_factor": [1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 9.0, 12.0],
}

CASES: tuple[Llama, ...] = (
    Llama(
        "llama-plain",
        "nothing special; 97 tokens, three queries to a key head",
        width=24,
        heads=6,
        positions=128,
        tokens=97,
        drop=("head_dim",),
    ),
    Llama(
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
    Llama("llama-one-key-head", "all queries share the keys of one head", kv_heads=1),
    Llama("llama-wide-heads", "heads wider together than the model", head_dim=10),
    Llama(
        "llama-biases",
        "attention_bias and mlp_bias true",
        changes={"attention_bias": True, "mlp_bias": True},
    ),
    Llama("llama-tied", "tie_word_embeddings true", tied=True),
    Llama(
        "llama-no-prefix",
        "tensor names of the base LlamaModel, without `model.`",
        tied=True,
        prefix=False,
    ),
    Llama("llama-buffers", "the frequencies that older checkpoints hold", buffers=True),
    Llama(
        "llama-theta",
        "rope_theta 500, rms_norm_eps 0.05, hidden_act gelu",
        changes={"rope_theta": 500.0, "rms_norm_eps": 0.05, "hidden_act": "gelu"},
    ),
    Llama("llama-beyond", "more tokens than max_position_embeddings", positions=24),
    Llama(
        "llama-linear",
        "linear RoPE scaling, under the old key `type`",
        changes={"rope_scaling": {"type": "linear", "factor": 2.5}},
    ),
    Llama(
        "llama-dynamic",
        "dynamic RoPE scaling within max_position_embeddings: no change",
        changes=rope("dynamic", factor=2.0),
    ),
    Llama(
        "llama-dynamic-beyond",
        "dynamic RoPE scaling beyond max_position_embeddings",
        positions=24,
        head_dim=8,
        changes=rope("dynamic", factor=2.0),
    ),
    Llama(
        "llama-yarn",
        "YaRN with its default ramp",
        head_dim=16,
        changes=rope("yarn", **YARN_FIELDS),
    ),
    Llama(
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
    Llama(
        "llama-yarn-factor",
        "YaRN with attention_factor and max_position_embeddings as the original context",
        head_dim=16,
        changes=rope("yarn", factor=3.0, attention_factor=1.3, beta_fast=8),
    ),
    Llama(
        "llama-yarn-clamped",
        "YaRN whose ramp would end beyond the last pair",
        head_dim=16,
        changes={"rope_theta": 2.0} | rope("yarn", beta_slow=0.25, **YARN_FIELDS),
    ),
    Llama(
        "llama-longrope",
        "LongRoPE within the original context: the short factors",
        head_dim=16,
        positions=256,
        changes=rope("longrope", **LONG_FIELDS) | {"original_max_position_embeddings": 64},
    ),
    Llama(
        "llama-longrope-beyond",
        "LongRoPE beyond the original context: the long factors",
        head_dim=16,
        positions=256,
        changes=rope("longrope", **LONG_FIELDS) | {"original_max_position_embeddings": 48},
    ),
    Llama(
        "llama-longrope-factor",
        "LongRoPE whose factor is stated, and no original context",
        head_dim=16,
        changes=rope("longrope", factor=8.0, **LONG_FIELDS),
    ),
    Llama(
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
    Llama("llama-f16", "F16 weights", dtype="f16"),
    Llama("llama-sharded", "BF16 weights in three shards", dtype="bf16", shards=3),
    Llama("mistral-full", "sliding_window null", changes={"sliding_window": None}),
    Llama(
        "mistral-window",
        "all layers look back 20 keys; attention_bias, which mistral does not know",
        changes={"sliding_window": 20, "rope_theta": 1e6, "attention_bias": True},
    ),
    Llama("mistral-default", "no sliding_window: 4096", drop=("tie_word_embeddings",)),
    Llama(
        "qwen2-full",
        "sliding_window without use_sliding_window; biases of queries, keys and values",
        changes={"use_sliding_window": False, "sliding_window": 8, "max_window_layers": 1},
        drop=("head_dim",),
        width=16,
    ),
    Llama(
        "qwen2-window",
        "layers from max_window_layers on look back 9 keys",
        layers=3,
        changes={"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1},
    ),
    Llama(
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
    Llama("qwen3-plain", "norms of queries and keys, head_dim 6", head_dim=6),
    Llama(
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
    Llama("gemma-plain", "embeddings times sqrt(width), norms by 1 + weight", tied=True),
    Llama(
        "gemma-bf16",
        "BF16 weights: sqrt(width) is rounded to bfloat16",
        width=22,
        tied=True,
        dtype="bf16",
        changes={"attention_bias": True},
        drop=("tie_word_embeddings",),
    ),
    Llama(
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
    Llama(
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
    Llama(
        "gemma2-defaults",
        "no optional field: caps 50 and 30, scores over 16, windows of 4096; F16 weights",
        tied=True,
        dtype="f16",
        drop=("tie_word_embeddings", "max_position_embeddings", "rms_norm_eps"),
    ),
    Llama(
        "gemma3_text-plain",
        "layers 0 and 2 look back 21 keys and turn by another rope; norms of queries and keys",
        layers=3,
        kv_heads=1,
        head_dim=8,
        tied=True,
        changes={
            "query_pre_attn_scalar": 7,
            "sliding_window": 21,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
            "rope_theta": 5e4,
            "rope_local_base_freq": 100.0,
        },
    ),
    Llama(
        "gemma3_text-pattern",
        "sliding_window_pattern, a scaled rope of the layers without a window, a soft-cap of the logits",
        layers=3,
        head_dim=8,
        dtype="bf16",
        changes={
            "final_logit_softcapping": 2.0,
            "sliding_window": 9,
            "sliding_window_pattern": 2,
            **rope("linear", factor=2.5),
        },
    ),
    Llama(
        "gemma3_text-defaults",
        "no optional field: the sixth layer has no window, scores over 16, no soft-caps",
        layers=6,
        tied=True,
        drop=("tie_word_embeddings", "max_position_embeddings", "rms_norm_eps"),
    ),
    Llama(
        "ministral-layer-types",
        "the second of three layers looks back 13 keys",
        layers=3,
        changes={
            "sliding_window": 13,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
        },
    ),
    Llama(
        "smollm3-plain",
        "every fourth layer has no positions",
        layers=4,
        tied=True,
        drop=("tie_word_embeddings", "max_position_embeddings"),
    ),
    Llama(
        "smollm3-window",
        "layers without positions, by no_rope_layers, look back 15 keys",
        layers=3,
        changes={"no_rope_layers": [1, 0, 0], "use_sliding_window": True, "sliding_window": 15},
    ),
    Llama(
        "seed_oss-plain",
        "biases of queries, keys and values, none of the output; head_dim 6",
        head_dim=6,
        changes={"attention_bias": True, "attention_out_bias": False},
    ),
    Llama(
        "seed_oss-defaults",
        "attention_bias is not there and true; biases of the output and the MLP",
        tied=True,
        changes={"attention_out_bias": True, "mlp_bias": True},
    ),
)
