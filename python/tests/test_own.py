"""A researcher's own measures, normalizers and patterns: equal to headgauge's where they do the same."""

import concurrent.futures
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import headgauge
from headgauge import errors

ROOT = Path(__file__).parents[2]
MODEL, TEXT = ROOT / "demo/model", ROOT / "demo/text.txt"


class Entropy(headgauge.Measure):
    metrics: ClassVar[dict[str, tuple[str, str]]] = {
        "own_entropy": ("nats", "entropy of the weights"),
        "own_first": ("1", "weight on the first key"),
    }

    def observe(self, rows: Any) -> dict[str, Any]:
        weights = rows.weights.astype(np.float64)
        logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
        assert rows.logits.shape == rows.weights.shape and np.isfinite(rows.logits[weights > 0]).all()
        return {
            "own_entropy": -(weights * logs).sum(1),
            "own_first": np.where(rows.query > 0, weights[:, 0], np.nan),
        }


class Softmax(headgauge.Normalizer):
    name = "own-softmax"
    calls: ClassVar[list[int]] = []
    """Number of rows of each call."""

    def weigh(self, logits: Any, position: Any) -> Any:
        self.calls.append(len(logits))
        assert position.shape == (len(logits),) and np.isfinite(logits).any(axis=1).all()
        powers = np.exp(logits - logits.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)


class Window(headgauge.Pattern):
    name = "own-window"

    def select(self, rows: Any) -> Any:
        back = rows.query[:, None] - np.arange(rows.visible.shape[1])
        assert rows.visible.shape == (len(rows.query), len(rows.keys)) and len(rows.queries) == len(
            rows.query
        )
        return back < 8


def quick(function: Any = headgauge.scan, **options: Any) -> headgauge.Results:
    found: headgauge.Results = function(MODEL, TEXT, lengths=[64], layers="1", **{"threads": 2, **options})
    return found


