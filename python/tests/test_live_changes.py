"""Changes of a loaded model's attention, measured as the C++ forward pass measures them."""

import json
import tempfile
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from needs_torch import TorchTest, torch, transformers
from test_live import ROOT, make

import headgauge
from headgauge import errors

DEMO = ROOT / "demo/model"
EXACT = ("entropy_with_sinks", "loss", "loss_change", "divergence", "output_change")
OPTIONS: dict[str, Any] = {"lengths": [48], "measures": ["weights", "model"], "threads": 1}


def demo() -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(DEMO, dtype=torch.float32).eval()


def ids(first: int, count: int) -> list[int]:
    """Of a text that repeats no 64 tokens."""
    return [int(i) for i in np.random.default_rng(0).integers(3, 900, size=4000)[first : first + count]]


def few(first: int, count: int) -> list[int]:
    """Of the small models' vocabulary."""
    return [i % 97 for i in ids(first, count)]


SMALL = {"lengths": 32, "pieces": 1, "random_plans": 2, "steps": 8, "threads": 1}
PLANNED: Any = {"text_or_ids": [few(0, 96), few(100, 96)], "confirm": few(200, 64), **SMALL}


class AsTheCoreMeasures(TorchTest):
    def assert_alike(self, found: Any, expected: Any, names: tuple[str, ...], atol: float = 1e-5) -> None:
        compared = 0
        for name in names:
            if name in expected:
                np.testing.assert_allclose(found[name].values, expected[name].values, atol=atol, err_msg=name)
                compared += 1
        self.assertGreater(compared, 1)

    def test_compare(self) -> None:
        model, texts = demo(), [ids(0, 48), ids(100, 48)]
        before = model.state_dict()["transformer.wte.weight"].clone()
        for options in (
            {"normalizer": ["ssmax", "uniform", "softmax:t=0.5"]},
            {"pattern": ["bigbird:window=8,random=4,global=2", "window:size=8", "topk:k=8"]},
            {"normalizer": ["ssmax"], "heads": "2.1,2.4"},
            {"normalizer": ["sparsemax"], "each": "head", "layers": "0,3"},
            {"normalizer": ["ssmax"], "each": "layer"},
            {"normalizer": ["softmax:t=1.1"], "confirm": ids(300, 48)},
        ):
            with self.subTest(options):
                found = headgauge.compare(model, texts, **options, **OPTIONS)
                expected = headgauge.compare(DEMO, texts, probe=["none"], **options, **OPTIONS)
                self.assert_alike(found, expected, EXACT)
                self.assertEqual(found.document["text"], expected.document["text"])
        self.assertTrue(torch.equal(model.state_dict()["transformer.wte.weight"], before))
        self.assertEqual(model.config._attn_implementation, "sdpa")

    def planned(self, model: Any, folder: str) -> tuple[Any, Any]:
        """Of the model, and of the folder that it is saved in."""
        model.save_pretrained(folder)
        found, expected = headgauge.plan(model, **PLANNED), headgauge.plan(folder, **PLANNED)
        assert found.plan is not None and expected.plan is not None
        self.assertEqual(found.plan["heads"], expected.plan["heads"])
        return found, expected

    def test_plan_and_its_comparison(self) -> None:
        model = make("gpt2")
        with tempfile.TemporaryDirectory() as folder:
            found, expected = self.planned(model, folder)
            measured = [plan["measured"]["loss_change"] for plan in (found.plan, expected.plan)]
            self.assertAlmostEqual(*measured, delta=1e-5)
            path = Path(folder) / "plan.json"
            path.write_text(json.dumps(expected.plan))
            tokens = few(400, 48)
            under = headgauge.compare(model, tokens, plan=[path], **OPTIONS)
            self.assert_alike(under, headgauge.compare(folder, tokens, plan=[path], **OPTIONS), EXACT)

    def test_validate(self) -> None:
        texts = [ids(0, 64), ids(100, 64)]
        options: dict[str, Any] = {"lengths": [64], "layers": "0,1", "threads": 1, "pattern": "topk:k=16"}
        found = headgauge.validate(demo(), texts, **options)
        expected = headgauge.validate(DEMO, texts, **options)
        # A change that changes nothing has no correlation, not one of rounding.
        replication, own = (of["replication"].values for of in (found, expected))
        np.testing.assert_allclose(replication, own, atol=1e-3)

    def test_claims(self) -> None:
        found = headgauge.reproduce("limits", demo(), ids(0, 256), lengths=[32, 64], threads=1)
        expected = headgauge.reproduce("limits", DEMO, ids(0, 256), lengths=[32, 64], threads=1)
        self.assertEqual(list(found), list(expected))
        self.assert_alike(found, expected, EXACT)

    def test_plan_of_shared_keys_and_windows(self) -> None:
        for kind in ("llama", "gemma2"):
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                self.planned(make(kind), folder)

    def test_a_model_without_a_loss_is_refused(self) -> None:
        with self.assertRaisesRegex(
            errors.UnsupportedError, "plan: expected a model that predicts next tokens"
        ):
            headgauge.plan(make("bert"), **PLANNED)

    def test_choices_that_a_search_cannot_take_are_refused(self) -> None:
        class Own(headgauge.Pattern):
            def select(self, rows: Any) -> Any:
                raise AssertionError("never asked")

        with tempfile.TemporaryDirectory() as folder:
            model = make("gpt2")
            model.save_pretrained(folder)
            for given in (model, folder):
                with self.assertRaisesRegex(
                    errors.UnsupportedError, "choices with a derivative, found cosine"
                ):
                    headgauge.plan(given, **{**PLANNED, "normalizer": ["cosine", "uniform"]})
                with self.assertRaisesRegex(errors.UsageError, "expected names of .*, found objects"):
                    headgauge.plan(given, **{**PLANNED, "pattern": ["window:size=8", Own()]})


