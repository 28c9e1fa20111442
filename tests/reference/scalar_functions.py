"""Functions of one logit with their derivatives, in float64."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = Callable[[Array], Array]


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
    "relu6": (lambda x: np.clip(x, 0.0, 6.0), lambda x: np.where((x > 0.0) & (x <= 6.0), 1.0, 0.0), 1.0),
    "identity": (lambda x: x, np.ones_like, 1.0),
    "softplus": (lambda x: np.logaddexp(0.0, x), sigmoid, 1.0),
    "sigmoid": (sigmoid, lambda x: sigmoid(x) * sigmoid(-x), 0.25),
    "gelu": (
        lambda x: x * _normal(x),
        lambda x: _normal(x) + x * _density(x),
        0.5 * (1.0 + math.erf(1.0)) + math.exp(-1.0) / math.sqrt(math.pi),
    ),
}
