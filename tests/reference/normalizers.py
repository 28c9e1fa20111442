"""The normalizers of mathematics.md section 6, from logits to weights, in float64.

A normalizer weighs (B, n) logits of rows that see the same number of keys, and has its Jacobian as
an explicit matrix. Thresholds are found by sorting or by plain bisection. Each normalizer that
`headgauge list normalizers` lists enters itself into the table with @normalizer.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reference.normalizer_table import (
    NORMALIZERS,
    Array,
    Function,
    Normalizer,
    make_normalizer,
    normalizer,
)

__all__ = ["NORMALIZERS", "Array", "Function", "Normalizer", "make_normalizer", "normalizer"]
BISECTIONS = 64


def softmax(logits: Array) -> Array:
    """N1 at T = 1, along the last axis; -inf is a removed key."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def _spread(a: Array) -> Array:
    return np.asarray(np.diag(a) - np.outer(a, a))


def scaled(scale: Callable[[int, int], float], unit_norms: bool = False) -> Normalizer:
    """softmax(c l): N1, N2, N3, N15."""
    return Normalizer(
        lambda logits, n, t: softmax(scale(n, t) * logits),
        lambda row, n, t: scale(n, t) * _spread(softmax(scale(n, t) * row)),
        scale=scale,
        unit_norms=unit_norms,
    )


SOFTMAX = scaled(lambda n, t: 1.0)


@normalizer("softmax:t=1", ["softmax:t=2"])
def softmax_at(t: float) -> Normalizer:
    return SOFTMAX if t == 1.0 else scaled(lambda n, position: 1.0 / t)


@normalizer("uniform")
def uniform() -> Normalizer:
    return scaled(lambda n, position: 0.0)


@normalizer("ssmax:s=0.43,b=0")
def ssmax(s: float, b: float) -> Normalizer:
    return scaled(lambda n, t: s * math.log(n) + b)


@normalizer("logn")
def logn() -> Normalizer:
    return scaled(lambda n, t: math.log(n))


@normalizer("logn-qwen:train=512", ["logn-qwen:train=16"])
def logn_qwen(train: float) -> Normalizer:
    return scaled(lambda n, t: max(1.0, math.log(t) / math.log(train)))


@normalizer("logn-entropy:train=512", ["logn-entropy:train=16"])
def logn_entropy(train: float) -> Normalizer:
    return scaled(lambda n, t: math.sqrt(math.log(n) / math.log(train)))


@normalizer("yarn:factor=4")
def yarn(factor: float) -> Normalizer:
    m = (0.1 * math.log(max(factor, 1.0)) + 1.0) ** 2
    return scaled(lambda n, t: m)


@normalizer("cosine:g=10")
def cosine(g: float) -> Normalizer:
    return scaled(lambda n, t: g, unit_norms=True)


def _entropy(p: Array) -> Array:
    return np.asarray(-(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1, keepdims=True))


FIT = (-0.037, 0.481, -2.3, 4.917, -1.791)  # N16, highest power first


@normalizer("adaptive-temperature")
def adaptive() -> Normalizer:
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

    return Normalizer(lambda logits, n, t: softmax(beta(logits) * logits), jacobian)


