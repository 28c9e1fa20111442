"""Golden numbers of mathematics.md section 8, bounds, and vectorised forms against plain loops."""

import itertools
import math
import unittest
from dataclasses import replace
from typing import Any

import numpy as np

from tests.reference import brute, critical, philox, sensitivity
from tests.reference.arrays import Array
from tests.reference.assembly import PrefixAtLength, critical_of_paper
from tests.reference.averages import STAND_FOR, RowIndex, position_edges, row_mean
from tests.reference.coverage import union_coverage, union_independent, union_paper
from tests.reference.distance import SCALARS, distance_rows
from tests.reference.geometry import Cloud, Points, on_unit_sphere
from tests.reference.kept_keys import beyond_sinks, kept_rows, one_of_each_vector, pack
from tests.reference.normalizers import SOFTMAX, make_normalizer
from tests.reference.rows import RowBlock, find_sinks, row_blocks, softmax
from tests.reference.separability import LOCAL_ROWS, NULL_ROWS, SPHERE_ROWS, Draws, separability_rows
from tests.reference.settings import Settings
from tests.reference.weights import DOUBT, WITH_SINKS, entropy, keys_for_mass, row_values


def one_row(logits: Array, depth: int) -> RowBlock:
    """The last row of a causal head, alone."""
    count = len(logits)
    blocks = list(row_blocks(np.tile(logits, (count, 1)), np.arange(1, count + 1), depth))
    last = blocks[-1]
    return RowBlock(*(v[-1:] for v in (last.t, last.n, last.logits, last.weights, last.order)))


class Golden(unittest.TestCase):
    """Section 8, to 1e-6."""

    def test_distance_of_two_orthogonal_points(self) -> None:
        logits = np.log([0.6, 0.4])
        for scale, dtilde, bound in ((1.0, 0.7211103, 0.7656854), (0.1, 0.0721110, 0.0765685)):
            found = distance_rows(one_row(logits, 2), Points.of(scale * np.eye(2)), [1], 2)
            self.assertAlmostEqual(found["distance"][0, 0], dtilde, delta=1e-6)
            self.assertAlmostEqual(found["distance_bound_paper"][0, 0], bound, delta=1e-6)

    def test_two_points_expect_their_difference(self) -> None:
        x = np.array([[1.0, 2.0], [-0.5, 1.0]])
        found = distance_rows(one_row(np.log([0.7, 0.3]), 2), Points.of(x), [1], 2)
        expected = float(np.linalg.norm(0.7 * x[0] - 0.3 * x[1]))
        self.assertAlmostEqual(found["expected_distance"][0, 0], expected, delta=1e-12)
        self.assertAlmostEqual(found["expected_distance_upper"][0, 0], expected, delta=1e-12)

    def test_softmax_row(self) -> None:
        a = softmax(np.array([[2.0, 1.0, 0.0, -1.0]]))
        np.testing.assert_allclose(a[0], [0.64391426, 0.23688282, 0.08714432, 0.0320586], atol=1e-8)
        self.assertAlmostEqual(sensitivity.spectral(a)[0], 0.36295275, delta=1e-8)
        self.assertAlmostEqual(sensitivity.frobenius(a)[0], 0.38367576, delta=1e-8)
        self.assertAlmostEqual(np.abs(brute.jacobian(a[0])).max(), 0.22928869, delta=1e-8)
        self.assertAlmostEqual(entropy(a)[0], 0.94753696, delta=1e-8)
        self.assertAlmostEqual(1.0 / (a * a).sum(), 2.08611077, delta=1e-8)

    def test_equal_logits_reach_the_spectral_bound(self) -> None:
        self.assertAlmostEqual(sensitivity.spectral(np.array([[0.5, 0.5]]))[0], 0.5, delta=1e-15)

    def test_violation_of_the_printed_sensitivity_bound(self) -> None:
        """C-7: L = 2, T = .01, eps = 1e-3 gives 49.9 against sqrt 2."""
        block = one_row(np.array([0.0, 0.0]), 2)
        g = sensitivity.sensitivity_rows(block, sensitivity.top2_directions(block), [0.01], [1e-3])[0, 0, 0]
        self.assertAlmostEqual(g, 49.9, delta=0.1)
        self.assertLessEqual(g, sensitivity.envelope([0.01], [1e-3])[0, 0])

    def test_kolmogorov(self) -> None:
        for d, level in ((0.1918, 0.01), (0.1601, 0.05)):
            self.assertAlmostEqual(critical.ks_p(d, 144, 144), level, delta=2e-4)
        for x in (0.999999, 1.000001):
            self.assertAlmostEqual(critical.kolmogorov_q(x), 0.2699996716, delta=1e-5)


