"""Metrics of the separability group, by row (mathematics.md section 3 and 7a).

Points are on the unit sphere (M = 1) unless stated otherwise. X_i < r is decided on
q_j = ||a_j x_j - s||^2 - ||s||^2, in which the common term has dropped out.

The nulls are the same row with its weights permuted among its keys (philox.pairings), on the points
of the text or on random ones, in some of the rows.
"""

import math
from dataclasses import dataclass

import numpy as np

from tests.reference.arrays import Array
from tests.reference.geometry import Cloud
from tests.reference.philox import LOCAL_PAIRING, PAIRING, pairings, word_after
from tests.reference.rows import RowBlock, rank

SCALARS = (
    "separability_with_sinks separability_lower separability_model_lower separability_model_upper "
    "separability_lower_paper separability_upper_paper separability_null_with_sinks separability_excess_with_sinks "
    "separability_null_local separability_excess_local separability_sphere separability_null_lower"
).split()
# Each null is measured in one row of so many; in the next head those are the rows before.
NULL_ROWS, LOCAL_ROWS, SPHERE_ROWS = 2, 8, 8
EQUAL = 1e-12  # q this close, relatively, are equal in exact arithmetic: X_i < r is strict (D3.3)
SMALLEST = 2.0**-126  # of the weights in single precision that are not 0
ZERO = 1e-14  # r this small beside ||s|| is 0
RECHECK = 1e-6  # r^2 this small beside ||s||^2 is taken from the difference vector itself


@dataclass
class Draws:
    """What names the random numbers of a head in a document."""

    seed: int
    layer: int
    head: int
    document: int

    def chosen(self, block: RowBlock, every: int) -> Array:
        """The rows in which a null is measured."""
        return np.asarray((block.t - 1 + self.head) % every == 0)

    def permuted(self, block: RowBlock, rows: Array, domain: int) -> RowBlock:
        """The chosen rows with their weights dealt out anew; their top sets are sought anew."""
        t, n = block.t[rows], block.n[rows]
        width = int(n.max())
        to = pairings(self.seed, domain, self.layer, self.head, self.document, t - 1, n)
        lines = np.arange(len(t))[:, None]
        logits, weights = np.empty((len(t), width)), np.empty((len(t), width))
        logits[lines, to] = block.logits[rows][:, :width]
        weights[lines, to] = block.weights[rows][:, :width]
        depth = min(block.order.shape[1], width)
        order = rank(logits, depth)
        keys = None if block.keys is None else block.keys[rows][:, :width]
        return RowBlock(t, n, logits, weights, order, block.normalizer, keys=keys)

    def first_points(self, block: RowBlock, count: int) -> Array:
        """Which of `count` points the first key of each row has; the others have those after it."""
        n = block.n.astype(np.uint64)
        place = self.layer, self.head, self.document, block.t - 1
        word = word_after(self.seed, PAIRING, *place, block.n)
        return np.asarray((word * (np.uint64(count) - n + np.uint64(1))) >> np.uint64(32))


@dataclass
class Selection:
    """What one N does to the rows n > N of a block."""

    members: Array  # (R, N) indices of I_N
    distinct: Array  # (R, N) X_i < r
    radius: Array  # (R,)


def products_with(block: RowBlock, cloud: Cloud, row: int, top: Array) -> Array:
    """<x_i, x_j> of the columns i of `top` and all columns j that a row sees."""
    n = int(block.n[row])
    if block.keys is None:
        return np.asarray(cloud.products[top, :n])
    keys = block.keys[row, :n]
    return np.asarray(cloud.products[np.ix_(keys[top], keys)])


def set_products(block: RowBlock, cloud: Cloud, sizes: list[int]) -> Array:
    """<x_j, s_N> for the ascending sizes: (R, sizes, C), rows n <= N left at what fits."""
    width = block.weights.shape[1]
    result = np.zeros((len(block.t), len(sizes), width))
    starts = [0, *sizes[:-1]]
    for row in range(len(block.t)):
        n = int(block.n[row])
        fitting = [start for start, size in zip(starts, sizes, strict=True) if size < n]
        if not fitting:
            continue
        top = block.order[row, : sizes[len(fitting) - 1]]
        lines = products_with(block, cloud, row, top)
        lines *= block.weights[row, top][:, None]
        parts = np.add.reduceat(lines, fitting, axis=0)
        result[row, : len(fitting), :n] = np.cumsum(parts, axis=0)
    return result


def _exact_radius(a: Array, points: Array, members: Array, nearest: int) -> float:
    """r from the difference vector of one row."""
    total = a[members] @ points[members]
    radius = float(np.linalg.norm(total - a[nearest] * points[nearest]))
    return 0.0 if radius <= ZERO * float(np.linalg.norm(total)) else radius


