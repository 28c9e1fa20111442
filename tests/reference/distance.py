"""Metrics of the distance group, by row (mathematics.md section 2 and 7a)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array
from tests.reference.geometry import Points, prefix_sets
from tests.reference.rows import RowBlock

SCALARS = (
    "selected_mass distance distance_bound distance_bound_paper expected_distance "
    "expected_distance_upper expected_distance_context margin"
).split()


def prefix_distances(a: Array, top: Array, products: Array) -> tuple[Array, Array]:
    """dtilde (D2.3) and ||s||^2 (D2.2) for every N = 1..len(top) of one row.

    ||a_i x_i - s||^2 = a_i^2 |x_i|^2 - 2 a_i <x_i, s> + |s|^2; <x_i, s> gains one weighted row of
    the Gram matrix with each N.
    """
    n, chosen = len(a), a[top]
    norms2 = np.diagonal(products)[:n]
    terms = products[top, :n]
    terms *= chosen[:, None]
    np.add.accumulate(terms, axis=0, out=terms)
    onto_last = terms[np.arange(len(top)), top]
    s2 = np.cumsum(2.0 * chosen * onto_last - chosen**2 * norms2[top])
    terms *= -2.0 * a
    terms += a * a * norms2
    terms += s2[:, None]
    np.maximum(terms, 0.0, out=terms)
    np.sqrt(terms, out=terms)
    inside = np.tril(terms[:, top]).sum(axis=1)
    return terms.sum(axis=1) - inside, s2


def largest_cross_distance(top: Array, n: int, sizes: list[int], distances2: Array) -> Array:
    """d_1 (D2.4) for each N of sizes: the largest ||x_i - x_j||, i outside, j in the set."""
    result = np.zeros(len(sizes))
    reach = np.zeros(n)
    done = 0
    for place in np.argsort(sizes, kind="stable"):
        size = sizes[place]
        if size > done:
            reach = np.maximum(reach, distances2[top[done:size], :n].max(axis=0))
            done = size
        outside = np.ones(n, dtype=bool)
        outside[top[:size]] = False
        result[place] = np.sqrt(reach[outside].max())
    return result


def bounds(block: RowBlock, norms: Array, size: int, d1: Array, s2: Array) -> tuple[Array, Array, Array]:
    """min(A3, A4), T1.1 and the selected mass of the rows n > size, from their d_1 and ||s||^2."""
    use = block.n > size
    a, members = block.weights[use], block.order[use, :size]
    outside = block.visible[use]
    np.put_along_axis(outside, members, False, axis=1)
    selected = np.take_along_axis(a, members, axis=1).sum(axis=1)
    left = np.where(outside, a, 0.0)
    rest = left.sum(axis=1)  # 1 - abar, of weights that sum to 1
    count = block.n[use] - size
    longest = norms[members].max(axis=1)
    gaps = np.where(outside, np.abs(selected[:, None] - a), 0.0).sum(axis=1)
    a3 = rest * d1[use] + longest * gaps
    a4 = np.abs(left) @ norms[: a.shape[1]] + count * np.sqrt(np.maximum(s2[use], 0.0))
    remaining = rest if block.normalizer.simplex else 1.0 - selected  # as it is printed
    printed = remaining * d1[use] + longest * (selected * count - remaining)
    only_a4 = selected == 0.0
    return np.where(only_a4, a4, np.minimum(a3, a4)), printed, selected


@dataclass
class Context:
    """Y = sum_j a_j x_j of each row, and its products with the points."""

    norms2: Array  # (1, C), |x_i|^2
    x_dot: Array  # (R, C), <x_i, Y>
    total2: Array  # (R, 1), |Y|^2

    @staticmethod
    def of(block: RowBlock, points: Points) -> Context:
        width = block.weights.shape[1]
        total = block.weights @ points.x[:width]
        return Context(
            np.diagonal(points.products)[None, :width],
            total @ points.x[:width].T,
            (total * total).sum(axis=1, keepdims=True),
        )


def expected_terms(block: RowBlock, context: Context, size: int) -> tuple[Array, Array]:
    """E_main and the upper bound p sum_i sqrt(|m_i|^2 + v_i) (T1.2, reading "uniform")."""
    a = block.weights
    n = block.n.astype(np.float64)[:, None]
    use = n > size
    safe = np.where(use, n, 2.0)
    y2 = a * a * context.norms2  # |y_i|^2
    y_dot = a * context.x_dot  # <y_i, Y>
    p = (safe - size) / safe
    k = size / (safe - 1.0)
    m2 = (1.0 + k) ** 2 * y2 - 2.0 * k * (1.0 + k) * y_dot + k * k * context.total2
    m2 = np.maximum(m2, 0.0)
    others = y2.sum(axis=1, keepdims=True) - y2
    from_i = context.total2 - 2.0 * y_dot + y2  # |Y - y_i|^2
    spread = np.maximum(others - from_i / (safe - 1.0), 0.0)
    wide = np.where(safe > 2.0, safe, 3.0)
    factor = size * (wide - 1.0 - size) / ((wide - 1.0) * (wide - 2.0))
    v = np.where(safe > 2.0, factor * spread, 0.0)
    mask = block.visible
    main = (p * np.where(mask, np.sqrt(m2), 0.0)).sum(axis=1)
    upper = (p * np.where(mask, np.sqrt(m2 + v), 0.0)).sum(axis=1)
    return np.where(use[:, 0], main, np.nan), np.where(use[:, 0], upper, np.nan)


def context_distances(block: RowBlock, context: Context, depth: int) -> Array:
    """E_ctx = p sum_i ||(a_i + k) x_i - Y|| (T1.2, reading "context") for N = 1..depth.

    The square is a quadratic in k: k^2 |x_i|^2 + k 2 <x_i, a_i x_i - Y> + |a_i x_i - Y|^2.
    """
    a, mask, norms2 = block.weights, block.visible, context.norms2
    square = np.where(mask, norms2, 0.0)
    linear = np.where(mask, 2.0 * (a * norms2 - context.x_dot), 0.0)
    from_y = a * a * norms2 - 2.0 * a * context.x_dot + context.total2
    constant = np.where(mask, from_y, 0.0)
    n = block.n.astype(np.float64)
    result = np.full((len(a), depth), np.nan)
    for size in range(1, min(depth, a.shape[1] - 1) + 1):
        rows = slice(int(np.argmax(block.n > size)), None)  # n never falls within a block
        k = (size / (n[rows] - 1.0))[:, None]
        inner = square[rows] * k
        inner += linear[rows]
        inner *= k
        inner += constant[rows]
        np.maximum(inner, 0.0, out=inner)
        np.sqrt(inner, out=inner)
        result[rows, size - 1] = inner.sum(axis=1) * (n[rows] - size) / n[rows]
    return result


def distance_rows(block: RowBlock, points: Points, top_n: list[int], depth: int) -> dict[str, Array]:
    """The group for each row; `distance_prefixes` and `context_prefixes` hold every N = 1..depth.

    NaN where n <= N.
    """
    rows = len(block.t)
    found = {name: np.full((rows, len(top_n)), np.nan) for name in SCALARS}
    distance, squares = np.full((rows, depth), np.nan), np.full((rows, depth), np.nan)
    cross = np.full((rows, len(top_n)), np.nan)
    for row in range(rows):
        n = int(block.n[row])
        limit = min(depth, n - 1)
        if limit < 1:
            continue
        a, top = block.weights[row, :n], block.order[row, :limit]
        distance[row, :limit], squares[row, :limit] = prefix_distances(a, top, points.products)
        sizes = prefix_sets(top_n, n)
        places = [top_n.index(size) for size in sizes]
        cross[row, places] = largest_cross_distance(top, n, sizes, points.distances2)
    terms = Context.of(block, points)
    context = context_distances(block, terms, depth)
    norms = np.sqrt(np.diagonal(points.products))
    for place, size in enumerate(top_n):
        use = block.n > size
        if not use.any():
            continue
        valid, printed, selected = bounds(block, norms, size, cross[:, place], squares[:, size - 1])
        found["selected_mass"][use, place] = selected
        found["distance_bound"][use, place] = valid
        found["distance_bound_paper"][use, place] = printed
        main, upper = expected_terms(block, terms, size)
        found["distance"][:, place] = distance[:, size - 1]
        found["margin"][use, place] = distance[use, size - 1] / (block.n[use] - size)
        found["expected_distance"][:, place] = main
        found["expected_distance_upper"][:, place] = upper
        found["expected_distance_context"][:, place] = context[:, size - 1]
    return {**found, "distance_prefixes": distance, "context_prefixes": context}
