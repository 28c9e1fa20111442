"""Random weights, the same bytes everywhere.

The weights of the real GPT-2 widths are too large to commit: the golden values are committed, and
the weights drawn again at test time. Every weight is an exact function of (seed, tensor name, element index):

    key    = mix(seed XOR fnv1a64(name))                  name with the `transformer.` prefix
    z_k    = mix(key + (k + 1) * 0x9E3779B97F4A7C15)      k = row-major element index (splitmix64)
    c_k    = 2 * (z_k >> 40) + 1 - 2^24                   odd integer, |c_k| < 2^24
    w_k    = mean + c_k * n / 2^34                        uniform on mean +- n / 1024

with mix the finaliser of splitmix64. c_k * n / 2^34 and the sum are exact in float64; one rounding
to float32 follows, then one more to float16 or bfloat16 if asked. numpy's random module takes no
part, so the result does not depend on a numpy version.

The numerator n of the half-width follows the tensor's role (see Case.recipes): scores, activations
and logits come out of the order of one, so that attention is far from uniform.
"""

import math

import numpy as np
import numpy.typing as npt

from tests.golden.catalogue.files import Tensor
from tests.reference.arrays import Array

MASK64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
CHUNK = 1 << 20

DTYPES = {"f32": "F32", "f16": "F16", "bf16": "BF16"}  # names in safetensors


def mix(z: int) -> int:
    """The finaliser of splitmix64."""
    z &= MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def fnv1a64(text: str) -> int:
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK64
    return h


def stream_key(seed: int, name: str) -> int:
    return mix(seed ^ fnv1a64(name))


def raw(key: int, first: int, count: int) -> npt.NDArray[np.uint64]:
    """z_first .. z_(first + count - 1) of the stream."""
    z = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    z *= np.uint64(GOLDEN_GAMMA)
    z += np.uint64(key)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def draw_integers(seed: int, name: str, count: int, bound: int) -> list[int]:
    """`count` integers in [0, bound): the high 32 bits of the stream, scaled."""
    return [(int(z) >> 32) * bound >> 32 for z in raw(stream_key(seed, name), 0, count)]


def uniform(seed: int, name: str, count: int, mean: float, half_width: int) -> Array:
    """float32 values uniform on mean +- half_width / 1024."""
    key = stream_key(seed, name)
    out = np.empty(count, dtype=np.float32)
    for first in range(0, count, CHUNK):
        size = min(CHUNK, count - first)
        c = (raw(key, first, size) >> np.uint64(40)).astype(np.int64)
        c = (2 * c + 1 - (1 << 24)) * half_width
        out[first : first + size] = mean + c.astype(np.float64) * 2.0**-34
    return out


def encode(values: Array, dtype: str) -> bytes:
    """float32 values as little-endian bytes of the given type, rounded to nearest even."""
    if dtype == "f32":
        return values.astype("<f4").tobytes()
    if dtype == "f16":
        return values.astype("<f2").tobytes()
    if dtype == "bf16":
        bits = values.astype("<f4").view("<u4")
        bits += np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        return (bits >> np.uint32(16)).astype("<u2").tobytes()
    raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype!r}")


def draw_tensor(
    seed: int, name: str, shape: tuple[int, ...], mean: float, half_width: int, dtype: str
) -> Tensor:
    def data() -> bytes:
        return encode(uniform(seed, name, math.prod(shape), mean, half_width), dtype)

    return Tensor(DTYPES[dtype], shape, data)
