"""A plan of headgauge for NVIDIA's kvpress (https://github.com/NVIDIA/kvpress).

    from transformers import AutoModelForCausalLM
    from headgauge_press import HeadgaugePress

    model = AutoModelForCausalLM.from_pretrained(MODEL, attn_implementation="sdpa")
    with HeadgaugePress()(model):      # reads the plan.json beside this file
        model.generate(**inputs)

A key-value head that the plan gives "sinks" or "window" sees the first keys and the last ones of
its window; the others are hidden by kvpress: in `masked_key_indices` of the attention module, whose
keys kvpress' patch of the attention functions makes weightless. They stay in memory, so that this
shows what a plan does to the text, not what it saves. Heads that the plan does not name see all.

What kvpress masks is decoding. Its patch leaves a pass alone that begins a text: the queries of a
prompt see every key before them, in all layers, and only what follows the prompt attends by the
plan. headgauge measures a plan with every query masked, the prompt's too. Therefore

- a text that is fed token by token gives the losses that `headgauge scan --plan` reports;
- a prompt in one pass does not: its own losses are those of the model as it is, and the keys and
  values that it leaves to later layers were made with full attention;
- of several tokens in one pass behind a prompt, all see the keys that the first one sees and those
  after it; kvpress stops with "Could not find fake keys" where they are too many for the head's
  dimensions.

HeadgaugePress(mask_prompt=True) masks these passes too, by an attention mask of its own for every
head; that takes queries x keys x heads of memory, and gives the losses of headgauge again.

Texts of a batch must have the same length: positions are counted in the cache, padding included.
Attention by "eager" is not patched by kvpress, and refused.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
from kvpress import BasePress
from kvpress.utils import extract_keys_and_values

SCHEMA = "headgauge.plan/1"
# For each pattern that keeps only the first and the last keys: the parameter that counts the first
# keys, then the one that counts the last keys, with their defaults. The export writes this table.
PATTERNS: dict[str, dict[str, int]] = {}


def first_and_last(pattern: str) -> tuple[int, int]:
    """Returns how many first and last keys a pattern such as "sinks:sinks=4,window=60" keeps."""
    name, _, given = pattern.partition(":")
    if name not in PATTERNS:
        known = " and ".join(PATTERNS)
        raise NotImplementedError(f"{pattern}: expected one of {known}, whose other keys kvpress can hide")
    values = dict(PATTERNS[name])
    for part in filter(None, given.split(",")):
        key, _, value = part.partition("=")
        if key not in values:
            raise ValueError(f"{pattern}: no {key} in {name}")
        values[key] = int(float(value))
    first, last = values.values()
    return first, last


@dataclass
class HeadgaugePress(BasePress):
    """Hides from every key-value head the keys that a plan of headgauge takes from it.

    plan: the file; mask_prompt: see above.
    """

    plan: str | Path = Path(__file__).with_name("plan.json")
    mask_prompt: bool = False
    # By layer and key-value head, the first and the last keys that it sees.
    kept: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict, init=False)
    model: dict = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        plan = json.loads(Path(self.plan).read_text())
        if plan.get("schema") != SCHEMA:
            raise ValueError(f"{self.plan}: expected {SCHEMA}, found {plan.get('schema')}")
        self.model = plan["model"]
        for head in plan["heads"]:
            if "normalizer" in head:
                where = f"key-value head {head['layer']}.{head['kv_head']}"
                raise NotImplementedError(f"{self.plan}: {where} attends by {head['normalizer']}")
            of_layer = self.kept.setdefault(head["layer"], {})
            of_layer[head["kv_head"]] = first_and_last(head["pattern"])

    def post_init_from_model(self, model) -> None:
        config = model.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        found = (config.num_hidden_layers, heads)
        expected = (self.model["layers"], self.model["kv_heads"])
        if found != expected:
            raise ValueError(
                f"{self.plan}: a plan for {expected[0]} layers of {expected[1]} "
                f"key-value heads, not for {found[0]} of {found[1]}"
            )
        if config._attn_implementation == "eager":
            raise NotImplementedError('kvpress does not patch "eager" attention; use "sdpa"')
        if self.mask_prompt and config._attn_implementation != "sdpa":
            raise NotImplementedError('mask_prompt needs "sdpa" attention')

    @contextmanager
    def __call__(self, model) -> Generator:
        hooks = []
        try:
            if self.mask_prompt:
                for module in model.modules():
                    if getattr(module, "layer_idx", None) in self.kept and hasattr(module, "k_proj"):
                        hook = module.register_forward_pre_hook(self.mask_queries, with_kwargs=True)
                        hooks.append(hook)
            with super().__call__(model):
                yield
        finally:
            for hook in hooks:
                hook.remove()

    def forward_hook(self, module, input, kwargs, output):
        """After every pass, prompt or not: hides what the query after it does not see."""
        cache = kwargs["past_key_values"]
        keys, _ = extract_keys_and_values(cache, module.layer_idx)
        seen = cache.get_seq_length(module.layer_idx)
        module.masked_key_indices = self.hidden(module.layer_idx, seen, keys)
        return output

    def hidden(self, layer: int, seen: int, keys: torch.Tensor):
        """Batch, head and place of the keys that the query at position `seen` does not see. A cache
        of a layer that slides holds the last keys alone: the first place is no longer position 0."""
        batch, _, stored, _ = keys.shape
        dropped = seen - stored
        heads, places = [], []
        for head, (first, last) in self.kept.get(layer, {}).items():
            begin, end = max(first - dropped, 0), seen - last + 1 - dropped
            if begin < end:
                place = torch.arange(begin, end, device=keys.device)
                places.append(place)
                heads.append(torch.full_like(place, head))
        if not places:
            return None
        head, place = torch.cat(heads), torch.cat(places)
        text = torch.arange(batch, device=keys.device).repeat_interleave(len(place))
        return text, head.repeat(batch), place.repeat(batch)

    def mask_queries(self, module, args, kwargs):
        """Before a pass of several tokens: what each of its queries sees of the keys."""
        hidden_states = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
        queries = hidden_states.shape[1]
        if queries == 1:
            return None
        cache = kwargs["past_key_values"]
        seen = cache.get_seq_length(module.layer_idx)
        stored = 0
        if seen > 0:
            stored = extract_keys_and_values(cache, module.layer_idx)[0].shape[2]
        query = torch.arange(seen, seen + queries, device=hidden_states.device)[:, None]
        key = torch.arange(seen - stored, seen + queries, device=hidden_states.device)[None]
        config = module.config.get_text_config()
        shared = config.num_attention_heads // self.model["kv_heads"]
        sees = (key <= query).repeat(config.num_attention_heads, 1, 1)
        for head, (first, last) in self.kept[module.layer_idx].items():
            of_head = (key < first) | (key > query - last)
            sees[head * shared : (head + 1) * shared] &= of_head
        given = kwargs.get("attention_mask")
        if given is None:
            mask = sees[None]
        elif given.dtype == torch.bool:
            mask = sees[None] & given
        else:
            mask = given.masked_fill(~sees[None], torch.finfo(given.dtype).min)
        module.masked_key_indices = None  # the mask hides all of it
        return args, {**kwargs, "attention_mask": mask}