class RandomNumbers(unittest.TestCase):
    def test_known_answers(self) -> None:
        """Random123's vectors for philox4x32-10."""
        word = np.zeros(1, dtype=np.uint64)
        found = philox.philox4x32((word, word, word, word), (0, 0))
        self.assertEqual([int(w[0]) for w in found], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])
        counter = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
        words = tuple(np.array([w], dtype=np.uint64) for w in counter)
        found = philox.philox4x32(words, (0xA4093822, 0x299F31D0))  # type: ignore[arg-type]
        self.assertEqual([int(w[0]) for w in found], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])

    def test_normals(self) -> None:
        z = philox.normals(7, 1, 3, np.arange(400), 501)
        self.assertEqual(z.shape, (400, 501))
        self.assertAlmostEqual(z.mean(), 0.0, delta=0.01)
        self.assertAlmostEqual(z.std(), 1.0, delta=0.01)
        np.testing.assert_array_equal(z[5:6, :20], philox.normals(7, 1, 3, np.array([5]), 20))

    def test_directions_are_unit_and_stay_within_the_row(self) -> None:
        v = philox.unit_directions(1, 2, 3, 0, np.array([0, 4]), np.array([1, 5]))
        np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1.0)
        self.assertTrue((v[0, 1:] == 0.0).all())
        np.testing.assert_allclose(np.linalg.norm(philox.sphere_points(1, 16, 9), axis=1), 1.0)

    def test_pairings_are_dealt_card_by_card(self) -> None:
        """Fisher and Yates in a plain loop, on the words of each row's own stream."""
        rows, visible = np.array([0, 3, 70, 99]), np.array([1, 4, 71, 100])
        for domain in (philox.PAIRING, philox.LOCAL_PAIRING):
            found = philox.pairings(5, domain, 2, 3, 1, rows, visible)
            for line, (row, n) in enumerate(zip(rows, visible, strict=True)):
                counter = [2 * 65536 + 3, int(row) + (1 << 20), domain]
                to = list(range(found.shape[1]))
                for last in range(n - 1, 0, -1):
                    step = n - 1 - last
                    block = [np.array([w], dtype=np.uint64) for w in (step // 4, *counter)]
                    word = int(philox.philox4x32(tuple(block), (5, 0))[step % 4][0])
                    first = 0
                    if domain == philox.LOCAL_PAIRING:
                        first = max(0, n - philox.NEIGHBOURS * (step // philox.NEIGHBOURS + 1))
                    pick = first + (word * (last - first + 1) >> 32)
                    to[last], to[pick] = to[pick], to[last]
                self.assertEqual(found[line].tolist(), to)

    def test_pairings_are_uniform_and_local_ones_stay_near(self) -> None:
        rows = np.arange(4000)
        visible = np.full(4000, 40)
        for domain, reach in ((philox.PAIRING, 40), (philox.LOCAL_PAIRING, 32)):
            to = philox.pairings(0, domain, 0, 0, 0, rows, visible)
            np.testing.assert_array_equal(np.sort(to, axis=1), np.tile(np.arange(40), (4000, 1)))
            for key in (39, 20, 8):  # a weight lands on each key as often
                counts = np.bincount(to[:, key], minlength=40)
                expected = np.where(np.arange(40) >= 40 - reach, 4000 / reach, 0)
                self.assertLess(np.abs(counts - expected).max(), 5 * math.sqrt(4000 / reach))
                np.testing.assert_array_equal(counts[expected == 0], 0)
        near = philox.pairings(0, philox.LOCAL_PAIRING, 0, 0, 0, rows, visible)
        self.assertTrue((near[:, :8] < 8).all())


SPREAD = "entropy entropy_normalized effective_tokens participation_ratio max_weight mass_90 attention_distance".split()


class Rows(unittest.TestCase):
    """Vectorised forms against brute.py on random causal heads."""

    def setUp(self) -> None:
        rng = np.random.default_rng(11)
        self.count, self.top_n = 12, [1, 2, 5]
        self.logits = rng.normal(size=(self.count, self.count)) * 2.0
        self.x = rng.normal(size=(self.count, 4)) * rng.uniform(0.2, 2.0, size=(self.count, 1))
        self.x[7] = self.x[2]  # a token that repeats
        self.block = next(row_blocks(self.logits, np.arange(1, self.count + 1), 8))
        self.points = Points.of(self.x)

    def row(self, t: int) -> tuple[Array, Array, Array]:
        logits = self.logits[t - 1, :t]
        return logits, softmax(logits), self.x[:t]

    def test_weights(self) -> None:
        found = row_values(self.block)
        for t in range(1, self.count + 1):
            logits, a, _ = self.row(t)
            ordered = np.sort(a)[::-1]
            k90 = next(k for k in range(1, t + 1) if ordered[:k].sum() >= 0.9 - 1e-12)
            ent = float(-(a * np.log(a)).sum())
            expected = {
                "mass": 1.0,
                "entropy_with_sinks": ent,
                "effective_tokens_with_sinks": math.exp(ent),
                "participation_ratio_with_sinks": 1.0 / float((a * a).sum()),
                "max_weight_with_sinks": ordered[0],
                "mass_90_with_sinks": k90,
                "first_weight": a[0],
                "attention_distance_with_sinks": sum(a[j] * (t - 1 - j) for j in range(t)),
                "logit_range": logits.max() - logits.min(),
                "scaled_weight_min": t * ordered[-1],
                "scaled_weight_max": t * ordered[0],
                "visible_keys": t,
            }
            if t >= 2:
                expected["entropy_normalized_with_sinks"] = ent / math.log(t)
                expected["weight_bound_use"] = math.log(t * ordered[0]) / (logits.max() - logits.min())
            # Everything lies beyond the sinks where there are none.
            for name in SPREAD:
                if name + WITH_SINKS in expected:
                    expected[name] = expected[name + WITH_SINKS]
            for name, values in found.items():
                if name.endswith(STAND_FOR):
                    self.assertAlmostEqual(values[t - 1], 1.0, delta=1e-12, msg=name)
                elif name == "weight_bound_use" + DOUBT:
                    self.assertTrue(t == 1 or values[t - 1] < 1e-5)
                elif name.endswith(DOUBT):
                    self.assertEqual(values[t - 1], 0.0)
                elif name in expected:
                    self.assertAlmostEqual(values[t - 1], expected[name], delta=1e-12, msg=name)
                else:
                    self.assertTrue(math.isnan(values[t - 1]), name)

    def test_weights_beyond_sinks(self) -> None:
        sinks = np.zeros(self.count, bool)
        sinks[[0, 3]] = True
        found = row_values(replace(self.block, sinks=sinks, judged_length=48))
        for t in range(2, self.count + 1):
            _, a, _ = self.row(t)
            rest = np.array([w for j, w in enumerate(a) if j not in (0, 3)])
            q = rest / rest.sum()
            back = np.array([t - 1 - j for j in range(t) if j not in (0, 3)])
            expected = {
                "entropy_with_sinks": float(-(q * np.log(q)).sum()),
                "participation_ratio_with_sinks": 1.0 / float((q * q).sum()),
                "max_weight_with_sinks": q.max(),
                "attention_distance_with_sinks": float((q * back).sum()),
            }
            for name, value in expected.items():
                self.assertAlmostEqual(
                    found[name.removesuffix(WITH_SINKS)][t - 1], value, delta=1e-12, msg=name
                )
                stand_for = found[name.removesuffix(WITH_SINKS) + STAND_FOR][t - 1]
                self.assertAlmostEqual(stand_for, rest.sum(), delta=1e-12)
            self.assertAlmostEqual(found["sink_weight"][t - 1], 1 - rest.sum(), delta=1e-12)

    def test_use_of_the_bound_on_the_weights(self) -> None:
        """Nearly all of it by one key of very many, nearly none by all keys but one."""

        def use(logits: Array, spec: str = "softmax") -> float:
            block = replace(one_row(logits, 1), normalizer=make_normalizer(spec))
            return float(row_values(block)["weight_bound_use"][0])

        self.assertAlmostEqual(use(np.array([math.log(3.0), 0.0])), math.log(1.5) / math.log(3.0))
        self.assertGreater(use(np.append(np.zeros(2000), 1.0)), 0.999)
        self.assertLess(use(np.append(np.ones(2000), 0.0)), 0.001)
        self.assertTrue(math.isnan(use(np.ones(5))))
        self.assertTrue(math.isnan(use(np.ones(1))))
        for spec, known in (("softmax:t=1", True), ("softmax:t=2", False), ("yarn:factor=1", False)):
            self.assertEqual(math.isnan(use(np.arange(4.0), spec)), not known, spec)

    def test_sinks(self) -> None:
        logits = np.zeros((100, 100))
        logits[:, 20] = 4.0  # e^4 / (e^4 + n - 1) of the weight
        logits[:, 70] = 4.0  # too late to be judged
        visible = np.arange(1, 101)
        self.assertEqual(np.flatnonzero(find_sinks(logits, visible, SOFTMAX, 100)).tolist(), [20])

    def test_mass_90_of_a_uniform_row(self) -> None:
        for n in (1, 9, 10, 20, 1024):
            k, doubt = keys_for_mass(np.full((1, n), 1.0 / n))
            self.assertEqual(k[0], math.ceil(0.9 * n - 1e-9))
            self.assertEqual(doubt[0], 1.0 if n % 10 == 0 else 0.0)  # k/n is .9 only then

    def test_distances(self) -> None:
        found = distance_rows(self.block, self.points, self.top_n, 8)
        for t in range(1, self.count + 1):
            logits, a, x = self.row(t)
            for place, size in enumerate(self.top_n):
                got = {name: found[name][t - 1, place] for name in SCALARS}
                if t <= size:
                    self.assertTrue(all(math.isnan(v) for v in got.values()))
                    continue
                chosen = brute.top_set(logits, size)
                dtilde = brute.distance(a, x, chosen)
                t11, a3, a4 = brute.distance_bounds(a, x, chosen)
                self.assertAlmostEqual(got["distance"], dtilde, delta=1e-10)
                self.assertAlmostEqual(got["distance_bound"], min(a3, a4), delta=1e-10)
                self.assertAlmostEqual(got["distance_bound_paper"], t11, delta=1e-10)
                self.assertAlmostEqual(got["margin"], dtilde / (t - size), delta=1e-10)
                self.assertAlmostEqual(got["selected_mass"], a[chosen].sum(), delta=1e-12)
                context = brute.expected_context(a, x, size)
                self.assertAlmostEqual(got["expected_distance_context"], context, delta=1e-10)
                self.assertLessEqual(dtilde, got["distance_bound"] + 1e-12)
                if t <= 8:
                    main, upper = brute.expected_terms(a, x, size)
                    exact = brute.expected_exact(a, x, size)
                    self.assertAlmostEqual(got["expected_distance"], main, delta=1e-10)
                    self.assertAlmostEqual(got["expected_distance_upper"], upper, delta=1e-10)
                    self.assertLessEqual(main, exact + 1e-12)
                    self.assertLessEqual(exact, upper + 1e-12)

    def test_every_n_of_the_prefixes(self) -> None:
        found = distance_rows(self.block, self.points, [1], 8)
        logits, a, x = self.row(self.count)
        for size in range(1, 9):
            dtilde = brute.distance(a, x, brute.top_set(logits, size))
            context = brute.expected_context(a, x, size)
            self.assertAlmostEqual(found["distance_prefixes"][-1, size - 1], dtilde, delta=1e-10)
            self.assertAlmostEqual(found["context_prefixes"][-1, size - 1], context, delta=1e-10)

    def test_separability(self) -> None:
        sphere = Cloud.on_sphere(philox.sphere_points(0, 4, self.count))
        draws = Draws(seed=0, layer=0, head=1, document=0)
        found, chosen = separability_rows(self.block, self.points.cloud, sphere, self.top_n, draws)
        self.assert_separability(found, chosen, on_unit_sphere(self.x), self.top_n)
        # M and delta of points as they are, are those of the visible keys.
        cloud = Points.of(self.x, unit_sphere=False).cloud
        found, chosen = separability_rows(self.block, cloud, cloud, [3], draws)
        self.assert_separability(found, chosen, self.x, [3], on_sphere=False)

    def assert_separability(
        self, found: Any, chosen: Any, u: Array, top_n: list[int], on_sphere: bool = True
    ) -> None:
        for t in range(2, self.count + 1):
            logits, a, _ = self.row(t)
            m = 1.0 if on_sphere else max(float(np.linalg.norm(p)) for p in u[:t])
            for place, size in enumerate(top_n):
                if t <= size:
                    self.assertTrue(math.isnan(found["separability_with_sinks"][t - 1, place]))
                    continue
                members = brute.top_set(logits, size)
                expected = brute.separability(a, u[:t], members, m)
                for name, value in expected.items():
                    self.assertAlmostEqual(found[name][t - 1, place], value, delta=1e-9, msg=name)
                self.assertEqual(chosen[size][0][t - 1].tolist(), members)
                self.assertLessEqual(expected["separability_lower"], expected["separability_with_sinks"])

    def test_nulls_are_of_the_row_with_its_weights_permuted(self) -> None:
        sphere = Cloud.on_sphere(philox.sphere_points(0, 4, self.count))
        draws = Draws(seed=3, layer=2, head=1, document=1)
        found, _ = separability_rows(self.block, self.points.cloud, sphere, self.top_n, draws)
        u = on_unit_sphere(self.x)
        measured = 0
        for t in range(2, self.count + 1):
            logits, a, _ = self.row(t)
            for name, domain, every, points, excess in (
                (
                    "separability_null_with_sinks",
                    philox.PAIRING,
                    NULL_ROWS,
                    u,
                    "separability_excess_with_sinks",
                ),
                ("separability_null_local", philox.LOCAL_PAIRING, LOCAL_ROWS, u, "separability_excess_local"),
                ("separability_sphere", philox.PAIRING, SPHERE_ROWS, sphere.points, None),
            ):
                to = philox.pairings(3, domain, 2, 1, 1, np.array([t - 1]), np.array([t]))[0]
                moved, moved_logits = np.empty(t), np.empty(t)
                for j in range(t):
                    moved[to[j]], moved_logits[to[j]] = a[j], logits[j]
                seen = points[:t]
                if excess is None:  # neighbouring points from a random one on
                    block = [np.array([w], dtype=np.uint64) for w in (t // 4, 2 * 65536 + 1)]
                    row = [np.array([w], dtype=np.uint64) for w in (t - 1 + (1 << 20), domain)]
                    word = int(philox.philox4x32((*block, *row), (3, 0))[t % 4][0])
                    first = word * (self.count - t + 1) >> 32
                    seen = points[first : first + t]
                for place, size in enumerate(self.top_n):
                    value = found[name][t - 1, place]
                    if t <= size or (t - 1 + 1) % every != 0:
                        self.assertTrue(math.isnan(value))
                        continue
                    members = brute.top_set(moved_logits, size)
                    blind = brute.separability(moved, seen, members)["separability_with_sinks"]
                    self.assertEqual(value, blind)
                    measured += 1
                    if excess is not None:
                        real = found["separability_with_sinks"][t - 1, place]
                        self.assertEqual(found[excess][t - 1, place], real - blind)
        self.assertGreater(measured, 20)

    def test_separability_of_the_keys_that_are_kept(self) -> None:
        """Without the sinks, and of the keys with one vector that with the largest logit alone."""
        sinks, vectors = np.zeros(self.count, bool), np.arange(self.count)
        sinks[[0, 3]] = True
        self.x[[5, 7, 8]] = self.x[2]
        vectors[[5, 7, 8]] = 2
        self.x[9], vectors[9] = self.x[0], 0  # a copy of a sink is none
        u = on_unit_sphere(self.x)
        names = ["separability_with_sinks", "separability_null_with_sinks", "separability_excess_with_sinks"]
        draws = Draws(seed=3, layer=2, head=1, document=1)
        block = replace(self.block, sinks=sinks)
        found = kept_rows(block, Points.of(self.x).cloud, self.top_n, draws, vectors)
        dropped = measured = 0
        for t in range(1, self.count + 1):
            beyond = [j for j in range(t) if j not in (0, 3)] or [t - 1]
            distinct = []
            for j in beyond:
                logits = [self.logits[t - 1, k] for k in beyond if vectors[k] == vectors[j]]
                if self.logits[t - 1, j] == max(logits):
                    distinct.append(j)
            dropped += len(beyond) - len(distinct)
            pairs = list(itertools.combinations(beyond, 2))
            equal = found["equal_key_pairs"][t - 1]
            if pairs:
                copies = sum(vectors[j] == vectors[k] for j, k in pairs)
                self.assertAlmostEqual(equal, copies / len(pairs), delta=1e-15)
            else:
                self.assertTrue(math.isnan(equal))
            for kept, ends in (
                (beyond, [name.removesuffix(WITH_SINKS) for name in names]),
                (distinct, [None, None, "separability_excess_distinct"]),
            ):
                n, logits = len(kept), self.logits[t - 1, kept]
                a = softmax(logits)
                to = philox.pairings(3, philox.PAIRING, 2, 1, 1, np.array([t - 1]), np.array([n]))[0]
                moved, moved_logits = np.empty(n), np.empty(n)
                moved[to], moved_logits[to] = a, logits
                for place, size in enumerate(self.top_n):
                    expected = [math.nan] * 3
                    if n > size:
                        expected[0] = self.share(a, u[kept], brute.top_set(logits, size))
                    if n > size and (t - 1 + 1) % NULL_ROWS == 0:
                        expected[1] = self.share(moved, u[kept], brute.top_set(moved_logits, size))
                        expected[2] = expected[0] - expected[1]
                        measured += 1
                    for name, value in zip(ends, expected, strict=True):
                        if name is not None:
                            np.testing.assert_equal(found[name][t - 1, place], value, f"{name} {t} {size}")
        self.assertGreater(dropped, 10)
        self.assertGreater(measured, 20)

    @staticmethod
    def share(a: Array, u: Array, members: list[int]) -> float:
        r = brute.radius(a, u, members)
        return sum(q < r for q in brute.selected_distances(a, u, members)) / len(members)

    def test_keys_that_are_kept(self) -> None:
        """Ties keep the first; what sees only sinks keeps its last key; the rest is weighed anew."""
        count = 6
        logits = np.zeros((count, count))
        logits[:, 4] = 1.0
        block = next(row_blocks(logits, np.arange(1, count + 1), 8))
        block = replace(block, sinks=np.arange(count) < 2)
        beyond = beyond_sinks(block)
        self.assertEqual(np.flatnonzero(beyond[1]).tolist(), [1])
        self.assertEqual(np.flatnonzero(beyond[5]).tolist(), [2, 3, 4, 5])
        kept = one_of_each_vector(block, beyond, np.array([0, 1, 2, 2, 4, 4]))
        self.assertEqual(np.flatnonzero(kept[3]).tolist(), [2])
        self.assertEqual(np.flatnonzero(kept[5]).tolist(), [2, 4])
        packed = pack(block, kept)
        assert packed.keys is not None
        self.assertEqual(packed.keys[5, :2].tolist(), [2, 4])
        np.testing.assert_allclose(packed.weights[5, :2], softmax(np.array([0.0, 1.0])))
        np.testing.assert_array_equal(packed.row(5).keys, [[2, 4]])

    def test_nothing_is_left_out_without_sinks_and_copies(self) -> None:
        sphere = Cloud.on_sphere(philox.sphere_points(0, 4, self.count))
        draws, cloud = Draws(seed=3, layer=2, head=1, document=1), self.points.cloud
        all_keys, _ = separability_rows(self.block, cloud, sphere, self.top_n, draws)
        kept = kept_rows(self.block, cloud, self.top_n, draws, np.arange(self.count))
        for name in (
            "separability_with_sinks",
            "separability_null_with_sinks",
            "separability_excess_with_sinks",
        ):
            np.testing.assert_array_equal(kept[name.removesuffix(WITH_SINKS)], all_keys[name])
        np.testing.assert_array_equal(
            kept["separability_excess_distinct"], all_keys["separability_excess_with_sinks"]
        )
        np.testing.assert_array_equal(kept["equal_key_pairs"][1:], 0.0)

    def test_nothing_exceeds_the_null_where_keys_are_alike(self) -> None:
        """Equal weights, or equal points: it does not matter which key has which weight."""
        draws, sizes = Draws(0, 0, 0, 0), [1, 2, 5]
        count = 30
        x = np.random.default_rng(3).normal(size=(count, 4))
        equal = next(row_blocks(np.zeros((count, count)), np.arange(1, count + 1), 8))
        for block, points in ((equal, x), (self.block, np.tile(x[:1], (self.count, 1)))):
            cloud = Points.of(points).cloud
            found, _ = separability_rows(block, cloud, cloud, sizes, draws)
            for name in ("separability_excess_with_sinks", "separability_excess_local"):
                values = found[name][~np.isnan(found[name])]
                self.assertGreater(len(values), 0)
                self.assertTrue((values == 0.0).all())

    def test_repeated_token_of_equal_weight_is_not_distinct(self) -> None:
        x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        cloud = Points.of(x).cloud
        block = one_row(np.zeros(3), 2)
        found, _ = separability_rows(block, cloud, cloud, [1, 2], Draws(0, 0, 0, 0))
        self.assertEqual(found["separability_with_sinks"][0, 0], 0.0)  # r = 0
        self.assertTrue(math.isnan(found["separability_lower_paper"][0, 0]))

    def test_ties_take_the_lower_index(self) -> None:
        self.assertEqual(one_row(np.array([1.0, 3.0, 3.0, 1.0]), 4).order.tolist(), [[1, 2, 0, 3]])


class Jacobian(unittest.TestCase):
    def setUp(self) -> None:
        rng = np.random.default_rng(5)
        sizes = np.exp(rng.uniform(np.log(0.1), np.log(30.0), size=(2000, 1)))
        self.a = softmax(rng.normal(size=(2000, 7)) * sizes)

    def test_norms_against_the_dense_matrix(self) -> None:
        two, fro = sensitivity.spectral(self.a), sensitivity.frobenius(self.a)
        for row, a in enumerate(self.a):
            j = brute.jacobian(a)
            exact = float(np.linalg.norm(j, 2))
            self.assertAlmostEqual(two[row], exact, delta=1e-14 + 1e-10 * exact)
            norm = float(np.linalg.norm(j))
            self.assertAlmostEqual(fro[row], norm, delta=1e-14 + 1e-10 * norm)

    def test_bounds_hold(self) -> None:
        two = sensitivity.spectral(self.a)
        valid, printed = sensitivity.jacobian_bounds(self.a, np.full(len(self.a), 7))
        self.assertTrue((two <= valid * (1.0 + 1e-12)).all())
        self.assertTrue((two <= printed).all())

    def test_degenerate_rows(self) -> None:
        rows = np.array([[1.0, 0.0, 0.0], [0.4, 0.4, 0.2]])
        np.testing.assert_allclose(sensitivity.spectral(rows), [0.0, 0.4])
        self.assertEqual(sensitivity.frobenius(rows)[0], 0.0)
        self.assertEqual(sensitivity.spectral(np.ones((1, 1)))[0], 0.0)

    def test_small_steps_approach_the_jacobian(self) -> None:
        rng = np.random.default_rng(6)
        block = one_row(rng.normal(size=9), 2)
        v = rng.normal(size=(1, 9))
        v /= np.linalg.norm(v)
        g = sensitivity.sensitivity_rows(block, v, [1.0], [1e-6])[0, 0, 0]
        exact = float(np.linalg.norm(brute.jacobian(block.weights[0]) @ v[0]))
        self.assertAlmostEqual(g, exact, delta=1e-6)


class Averages(unittest.TestCase):
    def test_blocks(self) -> None:
        rng = np.random.default_rng(2)
        values = rng.normal(size=300)
        values[:3] = np.nan
        index = RowIndex.of([np.arange(1, 301)], [300])
        found = row_mean(values, index, index.up_to(300))
        batches = [values[i : i + 64] for i in range(0, 300, 64)]
        batches = [b[~np.isnan(b)] for b in batches]
        n = sum(len(b) for b in batches)
        mean = sum(b.sum() for b in batches) / n
        squares = sum(len(b) ** 2 * (b.mean() - mean) ** 2 for b in batches)
        self.assertEqual(int(found.rows), 297)
        self.assertAlmostEqual(float(found.value), mean)
        self.assertAlmostEqual(float(found.stderr), math.sqrt(5 / 4 * squares) / n)
        short = row_mean(values, index, index.up_to(192))
        self.assertTrue(math.isnan(float(short.stderr)))

    def test_documents(self) -> None:
        values = np.arange(50.0)
        index = RowIndex.of([np.arange(1, 11)] * 5, [10] * 5)
        found = row_mean(values, index, index.up_to(10))
        spread = np.std(np.arange(5) * 10 + 4.5, ddof=1) / math.sqrt(5)
        self.assertAlmostEqual(float(found.stderr), spread)

    def test_a_short_document_does_not_contribute(self) -> None:
        index = RowIndex.of([np.arange(1, 5), np.arange(1, 9)], [4, 8])
        self.assertEqual(int(index.up_to(8).sum()), 8)
        self.assertEqual(int(index.up_to(4).sum()), 8)

    def test_nothing_defined(self) -> None:
        index = RowIndex.of([np.arange(1, 5)], [4])
        found = row_mean(np.full((4, 2), np.nan), index, index.up_to(4))
        self.assertTrue(np.isnan(found.value).all())
        self.assertEqual(found.rows.tolist(), [0, 0])

    def test_edges(self) -> None:
        self.assertEqual(position_edges([32, 48]), [1, 2, 4, 8, 16, 32, 48])
        self.assertEqual(position_edges([64]), [1, 2, 4, 8, 16, 32, 64])


class CriticalN(unittest.TestCase):
    def test_ks_distance(self) -> None:
        self.assertEqual(critical.ks_distance(np.array([1.0, 2.0]), np.array([3.0, 4.0])), 1.0)
        self.assertEqual(critical.ks_distance(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])), 0.0)
        self.assertEqual(critical.ks_distance(np.array([1.0, 3.0]), np.array([2.0, 3.0])), 0.5)

    def test_first_n_not_rejected(self) -> None:
        heads = np.arange(16.0)[:, None]
        distance = heads + np.array([[0.0, 10.0, 20.0]])
        context = heads + np.array([[30.0, 20.0, 21.0]])
        found = critical.critical_n_paper(distance, context, 0.01)
        self.assertEqual((found.n, found.d), (3, 1 / 16))
        found = critical.critical_n_paper(distance[:, :2], context[:, :2], 0.01)
        self.assertEqual((found.n, found.d), (-1, 10 / 16))

    def test_level_and_range(self) -> None:
        """p >= level is enough; N runs to min(L - 1, critical-max)."""
        heads = np.arange(16.0)[:, None]
        distance, context = heads + np.zeros(3), heads + np.array([20.0, 5.0, 0.0])
        p = critical.ks_p(5 / 16, 16, 16)
        self.assertEqual(critical.critical_n_paper(distance, context, p).n, 2)
        self.assertEqual(critical.critical_n_paper(distance, context, p * (1.0 + 1e-9)).n, 3)
        self.assertEqual(critical.critical_n_paper(distance[:, :2], context[:, :2], 2 * p).n, -1)
        for length, most, expected in ((3, 128, 2), (2, 128, -1), (9, 1, -1)):
            settings = Settings([length], [1], [], [], [], critical_max=most, critical_level=p)
            reach = min(length - 1, most)
            nothing = critical.HeadRatios(np.zeros(reach), np.zeros(reach), np.zeros(reach))
            heads = [
                [PrefixAtLength(d[:reach], c[:reach], nothing)]
                for d, c in zip(distance, context, strict=True)
            ]
            metrics = critical_of_paper(heads, settings)
            self.assertEqual(metrics["critical_n_paper"].values.tolist(), [expected])

    def test_signed_ranks(self) -> None:
        values = np.array([0.3, -0.1, np.nan, 0.0, -0.3, 2.0])
        self.assertEqual(critical.signed_ranks(values).tolist(), [2.5, -1.0, 0.0, 0.0, -2.5, 4.0])

    def test_sign_flips(self) -> None:
        """5 of the 64 signs of the ranks 1 to 6 reach what one minus sign at rank 3 leaves."""
        column = np.array([1.0, 2.0, -3.0, 4.0, 5.0, 6.0])[:, None]
        p = float(critical.sign_flip_p(column, 0, 0)[0])
        self.assertAlmostEqual(p, 5 / 64, delta=3 * math.sqrt(5 / 64 / 2000))
        both = critical.sign_flip_p(np.concatenate([column, column[::-1]], axis=1), 0, 0)
        self.assertGreater(both[0], p)

    def test_student(self) -> None:
        self.assertAlmostEqual(critical.upper_tail(2.0, 10), 0.036694, places=6)
        self.assertAlmostEqual(critical.upper_tail(-2.0, 10), 1 - 0.036694, places=6)

    def test_first_equal(self) -> None:
        self.assertEqual(critical.first_equal(np.array([0.5, 0.02, 0.001, 0.0]), 0.01), (3.0, 0.001))
        self.assertEqual(critical.first_equal(np.array([0.5, np.nan, 0.02]), 0.01), (-1.0, 0.02))
        self.assertTrue(math.isnan(critical.first_equal(np.array([np.nan]), 0.01)[0]))

    def test_equality_over_heads_and_text(self) -> None:
        """Twelve heads on the point; the errors of the text decide."""

        def heads(error: float) -> list[critical.HeadRatios]:
            small = np.linspace(-1e-3, 1e-3, 12)
            return [critical.HeadRatios(np.array([x]), np.array([error]), np.array([15.0])) for x in small]

        self.assertLess(critical.equality_of_heads(heads(0.001), 0, 0)[0], 0.002)
        wide = critical.equality_of_heads(heads(critical.EDGE), 0, 0)[0]
        self.assertAlmostEqual(wide, critical.upper_tail(1.0, 15), places=9)

    def test_closest(self) -> None:
        curve = np.array([[-0.3, -0.1, 0.02], [-0.2, 0.0, 0.3], [-0.4, -0.01, 0.1]])
        self.assertEqual(critical.closest(curve), (2.0, -0.01))
        self.assertEqual(critical.doubt_of_closest(curve), 0.0)
        self.assertEqual(critical.doubt_of_closest(np.array([[0.5, -0.1, 0.3, 0.10001]])), 2.0)
        curves = [np.repeat(c, 9, axis=0) for c in (curve[:1, :2], curve[:1], curve[1:2])]
        found = critical.closest_sizes(curves, [16, 64, 256], 0)
        self.assertEqual(found["closest_n"][0].tolist(), [2.0, 3.0, 2.0])
        self.assertEqual(found["closest_n low"][0].tolist(), [2.0, 3.0, 2.0])
        self.assertEqual(found["closest_n low"][1].tolist(), [0.0, 0.0, 0.0])
        self.assertTrue(math.isnan(float(found["closest_n_exponent"][0])))


class Coverage(unittest.TestCase):
    def test_two_heads(self) -> None:
        members = [np.array([[0, 1]]), np.array([[1, 2]])]
        distinct = [np.array([[True, False]]), np.array([[True, False]])]
        self.assertAlmostEqual(union_coverage(members, distinct, 4)[0], 2 / 3)
        p = np.array([0.5, 0.8])
        self.assertAlmostEqual(union_independent(members, p, 4)[0], (0.5 + 0.9 + 0.8) / 3)
        self.assertAlmostEqual(union_paper(np.array([0.8, 0.8, 0.8])), 0.992)
