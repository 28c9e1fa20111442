"""The normalizers in torch, for tensors outside main memory: docs/mathematics.md 6.

Each function takes rows of logits and returns their weights on the same device. Gradients are
torch's own, except for rules that shift a row until its weights sum to 1. Tests compare them with
the core, which computes the same in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from headgauge import _core

STEPS = 60  # bisection steps, for all bits of float32
LOWEST = -1e30


@dataclass
class Rows:
    """Logits of rows, and the properties of each row."""

    logits: torch.Tensor
    """(..., keys); any number for hidden keys."""
    visible: torch.Tensor
    """(..., keys), or a shape that broadcasts to it."""
    count: torch.Tensor
    """(..., 1): number of keys that each row sees, at least 1, in the type of the logits."""
    position: torch.Tensor
    """(..., 1): position of the query, from 0."""

    def fill(self, value: float) -> torch.Tensor:
        """Returns the logits, with another number for hidden keys."""
        return torch.where(self.visible, self.logits, value)

    def softmax(self, scale: Any = 1.0) -> torch.Tensor:
        return torch.softmax(torch.where(self.visible, scale * self.logits, LOWEST), dim=-1)


Weigh = Callable[[Rows, _core.Rule], torch.Tensor]


def _number(rule: _core.Rule, key: str) -> float:
    return float(rule.parameter(key))


def _log(x: torch.Tensor, base: float = math.e) -> torch.Tensor:
    return torch.log(x) / math.log(base)


def _ssmax(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    return rows.softmax(_number(rule, "s") * _log(rows.count) + _number(rule, "b"))


def _logn_qwen(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    return rows.softmax(_log(rows.position + 1, _number(rule, "train")).clamp_min(1))


def _yarn(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    return rows.softmax((0.1 * math.log(_number(rule, "factor")) + 1) ** 2)


def _adaptive(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    p = rows.softmax()
    entropy = -(p * torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))).sum(dim=-1, keepdim=True)
    fit = torch.zeros_like(entropy)
    for c in (-0.037, 0.481, -2.3, 4.917, -1.791):  # coefficients of Velickovic et al.
        fit = fit * entropy + c
    return rows.softmax(torch.where((entropy > 0.5) & (fit > 1), fit, 1.0))


def _softcap(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    cap = _number(rule, "c")
    return torch.softmax(torch.where(rows.visible, cap * torch.tanh(rows.logits / cap), LOWEST), dim=-1)


def _with_sink(rows: Rows, sink: float) -> torch.Tensor:
    masked = rows.fill(LOWEST)
    beside = torch.cat([masked, torch.full_like(masked[..., :1], sink)], dim=-1)
    return torch.softmax(beside, dim=-1)[..., :-1]


class _Shifted(torch.autograd.Function):
    """Weights f(l_i - tau) that sum to 1; with slopes s of f their Jacobian is diag(s) - s s^T / sum(s)."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, weights: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(slopes)
        return weights

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator,unused-ignore]
    def backward(ctx: Any, *gradients: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (slopes,), (gradient,) = ctx.saved_tensors, gradients
        total = slopes.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(slopes.dtype).tiny)
        return slopes * (gradient - (slopes * gradient).sum(dim=-1, keepdim=True) / total), None, None


