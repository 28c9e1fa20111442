"""The key-value cache of heads that need only some keys, and attention on what it holds.

The folder that `--export hf` writes has this code, too: it needs PyTorch and transformers alone.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.cache_utils import CacheLayerMixin

BLOCK = 256  # queries of a long text that are computed together
ROOM = 128  # tokens that a cache of all keys has room for when it grows


class NewTokens(NamedTuple):
    """Queries, and the new keys and values of the heads that they share: (batch, heads, tokens, d)."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    past: int
    """Number of tokens before them."""
    begin: torch.Tensor | None
    """(batch,): number of padding tokens before each text; None: there is no padding."""
    scale: float | None


class Held(NamedTuple):
    """What new queries may see: keys and values (batch, heads, keys, d)."""

    keys: torch.Tensor
    values: torch.Tensor
    tokens: torch.Tensor | None = None
    """(batch or 1, keys): those of the keys, the number of all tokens for a key to leave out; None: all tokens."""


class Heads:
    """Key-value heads of a layer that keep the same keys; attend() returns the output of the query
    heads. `record`: nothing is dropped until crop(), which takes tokens back."""

    def __init__(self, heads: list[int]) -> None:
        self.members, self.heads = heads, places(heads)
        self.record = False
        self.keys: Any = None
        self.values: Any = None

    def attend(self, given: NewTokens) -> torch.Tensor:
        raise NotImplementedError

    def extend(self, given: NewTokens) -> Held:
        """Returns what the queries of new tokens may see. Then holds what later ones need."""
        raise NotImplementedError

    def put(self, tokens: slice, key: torch.Tensor, value: torch.Tensor) -> None:
        """Puts new tokens there. Gradients need the old tensors as they were."""
        held = (self.keys, self.values)
        fixed = any(
            t.requires_grad or (t.is_inference() and not torch.is_inference_mode_enabled()) for t in held
        )
        if fixed or torch.is_grad_enabled():
            self.keys, self.values = self.keys.clone(), self.values.clone()
        self.keys[:, :, tokens], self.values[:, :, tokens] = key, value

    def each(self, change: Any) -> None:
        """Changes the batch of all tensors."""
        self.keys, self.values = (None if t is None else change(t) for t in (self.keys, self.values))

    def crop(self, tokens: int) -> None:
        """Takes the last tokens back, and drops what the others do not need."""

    @property
    def nbytes(self) -> int:
        """Bytes of the memory behind the tensors: a view keeps all of it."""
        return sum(t.untyped_storage().nbytes() for t in (self.keys, self.values) if t is not None)


class AllKeys(Heads):
    def attend(self, given: NewTokens) -> torch.Tensor:
        query, past, begin, scale = given.query, given.past, given.begin, given.scale
        key, value, _ = self.extend(given)
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

    def extend(self, given: NewTokens) -> Held:
        """Returns all keys and values so far. Those of tokens that were taken back are overwritten."""
        key, value, past = given.key, given.value, given.past
        if self.keys is None:
            self.keys, self.values = alone(key), alone(value)
            return Held(key, value)
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
        return Held(self.keys[:, :, :total], self.values[:, :, :total])