class Own(unittest.TestCase):
    def test_a_measure_is_averaged_as_others_are(self) -> None:
        found = quick(measures=["weights", Entropy()], out=None)
        np.testing.assert_allclose(found["own_entropy"].values, found["entropy_with_sinks"].values, rtol=1e-5)
        np.testing.assert_allclose(found["own_entropy"].stderr, found["entropy_with_sinks"].stderr, rtol=1e-4)
        self.assertEqual(found["own_entropy"].unit, "nats")
        rows = found["own_first"].rows
        assert rows is not None
        self.assertEqual(set(rows.ravel()), {63}, "the first query has no value")

    def test_a_normalizer_in_scan_and_compare(self) -> None:
        own = quick(measures=["weights", "sensitivity"], normalizer=Softmax())
        known = quick(measures=["weights", "sensitivity"])
        np.testing.assert_allclose(
            own["entropy_with_sinks"].values, known["entropy_with_sinks"].values, rtol=1e-6
        )
        self.assertEqual(own.settings["normalizer"], "own-softmax")
        np.testing.assert_allclose(
            own["jacobian_frobenius"].values, known["jacobian_frobenius"].values, rtol=1e-5
        )
        pair = quick(headgauge.compare, measures=["weights", "model"], normalizer=[Softmax(), "sparsemax"])
        self.assertEqual(pair.coords["normalizer"], ["original", "sparsemax", "own-softmax"])
        change = pair["loss_change"].values
        self.assertLess(abs(change[list(pair.coords["normalizer"]).index("own-softmax")]).max(), 1e-6)

    def test_a_measure_alone_is_all_that_is_measured(self) -> None:
        found = quick(measures=[Entropy()])
        self.assertEqual({name for name in found if "own" not in name}, set())
        self.assertIn("own_entropy", found)

    def test_a_normalizer_gets_blocks_of_rows(self) -> None:
        heads = 6
        for function, given in (
            (headgauge.scan, {"normalizer": Softmax()}),
            (headgauge.compare, {"normalizer": [Softmax()]}),
        ):
            Softmax.calls.clear()
            found = quick(function, measures=["weights"], **given)
            self.assertEqual(found["entropy_with_sinks"].dims[:2], ("layer", "head"))
            self.assertGreaterEqual(sum(Softmax.calls), heads * 64)
            self.assertEqual(max(Softmax.calls), 64)
            self.assertLess(len(Softmax.calls), sum(Softmax.calls) / 15, "blocks of 64, or of 16 for sinks")

    def test_a_block_hides_the_keys_of_shorter_rows(self) -> None:
        class Bad(headgauge.Normalizer):
            def weigh(self, logits: Any, position: Any) -> Any:
                return logits - logits.mean(axis=1, keepdims=True)

        with self.assertRaisesRegex(errors.BadInputError, r"^own.weigh\(\): expected finite weights, found"):
            quick(measures=["weights"], normalizer=Bad())
        pattern = {"pattern": "window:size=8", "measures": ["weights", "counterfactual"]}
        own, known = quick(normalizer=Softmax(), **pattern), quick(**pattern)
        for name in ("entropy_with_sinks", "kept_mass"):
            np.testing.assert_allclose(own[name].values, known[name].values, rtol=1e-5)

    def test_a_pattern_in_scan_and_compare(self) -> None:
        for function in (headgauge.scan, headgauge.compare):
            measures = ["weights", "counterfactual"]
            own = quick(
                function, measures=measures, pattern=Window() if function is headgauge.scan else [Window()]
            )
            known = quick(function, measures=measures, pattern="window:size=8")
            for name in ("entropy_with_sinks", "kept_mass"):
                np.testing.assert_array_equal(own[name].values, known[name].values)

    def test_use(self) -> None:
        import torch
        from test_live_changes import demo

        model, ids = demo(), torch.tensor([[(7 * i) % 90 for i in range(24)]])
        with torch.no_grad():
            before = model(ids).logits
            with headgauge.use(model, Softmax()):
                under = model(ids).logits
        torch.testing.assert_close(under, before, atol=1e-4, rtol=1e-4)
        with headgauge.use(model, Softmax()):
            model(ids, labels=ids).loss.backward()
        own = model.get_input_embeddings().weight.grad.clone()
        model.zero_grad()
        model(ids, labels=ids).loss.backward()
        torch.testing.assert_close(own, model.get_input_embeddings().weight.grad, atol=1e-5, rtol=1e-3)

    def test_use_gives_blocks_of_rows_that_see_a_key(self) -> None:
        import torch
        from test_live_changes import demo

        class Nan(headgauge.Normalizer):
            def weigh(self, logits: Any, position: Any) -> Any:
                return np.full_like(logits, np.nan)

        model = demo()
        ids = torch.tensor([[(7 * i + 3 * b) % 90 for i in range(40)] for b in range(2)])
        padded = torch.ones_like(ids)
        padded[1, :9] = 0
        Softmax.calls.clear()
        with torch.no_grad():
            with headgauge.use(model, Softmax()):
                own = model(ids, attention_mask=padded).logits
            before = model(ids, attention_mask=padded).logits
            self.assertEqual(max(Softmax.calls), 64)
            torch.testing.assert_close(own[0], before[0], atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(own[1, 9:], before[1, 9:], atol=1e-4, rtol=1e-4)
            with (
                headgauge.use(model, Nan()),
                self.assertRaisesRegex(errors.BadInputError, "expected finite weights, found nan"),
            ):
                model(ids)

    def test_use_shows_a_pattern_the_keys_that_a_mask_hides(self) -> None:
        from headgauge._own import AskedHead, Selector

        class Keeper(headgauge.Pattern):
            def select(self, rows: Any) -> Any:
                self.visible = rows.visible
                return rows.visible

        own, count = Keeper(), 6
        logits = np.zeros((count, count), np.float32)
        logits[:, 2] = np.finfo(np.float32).min
        ranges = np.array([[0, query + 1] for query in range(count)])
        vectors = np.ones((count, 4), np.float32)
        head = AskedHead(0, 0, 0, True, 0, 1.0, 0.0)
        kept = Selector(own).select(vectors[None], vectors, ranges, head, logits)
        self.assertFalse(own.visible[:, 2].any())
        np.testing.assert_array_equal(kept.sum(axis=1), [1, 2, 2, 3, 4, 5])

    def test_use_with_a_pattern(self) -> None:
        import torch
        from test_live import make
        from test_plans import generated

        model = make("llama")
        rows = [[(7 * i + i * i) % 97 for i in range(90)], [(5 * i + 3) % 97 for i in range(90)]]
        tokens = torch.tensor(rows)
        padded = torch.ones_like(tokens)
        padded[1, :20] = 0
        with torch.no_grad():
            plain = model(tokens).logits
            for options in ({}, {"attention_mask": padded}, {"use_cache": False}):
                with headgauge.use(model, pattern="window:size=8"):
                    known = model(tokens, **options).logits
                with headgauge.use(model, pattern=Window()):
                    own = model(tokens, **options).logits
                torch.testing.assert_close(own, known)
        self.assertGreater(float((own - plain).abs().max()), 1e-4)
        for pattern, normalizer in ((Window(), None), (Window(), Softmax())):
            with headgauge.use(model, pattern="window:size=8"):
                known = generated(model, tokens)
            with headgauge.use(model, normalizer, pattern=pattern, heads=None) as change:
                own = generated(model, tokens)
            self.assertTrue(torch.equal(own.sequences, known.sequences))
            for step, other in zip(own.scores, known.scores, strict=True):
                torch.testing.assert_close(step, other, atol=1e-4, rtol=1e-4)
            held = change.cache_bytes
            assert held is not None
            self.assertGreaterEqual(held.held, held.whole, "an own pattern may need any key again")

    def test_a_pattern_gets_the_scale_and_the_layer(self) -> None:
        import torch
        from test_live_changes import demo

        seen: list[Any] = []

        class Asks(headgauge.Pattern):
            def select(self, rows: Any) -> Any:
                seen.append((rows.layer, rows.head, rows.scale, rows.queries.shape, rows.keys.shape))
                return rows.visible

        model, ids = demo(), torch.tensor([[(7 * i) % 90 for i in range(70)]])
        with torch.no_grad(), headgauge.use(model, pattern=Asks(), heads=[(1, 2)]):
            model(ids, use_cache=False)
        width = model.config.hidden_size // model.config.num_attention_heads
        scale = width**-0.5
        self.assertEqual([(layer, head) for layer, head, *_ in seen], [(1, 2)] * 2)
        self.assertEqual([of[3:] for of in seen], [((64, width), (70, width)), ((6, width), (70, width))])
        np.testing.assert_allclose([of[2] for of in seen], scale, rtol=1e-6)
        seen.clear()
        headgauge.compare(
            model, ids[0].tolist(), pattern=[Asks()], lengths=[64], measures=["model"], threads=1
        )
        np.testing.assert_allclose([of[2] for of in seen], scale, rtol=1e-6)
        with self.assertRaisesRegex(errors.UsageError, "^use: expected a pattern by name"):
            headgauge.use(model, pattern=7)  # type: ignore[arg-type]

    def test_what_is_wrong_with_them_is_named(self) -> None:
        class Short(Entropy):
            def observe(self, rows: Any) -> dict[str, Any]:
                return {"own_entropy": np.zeros(3), "own_first": np.zeros(len(rows.query))}

        class Raises(headgauge.Pattern):
            def select(self, rows: Any) -> Any:
                raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(
            errors.BadInputError, r"Short.observe\(\), own_entropy: expected an array of"
        ):
            quick(measures=["weights", Short()])
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            quick(measures=["weights"], pattern=Raises())
        with (
            concurrent.futures.ThreadPoolExecutor(1) as pool,
            self.assertRaisesRegex(errors.UsageError, "executor"),
        ):
            quick(measures=["weights", Entropy()], executor=pool)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(errors.UnsupportedError, "^shard: .*by name"):
                quick(measures=["weights", Entropy()], out=folder, shard="1/2")
            quick(measures=["weights", Entropy()], out=folder)
            self.assertEqual(sorted(p.name for p in Path(folder).iterdir()), ["heads.csv", "results.json"])

    def test_the_examples_run(self) -> None:
        for name in ("measure", "normalizer", "pattern"):
            done = subprocess.run(
                [sys.executable, str(ROOT / f"examples/python/own_{name}.py"), str(MODEL), str(TEXT)],
                capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(len(done.stdout.splitlines()), 1)
