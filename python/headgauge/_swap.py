"""A live model under another normalizer, forward and backward."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from headgauge import _core
from headgauge._attention import add_swap, install, remove_swap
from headgauge._sight import Seen, allowed_keys
from headgauge.errors import BadInputError, UnsupportedError, UsageError

Sights = tuple[Any, Any, Any]
_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rows(tensor: torch.Tensor) -> Any:
    plain = tensor.detach().to("cpu", torch.float64)
    return plain.reshape(-1, tensor.shape[-1]).contiguous().numpy()


class _Weights(torch.autograd.Function):
    """The weights of rows of logits, in float64 by the core, with its exact Jacobian."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, sights: Sights, rule: _core.Rule) -> torch.Tensor:
        ctx.save_for_backward(logits)
        ctx.held = (sights, rule)
        weights = torch.from_numpy(rule.weigh(_rows(logits), *sights, _threads))
        return weights.reshape(logits.shape).to(logits.device, logits.dtype)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator,unused-ignore]
    def backward(ctx: Any, *gradients: Any) -> Any:
        (logits,), (sights, rule) = ctx.saved_tensors, ctx.held
        product = torch.from_numpy(rule.vjp(_rows(logits), *sights, _rows(gradients[0]), _threads))
        return product.reshape(logits.shape).to(logits.device, logits.dtype), None, None


def _weigh(logits: torch.Tensor, rule: _core.Rule, begin: Any, end: Any, position: Any) -> torch.Tensor:
    def places(value: Any) -> Any:
        given = np.broadcast_to(np.asarray(value, dtype=np.int64), logits.shape[:-1])
        return np.ascontiguousarray(given).reshape(-1)

    sights = (places(begin), places(end), places(position))
    return _Weights.apply(logits, sights, rule)  # type: ignore[no-any-return]


def normalize(
    logits: torch.Tensor, rule: str, *, begin: Any = 0, end: Any = None, position: Any = None
) -> torch.Tensor:
    """The weights of a normalizer (docs/normalizers.md) along the last dim of `logits`; differentiable
    once.

    A row sees the keys [begin, end), by default all, and stands at `position`, by default end - 1:
    integers or arrays that broadcast to the shape of the other dims. Keys that it does not see get
    the weight 0. Computed in float64 on the CPU, wherever the logits are. Of "cosine" the logits are
    the cosines.

    Raises UsageError for a rule that there is not, BadInputError for logits that are no floating-point
    numbers and for places that do not fit.
    """
    if not isinstance(logits, torch.Tensor) or not logits.is_floating_point() or logits.ndim < 1:
        raise BadInputError("logits: expected a tensor of floating-point numbers with a dim of keys")
    if logits.numel() == 0:
        raise BadInputError(f"logits: expected numbers, found an empty tensor of shape {tuple(logits.shape)}")
    end = logits.shape[-1] if end is None else end
    try:
        position = np.maximum(np.asarray(end) - 1, 0) if position is None else position
        for value in (begin, end, position):
            if np.broadcast_to(np.asarray(value), logits.shape[:-1]).min(initial=0) < 0:
                raise BadInputError(f"begin, end, position: expected 0 or more, found {value}")
        return _weigh(logits, _core.Rule(rule), begin, end, position)
    except BadInputError:
        raise
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise BadInputError(f"begin, end, position: expected integers for rows of shape "
                            f"{tuple(logits.shape[:-1])}, found others") from error  # fmt: skip


def _sights(seen: Seen, by_position: bool) -> Sights:
    """The keys [begin, end) that each query sees, and where it stands: arrays of (batch, 1, queries)."""
    queries, keys = seen.query.shape[2], seen.key.shape[2]
    if seen.mask is None:
        causal = seen.causal
        end = np.arange(keys - queries + 1, keys + 1) if causal else np.full(queries, keys)
        window = int(seen.options.get("sliding_window") or 0)
        begin = np.maximum(0, end - window) if causal and window else np.zeros_like(end)
        return begin[None, None], end[None, None], end[None, None] - 1
    allowed = allowed_keys(seen.mask, keys, seen.name).cpu().numpy()[:, None]
    count = allowed.sum(axis=-1)
    begin = np.where(count > 0, allowed.argmax(axis=-1), 0)
    end = begin + count
    last = np.where(count > 0, keys - allowed[..., ::-1].argmax(axis=-1), 0)
    if bool((last != end).any()):
        raise UnsupportedError(f"{seen.name}: expected queries that see neighbouring keys, found gaps")
    # Before the first key that any query sees is padding, if the queries are those of all keys.
    padding = np.where(count > 0, begin, keys).min(axis=-1, keepdims=True)
    if by_position and queries < keys and bool((padding > 0).any()):
        raise UnsupportedError(
            f"{seen.name}: expected a text from its beginning, for the rule depends on positions, found padding "
            "or a window beside a key-value cache"
        )
    return begin, end, np.maximum(end - 1 - padding, 0)


