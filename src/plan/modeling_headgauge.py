"""A decoder under a plan of headgauge: each key-value head keeps only the keys that its plan names.

headgauge writes this file beside the model. It needs PyTorch and transformers 5, and no headgauge:

    AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)

`headgauge_plan` in config.json has an entry for every layer and key-value head: [first, last] for the
first keys of a text and the last ones, the query's own among them; "mean" for the mean of all values,
which is kept as their sum; null for the model's own attention. The cache holds no more than that, but
for room for up to 128 further tokens in heads that keep all keys. PyTorch computes attention on the keys
that are held, one call for the heads of a kind.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    TOKENIZER_MAPPING,
    AttentionInterface,
)
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache
from transformers.masking_utils import AttentionMaskInterface

BASE = "llama"  # the model type that is served
NAME = f"headgauge of {__name__}"  # several such files may serve in one program
BLOCK = 256  # queries of a long text that are computed together
ROOM = 128  # tokens that a cache of all keys has room for when it grows


class Heads:
    """Key-value heads of a layer that keep the same keys. Tensors are (batch, heads, tokens, d).

    attend() takes the queries of the heads that share them and the new keys and values, and returns
    the output. `past` counts the tokens before the new ones. `begin` has the number of padding tokens
    before each text, as (batch,); None: there is no padding.
    """

    def __init__(self, heads: list[int]) -> None:
        self.heads = places(heads)
        self.keys: torch.Tensor | None = None
        self.values: torch.Tensor | None = None

    def attend(self, query, key, value, past, begin, scale) -> torch.Tensor:
        raise NotImplementedError

    def put(self, tokens: slice, key: torch.Tensor, value: torch.Tensor) -> None:
        """Puts new tokens there. Gradients need the old tensors as they were."""
        if torch.is_grad_enabled():
            self.keys, self.values = self.keys.clone(), self.values.clone()
        self.keys[:, :, tokens], self.values[:, :, tokens] = key, value

    def each(self, change: Any) -> None:
        """Changes the batch of all tensors."""
        self.keys, self.values = (None if t is None else change(t) for t in (self.keys, self.values))

    @property
    def nbytes(self) -> int:
        """Bytes of the memory behind the tensors: a view keeps all of it."""
        return sum(t.untyped_storage().nbytes() for t in (self.keys, self.values) if t is not None)


class AllKeys(Heads):
    def attend(self, query, key, value, past, begin, scale):
        key, value = self.append(key, value, past)
        if past == 0 and begin is None:
            return grouped(query, key, value, None, scale, is_causal=True)
        new = query.shape[2]
        if new == 1 and begin is None:
            return grouped(query, key, value, None, scale)
        device = query.device
        at, to = (
            torch.arange(past, past + new, device=device)[:, None],
            torch.arange(past + new, device=device),
        )
        return grouped(query, key, value, visible(at, to, begin, 0, past + new, None), scale)

    def append(self, key, value, past):
        """Returns all keys and values so far."""
        if self.keys is None:
            self.keys, self.values = alone(key), alone(value)
            return key, value
        total = past + key.shape[2]
        if total > self.keys.shape[2]:
            self.keys, self.values = (
                torch.cat(
                    [held[:, :, :past], new, new.new_empty((*new.shape[:2], ROOM, new.shape[3]))], dim=2
                )
                for held, new in ((self.keys, key), (self.values, value))
            )
        else:
            self.put(slice(past, total), key, value)
        return self.keys[:, :, :total], self.values[:, :, :total]


class FirstAndLast(Heads):
    """Holds the first keys, then the last ones: once there are `last` of these, a new key takes the
    place of the oldest. `window`: keys that the model itself lets a query see; None: all."""

    def __init__(self, heads: list[int], first: int, last: int, window: int | None) -> None:
        super().__init__(heads)
        self.first, self.last, self.window = first, min(last, window or last), window
        self.oldest = 0  # its place among the last keys

    def attend(self, query, key, value, past, begin, scale):
        padding = 0 if begin is None else int(begin.max())
        if self.window and self.first and past >= padding + self.first + self.window:
            # No query from here on sees the first keys.
            self.keys, self.values = (t[:, :, self.first :].clone() for t in (self.keys, self.values))
            self.first = 0
        first, last = self.first, self.last
        always = first == 0 or not self.window  # every query sees the first keys
        if query.shape[2] == 1 and always and past >= padding + first + last:  # no key is both
            place = first + self.oldest
            self.put(slice(place, place + 1), key, value)
            self.oldest = (self.oldest + 1) % last
            return grouped(query, self.keys, self.values, None, scale)

        if self.keys is None:
            self.keys, self.values = (t.new_zeros((*t.shape[:2], first, t.shape[3])) for t in (key, value))
        starts = begin if begin is not None else torch.zeros(1, dtype=torch.long, device=key.device)
        first_at = starts[:, None] + torch.arange(first, device=key.device)  # (batch or 1, first)
        firsts = [
            with_new(old[:, :, :first], new, first_at - past)
            for old, new in ((self.keys, key), (self.values, value))
        ]
        lasts = [
            torch.cat([old[:, :, first:].roll(-self.oldest, 2), new], dim=2)
            for old, new in ((self.keys, key), (self.values, value))
        ]
        total, new = past + query.shape[2], query.shape[2]
        lowest = total - lasts[0].shape[2]
        parts = []
        for low in range(0, new, BLOCK):
            high = min(low + BLOCK, new)
            to = max(lowest, past + low - last + 1)
            at = torch.arange(past + low, past + high, device=key.device)[:, None]
            seen = torch.arange(to, past + high, device=key.device)
            near = visible(at, seen, begin, first, last, self.window)
            # The first keys that are not among those of the block.
            far = (first_at < to)[:, None, None].expand(-1, 1, high - low, first)
            if self.window:
                far = far & (first_at[:, None, None] > at - self.window)
            near = near.expand(far.shape[0], -1, -1, -1)
            keys, values = (
                torch.cat([held, of_last[:, :, to - lowest : past + high - lowest]], dim=2)
                for held, of_last in zip(firsts, lasts, strict=True)
            )
            mask = torch.cat([far, near], dim=3)
            parts.append(grouped(query[:, :, low:high], keys, values, mask, scale))
        self.keys, self.values = (
            torch.cat([held, of_last[:, :, -last:]], dim=2)
            for held, of_last in zip(firsts, lasts, strict=True)
        )
        self.oldest = 0
        return torch.cat(parts, dim=2)


class Mean(Heads):
    """Holds the sum of the values; the keys are not needed."""

    def attend(self, query, key, value, past, begin, scale):
        new = query.shape[2]
        sums = value.to(torch.promote_types(value.dtype, torch.float32))
        counts = torch.arange(past + 1, past + new + 1, device=value.device)[None]
        if begin is not None:
            counts = (counts - begin[:, None]).clamp_min(0)
            sums = sums * (counts > 0)[:, None, :, None]
        sums = sums.cumsum(dim=2)
        if self.values is not None:
            sums = sums + self.values
        self.values = sums[:, :, -1:].clone()
        means = (sums / counts.clamp_min(1)[:, None, :, None]).to(value.dtype)
        return means.repeat_interleave(query.shape[1] // value.shape[1], dim=1)


def places(heads: list[int]) -> slice | list[int]:
    """An index of these heads: a slice, which copies nothing, where they are neighbours."""
    first, last = heads[0], heads[-1]
    return slice(first, last + 1) if last - first + 1 == len(heads) else heads


def alone(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy of a view, which would keep all of the memory behind it."""
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()


