"""The counter-based random numbers that headgauge's draws are defined by.

Philox4x32-10 (Salmon et al. 2011). A stream (seed, domain, a, b) has key (lo32(seed), hi32(seed));
its block i has counter (i, a, b, domain) and gives two normals by Box-Muller in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

SENSITIVITY_DIRECTION = 1  # a = layer * 65536 + head, b = 0-based row + (document << 20)
SEPARABILITY_NULL = 2  # a = dimension, b = 0-based key position


def philox4x32(counter: tuple[Array, Array, Array, Array], key: tuple[int, int]) -> list[Array]:
    """Ten rounds over arrays of 32-bit words held in uint64."""
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (
            (p1 >> _32) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _32) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def _unit(high: Array, low: Array) -> Array:
    return np.asarray(((high << _32 | low) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def normals(seed: int, domain: int, a: int, b: Array, count: int) -> Array:
    """(len(b), count) standard normals: one stream for each b."""
    blocks = np.arange((count + 1) // 2, dtype=np.uint64)[None, :]
    rows = np.asarray(b, dtype=np.uint64)[:, None]
    shape = np.broadcast(blocks, rows).shape
    counter = (
        np.broadcast_to(blocks, shape),
        np.full(shape, a, dtype=np.uint64),
        np.broadcast_to(rows, shape),
        np.full(shape, domain, dtype=np.uint64),
    )
    w0, w1, w2, w3 = philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))
    radius = np.sqrt(-2.0 * np.log1p(-_unit(w1, w0)))
    angle = 2.0 * np.pi * _unit(w3, w2)
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return np.asarray(pairs.reshape(len(rows), -1)[:, :count])


def sphere_points(seed: int, dimension: int, positions: int) -> Array:
    """(positions, dimension) points on the unit sphere for the separability null (math.md 7a)."""
    z = normals(seed, SEPARABILITY_NULL, dimension, np.arange(positions), dimension)
    return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))


def unit_directions(
    seed: int, layer: int, head: int, document: int, rows: Array, visible: Array
) -> Array:
    """Unit directions v in R^n for the 0-based rows, padded with zeros to max(visible) (D4.2)."""
    streams = np.asarray(rows, dtype=np.uint64) + np.uint64(document << 20)
    width = int(visible.max())
    v = normals(seed, SENSITIVITY_DIRECTION, layer * 65536 + head, streams, width)
    v = np.where(np.arange(width)[None, :] < visible[:, None], v, 0.0)
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))
