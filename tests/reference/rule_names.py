"""Rules by the names and parameters that `headgauge normalizers` lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.normalizers import (
    FUNCTIONS,
    SOFTMAX,
    Rule,
    adaptive,
    any_function,
    asentmax,
    elementwise,
    entmax_rule,
    no_shift,
    pointwise,
    relu_family,
    scaled,
    self_adjusted,
    self_adjusted_plain,
    sink,
    softcap,
    softpick,
    stieltjes,
    taylor,
    top_k,
)

Array = npt.NDArray[Any]


def make_rule(spec: str) -> Rule:
    """`name:key=value,...` as `headgauge normalizers` lists it."""
    name, _, rest = spec.partition(":")
    given = dict(part.split("=", 1) for part in rest.split(",") if part)

    def number(key: str, default: float) -> float:
        return float(given.pop(key, default))

    rule: Rule
    if name == "softmax":
        s = 1.0 / number("t", 1.0)
        rule = SOFTMAX if s == 1.0 else scaled(lambda n, t: s)
    elif name == "ssmax":
        s, b = number("s", 0.43), number("b", 0.0)
        rule = scaled(lambda n, t: s * math.log(n) + b)
    elif name == "logn":
        rule = scaled(lambda n, t: math.log(n))
    elif name == "logn-qwen":
        train = math.log(number("train", 512.0))
        rule = scaled(lambda n, t: max(1.0, math.log(t) / train))
    elif name == "logn-entropy":
        train = math.log(number("train", 512.0))
        rule = scaled(lambda n, t: math.sqrt(math.log(n) / train))
    elif name == "yarn":
        m = (0.1 * math.log(max(number("factor", 4.0), 1.0)) + 1.0) ** 2
        rule = scaled(lambda n, t: m)
    elif name == "cosine":
        g = number("g", 10.0)
        rule = scaled(lambda n, t: g, unit_norms=True)
    elif name == "adaptive-temperature":
        rule = adaptive()
    elif name == "softcap":
        rule = softcap(number("c", 50.0))
    elif name == "sparsemax":
        rule = entmax_rule(2.0)
    elif name == "entmax":
        rule = entmax_rule(number("alpha", 1.5))
    elif name == "asentmax":
        rule = asentmax(
            number("alpha", 1.5), number("delta", 1.0), number("beta", 0.55), number("gamma", 1.0)
        )
    elif name == "stieltjes":
        rule = stieltjes(number("q", 4.0))
    elif name in ("softmax1", "sink"):
        rule = sink(number("b", 0.0))
    elif name == "topk":
        rule = top_k(int(number("k", 8.0)))
    elif name == "sasoftmax":
        rule = self_adjusted()
    elif name == "sasoftmax-plain":
        rule = self_adjusted_plain()
    elif name == "softpick":
        rule = softpick()
    elif name == "sigmoid":
        shift = given.pop("b", "-logn")

        def moved(n: Array) -> Array:
            return np.asarray(-np.log(n) if shift == "-logn" else np.full_like(n, float(shift)))

        rule = elementwise(*FUNCTIONS["sigmoid"], 0.0, moved)
    elif name == "relu":
        h = given.pop("h", "relu")
        rule = relu_family(h, number("power", 1.0), number("alpha", 1.0))
    elif name == "poly":
        p = int(number("p", 3.0))
        odd, steepest = p % 2 == 1, 1.0 if p == 1 else math.inf
        rule = elementwise(
            lambda x: x**p,
            lambda x: p * x ** (p - 1),
            steepest,
            0.5,
            no_shift,
            signed=odd,
            increasing=odd,
        )
    elif name == "pointwise":
        rule = any_function(given.pop("f", "softplus"))
    elif name == "taylor2":
        rule = taylor()
    elif name == "poly-normalized":
        m = int(number("m", 4.0))
        rule = pointwise(
            lambda x: (1.0 + x / m) ** m, lambda x: (1.0 + x / m) ** (m - 1), False, math.inf
        )
    else:
        raise ValueError(f"normalizer {spec!r} is not known here")
    if given:
        raise ValueError(f"normalizer {spec!r}: parameters {sorted(given)} are not known here")
    return rule
