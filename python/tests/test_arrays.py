"""analyze() against attention that is written out in numpy, and what it takes and refuses."""

import unittest
import warnings

import numpy as np

import headgauge
from headgauge import errors

LENGTH, WIDTH = 40, 8


def draw(*shape, seed=0):
    """Normal numbers as float32, the same each time."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def weights_of(q, k, causal=True, window=0, scale=None, softcap=0.0, position_bias=None):
    """The weights of one head in float64, and which keys each query sees."""
    logits = q.astype(np.float64) @ k.astype(np.float64).T
    logits *= q.shape[1] ** -0.5 if scale is None else scale
    if softcap:
        logits = softcap * np.tanh(logits / softcap)
    query, key = np.indices(logits.shape)
    if position_bias is not None:
        logits += position_bias[len(k) - 1 + key - query]
    seen = key <= query if causal else np.ones(logits.shape, bool)
    if window:
        seen &= key > query - window
    logits = np.where(seen, logits, -np.inf)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True), seen


def expected(q, k, **options):
    """Means over the rows of one head, by the definitions of docs/mathematics.md."""
    p, seen = weights_of(q, k, **options)
    entropy = -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(axis=1)
    return {
        "entropy_with_sinks": entropy.mean(),
        "effective_tokens_with_sinks": np.exp(entropy).mean(),
        "participation_ratio_with_sinks": (1 / (p**2).sum(axis=1)).mean(),
        "max_weight_with_sinks": p.max(axis=1).mean(),
        "mass": 1.0,
        "visible_keys": seen.sum(axis=1).mean(),
    }


def measure(q, k, *rest, **options):
    """Metrics of weights at the whole length."""
    return headgauge.analyze(q, k, *rest, lengths=[LENGTH], measures="weights", **options)


class OracleTest(unittest.TestCase):
    def assert_metrics(self, results, head, wanted):
        for name, value in wanted.items():
            found = results[name].values[0, head, -1]
            np.testing.assert_allclose(found, value, rtol=2e-5, err_msg=f"{name} of head {head}")

    def check(self, **options):
        q, k = 2 * draw(3, LENGTH, WIDTH), draw(3, LENGTH, WIDTH, seed=1)
        results = measure(q, k, **options)
        for head in range(3):
            self.assert_metrics(results, head, expected(q[head], k[head], **options))

    def test_attention_of_every_kind(self):
        windows = ({"window": window} for window in (1, 5, LENGTH, 10 * LENGTH))
        scales = ({"scale": scale} for scale in (1.5, 0.0, -0.5))
        caps = ({"softcap": 0.7}, {"softcap": 2.0, "scale": 1.0, "window": 7})
        for options in ({}, {"causal": False}, *windows, *scales, *caps):
            with self.subTest(**options):
                self.check(**options)

    def test_biases_by_position(self):
        # As T5 has them: of both directions, and no straight line.
        bias = draw(3, 2 * LENGTH - 1, seed=2)
        q, k, v = 2 * draw(3, LENGTH, WIDTH), draw(3, LENGTH, WIDTH, seed=1), draw(3, LENGTH, WIDTH, seed=3)
        for options in ({}, {"causal": False}, {"window": 7, "softcap": 2.0}):
            with self.subTest(**options):
                results = measure(q, k, position_bias=bias, **options)
                for head in range(3):
                    wanted = expected(q[head], k[head], position_bias=bias[head], **options)
                    self.assert_metrics(results, head, wanted)
        # What takes the place of softmax takes them as well: cosines and what is added to them.
        unit = [t / np.linalg.norm(t, axis=-1, keepdims=True) for t in (q, k)]
        options = {"measures": ["weights", "counterfactual"], "normalizer": "cosine:g=10"}
        found = headgauge.analyze(q, k, v, position_bias=bias, lengths=[LENGTH], **options)
        for head in range(3):
            cosine = {"scale": 10.0, "position_bias": 10 * bias[head]}
            self.assert_metrics(found, head, expected(unit[0][head], unit[1][head], **cosine))
            before, _ = weights_of(q[head], k[head], position_bias=bias[head])
            after, _ = weights_of(unit[0][head], unit[1][head], **cosine)
            moved, size = (np.linalg.norm(weights @ v[head], axis=1) for weights in (after - before, before))
            change = found["output_change"].values[0, head].reshape(-1)[-1]
            np.testing.assert_allclose(change, (moved / size).mean(), rtol=1e-4)

    def test_a_shorter_length_has_the_same_biases(self):
        q, k, bias = draw(LENGTH, WIDTH), draw(LENGTH, WIDTH, seed=1), draw(2 * LENGTH - 1, seed=2)
        half = LENGTH // 2
        middle = bias[LENGTH - half : LENGTH - 1 + half]
        for causal in (True, False):
            given = {"causal": causal, "lengths": [half], "measures": "weights"}
            whole = headgauge.analyze(q, k, position_bias=bias, **given)
            short = headgauge.analyze(q[:half], k[:half], position_bias=middle, **given)
            np.testing.assert_array_equal(
                whole["entropy_with_sinks"].values, short["entropy_with_sinks"].values
            )
        with self.assertRaisesRegex(errors.BadInputError, "position_bias: expected shape"):
            headgauge.analyze(q, k, position_bias=bias[1:])

    def test_heads_that_share_keys(self):
        q, k = draw(6, LENGTH, WIDTH), draw(2, LENGTH, WIDTH, seed=1)
        results = measure(q, k)
        for head in range(6):
            self.assert_metrics(results, head, expected(q[head], k[head // 3]))
        self.assertEqual(results.coords["kv_head"], [0, 0, 0, 1, 1, 1])

    def test_rows_of_a_batch_are_documents(self):
        q, k = draw(3, 2, LENGTH, WIDTH), draw(3, 2, LENGTH, WIDTH, seed=1)
        results = measure(q, k)
        self.assertEqual(results.document["text"]["names"], ["row 0", "row 1", "row 2"])
        for head in range(2):
            rows = [expected(q[row, head], k[row, head]) for row in range(3)]
            self.assert_metrics(
                results, head, {name: np.mean([row[name] for row in rows]) for name in rows[0]}
            )
        self.assertEqual(results["entropy_with_sinks"].rows[0, 0, 0], 3 * LENGTH)

    def test_a_shorter_length_covers_the_first_rows(self):
        q, k = draw(LENGTH, WIDTH), draw(LENGTH, WIDTH, seed=1)
        results = headgauge.analyze(q, k, lengths=[16, LENGTH], measures="weights")
        short = expected(q[:16], k[:16])
        self.assertAlmostEqual(
            results["entropy_with_sinks"].values[0, 0, 0], short["entropy_with_sinks"], places=5
        )
        # Where queries see what is behind them, a shorter length is another pass.
        full = headgauge.analyze(q, k, causal=False, lengths=[16, LENGTH], measures="weights")
        short = expected(q[:16], k[:16], causal=False)
        self.assertAlmostEqual(
            full["entropy_with_sinks"].values[0, 0, 0], short["entropy_with_sinks"], places=5
        )

    def test_distances_are_between_the_rows_of_x(self):
        q, k, x = draw(LENGTH, WIDTH), draw(LENGTH, WIDTH, seed=1), draw(LENGTH, 5, seed=2)
        results = headgauge.analyze(q, k, x=x, lengths=[LENGTH], measures="distance", top_n=[3])
        p, _ = weights_of(q, k)
        distances = []
        for t in range(3, LENGTH):
            order = np.argsort(-p[t, : t + 1], kind="stable")
            chosen, others = order[:3], order[3:]
            total = p[t, chosen] @ x[chosen]
            distances.append(np.linalg.norm(p[t, others, None] * x[others] - total, axis=1).sum())
        np.testing.assert_allclose(results["distance"].values.ravel(), np.mean(distances), rtol=2e-5)
        batch = headgauge.analyze(q, k, x=x[None], lengths=[LENGTH], measures="distance", top_n=[3])
        np.testing.assert_array_equal(batch["distance"].values, results["distance"].values)


class Lent:
    """Something that is no numpy array, and gives its numbers by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class TakenTest(unittest.TestCase):
    def setUp(self):
        self.q, self.k = draw(2, LENGTH, WIDTH), draw(2, LENGTH, WIDTH, seed=1)
        self.values = measure(self.q, self.k)["entropy_with_sinks"].values

    def assert_same(self, q, k, **options):
        np.testing.assert_array_equal(measure(q, k, **options)["entropy_with_sinks"].values, self.values)

    def test_two_three_and_four_dimensions(self):
        self.assert_same(self.q[None], self.k[None])
        one = measure(self.q[0], self.k[0])["entropy_with_sinks"].values
        np.testing.assert_array_equal(one, self.values[:, :1])

    def test_other_types_of_numbers(self):
        self.assert_same(self.q.astype(np.float64), self.k.astype(">f4"))
        self.assert_same(self.q.tolist(), self.k.tolist())
        q, k = self.q.astype(np.float16), self.k.astype(np.float16)
        half = measure(q, k)["entropy_with_sinks"].values
        full = measure(q.astype(np.float32), k.astype(np.float32))["entropy_with_sinks"].values
        np.testing.assert_array_equal(half, full)
        whole = np.round(4 * self.q).astype(np.int8)
        as_floats = measure(whole.astype(np.float32), self.k)["entropy_with_sinks"].values
        np.testing.assert_array_equal(measure(whole, self.k)["entropy_with_sinks"].values, as_floats)

    def test_memory_of_any_order(self):
        turned = np.ascontiguousarray(self.q.transpose(2, 1, 0)).transpose(2, 1, 0)
        self.assertFalse(turned.flags.c_contiguous)
        self.assert_same(turned, np.asfortranarray(self.k))
        spread = np.zeros((2, 2 * LENGTH, WIDTH), np.float32)
        spread[:, ::2] = self.q
        self.assert_same(spread[:, ::2], self.k[:, ::-1][:, ::-1])

    def test_dlpack(self):
        self.assert_same(Lent(self.q), self.k)
        self.assert_same(Lent(self.q), Lent(self.k), copy=False)

    def test_nothing_is_written(self):
        self.q.setflags(write=False)
        self.assert_same(self.q, self.k, copy=False)

    def test_numpy_scalars_are_options(self):
        self.assert_same(self.q, self.k, causal=np.True_, window=np.int64(0), scale=np.float32(8**-0.5))

    def test_what_would_be_copied_is_refused_where_copies_are(self):
        self.assert_same(self.q, self.k, copy=False)
        wide = self.q.astype(np.float64)
        for q in (wide, self.q.astype(np.float16), np.asfortranarray(self.q), self.q.tolist(), Lent(wide)):
            with self.assertRaisesRegex(errors.BadInputError, "^q: expected contiguous float32"):
                measure_unchecked(q, self.k, copy=False)

    def test_fit_memory_is_not_copied(self):
        from headgauge._arrays import as_floats

        self.assertIs(as_floats(self.q, "q"), self.q)
        self.assertTrue(np.shares_memory(as_floats(Lent(self.q), "q"), self.q))


