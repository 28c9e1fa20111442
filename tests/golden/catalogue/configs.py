"""Configs that versions of transformers may read differently: tiny checkpoints, each with one edit."""

from __future__ import annotations

from tests.golden.catalogue.case import Case, Config
from tests.golden.catalogue.gpt2 import Gpt2
from tests.golden.catalogue.llama import LONG_FIELDS, YARN_FIELDS, Llama, rope

LLAMA3_FIELDS: Config = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
ORIGINAL: Config = {"original_max_position_embeddings": 32}
TYPES = ["full_attention", "sliding_attention"]
NAMES: Config = {
    "hidden_size": 12,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 64,
}
OLD_NAMES = ("n_embd", "n_head", "n_layer", "n_positions", "n_ctx")
TABLE, HEAD = "model.embed_tokens.weight", "lm_head.weight"
GPT2_TABLE = "transformer.wte.weight"
# A head of its own for GPT-2: its positions, which have the same shape.
GPT2_HEAD = {"vocab": 64, "copies": {HEAD: "transformer.wpe.weight"}}
TIED: Config = {"tie_word_embeddings": True}


def parameters(**fields: object) -> Config:
    return {"rope_parameters": fields}


CASES: tuple[Case, ...] = (
    Llama("llama-as-it-is", "no edit"),
    Llama("llama-is-causal-false", "is_causal false", changes={"is_causal": False}),
    Llama("llama-is-causal-null", "is_causal null", changes={"is_causal": None}),
    Llama("llama-is-causal-true", "is_causal true", changes={"is_causal": True}),
    Gpt2("gpt2-is-causal-false", "is_causal false", changes={"is_causal": False}),
    Llama(
        "gemma2-bidirectional",
        "use_bidirectional_attention true",
        tied=True,
        changes={"use_bidirectional_attention": True},
    ),
    Llama("llama-own-head", "tied, with a head of its own", changes=TIED),
    Llama("llama-same-head", "tied, with a head that repeats the table", copies={HEAD: TABLE}, changes=TIED),
    Llama(
        "llama-head-alone",
        "tied, and the head alone, as save_model() writes it",
        changes=TIED,
        left_out=(TABLE,),
    ),
    Llama("gemma-own-head", "tied by default, with a head of its own", drop=("tie_word_embeddings",)),
    Llama("llama-untied-by-default", "no tie_word_embeddings", drop=("tie_word_embeddings",)),
    Llama("qwen2-untied-by-default", "no tie_word_embeddings", drop=("tie_word_embeddings",)),
    Llama("mistral-untied-by-default", "no tie_word_embeddings", drop=("tie_word_embeddings",)),
    Gpt2("gpt2-own-head", "tied by default, with a head of its own", **GPT2_HEAD),
    Gpt2("gpt2-head-alone", "tied by default, and the head alone", **GPT2_HEAD, left_out=(GPT2_TABLE,)),
    Llama(
        "llama-theta-inside",
        "rope_theta within rope_scaling",
        head_dim=16,
        changes=rope("llama3", **LLAMA3_FIELDS, rope_theta=500.0),
    ),
    Llama(
        "llama-theta-inside-default", "the same without a scaling", changes=rope("default", rope_theta=500.0)
    ),
    Llama(
        "llama-theta-twice",
        "rope_theta twice, the same",
        changes=rope("linear", factor=2.0, rope_theta=500.0) | {"rope_theta": 500.0},
    ),
    Llama(
        "llama-two-thetas",
        "rope_theta twice, different",
        changes=rope("linear", factor=2.0, rope_theta=500.0) | {"rope_theta": 10000.0},
    ),
    Llama("llama-parameters", "rope_parameters", changes=parameters(rope_type="default", rope_theta=500.0)),
    Llama(
        "llama-parameters-of-5",
        "rope_parameters in a config that names transformers 5",
        changes=parameters(rope_type="default", rope_theta=500.0) | {"transformers_version": "5.24.0"},
    ),
    Llama(
        "llama-parameters-alone",
        "rope_parameters that change nothing",
        changes=parameters(rope_type="default", rope_theta=10000.0),
    ),
    Llama(
        "llama-parameters-theta-outside",
        "rope_parameters, and rope_theta beside it",
        changes=parameters(rope_type="linear", factor=2.0) | {"rope_theta": 500.0},
    ),
    Llama(
        "llama-parameters-two-thetas",
        "rope_parameters, and another rope_theta beside it",
        changes=parameters(rope_type="default", rope_theta=500.0) | {"rope_theta": 10000.0},
    ),
    Llama(
        "llama-parameters-type",
        "rope_parameters with the old key `type`",
        changes=parameters(type="linear", factor=2.0),
    ),
    Llama(
        "llama-scaling-and-parameters",
        "rope_scaling and rope_parameters",
        changes=rope("linear", factor=2.0) | parameters(rope_type="linear", factor=4.0),
    ),
    Llama(
        "llama-scaling-empty",
        "an empty rope_scaling and rope_parameters",
        changes={"rope_scaling": {}} | parameters(rope_type="linear", factor=4.0),
    ),
    Llama(
        "llama-scaling-untyped",
        "rope_scaling without a type",
        changes={"rope_scaling": {"rope_theta": 500.0}},
    ),
    Llama(
        "llama-types-differ",
        "rope_type and type differ",
        changes=rope("linear", factor=2.0, type="dynamic"),
    ),
    Llama(
        "gemma2-parameters-per-type",
        "rope_parameters for each type of layers",
        tied=True,
        changes=parameters(
            full_attention={"rope_type": "default", "rope_theta": 500.0},
            sliding_attention={"rope_type": "default", "rope_theta": 10000.0},
        ),
    ),
    Llama("llama-partial", "partial_rotary_factor 0.5", head_dim=8, changes={"partial_rotary_factor": 0.5}),
    Llama(
        "llama-partial-inside",
        "partial_rotary_factor within rope_parameters",
        head_dim=8,
        changes=parameters(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5),
    ),
    Llama(
        "llama-yarn-original",
        "YaRN, and the original context outside",
        head_dim=16,
        changes=rope("yarn", factor=4.0) | ORIGINAL,
    ),
    Llama(
        "llama-yarn-two-originals",
        "YaRN, and another original context outside",
        head_dim=16,
        changes=rope("yarn", **YARN_FIELDS) | ORIGINAL,
    ),
    Llama(
        "llama-llama3-two-originals",
        "llama3, and another original context outside",
        head_dim=16,
        changes=rope("llama3", **LLAMA3_FIELDS) | {"original_max_position_embeddings": 16},
    ),
    Llama(
        "llama-longrope-original",
        "LongRoPE, the original context outside, no factor",
        head_dim=16,
        changes=rope("longrope", **LONG_FIELDS) | ORIGINAL,
    ),
    Llama(
        "llama-longrope-original-and-factor",
        "LongRoPE, the original context outside, a factor that is not the ratio",
        head_dim=16,
        changes=rope("longrope", factor=3.0, **LONG_FIELDS) | ORIGINAL,
    ),
    Llama(
        "llama-longrope-original-inside",
        "LongRoPE, the original context inside",
        head_dim=16,
        changes=rope("longrope", **LONG_FIELDS, **ORIGINAL),
    ),
    Llama(
        "llama-longrope-original-and-factor-inside",
        "LongRoPE, the original context and the ratio inside",
        head_dim=16,
        changes=rope("longrope", **LONG_FIELDS, **ORIGINAL, factor=2.0),
    ),
    Llama(
        "llama-dynamic-original-inside",
        "dynamic scaling with an original context",
        head_dim=8,
        positions=48,
        changes=rope("dynamic", factor=2.0, **ORIGINAL),
    ),
    Llama(
        "mistral-layer-types",
        "layer_types, which mistral does not read",
        changes={"layer_types": TYPES, "sliding_window": 9},
    ),
    Llama(
        "qwen2-layer-types",
        "sliding layers without use_sliding_window",
        changes={"layer_types": TYPES, "sliding_window": 9, "use_sliding_window": False},
    ),
    Llama("gemma2-window-null", "sliding_window null", tied=True, changes={"sliding_window": None}),
    Llama(
        "gemma2-full-layers",
        "layer_types all full",
        tied=True,
        changes={"layer_types": ["full_attention"] * 2, "sliding_window": 9},
    ),
    Llama("llama-head-dim-null", "head_dim null", width=16, changes={"head_dim": None}),
    Llama("qwen3-head-dim-null", "head_dim null", width=16, changes={"head_dim": None}),
    Llama(
        "gemma-gelu",
        "hidden_act gelu, which Gemma means otherwise",
        tied=True,
        changes={"hidden_act": "gelu"},
    ),
    Llama(
        "gemma-two-activations",
        "hidden_activation, which transformers 5 does not know",
        tied=True,
        changes={"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "relu"},
    ),
    Llama("gemma-relu", "hidden_act relu", tied=True, changes={"hidden_act": "relu"}),
    Llama(
        "mistral-attention-bias",
        "attention_bias, which mistral does not know",
        changes={"attention_bias": True},
    ),
    Gpt2("gpt2-other-names", "the names of attribute_map", changes=NAMES, drop=OLD_NAMES),
    Gpt2("gpt2-two-names", "both names, and the heads differ", changes=NAMES | {"num_attention_heads": 4}),
    Gpt2(
        "gpt2-inverse-layer",
        "scale_attn_by_inverse_layer_idx",
        changes={"scale_attn_by_inverse_layer_idx": True},
    ),
)