def grouped(query, key, value, mask, scale, is_causal=False):
    """Attention of several query heads on each key-value head."""
    batch, heads, queries, dim = query.shape
    if queries == 1 and mask is None:  # the query heads of a key-value head as its queries
        folded = query.reshape(batch, key.shape[1], -1, dim)
        output = scaled_dot_product_attention(folded, key, value, scale=scale)
        return output.reshape(batch, heads, 1, -1)
    shared = heads // key.shape[1]
    if shared > 1:
        key, value = (t.repeat_interleave(shared, dim=1) for t in (key, value))
    return scaled_dot_product_attention(query, key, value, mask, scale=scale, is_causal=is_causal)


def visible(at, to, begin, first, last, window):
    """(batch or 1, 1, queries, keys): the tokens `to` that queries at the tokens `at` see. Padding sees
    itself, so that it has some output."""
    starts = 0 if begin is None else begin.reshape(-1, 1, 1, 1)
    seen = (to <= at) & ((to > at - last) | (to < starts + first)) & (to >= starts)
    if window:
        seen = seen & (to > at - window)
    if begin is not None:
        seen = seen | ((at < starts) & (to == at))
    return seen if seen.dim() == 4 else seen[None, None]


def with_new(held, new, places):
    """Puts the new tokens at these places (batch or 1, held tokens) among the held ones; places outside
    the new tokens hold what they held."""
    inside = (places >= 0) & (places < new.shape[2])
    index = places.clamp(0, new.shape[2] - 1)[:, None, :, None].expand(
        new.shape[0], new.shape[1], -1, new.shape[3]
    )
    return torch.where(inside[:, None, :, None], new.gather(2, index), held)


