"""The rules from logits to weights, from docs/mathematics.md section 6, in float64.

A rule weighs (B, n) logits of rows that see the same number of keys, and has its Jacobian as an
explicit matrix. Thresholds are found by sorting or by plain bisection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = Callable[[Array], Array]
BISECTIONS = 64


@dataclass(frozen=True)
class Rule:
    """`n` visible keys, `t` the 1-based position of the query."""

    weigh: Callable[[Array, int, int], Array]
    jacobian: Callable[[Array, int, int], Array]  # of one row (n,), as an (n, n) matrix
    simplex: bool = True
    signed: bool = False
    increasing: bool = True
    unit_norms: bool = False  # logits are cosines
    lipschitz: Callable[[int], float] = lambda n: math.inf  # sup ||J||_2 at n keys
    scale: Callable[[int, int], float] | None = None  # c, where the rule is softmax(c l)
    pointwise: tuple[Function, Function] | None = None  # F and F'
    ridge: Callable[[Array, int], Array] | None = None  # r of J = diag(r) - r r^T / sum r

    def steepest(self, n: int, t: int) -> float:
        """sup ||J||_2 of the row."""
        return self.scale(n, t) / 2.0 if self.scale is not None else self.lipschitz(n)


def softmax(logits: Array) -> Array:
    """N1 at T = 1, along the last axis; -inf is a removed key."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def _spread(a: Array) -> Array:
    return np.asarray(np.diag(a) - np.outer(a, a))


def scaled(scale: Callable[[int, int], float], unit_norms: bool = False) -> Rule:
    """softmax(c l): N1, N2, N3, N15."""
    return Rule(
        lambda logits, n, t: softmax(scale(n, t) * logits),
        lambda row, n, t: scale(n, t) * _spread(softmax(scale(n, t) * row)),
        scale=scale,
        unit_norms=unit_norms,
    )


SOFTMAX = scaled(lambda n, t: 1.0)


def _entropy(p: Array) -> Array:
    return np.asarray(-(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1, keepdims=True))


FIT = (-0.037, 0.481, -2.3, 4.917, -1.791)  # N16, highest power first


def adaptive() -> Rule:
    def beta(logits: Array) -> Array:
        h = _entropy(softmax(logits))
        return np.asarray(np.where(h > 0.5, np.maximum(1.0, np.polyval(FIT, h)), 1.0))

    def jacobian(row: Array, n: int, t: int) -> Array:
        p = softmax(row)
        h, b = float(_entropy(p)[0]), float(beta(row)[0])
        a = softmax(b * row)
        plain = b * _spread(a)
        if h <= 0.5 or np.polyval(FIT, h) <= 1.0:
            return np.asarray(plain)
        dh = -p * (np.log(np.where(p > 0.0, p, 1.0)) + h)
        db = np.polyval(np.polyder(FIT), h) * dh
        return np.asarray(plain + np.outer(a * (row - a @ row), db))

    return Rule(lambda logits, n, t: softmax(beta(logits) * logits), jacobian)


def softcap(c: float) -> Rule:
    def weigh(logits: Array, n: int, t: int) -> Array:
        return softmax(c * np.tanh(logits / c))

    return Rule(
        weigh,
        lambda row, n, t: _spread(weigh(row, n, t)) * (1.0 - np.tanh(row / c) ** 2),
        lipschitz=lambda n: 0.5,
    )


def sparsemax(logits: Array) -> Array:
    """N4 by sorting."""
    ordered = -np.sort(-logits, axis=-1)
    k = np.arange(1, logits.shape[-1] + 1)
    held = np.cumsum(ordered, axis=-1)
    support = (1.0 + k * ordered > held).sum(axis=-1, keepdims=True)
    tau = (np.take_along_axis(held, support - 1, axis=-1) - 1.0) / support
    return np.asarray(np.maximum(logits - tau, 0.0))


def entmax(logits: Array, alpha: float) -> Array:
    """N5 by bisection of the threshold."""
    z = (alpha - 1.0) * (logits - logits.max(axis=-1, keepdims=True))
    low = np.full((*z.shape[:-1], 1), -1.0)
    high = np.full_like(low, -float(z.shape[-1]) ** (1.0 - alpha))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        mass = (np.maximum(z - middle, 0.0) ** (1.0 / (alpha - 1.0))).sum(axis=-1, keepdims=True)
        low, high = np.where(mass >= 1.0, middle, low), np.where(mass >= 1.0, high, middle)
    a = np.maximum(z - low, 0.0) ** (1.0 / (alpha - 1.0))
    return np.asarray(a / a.sum(axis=-1, keepdims=True))