def measure_unchecked(q, k, *rest, **options):
    """analyze() with no option of its own, for what it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return headgauge.analyze(q, k, *rest, **options)


class RefusedTest(unittest.TestCase):
    def assert_refused(self, pattern, *arrays, **options):
        with self.assertRaisesRegex(errors.BadInputError, pattern) as raised:
            measure_unchecked(*arrays, **options)
        self.assertNotIn("\n", str(raised.exception))

    def setUp(self):
        self.q, self.k = draw(4, LENGTH, WIDTH), draw(4, LENGTH, WIDTH, seed=1)

    def test_shapes_that_do_not_fit(self):
        q, k = self.q, self.k
        self.assert_refused("^q: expected 2, 3 or 4 dimensions, found 1", q[0, 0], k)
        self.assert_refused("^k: expected 2, 3 or 4 dimensions, found 5", q, k[None, None])
        self.assert_refused("^k: expected heads that divide the 4 of q, found 3", q, k[:3])
        self.assert_refused("^k: expected shape", q, k[:, 1:])
        self.assert_refused("^k: expected shape", q, k[..., 1:])
        self.assert_refused("^k: expected shape", np.stack([q, q]), k)
        self.assert_refused("^v: expected shape", q, k, k[:2])
        self.assert_refused("^x: expected shape", q, k, None, draw(LENGTH - 1, 3))
        self.assert_refused("^x: expected shape", q, k, None, draw(LENGTH))
        self.assert_refused("at least 2 tokens", q[:, :1], k[:, :1])

    def test_empty_arrays(self):
        self.assert_refused("^q: expected numbers, found an empty array", self.q[:0], self.k[:0])
        self.assert_refused("^q: expected numbers", self.q[..., :0], self.k[..., :0])
        self.assert_refused("^x: expected numbers", self.q, self.k, None, np.ones((LENGTH, 0)))

    def test_numbers_that_are_not_finite(self):
        for bad in (np.nan, np.inf, -np.inf):
            for place in range(4):
                arrays = [self.q.copy(), self.k.copy(), self.k.copy(), draw(LENGTH, 3)]
                arrays[place][..., 3, 1] = bad
                self.assert_refused(f"^{'qkvx'[place]}: expected finite numbers", *arrays)
        self.assert_refused("^q: expected finite", 1e300 * self.q.astype(np.float64), self.k)

    def test_what_holds_no_real_numbers(self):
        for q in (self.q.astype(complex), self.q.astype(object), self.q > 0, "text", None, [[1], [1, 2]]):
            self.assert_refused("^q: expected", q, self.k)

    def test_options_of_no_sense(self):
        for options in (
            {"window": -1},
            {"window": 2**70},
            {"window": 2.5},
            {"scale": "x"},
            {"window": 4, "causal": False},
            {"softcap": -1.0},
            {"softcap": np.nan},
            {"scale": np.inf},
        ):
            self.assert_refused(f"^{next(iter(options))}: expected", self.q, self.k, **options)
        for options in ({"causal": 1}, {"text": "a"}, {"tokens": [1]}, {"lenghts": [8]}):
            with self.assertRaises(TypeError):
                measure_unchecked(self.q, self.k, **options)
        with self.assertRaisesRegex(
            TypeError, r"^analyze\(\) has no option 'lenghts'; did you mean 'lengths'"
        ):
            measure_unchecked(self.q, self.k, lenghts=[8])


class FirstTokens(unittest.TestCase):
    """Whatever token a sink is, it decides nothing about what heads select."""

    def test_flags_do_not_hang_on_the_first_token(self) -> None:
        rng = np.random.default_rng(3)
        heads, length, size, words = 48, 512, 12, 60
        table = rng.standard_normal((words, 24)).astype(np.float32)
        share = 1 / np.arange(1, words) ** 1.1
        share /= share.sum()
        tokens = rng.choice(np.arange(1, words), length, p=share)  # token 0 stands nowhere
        q, k = rng.standard_normal((2, heads, length, size)).astype(np.float32)
        # Each head likes rare tokens more, or less; all rest on the first with half of their weight.
        rarity = -np.log(np.r_[share[0], share])[tokens]
        liking = rng.uniform(-1.5, 1.5, (heads, 1)) * (rarity - rarity.mean()) / rarity.std()
        q[:, :, 0], k[:, :, 0] = 3, liking / 3 * size**0.5
        k[:, 0, 0] = 5.5 * size**0.5 / 3

        flagged, with_sink, beyond = [], [], []
        for first in (1, 2, 5, 59, 0):  # from a quarter of all tokens to none of them
            tokens[0] = first
            found = headgauge.analyze(
                q, k, x=table[tokens], lengths=[length], measures=["weights", "separability"], top_n=[20]
            )
            self.assertGreater(float(np.mean(found["sink_weight"].values)), 0.4)
            excess = found["separability_excess"]
            flagged.append(set(np.flatnonzero(excess.values + 1.96 * excess.stderr < 0)))
            with_sink.append(float(np.mean(found["separability_excess_with_sinks"].values)))
            beyond.append(float(np.mean(found["separability_excess"].values)))
        self.assertGreater(max(with_sink) - min(with_sink), 0.1, "the token decided this")
        self.assertLess(max(beyond) - min(beyond), 1e-6)
        self.assertGreater(len(flagged[0]), 4)
        for others in flagged[1:]:
            self.assertLessEqual(len(others ^ flagged[0]), 0.05 * heads)