class FirstAndLast(Heads):
    """Holds the first keys, then the last ones: once there are `last` of these, a new key takes the
    place of the oldest. `window`: keys that the model itself lets a query see; None: all."""

    def __init__(self, heads: list[int], first: int, last: int, window: int | None) -> None:
        super().__init__(heads)
        self.first, self.last, self.window = first, min(last, window or last), window
        self.oldest = 0  # its place among the last keys

    def attend(self, given: NewTokens) -> torch.Tensor:
        query, key, value, past, begin, scale = given
        self.forget_hidden(given)
        first, last = self.first, self.last
        always = first == 0 or not self.window  # every query sees the first keys
        if query.shape[2] == 1 and always and past >= padding_of(begin) + first + last:  # no key is both
            if not self.record:
                place = first + self.oldest
                self.put(slice(place, place + 1), key, value)
                self.oldest = (self.oldest + 1) % last
                return grouped(query, self.keys, self.values, None, scale)
            self.in_order()
            self.keys, self.values = (
                torch.cat(held, dim=2) for held in ((self.keys, key), (self.values, value))
            )
            keys, values = (
                torch.cat([t[:, :, :first], t[:, :, max(first, t.shape[2] - last) :]], dim=2)
                for t in (self.keys, self.values)
            )
            return grouped(query, keys, values, None, scale)

        both, first_at = self.append(given)
        new = query.shape[2]
        lowest = past + new - (both[0].shape[2] - first)
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
            of_block = slice(first + to - lowest, first + past + high - lowest)
            keys, values = (torch.cat([t[:, :, :first], t[:, :, of_block]], dim=2) for t in both)
            mask = torch.cat([far, near], dim=3)
            parts.append(grouped(query[:, :, low:high], keys, values, mask, scale))
        return torch.cat(parts, dim=2)

    def extend(self, given: NewTokens) -> Held:
        self.forget_hidden(given)
        (keys, values), first_at = self.append(given)
        if given.past == 0:
            return Held(given.key, given.value)
        total = given.past + given.key.shape[2]
        lasts = torch.arange(total - (keys.shape[2] - self.first), total, device=keys.device)
        firsts = first_at.masked_fill(
            first_at >= lasts[0], total
        )  # those among the last ones stand there alone
        return Held(keys, values, torch.cat([firsts, lasts.expand(firsts.shape[0], -1)], dim=1))

    def forget_hidden(self, given: NewTokens) -> None:
        """Drops the first keys if no query from here on sees them."""
        if self.record or not self.window or not self.first:
            return
        if given.past >= padding_of(given.begin) + self.first + self.window:
            self.keys, self.values = (t[:, :, self.first :].clone() for t in (self.keys, self.values))
            self.first = 0

    def append(self, given: NewTokens) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
        """Returns keys and values, of the first tokens and then of the last ones and the new ones, and the first
        tokens (batch or 1, first). Holds what later queries need."""
        first, past, device = self.first, given.past, given.key.device
        if self.keys is None:
            self.keys, self.values = (
                t.new_zeros((*t.shape[:2], first, t.shape[3])) for t in (given.key, given.value)
            )
        self.in_order()
        starts = given.begin if given.begin is not None else torch.zeros(1, dtype=torch.long, device=device)
        first_at = starts[:, None] + torch.arange(first, device=device)
        keys, values = (
            torch.cat([with_new(held[:, :, :first], new, first_at - past), held[:, :, first:], new], dim=2)
            for held, new in ((self.keys, given.key), (self.values, given.value))
        )
        low = keys.shape[2] if self.record else first + self.last
        self.keys, self.values = (
            t if t.shape[2] <= low else torch.cat([t[:, :, :first], t[:, :, -self.last :]], dim=2)
            for t in (keys, values)
        )
        return (keys, values), first_at

    def in_order(self) -> None:
        """Puts the last keys in the order of their tokens."""
        if self.oldest == 0:
            return
        self.keys, self.values = (
            torch.cat([t[:, :, : self.first], t[:, :, self.first :].roll(-self.oldest, 2)], dim=2)
            for t in (self.keys, self.values)
        )
        self.oldest = 0

    def crop(self, tokens: int) -> None:
        self.in_order()
        low, high = self.first, self.keys.shape[2] - tokens
        self.keys, self.values = (
            torch.cat([t[:, :, :low], t[:, :, max(low, high - self.last) : high]], dim=2)
            for t in (self.keys, self.values)
        )