def select(block: RowBlock, cloud: Cloud, rows: Array, size: int, products: Array) -> Selection:
    """D3.3: r = min over O of ||s - a_i x_i||, and which members have X_i < r, strictly."""
    a = block.weights[rows]
    keys = np.broadcast_to(np.arange(a.shape[1]), a.shape) if block.keys is None else block.keys[rows]
    norms2 = np.diagonal(cloud.products)[keys]
    members = block.order[rows][:, :size]
    onto = products[rows]
    q = a * (a * norms2 - 2.0 * onto)
    lines = np.arange(len(a))[:, None]
    s2 = (a[lines, members] * onto[lines, members]).sum(axis=1)
    inside = q[lines, members]
    outside = np.where(block.visible[rows], q, np.inf)
    outside[lines, members] = np.inf
    nearest = outside.argmin(axis=1)
    lowest = outside[lines[:, 0], nearest]
    radius = np.sqrt(np.maximum(lowest + s2, 0.0))
    for row in np.flatnonzero(lowest + s2 < RECHECK * s2):
        radius[row] = _exact_radius(a[row], cloud.points[keys[row]], members[row], int(nearest[row]))
    margin = EQUAL * np.maximum(np.abs(inside), np.abs(lowest)[:, None])
    distinct = (lowest[:, None] - inside) > margin
    if size == 1:  # X = 0: q sees the square of an r that may be very small
        distinct = radius[:, None] > 0.0
    return Selection(members, distinct, radius)


