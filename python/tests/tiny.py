"""Any configuration of transformers, made tiny: by the names of its numbers, for a library of hundreds has no
other way to say what is small."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from transformers.models.auto import configuration_auto, modeling_auto

LENGTH = 24
VOCABULARY = 99
LARGEST = 40_000_000  # weights of what is still tiny


@dataclass(frozen=True)
class Variant:
    layers: int
    keep: str = "(?!)"
    """Names that keep what they are by default."""
    more: tuple[tuple[str, int], ...] = ()
    """Rules that count before the others."""
    sections: list[int] = field(default_factory=list)
    """Of a head's dimensions that rotate by time, height and width."""


ALIKE = ((r"(.*_)?num_(key_value|kv)_heads|linear_num_key_heads", 4), (r"head_dim", 4))
VARIANTS = (
    Variant(2), Variant(2, sections=[2, 1, 1]), Variant(2, sections=[1, 1, 0]), Variant(2, more=ALIKE[:1]), Variant(2, more=ALIKE), Variant(4), Variant(8), Variant(8, more=ALIKE[:1]),
    Variant(2, r".*head_dim|.*head_size"), Variant(2, r".*(hidden_size|embed_dim|d_model|head|ffn|intermediate|dim|width|size).*"),
    Variant(2, ".*"),
)  # fmt: skip
UNSET = ("vocab_size", "head_dim", "num_key_value_heads")  # None says that something else is to be taken
SPECIAL: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "mamba2": {"num_heads": 4, "head_dim": 16},
}

# What a number is, by its name; the first that fits counts.
SMALL: tuple[tuple[str, int], ...] = (
    (r"mamba_(d_)?head(_dim)?|mamba_headdim|ssm_head_dim", 16),
    (r"mamba_d_ssm", 64),
    (r"(.*_)?vocab(ulary)?_size|type_vocab_size_text", VOCABULARY),
    ((r"(max|n|num)_(position|positions|seq_len|sequence_length|position_embeddings)s?|.*max_position_embeddings"
     r"|max_(source|target)_positions|n_positions|n_ctx|block_size|max_length"), 256),
    (r"qk_rope_head_dim|rotary_dim|rope_dim|qk_pos_emb_head_dim|index_rope_dim", 4),
    (r"(.*_)?head_dim|head_size|d_kv|kv_channels|v_head_dim|qk_nope_head_dim|attention_head_size|d_head|head_dimension", 8),
    (r"(q|kv|o)_lora_rank|(.*_)?lora_rank|.*_rank", 16),
    (r"(.*_)?num_(key_value|kv)_heads|n_kv_heads|num_kv_attention_heads|num_query_groups|.*_key_value_heads|linear_num_key_heads", 2),
    (r"(.*_)?(num|n)_(attention_)?heads?|(encoder|decoder)_attention_heads|n_head|linear_num_value_heads|n_heads", 4),
    (r"(n_routed|num_local|num|moe_num|n)_experts|num_experts_total|num_routed_experts", 4),
    (r"num_experts_per_tok(en)?|moe_top_?k|moe_topk|top_k_experts|n_experts_per_token|num_selected_experts|experts_per_token|moe_k", 2),
    (r"n_group|topk_group|n_shared_experts|num_shared_experts|first_k_dense_replace|num_expert_group|moe_layer_start_index", 1),
    (r"(.*_)?(num|n)_(hidden_)?layers?|(encoder|decoder)_layers|n_layers?|depth|num_block|num_blocks|n_blocks", 2),
    ((r"(.*_)?(intermediate|ffn|mlp|feed_?forward|inner)_?(size|dim|hidden_size|channels)?|d_ff|d_inner|n_inner|ffn_hidden_size|dim_feedforward"
     r"|.*intermediate_size|(encoder|decoder)_ffn_dim"), 48),
    (r"(.*_)?(sliding_window|window_size|attention_window|local_attention|attention_chunk_size|sliding_window_size)", 8),
    (r"mamba_n_heads|mamba_num_heads|num_ssm_heads|ssm_num_heads", 4),
    (r"mamba_(n|num)_?groups|n_groups|num_groups|mamba_n_groups|num_mem_blocks", 1),
    (r"(.*_)?(d_state|state_size|ssm_state_size|conv_dim|mamba_d_head|mamba_head_dim|ssm_head_dim|state_dim)", 8),
    ((r"(.*_)?(hidden_size|hidden_dim|d_model|n_embd|embed_dim|embedding_size|embedding_dim|emb_dim|projection_dim|proj_dim"
     r"|word_embed_proj_dim|dim|hidden_sizes|out_hidden_size|lru_width|d_embed|width)"), 32),
    (r"(.*_)?image_size|img_size|input_size", 16),
    (r"(.*_)?patch_size", 4),
    (r"num_mel_bins|feature_size|num_mels", 16),
    (r"num_queries|num_query_tokens|num_latents|n_latents", 8),
)  # fmt: skip
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "cls_token_id": 1,
          "sep_token_id": 2, "mask_token_id": 3, "unk_token_id": 3}  # fmt: skip
TEXT = ("MODEL_FOR_CAUSAL_LM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM", "MODEL_FOR_SPEECH_SEQ_2_SEQ",
        "MODEL_FOR_IMAGE_TEXT_TO_TEXT", "MODEL")  # fmt: skip


def kinds() -> list[str]:
    """The model types of the installed transformers that have a class of a model."""
    listed = {kind for name in dir(modeling_auto) if name.endswith("_MAPPING_NAMES") and name.startswith("MODEL")
              for kind in getattr(modeling_auto, name)}  # fmt: skip
    return sorted(listed & set(configuration_auto.CONFIG_MAPPING_NAMES))