class use:
    """Has a transformers model attend under another normalizer, from now on or within `with`.

    `rule`: "ssmax", "entmax:alpha=1.5", ... (docs/normalizers.md). `heads`: pairs (layer, head); by
    default all. Forward and backward: gradients are products with the exact Jacobian. Works with a
    key-value cache and with padding. restore() makes the model what it was; of several on one model
    the last one that is left counts, in whatever order they end.

    Scores are computed in float32 at least, their weights in float64 on the CPU, and the weights of a
    layer are in memory at once, so this is for measuring, tuning and trying, not for speed.

    Raises UsageError for a rule or heads that there are not; UnsupportedError for sinks, and, from the
    model's first forward pass, for a model that computes its own attention.
    """

    def __init__(self, model: Any, rule: str, heads: Iterable[tuple[int, int]] | None = None) -> None:
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
            raise UsageError(f"model: expected a transformers model, found {type(model).__name__}")
        self._rule = _core.Rule(rule)
        self._heads = None if heads is None else _checked(model, heads)
        self._called = False
        self._model = model
        self._take_back = install(model)
        add_swap(model, self)
        self._hook: Any = model.register_forward_hook(lambda *_: self._require_call())

    def restore(self) -> None:
        """The model is what it was; again: nothing."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
            remove_swap(self._model, self)
            self._take_back()

    def __enter__(self) -> use:  # noqa: PYI034 - Self is of Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def _require_call(self) -> None:
        if not self._called:
            raise UnsupportedError(
                f"{type(self._model).__name__}: expected attention through transformers' AttentionInterface, "
                "found a model that computes its own, which use() cannot change"
            )

    def attention(self, seen: Seen, own: Callable[[], Any]) -> Any:
        """Called by the attention function of a module of the model."""
        self._called = True
        query, value = seen.query, seen.value
        changed = self._changed(seen)
        if not changed:
            return own()
        weights = self._weights(seen)
        if seen.module.training and seen.options.get("dropout"):
            weights = torch.nn.functional.dropout(weights, seen.options["dropout"])
        groups = query.shape[1] // value.shape[1]
        output = (weights.to(value.dtype) @ value.repeat_interleave(groups, dim=1)).transpose(1, 2)
        if len(changed) < query.shape[1]:
            here = torch.zeros(query.shape[1], dtype=torch.bool, device=query.device)
            here[changed] = True
            output = torch.where(here[:, None], output, own()[0])
        return output.contiguous(), None

    def _changed(self, seen: Seen) -> list[int]:
        if self._heads is None:
            return list(range(seen.query.shape[1]))
        layer = getattr(seen.module, "layer_idx", None)
        if layer is None:
            raise UnsupportedError(
                f"{seen.name}: expected a layer that knows its number, found none; change all heads"
            )
        return sorted(head for at, head in self._heads if at == layer)

    def _weights(self, seen: Seen) -> torch.Tensor:
        if seen.sinks:
            raise UnsupportedError(f"{seen.name}: expected attention without sinks of its own, found some")
        # Half precision has too few digits for scores, and ends at 65504.
        exact = torch.promote_types(seen.query.dtype, torch.float32)
        query, key, scale = seen.query.to(exact), seen.key.to(exact), seen.scale
        if self._rule.unit_norms:
            query, key = (torch.nn.functional.normalize(t, dim=-1) for t in (query, key))
            scale = 1.0
        key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
        with torch.autocast(query.device.type, enabled=False):
            logits = (query * scale) @ key.transpose(2, 3)
        if seen.softcap:
            logits = seen.softcap * torch.tanh(logits / seen.softcap)
        return _weigh(logits, self._rule, *_sights(seen, self._rule.by_position))


def _checked(model: Any, heads: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    config = model.config.get_text_config()
    layers, count = int(config.num_hidden_layers), int(config.num_attention_heads)
    try:
        pairs = {(int(layer), int(head)) for layer, head in heads}
    except (TypeError, ValueError) as error:
        raise UsageError("heads: expected pairs (layer, head), such as [(1, 3)]") from error
    for layer, head in pairs:
        if not (0 <= layer < layers and 0 <= head < count):
            raise UsageError(
                f"heads: expected layers 0 to {layers - 1} and heads 0 to {count - 1}, found ({layer}, {head})"
            )
    return pairs