def _bisect(
    low: torch.Tensor, high: torch.Tensor, above: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Finds the point at which `above` changes from true to false."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_above = above(middle)
        low, high = torch.where(is_above, middle, low), torch.where(is_above, high, middle)
    return (low + high) / 2


def _entmax_of(rows: Rows, scaled: torch.Tensor, alpha: Any) -> torch.Tensor:
    """Returns entmax weights of `scaled`, the logits to project; gradients go through these. `alpha`:
    a number, or one for each row."""
    with torch.no_grad():
        z = torch.where(rows.visible, (alpha - 1) * scaled, LOWEST)
        z = z - z.amax(dim=-1, keepdim=True)
        power = 1 / (alpha - 1)
        # The largest logit alone gives 1 at -1; equal logits give 1 at -n^(1 - alpha).
        low, high = torch.full_like(rows.count, -1.0), -(rows.count ** (1 - alpha))
        tau = _bisect(low, high, lambda t: ((z - t).clamp_min(0) ** power).sum(dim=-1, keepdim=True) >= 1)
        weights = (z - tau).clamp_min(0) ** power
        weights = weights / weights.sum(dim=-1, keepdim=True)
        slopes = torch.where(weights > 0, weights ** (2 - alpha), 0.0)
    found: torch.Tensor = _Shifted.apply(scaled, weights, slopes)
    return found


def _sparsemax(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    return _entmax_of(rows, rows.logits, 2.0)


def _entmax(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    return _entmax_of(rows, rows.logits, _number(rule, "alpha"))


def _asentmax(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    scale = _number(rule, "delta") + _number(rule, "beta") * _log(rows.count) ** _number(rule, "gamma")
    scale = torch.where(rows.count > 1, scale, 1.0)  # avoids 0 to a negative power
    return _entmax_of(rows, scale * rows.logits, _number(rule, "alpha"))


def _entmax_logn(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    alpha = 2 - 1 / (1 + _number(rule, "s") * _log(rows.count.clamp_min(2)))
    return _entmax_of(rows, rows.logits, alpha)


def _sigmoid(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    b = rule.parameter("b")
    shift = -_log(rows.count) if isinstance(b, str) else b
    return torch.sigmoid(rows.logits + shift)


def _sasoftmax(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    low = rows.fill(math.inf).amin(dim=-1, keepdim=True).clamp_max(0)
    high = rows.fill(-math.inf).amax(dim=-1, keepdim=True).clamp_min(0)
    width = high - low
    share = torch.where(width > 0, (rows.logits - low) / torch.where(width > 0, width, 1.0), 1.0)
    return share * rows.softmax()


def _softpick(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    # Everything is divided by e^m, m = max(max l, 0).
    m = rows.fill(-math.inf).amax(dim=-1, keepdim=True).clamp_min(0).detach()
    value = torch.where(rows.visible, torch.exp(rows.logits - m) - torch.exp(-m), 0.0)
    near = torch.where(rows.visible, torch.expm1(rows.logits.clamp_max(1)) * torch.exp(-m), 0.0)
    value = torch.where(rows.logits.abs() < 0.5, near, value)
    return torch.relu(value) / (value.abs().sum(dim=-1, keepdim=True) + 1e-8 * torch.exp(-m))


def _topk(rows: Rows, rule: _core.Rule) -> torch.Tensor:
    masked = rows.fill(LOWEST)
    k = min(int(_number(rule, "k")), masked.shape[-1])
    # A stable order puts the first of equal logits first.
    first = masked.detach().argsort(dim=-1, descending=True, stable=True)[..., :k]
    kept = torch.zeros_like(masked, dtype=torch.bool).scatter(-1, first, True)
    return torch.softmax(torch.where(kept, masked, LOWEST), dim=-1)


RULES: dict[str, Weigh] = {
    "softmax": lambda rows, rule: rows.softmax(1 / _number(rule, "t")),
    "uniform": lambda rows, rule: (1 / rows.count).expand_as(rows.logits),
    "ssmax": _ssmax,
    "logn": lambda rows, rule: rows.softmax(_log(rows.count)),
    "logn-qwen": _logn_qwen,
    "logn-entropy": lambda rows, rule: rows.softmax(_log(rows.count, _number(rule, "train")).sqrt()),
    "yarn": _yarn,
    "cosine": lambda rows, rule: rows.softmax(_number(rule, "g")),
    "adaptive-temperature": _adaptive,
    "softcap": _softcap,
    "sparsemax": _sparsemax,
    "entmax": _entmax,
    "asentmax": _asentmax,
    "entmax-logn": _entmax_logn,
    "softmax1": lambda rows, rule: _with_sink(rows, 0.0),
    "sink": lambda rows, rule: _with_sink(rows, _number(rule, "b")),
    "sigmoid": _sigmoid,
    "sasoftmax": _sasoftmax,
    "softpick": _softpick,
    "topk": _topk,
}


def weigh(
    logits: torch.Tensor, rule: _core.Rule, visible: torch.Tensor, position: torch.Tensor
) -> torch.Tensor:
    """Returns the weights of rows; rows that see no key have zero weights. `position` has the shape
    of the rows, `visible` that of the logits."""
    exact = torch.promote_types(logits.dtype, torch.float32)
    # A row whose logits are all -infinity sees no key.
    visible = visible & ~(logits.isneginf() | ~visible).all(dim=-1, keepdim=True)
    count = visible.sum(dim=-1, keepdim=True)
    rows = Rows(
        # Logits of hidden keys must not affect gradients.
        torch.where(visible, logits, 0.0).to(exact),
        visible,
        count.clamp_min(1).to(exact),
        position.unsqueeze(-1).to(exact),
    )
    return torch.where(visible, RULES[rule.name](rows, rule), 0.0).to(logits.dtype)
