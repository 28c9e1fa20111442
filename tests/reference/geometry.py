"""Inner products and distances of the points x_j, as stored and on the unit sphere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.reference.arrays import Array


def gram(x: Array) -> Array:
    """X X^T, with equal points giving equal entries bit for bit."""
    distinct, place = np.unique(x, axis=0, return_inverse=True)
    products = distinct @ distinct.T
    products = np.tril(products) + np.tril(products, -1).T
    return np.ascontiguousarray(products[np.ix_(place, place)])


def squared_distances(products: Array) -> Array:
    norms = np.diagonal(products)
    return np.asarray(np.maximum(norms[:, None] + norms[None, :] - 2.0 * products, 0.0))


def on_unit_sphere(x: Array) -> Array:
    """x / ||x||; a point at 0 stays there."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, norms, out=np.zeros_like(x), where=norms > 0.0))


def prefix_delta(distances2: Array) -> Array:
    """delta of Assumption 2 among the first n points, at [n]; infinite for n < 2."""
    nearest = np.full(len(distances2) + 1, np.inf)
    for n in range(2, len(distances2) + 1):
        nearest[n] = min(nearest[n - 1], distances2[n - 1, : n - 1].min())
    return np.asarray(np.sqrt(nearest))


@dataclass
class Cloud:
    """Points as separability uses them, with M and delta of Assumptions 1 and 2."""

    points: Array  # (L, d)
    products: Array  # (L, L)
    delta: Array  # (L + 1,), the smallest distance among the first n, at [n]
    largest: Array  # (L + 1,), M of the first n, at [n]
    unit: bool = False  # whether every point has length 1
    found: dict[int, Array] = field(default_factory=dict)  # what moments() gave

    @staticmethod
    def on_sphere(points: Array) -> Cloud:
        """Points of the unit sphere: M = 1."""
        products = gram(points)
        delta = prefix_delta(squared_distances(products))
        unit = bool((np.diagonal(products) > 0.5).all())
        return Cloud(points, products, delta, np.ones(len(points) + 1), unit)

    def moments(self, n: int) -> Array:
        """T2d: the means of g_jk, g_jk^2, g_jk g_jm and g_jk g_lm over distinct keys of the first n."""
        if n not in self.found:
            self.found[n] = self._moments(n)
        return self.found[n]

    def _moments(self, n: int) -> Array:
        if n < 2 or not self.unit:
            return np.full(4, np.nan)
        g = self.products[:n, :n] * (1.0 - np.eye(n))
        rows = g.sum(axis=1)
        one, two = rows.sum(), (g * g).sum()
        three = (rows * rows - (g * g).sum(axis=1)).sum()
        four = one * one - 4.0 * three - 2.0 * two  # without the products that share a key
        choices = np.array([n * (n - 1), n * (n - 1), n * (n - 1) * (n - 2), n * (n - 1) * (n - 2) * (n - 3)])
        sums = np.array([one, two, three, four])
        return np.divide(sums, choices, out=np.zeros(4), where=choices > 0)

    def part(self, first: int, count: int) -> Cloud:
        """Some neighbouring points, without M and delta."""
        use = slice(first, first + count)
        none = np.full(count + 1, np.nan)
        return Cloud(self.points[use], self.products[use, use], none, none)

    @staticmethod
    def as_it_is(points: Array) -> Cloud:
        products = gram(points)
        norms = np.append(0.0, np.sqrt(np.diagonal(products)))
        delta = prefix_delta(squared_distances(products))
        return Cloud(points, products, delta, np.maximum.accumulate(norms))


@dataclass
class Points:
    """x as it is for distances, and as separability takes it."""

    x: Array
    products: Array
    distances2: Array
    cloud: Cloud

    @staticmethod
    def of(x: Array, unit_sphere: bool = True) -> Points:
        wide = x.astype(np.float64)
        products = gram(wide)
        cloud = Cloud.on_sphere(on_unit_sphere(wide)) if unit_sphere else Cloud.as_it_is(wide)
        return Points(wide, products, squared_distances(products), cloud)


def prefix_sets(top_n: list[int], available: int) -> list[int]:
    """The N of top_n that leave a key outside, N < n (rows n > N), in their own order."""
    return [size for size in top_n if size < available]