def class_of(kind: str) -> str:
    """The class of a model type: with a language model's head where there is one, else the whole of it."""
    names = [f"{name}_MAPPING_NAMES" for name in TEXT]
    names += [
        name for name in dir(modeling_auto) if name.startswith("MODEL") and name.endswith("_MAPPING_NAMES")
    ]
    for name in names:
        found = getattr(modeling_auto, name).get(kind)
        if found is not None:
            return found if isinstance(found, str) else found[0]
    raise KeyError(kind)


def _small(name: str, value: Any, variant: Variant) -> Any:
    """What a number of that name is to be; None: what it is."""
    if isinstance(value, bool) or not (isinstance(value, int) or (value is None and name in UNSET)):
        return None
    if value is not None and value <= 0:
        return None
    for pattern, to in variant.more + SMALL:
        if re.fullmatch(pattern, name):
            counts_layers = to == 2 and re.search(r"layer|depth|block", name)
            return variant.layers if counts_layers else to
    return None


def _numbers(config: Any, variant: Variant) -> dict[str, Any]:
    """What of a configuration, as it is by default, is given to make it tiny."""
    small: dict[str, Any] = {}
    marks = VOCABULARY
    for name, value in config.to_dict().items():
        if re.fullmatch(variant.keep, name):
            continue
        if name in TOKENS and (value is None or isinstance(value, int)):
            small[name] = TOKENS[name]
        elif re.fullmatch(r".*_(token_)?(id|index)", name) and isinstance(value, int) and value >= 8:
            marks -= 1
            small[name] = marks
        elif name == "rope_parameters" and variant.sections:
            rope = value or {"rope_type": "default", "rope_theta": 10000.0}
            small[name] = {**rope, "mrope_section": variant.sections}
        elif (to := _small(name, value, variant)) is not None:
            small[name] = to
    return {**small, **SPECIAL.get(config.model_type, {})}


def shrunk(config_class: Any, variant: Variant) -> Any:
    """A configuration of that class, and of those within it. Raises what the class raises."""
    whole = config_class()
    small = _numbers(whole, variant)
    for name in getattr(config_class, "sub_configs", {}):
        part = getattr(whole, name, None)
        if isinstance(part, transformers.PretrainedConfig):
            small[name] = shrunk(type(part), variant)
    return config_class(**small)


def attempts(kind: str) -> Iterator[Any]:
    """Makes configurations of a model type, the smallest first."""
    config_class = transformers.CONFIG_MAPPING[kind]
    for variant in VARIANTS:
        yield lambda variant=variant: shrunk(config_class, variant)


def model_class(kind: str) -> Any:
    return getattr(transformers, class_of(kind))


def made(model: Any, config: Any, attention: str) -> Any:
    """A model with weights that spread scores: those of a fresh one leave attention nearly uniform."""
    if not isinstance(config, model.config_class):
        config = config.get_text_config()
    with torch.device("meta"):
        size = sum(weight.numel() for weight in model._from_config(config).parameters())
    if size > LARGEST:
        raise MemoryError(f"{size} weights")
    torch.manual_seed(0)
    try:
        found = model._from_config(config, attn_implementation=attention).eval()
    except ValueError:  # no SDPA for this one
        found = model._from_config(config, attn_implementation="eager").eval()
    return found


def spread(model: Any) -> Any:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2 and weight.is_floating_point():
                weight.normal_(0, weight.shape[1] ** -0.5, generator=generator)
    return model


def ids(count: int = LENGTH, seed: int = 1) -> Any:
    return torch.randint(4, 60, (1, count), generator=torch.Generator().manual_seed(seed))


def _of_images(config: Any) -> torch.Tensor:
    part = getattr(config, "vision_config", config)
    size = getattr(part, "image_size", 16)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    channels = getattr(part, "num_channels", getattr(part, "in_channels", 3))
    return torch.randn(1, channels, height, width, generator=torch.Generator().manual_seed(2))


def _of_sounds(config: Any) -> torch.Tensor:
    bins = getattr(config, "num_mel_bins", 16)
    length = 2 * getattr(config, "max_source_positions", 32)
    return torch.randn(1, bins, length, generator=torch.Generator().manual_seed(2))


def _others(model: Any) -> dict[str, Any]:
    """What models take beside ids, or in their place."""
    random = torch.Generator().manual_seed(2)
    config = getattr(model.config, "vision_config", model.config)
    patch = getattr(config, "temporal_patch_size", 1) * getattr(config, "patch_size", 4) ** 2 \
        if isinstance(getattr(config, "patch_size", 4), int) else 0  # fmt: skip
    channels = getattr(config, "in_channels", getattr(config, "num_channels", 3))
    sounds = _of_sounds(model.config)
    found = {
        "pixel_values": [_of_images(model.config)],
        "input_features": [sounds, sounds.transpose(1, 2)],
        "input_values": [torch.randn(1, 4000, generator=random), torch.randn(1, 1, 4000, generator=random)],
    }
    if patch:
        found["hidden_states"] = [torch.randn(16, channels * patch, generator=random)]
    return found


def inputs(model: Any) -> Iterator[dict[str, Any]]:
    """What forward() may take, the plainest first."""
    names = inspect.signature(model.forward).parameters
    main, others = model.main_input_name, _others(model)
    if "decoder_input_ids" in names:
        for source in others.get(main, [ids(LENGTH - 5, 3)]):
            yield {main: source, "decoder_input_ids": ids()}
        return
    if "input_ids" in names:
        yield {"input_ids": ids()}
    grid = {"grid_thw": torch.tensor([[1, 4, 4]])} if "grid_thw" in names else {}
    for name in dict.fromkeys([main, *others]):
        for tensor in others.get(name, []) if name in names else []:
            yield {name: tensor, **grid}
            if "input_ids" in names:
                yield {"input_ids": ids(), name: tensor}
