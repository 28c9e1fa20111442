"""A live model under another normalizer: losses of the core, exact gradients, generation."""

import contextlib
import copy
from typing import Any

import numpy as np
from needs_torch import TorchTest, torch, transformers
from test_live import ROOT, make

import headgauge
from headgauge import errors

RULES = ["ssmax", "sparsemax", "softmax1", "logn-qwen:train=32", "cosine:g=10"]


def demo() -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(ROOT / "demo/model", dtype=torch.float32).eval()


def ids(model: Any, count: int = 96) -> Any:
    return np.random.default_rng(0).integers(3, model.config.vocab_size, size=count)


def left_padded(tokens: Any, count: int) -> dict[str, Any]:
    """A row of tokens behind `count` of padding, as forward() takes it."""
    length = count + tokens.shape[1]
    return {
        "input_ids": torch.cat([torch.zeros(1, count, dtype=torch.long), tokens], dim=1),
        "attention_mask": (torch.arange(length) >= count).long()[None],
        "position_ids": (torch.arange(length) - count).clamp_min(0)[None],
    }


def loss(model: Any, tokens: Any) -> float:
    given = torch.tensor(tokens)[None]
    with torch.no_grad():
        return float(model(given, labels=given).loss)


class Use(TorchTest):
    def test_losses_are_those_that_compare_measures(self) -> None:
        model = demo()
        tokens = ids(model)
        options: dict[str, Any] = {"lengths": [96], "measures": ["weights", "model"]}
        compared = headgauge.compare(ROOT / "demo/model", tokens, normalizer=RULES, **options)
        measured = dict(zip(compared.coords["normalizer"], compared["loss"].values[:, 0, 0], strict=True))
        self.assertAlmostEqual(loss(model, tokens), next(iter(measured.values())), delta=1e-4)
        for rule, expected in zip(RULES, list(measured.values())[1:], strict=True):
            with self.subTest(rule), headgauge.use(model, rule):
                self.assertAlmostEqual(loss(model, tokens), expected, delta=1e-4)

    def test_softmax_is_the_model_itself_also_while_it_generates(self) -> None:
        model = demo()
        tokens = torch.tensor(ids(model, 20))[None]
        given: dict[str, Any] = {"attention_mask": torch.ones_like(tokens), "pad_token_id": 0}
        own = model.generate(tokens, max_new_tokens=10, do_sample=False, **given)
        with headgauge.use(model, "softmax"):
            swapped = model.generate(tokens, max_new_tokens=10, do_sample=False, **given)
        self.assertTrue(torch.equal(own, swapped))

    def test_some_heads_alone(self) -> None:
        model = demo()
        tokens = ids(model)
        with headgauge.use(model, "uniform", heads=[]):
            self.assertAlmostEqual(loss(model, tokens), loss(demo(), tokens), delta=1e-5)
        options: dict[str, Any] = {"lengths": [96], "measures": ["weights", "model"], "heads": "1.3"}
        expected = headgauge.compare(ROOT / "demo/model", tokens, normalizer="uniform", **options)
        with headgauge.use(model, "uniform", heads=[(1, 3)]):
            self.assertAlmostEqual(loss(model, tokens), float(expected["loss"].values[1, 0, 0]), delta=1e-4)

    def test_the_model_is_what_it_was_afterwards(self) -> None:
        model = demo()
        tokens, name = ids(model), model.config._attn_implementation
        before = loss(model, tokens)
        outer = headgauge.use(model, "uniform")
        with self.assertRaises(ZeroDivisionError), headgauge.use(model, "ssmax"):
            raise ZeroDivisionError
        self.assertNotEqual(loss(model, tokens), before)
        outer.restore()
        outer.restore()
        self.assertEqual((loss(model, tokens), model.config._attn_implementation), (before, name))
        with self.assertRaises(errors.UsageError):
            headgauge.use(model, "no-such-rule")
        self.assertEqual(model.config._attn_implementation, name)

    def test_swaps_end_in_any_order(self) -> None:
        model = demo()
        tokens = ids(model)
        with headgauge.use(model, "ssmax"):
            expected = loss(model, tokens)
        before = loss(model, tokens)
        outer, inner = headgauge.use(model, "uniform"), headgauge.use(model, "ssmax")
        outer.restore()
        self.assertEqual(loss(model, tokens), expected)
        copied = copy.deepcopy(model)
        inner.restore()
        self.assertEqual(loss(model, tokens), before)
        self.assertEqual(loss(copied, tokens), before)

    def test_another_model_of_the_same_config_is_not_changed(self) -> None:
        config = demo().config
        a, b = (transformers.GPT2LMHeadModel(config).eval() for _ in range(2))
        before = loss(b, ids(b))
        with headgauge.use(a, "uniform"):
            self.assertEqual(loss(b, ids(b)), before)

    def test_what_cannot_be_changed_is_refused(self) -> None:
        for heads in ([(9, 0)], [(-1, 0)], [(0, 99)], [(0, -1)], (1, 3)):
            with self.subTest(heads), self.assertRaises(errors.UsageError):
                headgauge.use(demo(), "uniform", heads=heads)
        with self.assertRaises(errors.UsageError):
            headgauge.use(None, "uniform")

    def test_a_scan_takes_one_rule_in_all_heads(self) -> None:
        model, text = demo(), ids(demo(), 32)
        options: dict[str, Any] = {"lengths": [32], "measures": ["weights"]}
        own = headgauge.scan(model, text, **options)["entropy_with_sinks"].values
        with headgauge.use(model, "sparsemax"):
            of_all = headgauge.scan(model, text, **options)
            other = headgauge.scan(model, text, normalizer="softmax", **options)
            with self.assertRaisesRegex(errors.UnsupportedError, "give it to compare"):
                headgauge.compare(model, text, normalizer="ssmax", **options)
        self.assertEqual(of_all.settings["normalizer"], "sparsemax")
        # The first layer sees the same queries and keys, later ones do not.
        alone = headgauge.scan(model, text, normalizer="sparsemax", **options)["entropy_with_sinks"].values
        np.testing.assert_allclose(of_all["entropy_with_sinks"].values[0], alone[0], rtol=1e-6)
        self.assertGreater(np.abs(of_all["entropy_with_sinks"].values[-1] - alone[-1]).max(), 1e-3)
        np.testing.assert_allclose(other["entropy_with_sinks"].values[0], own[0], rtol=1e-6)
        part = (model.transformer, {"rule": "sparsemax"})
        for changes in (
            [(model, {"rule": "sparsemax", "heads": [(0, 1)]})],
            [(model, {"pattern": "sinks:sinks=2,window=8"})],
            [part],
            [(model, {"rule": "entmax"}), part],
        ):
            refused = self.assertRaisesRegex(errors.UnsupportedError, "one normalizer in all heads")
            with self.subTest(str(changes[0][1])), contextlib.ExitStack() as stack, refused:
                for of, change in changes:
                    stack.enter_context(headgauge.use(of, **change))
                headgauge.scan(model, text, **options)
        with headgauge.use(model.transformer, "sparsemax"), headgauge.use(model, "entmax"):
            self.assertEqual(headgauge.scan(model, text, **options).settings["normalizer"], "entmax")

    def test_a_scan_keeps_the_loss_of_the_model_that_its_heads_are_of_alone(self) -> None:
        model, text = demo(), ids(demo(), 32)
        options: dict[str, Any] = {"lengths": [32], "measures": ["weights", "model"]}
        with headgauge.use(model, "sparsemax"):
            under = headgauge.scan(model, text, **options)
            self.assertAlmostEqual(float(under["loss"].values[0, 0]), loss(model, text), delta=1e-4)
            self.assertFalse(any("runs without it" in notice for notice in under.notices))
            more = ({"normalizer": "softmax"}, {"normalizer": "ssmax"}, {"pattern": "window:size=8"})
            others = [headgauge.scan(model, text, **given, **options) for given in more]
            same = headgauge.scan(model, text, normalizer="sparsemax", **options)
            self.assertEqual(same["loss"].values.tolist(), under["loss"].values.tolist())
        others += [headgauge.scan(model, text, **given, **options) for given in more[1:]]
        for other in others:
            self.assertNotIn("loss", other)
            self.assertRegex(" ".join(other.notices), "`headgauge compare .* --(normalizer|pattern) .*`")
            self.assertTrue(
                any("the model runs without it, so no loss is kept" in notice for notice in other.notices)
            )

    def test_sinks_and_biases_by_position_are_refused(self) -> None:
        sinks, tokens = make("gpt_oss", "eager"), torch.tensor([[3, 4, 5]])
        with (
            headgauge.use(sinks, "ssmax"),
            self.assertRaisesRegex(errors.UnsupportedError, "sinks of its own"),
        ):
            sinks(tokens)
        config = transformers.T5Config(vocab_size=97, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
        encoder = transformers.T5EncoderModel(config).eval()
        # Before transformers 5 T5 computes its own attention.
        said = "biases by position|computes its own"
        with headgauge.use(encoder, "ssmax"), self.assertRaisesRegex(errors.UnsupportedError, said):
            encoder(tokens)

    def test_scores_beyond_half_precision(self) -> None:
        model = demo().to(torch.float16)
        with torch.no_grad():
            model.transformer.h[0].attn.c_attn.weight *= 20
            tokens = torch.tensor(ids(model, 24))[None]
            with headgauge.use(model, "softmax"):
                self.assertTrue(bool(torch.isfinite(model(tokens).logits).all()))


class Gradients(TorchTest):
    def test_are_those_of_finite_steps(self) -> None:
        torch.manual_seed(0)
        logits = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
        for rule in ("softmax", "ssmax", "entmax:alpha=1.5", "sparsemax", "sigmoid", "adaptive-temperature"):
            with self.subTest(rule):

                def weights(rows: torch.Tensor, rule: str = rule) -> torch.Tensor:
                    return headgauge.normalize(rows, rule, begin=[0, 1, 0], end=[7, 5, 0])

                self.assertTrue(torch.autograd.gradcheck(weights, (logits,)))

    def test_weights_are_those_of_torch(self) -> None:
        logits = torch.randn(2, 3, 5)
        expected = torch.softmax(logits, dim=-1)
        torch.testing.assert_close(headgauge.normalize(logits, "softmax"), expected)
        for bad in (torch.arange(5), torch.zeros(2, 0), None):
            with self.assertRaises(errors.BadInputError):
                headgauge.normalize(bad, "softmax")
        for places in ({"end": 9}, {"begin": -1}, {"begin": [0, 1, 2, 3, 4]}, {"position": -5}, {"end": "x"}):
            with self.subTest(places), self.assertRaises(errors.BadInputError):
                headgauge.normalize(logits, "softmax", **places)
        hidden = headgauge.normalize(logits, "softmax", end=2)
        self.assertTrue(bool((hidden[..., 2:] == 0).all()))
