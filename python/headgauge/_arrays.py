"""Queries, keys and values as arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from headgauge._source import Source
from headgauge._texts import flag, unmasked
from headgauge.errors import BadInputError

Floats = npt.NDArray[np.float32]


def as_floats(array: Any, name: str, copy: bool | None = None) -> Floats:
    """Returns the array as float32, C-contiguous, in main memory; does not copy an array that is so
    already.

    Takes numpy arrays, torch tensors, and objects with DLPack or the array interface. Raises
    BadInputError for an array that does not contain numbers, and with copy=False for one that would
    need a copy.
    """
    unmasked(array, name)
    if hasattr(array, "detach"):  # torch: numpy has neither bfloat16 nor GPU memory
        if array.is_meta:
            raise BadInputError(f"{name}: expected numbers, found a tensor on the device meta")
        array = array.detach()
        if str(array.dtype) == "torch.bfloat16" or array.device.type != "cpu":
            if copy is False:
                raise BadInputError(
                    f"{name}: expected float32 in main memory, found {array.dtype} on "
                    f"{array.device}; allow a copy"
                )
            array = array.float().cpu()
        array = array.numpy()
    elif not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__"):
        array = np.from_dlpack(array)
    try:
        plain = np.asarray(array)
    except ValueError:
        raise BadInputError(f"{name}: expected an array, found rows of different lengths") from None
    if plain.dtype.kind not in "fiu":
        raise BadInputError(f"{name}: expected real numbers, found {plain.dtype}")
    with np.errstate(over="ignore"):  # overflow gives infinity, which is refused
        floats = np.ascontiguousarray(plain, dtype=np.float32)
    if copy is False and not np.shares_memory(floats, plain):
        raise BadInputError(
            f"{name}: expected contiguous float32, found {plain.dtype} with strides {plain.strides}; "
            "allow a copy"
        )
    _require(floats.size > 0, name, "numbers", f"an empty array of shape {floats.shape}")
    _require(bool(np.isfinite(floats).all()), name, "finite numbers", "NaN or infinity")
    return floats


def _require(condition: bool, name: str, expected: str, found: object) -> None:
    if not condition:
        raise BadInputError(f"{name}: expected {expected}, found {found}")


def _four(array: Any, name: str, copy: bool | None) -> Floats:
    floats = as_floats(array, name, copy)
    _require(2 <= floats.ndim <= 4, name, "2, 3 or 4 dimensions", f"{floats.ndim}")
    return floats[(None,) * (4 - floats.ndim)]


def _number(value: Any, name: str, kind: Callable[[Any], Any] = float) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInputError(f"{name}: expected a number, found {value!r:.80}") from None


class ArraySource(Source):
    """One layer; every row of the batch is a document."""

    def __init__(
        self,
        q: Any,
        k: Any,
        v: Any,
        x: Any,
        *,
        causal: bool,
        window: int,
        scale: float | None,
        softcap: float,
        position_bias: Any,
        copy: bool | None,
    ) -> None:
        self.q = _four(q, "q", copy)
        self.k = _four(k, "k", copy)
        self.v = None if v is None else _four(v, "v", copy)
        batch, heads, length, width = self.q.shape
        kv_heads = self.k.shape[1]
        shape = (batch, kv_heads, length, width)
        _require(
            self.k.shape == shape, "k", f"shape {shape} (batch, heads, length, dimension)", f"{self.k.shape}"
        )
        _require(heads % kv_heads == 0, "k", f"heads that divide the {heads} of q", f"{kv_heads}")
        if self.v is not None:
            _require(
                self.v.shape[:3] == shape[:3], "v", f"shape {shape[:3]} and any dimension", f"{self.v.shape}"
            )
        self.x = None
        if x is not None:
            self.x = as_floats(x, "x", copy)
            self.x = self.x[None] if self.x.ndim == 2 else self.x
            _require(
                self.x.ndim == 3 and self.x.shape[:2] == (batch, length),
                "x",
                f"shape ({batch}, {length}) and any dimension",
                f"{self.x.shape}",
            )
        self.causal = flag(causal, "causal")
        self.window, self.softcap = _number(window, "window", operator.index), _number(softcap, "softcap")
        _require(0 <= self.window < 2**31, "window", "0 (none) or a number of keys", window)
        _require(self.causal or self.window == 0, "window", "0 where attention is not causal", window)
        _require(0 <= self.softcap < math.inf, "softcap", "0 (none) or more", softcap)
        self.scale = float(width) ** -0.5 if scale is None else _number(scale, "scale")
        _require(math.isfinite(self.scale), "scale", "a finite number", scale)
        self.bias = None
        if position_bias is not None:
            given = as_floats(position_bias, "position_bias", copy)
            each = (heads, 2 * length - 1)
            _require(
                given.shape in (each, each[1:]),
                "position_bias",
                f"shape {each} (heads, 2 length - 1), or that of one head for all",
                f"{given.shape}",
            )
            self.bias = np.broadcast_to(given, each)
        self.context = length

    def info(self) -> dict[str, Any]:
        batch, heads, length, width = self.q.shape
        return {
            "name": "arrays",
            "family": "arrays",
            "layers": 1,
            "heads": heads,
            "kv_heads": self.k.shape[1],
            "head_dim": width,
            "value_dim": 0 if self.v is None else self.v.shape[3],
            "x_dim": 0 if self.x is None else self.x.shape[2],
            "max_length": length,
            "causal": self.causal,
            "has_x": self.x is not None,
            "has_values": self.v is not None,
            "has_loss": False,
            "documents": [length] * batch,
            "layer_types": ["sliding_attention" if self.window else "full_attention"],
            "windows": [self.window],
        }

    def describe(self) -> dict[str, Any]:
        batch, _, length, _ = self.q.shape
        names = [f"row {k}" for k in range(batch)]
        return {
            "model": {"causal": self.causal, "scale": self.scale},
            "text": {
                "names": names,
                "sha256": [None] * batch,
                "tokens": [length] * batch,
                "tokens_total": [length] * batch,
            },
        }

    def layer(self, layer: int, document: int) -> dict[str, Any]:
        cut = slice(None, self.context)

        def part(array: Floats | None) -> Floats | None:
            return None if array is None else np.ascontiguousarray(array[document][..., cut, :])

        return {
            "queries": part(self.q),
            "keys": part(self.k),
            "values": part(self.v),
            "x": part(self.x),
            "x_key": document + 1,
            "scale": self.scale,
            "softcap": self.softcap,
            "position_bias": self._bias(),
            "window": self.window,
            "causal": self.causal,
            "type": "sliding_attention" if self.window else "full_attention",
        }

    def _bias(self) -> Floats | None:
        if self.bias is None:
            return None
        own = self.q.shape[2] - 1
        return np.ascontiguousarray(self.bias[:, own + 1 - self.context : own + self.context])

    def set_context(self, length: int) -> None:
        self.context = length