class Gates(TorchTest):
    def test_the_gradient_is_that_of_the_loss(self) -> None:
        from headgauge import _core
        from headgauge._live import LiveModel

        changes = [(None, _core.Pattern("window:size=6")), (_core.Rule("uniform"), None)]
        weights, step = np.array([0.0] * 20 + [1 / 27] * 27), 1 / 64
        gates = np.full((2, 4, 3), [0.5, 0.3, 0.2])
        gates[0, 1] = [1, 0, 0]
        for kind in ("gpt2", "llama", "gemma2"):
            model = make(kind)
            with torch.no_grad():
                for weights_of in model.parameters():
                    weights_of *= 8 if weights_of.ndim > 1 else 1  # so that heads matter
            with LiveModel(model, command="plan") as live:
                source = live.open([few(0, 48)], "embedding")

                def under(of: Any, source: Any = source) -> tuple[float, Any]:
                    said, by = source.gradients(
                        0, changes, [-1, 0, 1], of.tolist(), lambda _: weights.tolist()
                    )
                    return float(weights @ said.losses), np.array(by)

                found = under(gates)[1]
                self.assertGreater(np.abs(found).max(), 0.05)
                for place in ((0, 0, 1), (0, 1, 0), (0, 1, 2), (1, 3, 0), (1, 2, 1)):
                    with self.subTest(kind, place=place):
                        change = np.zeros_like(gates)
                        change[place] = step
                        slope = (under(gates + change)[0] - under(gates - change)[0]) / (2 * step)
                        self.assertAlmostEqual(found[place], slope, delta=2e-3 * np.abs(found).max())

    def test_losses_that_count_nothing_need_no_way_back(self) -> None:
        from headgauge import _gradients
        from headgauge._live import LiveModel

        with LiveModel(make("gpt2"), command="plan") as live:
            source = live.open([few(0, 48)], "embedding")
            with mock.patch.object(_gradients.torch.autograd, "grad", side_effect=AssertionError):
                said, by = source.gradients(
                    0, [(None, None)], [-1], np.ones((2, 4, 1)).tolist(), lambda losses: [0.0] * len(losses)
                )
        self.assertEqual((len(said.losses), np.abs(by).max()), (47, 0))


class Architectures(TorchTest):
    def test_the_loss_under_a_rule_is_that_of_use(self) -> None:
        for kind in ("llama", "mistral", "gpt_neo", "gptj", "gemma3_text", "opt"):
            with self.subTest(kind):
                model, tokens = make(kind), few(0, 48)
                found = headgauge.compare(model, tokens, normalizer=["ssmax"], **OPTIONS)
                given = torch.tensor(tokens)[None]
                with torch.no_grad(), headgauge.use(model, "ssmax"):
                    loss = float(model(given, labels=given).loss)
                self.assertAlmostEqual(float(found["loss"].values[1, 0, 0]), loss, delta=1e-5)

    def test_what_cannot_be_changed_is_refused(self) -> None:
        for kind, said in (("bloom", "computes its own"), ("gpt_oss", "sinks")):
            with self.subTest(kind):
                model = make(kind, "eager")
                with self.assertRaisesRegex(errors.UnsupportedError, said):
                    headgauge.compare(model, few(0, 48), normalizer=["ssmax"], **OPTIONS)

    def test_a_hook_that_uses_the_model_changes_nothing(self) -> None:
        model, tokens, busy = make("llama"), few(0, 48), []
        options = {**OPTIONS, "each": "head", "normalizer": ["uniform"]}
        expected = headgauge.compare(model, tokens, **options)["loss_change"].values

        def nested(*_: Any) -> None:
            if not busy:
                busy.append(1)
                model(torch.tensor([[5, 6, 7]]))
                busy.clear()

        hook = model.model.layers[0].mlp.register_forward_hook(nested)
        self.addCleanup(hook.remove)
        np.testing.assert_array_equal(
            headgauge.compare(model, tokens, **options)["loss_change"].values, expected
        )

    def test_a_swap_that_begins_meanwhile_has_no_part_in_it(self) -> None:
        model, tokens, begun = make("llama"), few(0, 48), []
        expected = headgauge.compare(model, tokens, normalizer=["ssmax"], **OPTIONS)

        def progress(*_: Any) -> None:
            if not begun:
                begun.append(headgauge.use(model, "uniform"))

        found = headgauge.compare(model, tokens, normalizer=["ssmax"], progress=progress, **OPTIONS)
        begun[0].restore()
        np.testing.assert_array_equal(found["loss"].values, expected["loss"].values)

    def test_what_the_rotation_hides_is_left_out(self) -> None:
        options: dict[str, Any] = {"lengths": [64], "replicates": 4, "points": 3}
        for kind, known in (("llama", False), ("gptj", False), ("gpt2", True), ("opt", True)):
            with self.subTest(kind):
                found = headgauge.converge(make(kind), few(0, 64), **options)
                self.assertEqual(bool(np.isfinite(found["horizon"].values).all()), known)
                self.assertEqual(any("before the rotation" in notice for notice in found.notices), not known)

    def test_a_pass_that_nobody_began_leaves_no_thread(self) -> None:
        from headgauge._forward_pass import Pass, Run

        before = threading.active_count()
        waiting = Pass(Run(make("llama"), [3, 4, 5]))
        self.assertEqual(threading.active_count(), before)
        waiting.close()

    def test_kinds_of_texts_are_not_mixed(self) -> None:
        with self.assertRaisesRegex(errors.BadInputError, "texts or token ids"):
            headgauge.plan(DEMO, ["a text"], confirm=[ids(0, 48)])