def _ridge(
    weigh: Callable[[Array, int, int], Array], r: Callable[[Array, int], Array], **traits: Any
) -> Rule:
    """Rules that maximise <p, l> - Omega(p): r = 1/Omega''(a)."""

    def jacobian(row: Array, n: int, t: int) -> Array:
        c = r(weigh(row, n, t), n)
        return np.asarray(np.diag(c) - np.outer(c, c) / c.sum())

    return Rule(weigh, jacobian, ridge=r, **traits)


def entmax_rule(alpha: float, scale: Callable[[int], float] = lambda n: 1.0) -> Rule:
    def r(a: Array, n: int) -> Array:
        kept = np.where(a > 0.0, a, 1.0)
        return np.asarray(np.where(a > 0.0, scale(n) * kept ** (2.0 - alpha), 0.0))

    steepest = 2.0 ** (alpha - 2.0) if alpha <= 2.0 else math.inf
    project: Function = sparsemax if alpha == 2.0 else (lambda logits: entmax(logits, alpha))
    return _ridge(
        lambda logits, n, t: project(scale(n) * logits), r, lipschitz=lambda n: steepest * scale(n)
    )


def asentmax(alpha: float, delta: float, beta: float, gamma: float) -> Rule:
    def scale(n: int) -> float:
        return delta + beta * math.log(n) ** gamma if n > 1 else max(delta, 1.0)

    return entmax_rule(alpha, scale)


def stieltjes(q: float) -> Rule:
    def weigh(logits: Array, n: int, t: int) -> Array:
        z = logits - logits.max(axis=-1, keepdims=True)
        low = np.ones((*z.shape[:-1], 1))
        high = np.full_like(low, float(n) ** (1.0 / q))
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            mass = ((middle - z) ** -q).sum(axis=-1, keepdims=True)
            low, high = np.where(mass >= 1.0, middle, low), np.where(mass >= 1.0, high, middle)
        a = (low - z) ** -q
        return np.asarray(a / a.sum(axis=-1, keepdims=True))

    return _ridge(
        weigh,
        lambda a, n: q * a ** (1.0 + 1.0 / q),
        lipschitz=lambda n: q * 2.0 ** -(1.0 + 1.0 / q),
    )


def sink(b: float) -> Rule:
    """N9."""

    def weigh(logits: Array, n: int, t: int) -> Array:
        rest = np.full((*logits.shape[:-1], 1), b)
        return softmax(np.concatenate([logits, rest], axis=-1))[..., :-1]

    return Rule(
        weigh,
        lambda row, n, t: _spread(weigh(row, n, t)),
        simplex=False,
        lipschitz=lambda n: 0.5,
    )


def top_k(k: int) -> Rule:
    """N12; ties to the lower index."""

    def weigh(logits: Array, n: int, t: int) -> Array:
        order = np.argsort(-logits, axis=-1, kind="stable")[..., :k]
        kept = np.full_like(logits, -np.inf)
        np.put_along_axis(kept, order, np.take_along_axis(logits, order, axis=-1), axis=-1)
        return softmax(kept)

    return Rule(weigh, lambda row, n, t: _spread(weigh(row, n, t)))


def self_adjusted() -> Rule:
    """N7."""

    def weigh(logits: Array, n: int, t: int) -> Array:
        low = np.minimum(logits.min(axis=-1, keepdims=True), 0.0)
        high = np.maximum(logits.max(axis=-1, keepdims=True), 0.0)
        width = np.where(high > low, high - low, 1.0)
        return np.asarray(softmax(logits) * np.where(high > low, (logits - low) / width, 1.0))

    def jacobian(row: Array, n: int, t: int) -> Array:
        p = softmax(row)
        low, high = min(row.min(), 0.0), max(row.max(), 0.0)
        if high == low:
            return _spread(p)
        width = high - low
        a = p * (row - low) / width
        j = np.diag(p / width + a) - np.outer(a, p)
        if low < 0.0:
            j[:, row.argmin()] -= p * (high - row) / width**2
        if high > 0.0:
            j[:, row.argmax()] -= p * (row - low) / width**2
        return np.asarray(j)

    return Rule(weigh, jacobian, simplex=False)


def self_adjusted_plain() -> Rule:
    def jacobian(row: Array, n: int, t: int) -> Array:
        p = softmax(row)
        return np.asarray(np.diag(p + row * p) - np.outer(row * p, p))

    return Rule(
        lambda logits, n, t: logits * softmax(logits),
        jacobian,
        simplex=False,
        signed=True,
        increasing=False,
    )