def _others(values: Array) -> Array:
    """For each entry of a row, the sum of the other entries, without subtracting."""
    result = np.zeros_like(values)
    result[:, 1:] += np.cumsum(values, axis=1)[:, :-1]
    result[:, :-1] += np.cumsum(values[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return result


def bound_rows(a: Array, radius: Array, delta: Array, largest: Array, dimension: int) -> dict[str, Array]:
    """D3.4, T2 and T2v averaged over I_N; a is (R, N), the magnitudes of the members' weights."""
    m2 = largest[:, None] ** 2
    r = radius[:, None]
    total, squares = _others(a), _others(a * a)  # A_i, B_i
    cross = np.maximum(total * total - squares, 0.0)
    xi2 = m2 * squares + (m2 - 0.5 * delta[:, None] ** 2) * cross
    xi = np.sqrt(np.maximum(xi2, 0.0))
    v2 = m2 * squares
    v = np.sqrt(v2)
    mu = v / np.sqrt(1.0 + 2.0 / dimension)
    with np.errstate(divide="ignore", invalid="ignore"):
        chebyshev = 1.0 - v2 / (r * r)
        tail = 1.0 - np.exp(-(np.maximum(r - v, 0.0) ** 2) / (2.0 * v2))
        lower = np.where(v > 0.0, np.maximum(np.maximum(chebyshev, tail), 0.0), 1.0)
        gap = np.exp(-(np.maximum(mu - r, 0.0) ** 2) / (2.0 * v2))
        upper = np.where(v > 0.0, gap, 1.0)
        printed = 1.0 - (xi / r).mean(axis=1)
    return {
        "separability_lower": (r - xi > EQUAL * r).mean(axis=1),
        "separability_model_lower": lower.mean(axis=1),
        "separability_model_upper": upper.mean(axis=1),
        "separability_lower_paper": np.where(radius > 0.0, printed, np.nan),
        "separability_upper_paper": np.exp(-((r - xi) ** 2) / (16.0 * m2)).mean(axis=1),
    }


def dealt_lower(a: Array, beyond: float, moments: Array) -> float:
    """T2d: the bound on the mean of P(X_i < r), for the members' weights a and the next one."""
    mean, square, shared, apart = moments
    mass, squares = a.sum(), (a * a).sum()
    tau = math.sqrt(max(mean * mass * mass + (1.0 - mean) * squares, 0.0))
    if tau == 0.0:
        return 0.0
    share = beyond / tau
    # W[i] is the matrix of the w_jk of member i: its row sums (i, j), and the sum of its squares.
    rows = -share * a * (mass - a) + np.outer(a, a)
    np.fill_diagonal(rows, (1.0 - share) * a * (mass - a))
    pairs = squares * squares - (a**4).sum()
    own = a * a * (squares - a * a)
    w_squares = share * share * pairs + 2.0 * ((1.0 - share) ** 2 - share * share) * own
    w_sum = rows.sum(axis=1)
    w_shared = (rows * rows).sum(axis=1) - w_squares
    w_apart = w_sum * w_sum - 4.0 * w_shared - 2.0 * w_squares
    gap = a * a + beyond * beyond - beyond * (squares / tau + tau) + w_sum * mean
    spread = 2.0 * w_squares * square + 4.0 * w_shared * shared + w_apart * apart - (w_sum * mean) ** 2
    if len(a) == 1:
        spread = np.zeros(1)
    gap = np.where(gap > EQUAL * a * mass, gap, 0.0)
    whole = gap * gap + np.maximum(spread, 0.0)
    return float(np.divide(gap * gap, whole, out=np.zeros_like(gap), where=gap > 0.0).mean())


def dealt_rows(block: RowBlock, cloud: Cloud, top_n: list[int], chosen: Array) -> Array:
    """The bound of the rows n > N that have a null: (rows, top_n), else NaN."""
    found = np.full((len(block.t), len(top_n)), np.nan)
    for row in np.flatnonzero(chosen):
        n = int(block.n[row])
        moments = cloud.moments(n)
        if np.isnan(moments[0]):
            continue
        a = -np.sort(-block.weights[row, :n])
        a[a < SMALLEST] = 0.0
        for place, size in enumerate(top_n):
            if size < n:
                found[row, place] = dealt_lower(a[:size], float(a[size]), moments)
    return found


def shares(block: RowBlock, cloud: Cloud, top_n: list[int]) -> Array:
    """N_s / N of the rows n > N: (rows, top_n), else NaN."""
    found = np.full((len(block.t), len(top_n)), np.nan)
    sizes = sorted(top_n)
    products = set_products(block, cloud, sizes)
    for place, size in enumerate(top_n):
        use = block.n > size
        if use.any():
            picked = select(block, cloud, use, size, products[:, sizes.index(size)])
            found[use, place] = picked.distinct.mean(axis=1)
    return found


def dealt_shares(
    block: RowBlock, cloud: Cloud, top_n: list[int], draws: Draws, every: int, domain: int
) -> Array:
    """N_s / N with the weights permuted, in one row of `every`: (rows, top_n), else NaN."""
    found = np.full((len(block.t), len(top_n)), np.nan)
    rows = draws.chosen(block, every)
    if rows.any():
        found[rows] = shares(draws.permuted(block, rows, domain), cloud, top_n)
    return found


def paired_rows(block: RowBlock, cloud: Cloud, top_n: list[int], draws: Draws) -> dict[str, Array]:
    """Separability, its null and the excess of each row, NaN in the rows left out."""
    real = shares(block, cloud, top_n)
    null = dealt_shares(block, cloud, top_n, draws, NULL_ROWS, PAIRING)
    return {
        "separability_with_sinks": real,
        "separability_null_with_sinks": null,
        "separability_excess_with_sinks": real - null,
    }


def null_rows(
    block: RowBlock, cloud: Cloud, sphere: Cloud, top_n: list[int], real: Array, draws: Draws
) -> dict[str, Array]:
    """The nulls of a block and the excess of `real` over them, NaN in the rows left out."""
    names = [name for name in SCALARS if "null" in name or "excess" in name or "sphere" in name]
    names.remove("separability_null_lower")
    found = {name: np.full(real.shape, np.nan) for name in names}
    for name, every, domain in (
        ("separability_null_with_sinks", NULL_ROWS, PAIRING),
        ("separability_null_local", LOCAL_ROWS, LOCAL_PAIRING),
    ):
        found[name] = dealt_shares(block, cloud, top_n, draws, every, domain)
    rows = draws.chosen(block, SPHERE_ROWS)
    if rows.any():
        dealt = draws.permuted(block, rows, PAIRING)
        found["separability_sphere"][rows] = np.concatenate(
            [
                shares(dealt.row(i), sphere.part(int(first), int(dealt.n[i])), top_n)
                for i, first in enumerate(draws.first_points(dealt, len(sphere.points)))
            ]
        )
    found["separability_excess_with_sinks"] = real - found["separability_null_with_sinks"]
    found["separability_excess_local"] = real - found["separability_null_local"]
    return found


def separability_rows(
    block: RowBlock, cloud: Cloud, sphere: Cloud, top_n: list[int], draws: Draws
) -> tuple[dict[str, Array], dict[int, tuple[Array, Array]]]:
    """The group for each row, and for each N the members (R, N) and whether X_i < r.

    Rows n <= N are NaN in the former and not distinct in the latter.
    """
    rows = len(block.t)
    found = {name: np.full((rows, len(top_n)), np.nan) for name in SCALARS}
    chosen: dict[int, tuple[Array, Array]] = {}
    sizes = sorted(top_n)
    real = set_products(block, cloud, sizes)
    for size in sizes:
        use = block.n > size
        members = np.zeros((rows, size), dtype=np.int64)
        distinct = np.zeros((rows, size), dtype=bool)
        chosen[size] = (members, distinct)
        if not use.any():
            continue
        place, step = top_n.index(size), sizes.index(size)
        picked = select(block, cloud, use, size, real[:, step])
        members[use], distinct[use] = picked.members, picked.distinct
        found["separability_with_sinks"][use, place] = picked.distinct.mean(axis=1)
        a = np.take_along_axis(block.weights[use], picked.members, axis=1)
        n = block.n[use]
        shape = cloud.delta[n], cloud.largest[n], cloud.points.shape[1]
        values = bound_rows(np.abs(a), picked.radius, *shape)
        for name, column in values.items():
            found[name][use, place] = column
    found |= null_rows(block, cloud, sphere, top_n, found["separability_with_sinks"], draws)
    found["separability_null_lower"] = dealt_rows(block, cloud, top_n, draws.chosen(block, NULL_ROWS))
    found["mean_cosine"] = np.array([cloud.moments(int(n))[0] for n in block.n])
    return found, chosen
