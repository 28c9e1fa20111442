"""A live model under another normalizer, forward and backward."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from headgauge import _core
from headgauge._watch import original, renamed
from headgauge.errors import UnsupportedError

_numbers = itertools.count()
_threads = os.cpu_count() or 1


class _Weights(torch.autograd.Function):
    """The weights of rows of logits, in float64 by the core, with its exact Jacobian."""

    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, sights: tuple[Any, Any, Any], rule: _core.Rule
    ) -> torch.Tensor:
        rows = logits.detach().to("cpu", torch.float64).reshape(-1, logits.shape[-1]).contiguous().numpy()
        ctx.held = (rows, sights, rule)
        weights = torch.from_numpy(rule.weigh(rows, *sights, _threads))
        return weights.reshape(logits.shape).to(logits.device, logits.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        rows, sights, rule = ctx.held
        (gradient,) = gradients
        given = gradient.detach().to("cpu", torch.float64).reshape(rows.shape).contiguous().numpy()
        product = torch.from_numpy(rule.vjp(rows, *sights, given, _threads))
        return product.reshape(gradient.shape).to(gradient.device, gradient.dtype), None, None


def normalize(
    logits: torch.Tensor, rule: str, *, begin: Any = None, end: Any = None, position: Any = None
) -> torch.Tensor:
    """The weights of a normalizer (docs/normalizers.md) along the last dim of `logits`; differentiable.

    A row sees the keys [begin, end), by default all, and stands at `position`, by default end - 1:
    integers or arrays that broadcast to the shape of the other dims. Keys that it does not see get
    the weight 0. Computed in float64 on the CPU, wherever the logits are.
    """
    shape = logits.shape[:-1]

    def places(value: Any, default: Any) -> Any:
        given = np.asarray(default if value is None else value, dtype=np.int64)
        return np.ascontiguousarray(np.broadcast_to(given, shape)).reshape(-1)

    ends = places(end, logits.shape[-1])
    stands = np.maximum(ends - 1, 0) if position is None else places(position, 0)
    return _Weights.apply(logits, (places(begin, 0), ends, stands), _core.Rule(rule))  # type: ignore[no-any-return]


def _sights(
    module: Any, query: torch.Tensor, key: torch.Tensor, mask: Any, options: dict[str, Any]
) -> tuple[Any, Any]:
    """The keys [begin, end) that each query sees: arrays of (batch, 1, queries)."""
    queries, keys = query.shape[2], key.shape[2]
    if mask is None:
        said = options.get("is_causal")
        causal = getattr(module, "is_causal", True) if said is None else said
        end = np.arange(keys - queries + 1, keys + 1) if causal else np.full(queries, keys)
        window = int(options.get("sliding_window") or 0)
        begin = np.maximum(0, end - window) if causal and window else np.zeros_like(end)
        return begin[None, None], end[None, None]
    if not isinstance(mask, torch.Tensor) or mask.ndim != 4:
        raise UnsupportedError(
            f"{type(module).__name__}: expected a mask of 4 dimensions, found "
            f"{type(mask).__name__}; load the model with attn_implementation='sdpa'"
        )
    seen = mask[..., :keys]
    allowed = (seen if mask.dtype == torch.bool else seen > torch.finfo(mask.dtype).min / 2).cpu().numpy()
    begin, count = allowed.argmax(axis=-1), allowed.sum(axis=-1)
    last = keys - allowed[..., ::-1].argmax(axis=-1)
    if bool(((last - begin != count) & (count > 0)).any()):
        raise UnsupportedError(
            f"{type(module).__name__}: expected queries that see neighbouring keys, found gaps"
        )
    return begin, begin + count


class use:
    """Has a transformers model attend under another normalizer, from now on or within `with`.

    `rule`: "ssmax", "entmax:alpha=1.5", ... (docs/normalizers.md). `heads`: pairs (layer, head); by
    default all. Forward and backward: gradients are the exact Jacobian's products. Works with a
    key-value cache. restore() makes the model what it was.

    Rows are computed in float64 on the CPU and the weights of a layer are in memory at once, so this
    is for measuring, tuning and trying, not for speed.

    Raises UsageError for a rule that there is not, UnsupportedError for a model that computes its own
    attention or has sinks of its own.
    """

    def __init__(self, model: Any, rule: str, heads: Iterable[tuple[int, int]] | None = None) -> None:
        self._rule = _core.Rule(rule)
        self._spec = rule
        self._heads = None if heads is None else {(int(layer), int(head)) for layer, head in heads}
        self._number = next(_numbers)
        self._registered: list[str] = []
        self._restore = renamed(model, self._name)

    def restore(self) -> None:
        """The model is what it was; again: nothing."""
        self._restore()
        for name in self._registered:
            AttentionInterface._global_mapping.pop(name, None)
            AttentionMaskInterface._global_mapping.pop(name, None)
        self._registered.clear()

    def __enter__(self) -> use:  # noqa: PYI034 - Self is of Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def _name(self, name: str) -> str:
        """Registers the attention that stands in place of the one of that name."""

        def attention(
            module: Any,
            query: torch.Tensor,
            key: torch.Tensor,
            value: torch.Tensor,
            mask: Any,
            **options: Any,
        ) -> Any:
            changed = self._changed(module, query.shape[1])
            if not changed:
                return original(name, module)(module, query, key, value, mask, **options)
            weights = self._weights(module, query, key, mask, options)
            groups = query.shape[1] // value.shape[1]
            if module.training and options.get("dropout"):
                weights = torch.nn.functional.dropout(weights, options["dropout"])
            output = (weights @ value.repeat_interleave(groups, dim=1)).transpose(1, 2)
            if len(changed) < query.shape[1]:
                own, _ = original(name, module)(module, query, key, value, mask, **options)
                here = torch.zeros(query.shape[1], dtype=torch.bool, device=query.device)
                here[changed] = True
                output = torch.where(here[:, None], output, own)
            return output.contiguous(), None

        swapped = f"headgauge_{self._number}_{name}"
        self._registered.append(swapped)
        AttentionInterface.register(swapped, attention)
        if name in ALL_MASK_ATTENTION_FUNCTIONS:
            AttentionMaskInterface.register(swapped, ALL_MASK_ATTENTION_FUNCTIONS[name])
        return swapped

    def _changed(self, module: Any, heads: int) -> list[int]:
        if self._heads is None:
            return list(range(heads))
        layer = getattr(module, "layer_idx", None)
        if layer is None:
            raise UnsupportedError(
                f"{type(module).__name__}: expected a layer that knows its number, found "
                "none; change all heads"
            )
        return sorted(head for at, head in self._heads if at == layer)

    def _weights(
        self, module: Any, query: torch.Tensor, key: torch.Tensor, mask: Any, options: dict[str, Any]
    ) -> torch.Tensor:
        if options.get("s_aux") is not None:
            raise UnsupportedError(f"{type(module).__name__}: expected attention without sinks of its own")
        scaling = options.get("scaling")
        scale = query.shape[3] ** -0.5 if scaling is None else float(scaling)
        if self._rule.unit_norms:
            query, key = (torch.nn.functional.normalize(t, dim=-1) for t in (query, key))
            scale = 1.0
        logits = query @ key.repeat_interleave(query.shape[1] // key.shape[1], dim=1).transpose(2, 3) * scale
        softcap = options.get("softcap")
        if softcap:
            logits = softcap * torch.tanh(logits / softcap)
        begin, end = _sights(module, query, key, mask, options)
        return normalize(logits, self._spec, begin=begin, end=end)