class Mean(Heads):
    """Holds the sum of the values; the keys are not needed."""

    def attend(self, given: NewTokens) -> torch.Tensor:
        query, value, past, begin = given.query, given.value, given.past, given.begin
        new = query.shape[2]
        sums = value.to(torch.promote_types(value.dtype, torch.float32))
        counts = torch.arange(past + 1, past + new + 1, device=value.device)[None]
        if begin is not None:
            counts = (counts - begin[:, None]).clamp_min(0)
            sums = sums * (counts > 0)[:, None, :, None]
        sums = sums.cumsum(dim=2)
        if self.values is not None:
            sums = sums + self.values[:, :, -1:]
        if not self.record:
            self.values = sums[:, :, -1:].clone()
        else:
            self.values = sums if self.values is None else torch.cat([self.values, sums], dim=2)
        means = (sums / counts.clamp_min(1)[:, None, :, None]).to(value.dtype)
        return means.repeat_interleave(query.shape[1] // value.shape[1], dim=1)

    def crop(self, tokens: int) -> None:
        count = self.values.shape[2] - tokens
        self.values = self.values[:, :, count - 1 : count].clone() if count > 0 else None


def places(heads: list[int]) -> slice | list[int]:
    """An index of these heads: a slice, which copies nothing, where they are neighbours."""
    first, last = heads[0], heads[-1]
    return slice(first, last + 1) if last - first + 1 == len(heads) else heads


def padding_of(begin: torch.Tensor | None) -> int:
    return 0 if begin is None else int(begin.max())


def token_bytes(*tensors: torch.Tensor) -> int:
    return sum(tensor[:, :, 0].numel() * tensor.element_size() for tensor in tensors)


def alone(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy of a view, which would keep all of the memory behind it."""
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()


def grouped(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scale: float | None,
    is_causal: bool = False,
) -> torch.Tensor:
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


def visible(
    at: torch.Tensor, to: torch.Tensor, begin: torch.Tensor | None, first: int, last: int, window: int | None
) -> torch.Tensor:
    """(batch or 1, 1, queries, keys): the tokens `to` that queries at the tokens `at` see. Padding sees
    itself, because a row of no keys has no softmax."""
    starts = 0 if begin is None else begin.reshape(-1, 1, 1, 1)
    seen = (to <= at) & ((to > at - last) | (to < starts + first)) & (to >= starts)
    if window:
        seen = seen & (to > at - window)
    if begin is not None:
        seen = seen | ((at < starts) & (to == at))
    return seen if seen.dim() == 4 else seen[None, None]


def with_new(held: torch.Tensor, new: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Puts the new tokens at these places (batch or 1, held tokens) among the held ones; places outside
    the new tokens hold what they held."""
    inside = (places >= 0) & (places < new.shape[2])
    index = places.clamp(0, new.shape[2] - 1)[:, None, :, None].expand(
        new.shape[0], new.shape[1], -1, new.shape[3]
    )
    return torch.where(inside[:, None, :, None], new.gather(2, index), held)


class HeldHeads:
    """What the heads of a layer hold. `kinds`: for each key-value head (first, last), "mean", "all" keys, or None,
    those that the model itself lets a query see. `window`: their number; None: all."""

    def __init__(self, kinds: list[Any], window: int | None, records: bool) -> None:
        self.kinds = [tuple(kind) if isinstance(kind, list) else kind for kind in kinds]
        heads: dict[Any, list[int]] = {}
        for head, kind in enumerate(self.kinds):
            heads.setdefault(kind or ((0, window) if window else "all"), []).append(head)
        self.groups: list[Heads] = []
        for kind, of_kind in heads.items():
            if kind == "all":
                self.groups.append(AllKeys(of_kind))
            elif kind == "mean":
                self.groups.append(Mean(of_kind))
            else:
                first, last = kind
                self.groups.append(FirstAndLast(of_kind, first, last, window))
        self.set_records(records)

    @property
    def nbytes(self) -> int:
        return sum(group.nbytes for group in self.groups)

    def set_records(self, records: bool) -> None:
        for group in self.groups:
            group.record = records

    def each(self, change: Any) -> None:
        for group in self.groups:
            group.each(change)

    def crop(self, tokens: int) -> None:
        for group in self.groups:
            group.crop(tokens)

    def attend(self, given: NewTokens) -> torch.Tensor:
        """Returns the output (batch, heads, tokens, d) of all heads."""
        query, past, begin = given.query, given.past, given.begin
        output = self.groups[0].attend(given) if len(self.groups) == 1 else self._by_groups(given)
        if begin is None:
            return output
        at = torch.arange(past, past + query.shape[2], device=query.device)
        return output.masked_fill((at < begin[:, None])[:, None, :, None], 0)  # padding sees nothing

    def _by_groups(self, given: NewTokens) -> torch.Tensor:
        query, key, value = given.query, given.key, given.value
        # Query heads that share a key-value head stand together: (batch, heads, shared, tokens, d).
        queries = query.unflatten(1, (key.shape[1], -1))
        output = value.new_empty((*queries.shape[:4], value.shape[3]))
        for group in self.groups:
            at = group.heads
            of_group = queries[:, at].flatten(1, 2)
            found = group.attend(given._replace(query=of_group, key=key[:, at], value=value[:, at]))
            output[:, at] = found.unflatten(1, (-1, queries.shape[2]))
        return output.flatten(1, 2)


class HeldLayer(CacheLayerMixin):  # type: ignore[no-untyped-call,unused-ignore]
    """A layer of the cache. update() hands the new keys on; its attention then takes the layer, and
    decides what it holds."""

    is_sliding = False
    is_compileable = False
    is_croppable = True

    def __init__(self, record_past: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call,unused-ignore]
        self.token_count = 0
        self.recorded = 0  # tokens that crop() can take back
        self.held: HeldHeads | None = None
        self._record_past = record_past
        self.token_bytes = 0  # of the keys and values of all heads

    def lazy_initialization(self, *_: Any) -> None:
        self.is_initialized = True

    @torch.compiler.disable  # type: ignore[untyped-decorator,unused-ignore]
    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        self.is_initialized = True
        self.token_count += key_states.shape[2]
        self.recorded = self.recorded + key_states.shape[2] if self.record_past else 0
        self.token_bytes = token_bytes(key_states, value_states)
        updated.layer = self
        return key_states, value_states

    def get_seq_length(self, *_: Any) -> int:
        return self.token_count

    def get_mask_sizes(self, query_length: Any) -> tuple[int, int]:
        positions = getattr(query_length, "shape", None)  # transformers 4 passes a tensor
        return self.token_count + (query_length if positions is None else positions[0]), 0

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length

    @property
    def nbytes(self) -> int:
        return self.held.nbytes if self.held else 0

    def _each(self, change: Any) -> None:
        if self.held:
            self.held.each(change)

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        self._each(lambda t: t.index_select(0, beam_idx.to(t.device)))

    def batch_repeat_interleave(self, repeats: int) -> None:
        self._each(lambda t: t.repeat_interleave(repeats, dim=0))

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        self._each(lambda t: t[indices.to(t.device)])

    @property
    def record_past(self) -> bool:
        """Whether nothing is dropped until crop()."""
        return self._record_past

    @record_past.setter
    def record_past(self, records: bool) -> None:
        self._record_past = records
        if self.held:
            self.held.set_records(records)

    def activate_past_recording(self) -> None:
        self.record_past = True

    def crop(self, tokens_to_remove: int) -> None:
        """Takes the last -tokens_to_remove tokens back: what transformers calls since 5.24."""
        if tokens_to_remove > 0 or -tokens_to_remove > self.recorded:
            raise NotImplementedError(
                "expected generation that only goes on, or assisted generation in transformers 5.24 or later, found "
                "one that takes tokens back, whose keys are gone"
            )
        if self.held and self.record_past:
            self.held.crop(-tokens_to_remove)
        self.token_count += tokens_to_remove
        self.recorded = 0

    def reset(self) -> None:
        self.token_count, self.recorded, self.held, self.is_initialized = 0, 0, None, False

    def offload(self) -> None:
        """Does nothing: the keys stay where they are."""

    prefetch = offload

    def hold(self, kinds: list[Any], window: int | None) -> HeldHeads:
        """Returns what its heads hold; from their first tokens on they are of these kinds."""
        if self.held is None:
            self.held = HeldHeads(kinds, window, self.record_past)
        return self.held


class Updated(threading.local):
    """The layer of the cache that was updated last in this thread: its attention comes next."""

    layer: HeldLayer | None = None

    def take(self) -> HeldLayer | None:
        layer, self.layer = self.layer, None
        return layer


updated = Updated()