def softpick() -> Rule:
    """N10."""

    def parts(logits: Array) -> tuple[Array, Array]:
        top = np.maximum(logits.max(axis=-1, keepdims=True), 0.0)
        near = np.expm1(np.minimum(logits, 1.0)) * np.exp(-top)
        lifted = np.where(np.abs(logits) < 1.0, near, np.exp(logits - top) - np.exp(-top))
        total = np.abs(lifted).sum(axis=-1, keepdims=True) + 1e-8 * np.exp(-top)
        return lifted, total

    def weigh(logits: Array, n: int, t: int) -> Array:
        lifted, total = parts(logits)
        return np.asarray(np.maximum(lifted, 0.0) / total)

    def jacobian(row: Array, n: int, t: int) -> Array:
        _, total = parts(row)
        e = np.exp(row - max(row.max(), 0.0)) / total
        a = weigh(row, n, t)
        return np.asarray(np.diag(np.where(row > 0.0, e, 0.0)) - np.outer(a, np.sign(row) * e))

    return Rule(weigh, jacobian, simplex=False)


def sigmoid(x: Array) -> Array:
    """With all digits where it is nearly 0 too."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


_erfc = np.frompyfunc(math.erfc, 1, 1)


def _normal(x: Array) -> Array:
    return np.asarray(0.5 * _erfc(-x / math.sqrt(2.0)).astype(np.float64))


def _density(x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi))


# h, h' and sup |h'| (N8, N11).
FUNCTIONS: dict[str, tuple[Function, Function, float]] = {
    "relu": (lambda x: np.maximum(x, 0.0), lambda x: np.where(x > 0.0, 1.0, 0.0), 1.0),
    "relu6": (
        lambda x: np.clip(x, 0.0, 6.0),
        lambda x: np.where((x > 0.0) & (x <= 6.0), 1.0, 0.0),
        1.0,
    ),
    "identity": (lambda x: x, np.ones_like, 1.0),
    "softplus": (lambda x: np.logaddexp(0.0, x), sigmoid, 1.0),
    "sigmoid": (sigmoid, lambda x: sigmoid(x) * sigmoid(-x), 0.25),
    "gelu": (
        lambda x: x * _normal(x),
        lambda x: _normal(x) + x * _density(x),
        0.5 * (1.0 + math.erf(1.0)) + math.exp(-1.0) / math.sqrt(math.pi),
    ),
}


def elementwise(
    h: Function, slope: Function, steepest: float, power: float, shift: Function, **traits: Any
) -> Rule:
    """n^-power h(l + shift(n))."""

    def factor(n: int) -> float:
        return float(n) ** -power

    def moved(logits: Array, n: int) -> Array:
        return np.asarray(logits + float(shift(np.asarray(float(n)))))

    return Rule(
        lambda logits, n, t: factor(n) * h(moved(logits, n)),
        lambda row, n, t: np.diag(factor(n) * slope(moved(row, n))),
        simplex=False,
        lipschitz=lambda n: steepest * factor(n),
        **traits,
    )


def no_shift(n: Array) -> Array:
    return np.zeros_like(n)


def relu_family(h: str, power: float, alpha: float) -> Rule:
    value, slope, steepest = FUNCTIONS[h]
    if h == "relu" and power != 1.0:
        value = lambda x: np.maximum(x, 0.0) ** power  # noqa: E731
        slope = lambda x: np.where(  # noqa: E731
            x > 0.0, power * np.where(x > 0.0, x, 1.0) ** (power - 1.0), 0.0
        )
        steepest = math.inf
    return elementwise(
        value,
        slope,
        steepest,
        alpha,
        no_shift,
        signed=h in ("identity", "gelu"),
        increasing=h != "gelu",
    )


def pointwise(f: Function, slope: Function, increasing: bool, relative: float) -> Rule:
    """D1.2 and D4.1; `relative` is sup |F'/F|."""

    def weigh(logits: Array, n: int, t: int) -> Array:
        values = f(logits)
        return np.asarray(values / values.sum(axis=-1, keepdims=True))

    def jacobian(row: Array, n: int, t: int) -> Array:
        a = weigh(row, n, t)
        return np.asarray((np.eye(len(row)) - a[:, None]) * (slope(row) / f(row).sum()))

    return Rule(
        weigh,
        jacobian,
        increasing=increasing,
        lipschitz=lambda n: relative / 2.0,
        pointwise=(f, slope),
    )


def taylor() -> Rule:
    return pointwise(lambda x: 1.0 + x + 0.5 * x * x, lambda x: 1.0 + x, False, 1.0)


def any_function(name: str) -> Rule:
    if name == "taylor2":
        return taylor()
    if name == "exp":
        return pointwise(np.exp, np.exp, True, 1.0)
    if name == "1+l^2":
        return pointwise(lambda x: 1.0 + x * x, lambda x: 2.0 * x, False, 1.0)
    value, slope, _ = FUNCTIONS[name]
    return pointwise(value, slope, True, 1.0)
