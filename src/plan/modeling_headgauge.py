"""A decoder under a plan of headgauge: each key-value head keeps only the keys that its plan names.

headgauge writes this file beside the model. It needs PyTorch and transformers 5, and no headgauge:

    AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)

`headgauge_plan` in config.json has an entry for every layer and key-value head: [first, last] for the
first keys of a text and the last ones, the query's own among them; "mean" for the mean of all values,
which is kept as their sum; null for the model's own attention. The cache holds no more than that, but
for room for up to 128 further tokens in heads that keep all keys. PyTorch computes attention on the keys
that are held, one call for the heads of a kind. torch.compile compiles the rest of the model.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    TOKENIZER_MAPPING,
    AttentionInterface,
)
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import AttentionMaskInterface

from headgauge._held_heads import HeldLayer, NewTokens, updated

BASE = "llama"  # the model type that is served
NAME = f"headgauge of {__name__}"  # several such files may serve in one program

TAKES_BACK = ("assistant_model", "is_assistant", "prompt_lookup_num_tokens", "assistant_early_exit")
"""Arguments of generate(), or of its config, that make it take tokens back."""


@torch.compiler.disable
def attention(
    module, query, key, value, attention_mask, scaling=None, dropout=0.0, sliding_window=None,
    softcap=None, s_aux=None, **_: Any,
):  # fmt: skip
    """What the attention of a layer calls."""
    if softcap is not None or s_aux is not None:
        raise NotImplementedError(
            "expected scores of queries and keys alone, found a cap or a sink of its own"
        )
    if attention_mask is not None and attention_mask.dim() != 1:
        raise NotImplementedError("expected a mask of tokens, found one of queries and keys")
    layer = updated.take()
    if layer is None:
        if key.shape[2] != query.shape[2]:
            raise ValueError("expected a cache of this model, found one of another")
        layer = HeldLayer()
        layer.token_count = key.shape[2]
    kinds = module.config.headgauge_plan[module.layer_idx]
    given = NewTokens(query, key, value, layer.token_count - query.shape[2], attention_mask, scaling)
    output = layer.hold(kinds, sliding_window).attend(given)
    return output.transpose(1, 2).contiguous(), None


def begin_of_texts(attention_mask=None, use_vmap=False, **_: Any):
    """What stands for the mask: (batch,), the number of padding tokens before each text; None: there is
    no padding. A text with padding after it does not go on."""
    if attention_mask is None:
        if use_vmap:  # transformers computes a mask of the model's own by it
            raise NotImplementedError("expected a causal mask, found one of another shape")
        return None
    if bool(attention_mask.all()):
        return None
    tokens = attention_mask.shape[1]
    begin = attention_mask.int().argmax(dim=1)
    begin[~attention_mask.any(dim=1)] = tokens
    after = attention_mask.flip(1).int().argmax(dim=1)
    if bool((begin + attention_mask.sum(dim=1) + after != tokens).any()):
        raise ValueError("expected padding before and after the texts, found some within a text")
    return begin


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, begin_of_texts)


class HeadgaugeConfig(CONFIG_MAPPING[BASE]):
    model_type = f"headgauge_{BASE}"


if CONFIG_MAPPING[BASE] in TOKENIZER_MAPPING:
    TOKENIZER_MAPPING.register(HeadgaugeConfig, TOKENIZER_MAPPING[CONFIG_MAPPING[BASE]], exist_ok=True)


class HeadgaugeForCausalLM(MODEL_FOR_CAUSAL_LM_MAPPING[CONFIG_MAPPING[BASE]]):
    config_class = HeadgaugeConfig

    def __init__(self, config: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        self.config._attn_implementation = NAME
        names = inspect.signature(type(self).forward).parameters
        self.cache_name = "cache" if "cache" in names else "past_key_values"  # before transformers 5.24
        self.record_past = False
        self.register_forward_pre_hook(hold_what_is_needed, with_kwargs=True)
        self.base_model.register_forward_pre_hook(require_one_text, with_kwargs=True)

    def generate(self, inputs: Any = None, generation_config: Any = None, *more: Any, **kwargs: Any) -> Any:
        """Keeps what assisted generation may take back, for transformers 5.24 or later."""
        config, before = generation_config or self.generation_config, self.record_past
        takes_back = any(kwargs.get(name) or getattr(config, name, None) for name in TAKES_BACK)
        self.record_past = before or takes_back
        try:
            return super().generate(inputs, generation_config, *more, **kwargs)
        finally:
            self.record_past = before


def by_name(model: Any, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    return {**inspect.signature(model.forward).bind_partial(*args).arguments, **given}


@torch.compiler.disable
def hold_what_is_needed(model: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Gives an empty cache, or a pass that asks for one, the layers above."""
    updated.layer = None  # of a pass that failed
    given = by_name(model, args, given)
    name = next((name for name in ("cache", "past_key_values") if name in given), model.cache_name)
    past = given.get(name)
    held = any(isinstance(layer, HeldLayer) for layer in getattr(past, "layers", ()))
    if model.config._attn_implementation != NAME:  # the model itself serves, with a cache of its own
        if held:
            raise ValueError(
                f"expected the attention of the cache's plan, found {model.config._attn_implementation}"
            )
        return None
    if held:
        return (), given
    record = model.record_past or any(
        getattr(layer, "record_past", False) for layer in getattr(past, "layers", ())
    )
    layers = [HeldLayer(record) for _ in range(model.config.num_hidden_layers)]
    if past is None:
        wanted = given.get("use_cache")
        if wanted is None:
            wanted = model.config.use_cache and not model.training
        return (), {**given, name: Cache(layers=layers)} if wanted else given
    if not isinstance(past, DynamicCache) or past.get_seq_length() > 0:
        raise ValueError(
            f"expected an empty DynamicCache or one of this model, found a {type(past).__name__}"
        )
    past.layers[:] = layers
    past.layer_class_to_replicate = None
    return (), given


@torch.compiler.disable
def require_one_text(model: Any, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    """Refuses a row in which positions begin again, or skip some if there is neither a mask nor a cache:
    only then transformers reads it as several texts. Padding has any positions."""
    given = by_name(model, args, given)
    positions, mask = given.get("position_ids"), given.get("attention_mask")
    if positions is None or positions.shape[-1] == 1 or model.config._attn_implementation != NAME:
        return
    alone = mask is None and given.get("cache", given.get("past_key_values")) is None
    again = positions.diff() != 1 if alone else positions.diff() <= 0
    if mask is not None and mask.dim() == 2:
        texts = mask[:, -positions.shape[-1] :].bool()
        again = again & texts[:, 1:] & texts[:, :-1]
    if bool(again.any()):
        raise NotImplementedError("expected one text a row, found several")