@normalizer("softcap:c=50", ["softcap:c=2"])
def softcap(c: float) -> Normalizer:
    def weigh(logits: Array, n: int, t: int) -> Array:
        return softmax(c * np.tanh(logits / c))

    return Normalizer(
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
    low, width = np.full((*z.shape[:-1], 1), -1.0), 1.0 - float(z.shape[-1]) ** (1.0 - alpha)
    for _ in range(BISECTIONS):
        width *= 0.5
        middle = low + width
        mass = (np.maximum(z - middle, 0.0) ** (1.0 / (alpha - 1.0))).sum(axis=-1, keepdims=True)
        low = np.where(mass >= 1.0, middle, low)
    a = np.maximum(z - low, 0.0) ** (1.0 / (alpha - 1.0))
    return np.asarray(a / a.sum(axis=-1, keepdims=True))


def _ridge(
    weigh: Callable[[Array, int, int], Array], r: Callable[[Array, int], Array], **traits: Any
) -> Normalizer:
    """Normalizers that maximise <p, l> - Omega(p): r = 1/Omega''(a)."""

    def jacobian(row: Array, n: int, t: int) -> Array:
        c = r(weigh(row, n, t), n)
        return np.asarray(np.diag(c) - np.outer(c, c) / c.sum())

    return Normalizer(weigh, jacobian, ridge=r, **traits)


def entmax_normalizer(alpha: float, scale: Callable[[int], float] = lambda n: 1.0) -> Normalizer:
    def r(a: Array, n: int) -> Array:
        kept = np.where(a > 0.0, a, 1.0)
        return np.asarray(np.where(a > 0.0, scale(n) * kept ** (2.0 - alpha), 0.0))

    steepest = 1.0 if alpha <= 2.0 else math.inf
    project: Function = sparsemax if alpha == 2.0 else (lambda logits: entmax(logits, alpha))
    return _ridge(lambda logits, n, t: project(scale(n) * logits), r, lipschitz=lambda n: steepest * scale(n))


@normalizer("sparsemax")
def sparsemax_normalizer() -> Normalizer:
    return entmax_normalizer(2.0)


@normalizer("entmax:alpha=1.5", ["entmax", "entmax:alpha=1.25", "entmax:alpha=3"])
def entmax_at(alpha: float) -> Normalizer:
    return entmax_normalizer(alpha)


@normalizer("asentmax:alpha=1.5,delta=1,beta=0.55,gamma=1")
def asentmax(alpha: float, delta: float, beta: float, gamma: float) -> Normalizer:
    def scale(n: int) -> float:
        return delta + beta * math.log(n) ** gamma if n > 1 else max(delta, 1.0)

    return entmax_normalizer(alpha, scale)


@normalizer("entmax-logn:s=0.25", ["entmax-logn", "entmax-logn:s=2"])
def entmax_logn(s: float) -> Normalizer:
    """N19: entmax whose alpha is that of the row's length."""

    def alpha(n: int) -> float:
        return 2.0 - 1.0 / (1.0 + s * math.log(max(n, 2)))

    return _ridge(
        lambda logits, n, t: entmax(logits, alpha(n)),
        lambda a, n: np.where(a > 0.0, np.where(a > 0.0, a, 1.0) ** (2.0 - alpha(n)), 0.0),
        lipschitz=lambda n: 1.0,
    )


@normalizer("sink:b=0", ["sink:b=2"])
def sink(b: float) -> Normalizer:
    """N9."""

    def weigh(logits: Array, n: int, t: int) -> Array:
        rest = np.full((*logits.shape[:-1], 1), b)
        return softmax(np.concatenate([logits, rest], axis=-1))[..., :-1]

    return Normalizer(
        weigh,
        lambda row, n, t: _spread(weigh(row, n, t)),
        simplex=False,
        has_sink=True,
        lipschitz=lambda n: 0.5,
    )


@normalizer("softmax1")
def softmax1() -> Normalizer:
    return sink(0.0)


@normalizer("topk:k=8", ["topk:k=4"])
def top_k(k: float) -> Normalizer:
    """N12; ties to the lower index."""

    def weigh(logits: Array, n: int, t: int) -> Array:
        order = np.argsort(-logits, axis=-1, kind="stable")[..., : int(k)]
        kept = np.full_like(logits, -np.inf)
        np.put_along_axis(kept, order, np.take_along_axis(logits, order, axis=-1), axis=-1)
        return softmax(kept)

    return Normalizer(weigh, lambda row, n, t: _spread(weigh(row, n, t)))


@normalizer("sasoftmax")
def self_adjusted() -> Normalizer:
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

    return Normalizer(weigh, jacobian, simplex=False)


@normalizer("softpick")
def softpick() -> Normalizer:
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

    return Normalizer(weigh, jacobian, simplex=False)


@normalizer("sigmoid:b=-logn", ["sigmoid", "sigmoid:b=-2"])
def sigmoid_normalizer(b: float | str) -> Normalizer:
    """N8."""

    def weigh(logits: Array, n: int, t: int) -> Array:
        shifted = logits + (-math.log(n) if b == "-logn" else float(b))
        return np.asarray(np.exp(-np.logaddexp(0.0, -shifted)))  # all digits where it is nearly 0 too

    def jacobian(row: Array, n: int, t: int) -> Array:
        a = weigh(row, n, t)
        return np.asarray(np.diag(a * (1.0 - a)))

    return Normalizer(weigh, jacobian, simplex=False, lipschitz=lambda n: 0.25)
