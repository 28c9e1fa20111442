"""The counter-based random numbers that headgauge's draws are defined by.

Philox4x32-10 (Salmon et al. 2011). A stream (seed, domain, a, b) has key (lo32(seed), hi32(seed));
its block i has counter (i, a, b, domain) and gives two normals by Box-Muller in float64.
"""

import numpy as np

from tests.reference.arrays import Array

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

SENSITIVITY_DIRECTION = 1  # a = layer * 65536 + head, b = 0-based row + (document << 20)
SPHERE_POINTS = 2  # a = dimension, b = 0-based key position
PAIRING = 17  # a = layer * 65536 + head, b = 0-based row + (document << 20)
LOCAL_PAIRING = 18  # as PAIRING
DRAWN_ROWS = 20  # a = layer * 65536 + head, b = first 0-based row of the group + (document << 20)

NEIGHBOURS = 32  # keys that exchange their weights under a local pairing


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


def uniforms(seed: int, domain: int, a: int, b: Array) -> Array:
    """The first uniform of one stream for each b."""
    streams = np.asarray(b, dtype=np.uint64)
    zero = np.zeros_like(streams)
    counter = (zero, zero + np.uint64(a), streams, zero + np.uint64(domain))
    w0, w1, _, _ = philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))
    return _unit(w1, w0)


def sphere_points(seed: int, dimension: int, positions: int) -> Array:
    """(positions, dimension) points on the unit sphere for separability_sphere (mathematics.md 7a)."""
    z = normals(seed, SPHERE_POINTS, dimension, np.arange(positions), dimension)
    return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))


def pairings(
    seed: int, domain: int, layer: int, head: int, document: int, rows: Array, visible: Array
) -> Array:
    """Where the weight of key j goes, for the 0-based rows: (rows, max(visible)), from n on j itself.

    Fisher and Yates from the last key down (mathematics.md 7a): word s of the stream picks for key
    last = n - 1 - s one of the keys first .. last, first + floor(word * choices / 2^32). Under a
    local pairing first is where the block of 32 keys begins that last lies in, counted from the end.
    """
    streams = np.asarray(rows, dtype=np.uint64) + np.uint64(document << 20)
    visible = np.asarray(visible, dtype=np.int64)
    width = int(visible.max())
    blocks = np.arange((width + 3) // 4, dtype=np.uint64)[None, :]
    shape = np.broadcast_shapes(blocks.shape, (len(streams), 1))
    counter = (
        np.broadcast_to(blocks, shape),
        np.full(shape, layer * 65536 + head, dtype=np.uint64),
        np.broadcast_to(streams[:, None], shape),
        np.full(shape, domain, dtype=np.uint64),
    )
    drawn = philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))
    words = np.stack(drawn, axis=-1).reshape(len(streams), -1)
    step = np.arange(width)[:, None]
    last = np.maximum(visible - 1 - step, 0)  # (width, rows); a row that is done exchanges 0 with 0
    first = np.zeros_like(last)
    if domain == LOCAL_PAIRING:
        first = np.maximum(0, visible - NEIGHBOURS * (step // NEIGHBOURS + 1))
    choices = (last - first + 1).astype(np.uint64)
    pick = first + ((choices * words[:, :width].T) >> _32).astype(np.int64)
    to = np.tile(np.arange(width), (len(streams), 1))
    flat, row = to.reshape(-1), width * np.arange(len(streams))
    for one, other in zip(row + last, row + pick, strict=True):
        flat[one], flat[other] = flat[other], flat[one]
    return to


def word_after(
    seed: int, domain: int, layer: int, head: int, document: int, rows: Array, visible: Array
) -> Array:
    """The word of each row's stream that follows those of its pairing: word number n."""
    streams = np.asarray(rows, dtype=np.uint64) + np.uint64(document << 20)
    n = np.asarray(visible, dtype=np.uint64)
    name = np.full(len(n), layer * 65536 + head, dtype=np.uint64)
    counter = (n // np.uint64(4), name, streams, np.full(len(n), domain, dtype=np.uint64))
    words = np.stack(philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)))
    return np.asarray(words[(n % np.uint64(4)).astype(np.int64), np.arange(len(n))])


def unit_directions(seed: int, layer: int, head: int, document: int, rows: Array, visible: Array) -> Array:
    """Unit directions v in R^n for the 0-based rows, padded with zeros to max(visible) (D4.2)."""
    streams = np.asarray(rows, dtype=np.uint64) + np.uint64(document << 20)
    width = int(visible.max())
    v = normals(seed, SENSITIVITY_DIRECTION, layer * 65536 + head, streams, width)
    v = np.where(np.arange(width)[None, :] < visible[:, None], v, 0.0)
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))
