"""The weights of a normalizer for torch tensors, forward and backward."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from headgauge import _core, _torch_rules
from headgauge._texts import checked_spec
from headgauge.errors import BadInputError, UsageError

RowRanges = tuple[Any, Any, Any]
_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rows(tensor: torch.Tensor) -> Any:
    plain = tensor.detach().to("cpu", torch.float64)
    return plain.reshape(-1, tensor.shape[-1]).contiguous().numpy()


def in_main_memory(tensor: torch.Tensor) -> bool:
    """Returns whether the core computes the weights of the tensor; otherwise torch does."""
    return tensor.device.type == "cpu"


class _Weights(torch.autograd.Function):
    """The weights of rows of logits, computed by the core in float64, with the exact Jacobian."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, ranges: RowRanges, rule: _core.Rule) -> torch.Tensor:
        ctx.save_for_backward(logits)
        ctx.held = (ranges, rule)
        weights = torch.from_numpy(rule.weigh(_rows(logits), *ranges, _threads))
        return weights.reshape(logits.shape).to(logits.device, logits.dtype)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator,unused-ignore]
    def backward(ctx: Any, *gradients: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (logits,), (ranges, rule) = ctx.saved_tensors, ctx.held
        product = torch.from_numpy(rule.vjp(_rows(logits), *ranges, _rows(gradients[0]), _threads))
        return product.reshape(logits.shape).to(logits.device, logits.dtype), None, None


def weigh(logits: torch.Tensor, rule: _core.Rule, begin: Any, end: Any, position: Any) -> torch.Tensor:
    """Returns the weights of rows at `position` that see the keys [begin, end)."""
    if not in_main_memory(logits):
        first, after, place = (torch.as_tensor(v, device=logits.device) for v in (begin, end, position))
        keys = torch.arange(logits.shape[-1], device=logits.device)
        visible = (keys >= first.unsqueeze(-1)) & (keys < after.unsqueeze(-1))
        shape = logits.shape
        return _torch_rules.weigh(logits, rule, visible.expand(shape), place.expand(shape[:-1]))

    def places(value: Any) -> Any:
        given = np.broadcast_to(np.asarray(value, dtype=np.int64), logits.shape[:-1])
        return np.ascontiguousarray(given).reshape(-1)

    ranges = (places(begin), places(end), places(position))
    return _Weights.apply(logits, ranges, rule)  # type: ignore[no-any-return]


def normalize(
    logits: torch.Tensor, rule: str, *, begin: Any = 0, end: Any = None, position: Any = None
) -> torch.Tensor:
    """Returns the weights of a normalizer (docs/normalizers.md) along the last dim of `logits`;
    differentiable once.

    A row sees the keys [begin, end), by default all, and is at `position`, by default end - 1:
    integers or arrays that broadcast to the shape of the other dims. Keys outside that range get
    weight 0. The core computes in float64; on a GPU torch computes in the type of the logits. For
    "cosine" the logits are the cosines.

    Raises UsageError for an unknown rule; BadInputError for logits that are not floating-point
    numbers, and for ranges and positions that do not fit.
    """
    if not isinstance(logits, torch.Tensor) or not logits.is_floating_point() or logits.ndim < 1:
        raise BadInputError("logits: expected a tensor of floating-point numbers with a dim of keys")
    if logits.numel() == 0:
        raise BadInputError(f"logits: expected numbers, found an empty tensor of shape {tuple(logits.shape)}")
    end = logits.shape[-1] if end is None else end
    of_name = _core.Rule(checked_spec(rule, "rule"))
    try:
        position = np.maximum(np.asarray(end) - 1, 0) if position is None else position
        for value in (begin, end, position):
            if np.broadcast_to(np.asarray(value), logits.shape[:-1]).min(initial=0) < 0:
                raise BadInputError(f"begin, end, position: expected 0 or more, found {value}")
        return weigh(logits, of_name, begin, end, position)
    except (UsageError, BadInputError):
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInputError(f"begin, end, position: expected integers for rows of shape "
                            f"{tuple(logits.shape[:-1])}, found others") from error  # fmt: skip


def weigh_visible(
    logits: torch.Tensor, rule: _core.Rule | None, visible: torch.Tensor, position: torch.Tensor
) -> torch.Tensor:
    """Returns the weights of rows; rows that see no key have zero weights. A rule of None means
    softmax. `visible` broadcasts to the shape of the logits, `position` to that of their rows."""
    visible = visible.expand(logits.shape)
    if rule is None:
        weights = torch.softmax(logits.masked_fill(~visible, torch.finfo(logits.dtype).min), dim=-1)
        return torch.where(visible, weights, 0.0)
    if not in_main_memory(logits):
        return _torch_rules.weigh(logits, rule, visible, position.expand(logits.shape[:-1]).clamp_min(0))
    count = visible.sum(dim=-1)
    place = position.expand(count.shape).clamp_min(0).cpu().numpy()
    begin = visible.int().argmax(dim=-1)
    last = logits.shape[-1] - visible.flip(-1).int().argmax(dim=-1)
    if bool(((last - begin == count) | (count == 0)).all()):
        begin = torch.where(count > 0, begin, 0)
        return weigh(logits, rule, begin.cpu().numpy(), (begin + count).cpu().numpy(), place)
    # The core takes contiguous keys, so the visible ones are moved to the front, in their order.
    order = torch.argsort((~visible).to(torch.uint8), dim=-1, stable=True)
    weights = weigh(logits.gather(-1, order), rule, 0, count.cpu().numpy(), place)
    return torch.zeros_like(weights).scatter(-1, order, weights)