class HeldLayer(CacheLayerMixin):
    """A layer of the cache. update() hands the new keys on; attend() then takes the layer and decides
    what it holds."""

    is_sliding = False
    is_compileable = False

    def __init__(self) -> None:
        super().__init__()
        self.token_count = 0
        self.groups: list[Heads] | None = None
        self.token_bytes = 0  # of the keys and values of all heads

    def lazy_initialization(self, *_: Any) -> None:
        self.is_initialized = True

    def update(self, key_states, value_states, *_: Any, **__: Any):
        self.is_initialized = True
        self.token_count += key_states.shape[2]
        self.token_bytes = sum(t[:, :, 0].numel() * t.element_size() for t in (key_states, value_states))
        updated.layer = self
        return key_states, value_states

    def get_seq_length(self, *_: Any) -> int:
        return self.token_count

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.token_count + query_length, 0

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length

    @property
    def nbytes(self) -> int:
        return sum(group.nbytes for group in self.groups or [])

    def _each(self, change: Any) -> None:
        for group in self.groups or []:
            group.each(change)

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        self._each(lambda t: t.index_select(0, beam_idx.to(t.device)))

    def batch_repeat_interleave(self, repeats: int) -> None:
        self._each(lambda t: t.repeat_interleave(repeats, dim=0))

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        self._each(lambda t: t[indices.to(t.device)])

    def crop(self, *_: Any) -> None:
        raise NotImplementedError("expected generation that only goes on, found one that takes tokens back")

    def reset(self) -> None:
        self.token_count, self.groups, self.is_initialized = 0, None, False

    def offload(self) -> None:
        """Does nothing: the keys stay where they are."""

    prefetch = offload

    def attend(self, kinds, window, query, key, value, begin, scale):
        """Returns the output (batch, heads, tokens, d) of a layer whose heads are of these kinds."""
        past = self.token_count - query.shape[2]
        if self.groups is None:
            self.groups = groups_of(kinds, window)
        if len(self.groups) == 1:
            return self.groups[0].attend(query, key, value, past, begin, scale)
        # Query heads that share a key-value head stand together: (batch, heads, shared, tokens, d).
        queries = query.unflatten(1, (key.shape[1], -1))
        output = value.new_empty((*queries.shape[:4], value.shape[3]))
        for group in self.groups:
            at = group.heads
            of_group = queries[:, at].flatten(1, 2)
            found = group.attend(of_group, key[:, at], value[:, at], past, begin, scale)
            output[:, at] = found.unflatten(1, (-1, queries.shape[2]))
        return output.flatten(1, 2)


class Updated(threading.local):
    """The layer of the cache that was updated last in this thread: its attention comes next."""

    layer: HeldLayer | None = None


updated = Updated()


def groups_of(kinds: list[Any], window: int | None) -> list[Heads]:
    heads: dict[Any, list[int]] = {}
    for head, kind in enumerate(kinds):
        if kind is None and window:
            kind = (0, window)
        heads.setdefault(tuple(kind) if isinstance(kind, list) else kind, []).append(head)
    groups: list[Heads] = []
    for kind, of_kind in heads.items():
        if kind is None:
            groups.append(AllKeys(of_kind))
        elif kind == "mean":
            groups.append(Mean(of_kind))
        else:
            groups.append(FirstAndLast(of_kind, *kind, window))
    return groups


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
    layer, updated.layer = updated.layer, None
    if layer is None:
        if key.shape[2] != query.shape[2]:
            raise ValueError("expected a cache of this model, found one of another")
        layer = HeldLayer()
        layer.token_count = key.shape[2]
    kinds = module.config.headgauge_plan[module.layer_idx]
    output = layer.attend(kinds, sliding_window, query, key, value, attention_mask, scaling)
    return output.transpose(1, 2).contiguous(), None


def begin_of_texts(attention_mask=None, allow_is_causal_skip=True, **_: Any):
    """What stands for the mask: (batch,), the number of padding tokens before each text; None: there is
    no padding. A text with padding after it does not go on."""
    if attention_mask is None:
        if not allow_is_causal_skip:
            raise NotImplementedError("expected one text a row, found several or a mask of another shape")
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
        self.register_forward_pre_hook(hold_what_is_needed, with_kwargs=True)


def hold_what_is_needed(model: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Gives an empty cache, or a pass that asks for one, the layers above."""
    updated.layer = None  # of a pass that failed
    given = {**inspect.signature(model.forward).bind_partial(*args).arguments, **given}
    name = next((name for name in ("cache", "past_key_values") if name in given), model.cache_name)
    past = given.get(name)
    held = any(isinstance(layer, HeldLayer) for layer in getattr(past, "layers", ()))
    if model.config._attn_implementation != NAME:  # the model itself serves, with a cache of its own
        if held:
            raise ValueError(
                f"expected the attention of the cache's plan, found {model.config._attn_implementation}"
            )
        return None
    require_one_text(given.get("position_ids"), given.get("attention_mask"))
    if held:
        return (), given
    layers = [HeldLayer() for _ in range(model.config.num_hidden_layers)]
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


def require_one_text(positions: torch.Tensor | None, mask: torch.Tensor | None) -> None:
    """Refuses a row in which positions begin again: transformers reads it as several texts only if there
    is neither a mask nor a cache. Padding has any positions."""
    if positions is None or positions.shape[-1] == 1:
        return
    again = positions.diff() <= 0
    if mask is not None and mask.dim() == 2:
        texts = mask[:, -positions.shape[-1] :].bool()
        again = again & texts[:, 1:] & texts[:, :-1]
    if bool(again.any()):
        raise NotImplementedError("expected one text a row, found several")
