"""Models of which some layers have no attention: layers keep their numbers."""

import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from needs_torch import MISSING, TorchTest, torch, transformers
from test_live import SMALL
from test_live import ids as any_ids

import headgauge
from headgauge import errors

if not MISSING:
    import tiny

    from headgauge._forward_pass import Place
    from headgauge._live import _numbered

ATTEND, LAYERS, HEADS, LENGTH = [2, 6], 8, 4, 64
NOTICE = "layers 0, 1, 3-5, 7 of 8 have no attention and are left out"
TEXTS = [any_ids(LENGTH), [5 * k % 90 + 3 for k in range(LENGTH)]]
WEIGHTS: dict[str, Any] = {"lengths": [LENGTH], "measures": ["weights"]}


def jamba() -> Any:
    torch.manual_seed(0)
    config = transformers.JambaConfig(
        **{**SMALL, "num_hidden_layers": LAYERS}, num_key_value_heads=2, attn_layer_period=4, attn_layer_offset=2,
        num_experts=2, num_experts_per_tok=1, mamba_d_state=4, mamba_dt_rank=4, initializer_range=0.3,
    )  # fmt: skip
    return transformers.JambaForCausalLM(config).eval()


def zamba2() -> Any:
    """Of which no attention knows its number."""
    torch.manual_seed(0)
    kinds = ["mamba", "mamba", "hybrid", "mamba", "hybrid", "mamba"]
    config = transformers.Zamba2Config(
        **{**SMALL, "num_hidden_layers": len(kinds), "intermediate_size": 64}, layers_block_type=kinds,
        attention_hidden_size=64, num_key_value_heads=4, mamba_d_state=4, mamba_headdim=16, n_mamba_heads=4,
        mamba_ngroups=1, num_mem_blocks=1, adapter_rank=4, chunk_size=16, use_mem_rope=True, initializer_range=0.3,
    )  # fmt: skip
    return transformers.Zamba2ForCausalLM(config).eval()


def logits(model: Any, tokens: list[int]) -> Any:
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits


def loss_under(model: Any, *given: Any, **change: Any) -> float:
    with headgauge.use(model, *given, **change):
        found = logits(model, TEXTS[0])
    return float(torch.nn.functional.cross_entropy(found[0, :-1], torch.tensor(TEXTS[0][1:])))


def losses(model: Any, **change: Any) -> Any:
    """That of the model, and that under a change."""
    return headgauge.compare(model, TEXTS[0], lengths=[LENGTH], measures=["model"], **change)["loss"].values[
        :, 0, 0
    ]


def refused(test: unittest.TestCase, model: Any, heads: list[tuple[int, int]], layers: str) -> None:
    said = rf"layers with attention \({layers}\), found \({heads[0][0]}, 1\)"
    with headgauge.use(model, "ssmax", heads=heads), test.assertRaisesRegex(errors.UsageError, said):
        logits(model, TEXTS[0])


def planned_quickly(model: Any) -> Any:
    texts = [[(7 * k * k + 3 * k + seed) % 90 + 3 for k in range(192)] for seed in range(4)]
    small: dict[str, Any] = {"lengths": 32, "pieces": 1, "random_plans": 2, "steps": 8}
    return headgauge.plan(model, texts[:2], confirm=texts[2:], **small)


class Hybrids(TorchTest):
    model: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = jamba()

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def entropy_of_eager(self) -> np.ndarray:
        eager = copy.deepcopy(self.model)
        eager.set_attn_implementation("eager")
        with torch.no_grad():
            given = eager(torch.tensor(TEXTS[:1]), output_attentions=True, use_cache=False).attentions
        of_layers = [weights[0] for weights in given if weights is not None]
        self.assertEqual(len(of_layers), len(ATTEND))
        return np.stack([-(w * w.clamp(min=1e-30).log()).sum(-1).mean(-1).numpy() for w in of_layers])

    def test_results_speak_of_the_layers_of_the_model(self) -> None:
        results = headgauge.scan(self.model, TEXTS[0], **WEIGHTS)
        self.assertEqual(results.coords["layer"], ATTEND)
        self.assertEqual(results.document["model"]["layers"], LAYERS)
        self.assertIn(NOTICE, results.notices)
        np.testing.assert_allclose(
            results["entropy_with_sinks"].values[..., 0], self.entropy_of_eager(), atol=1e-5
        )
        self.assertEqual({flag["layer"] for flag in results.flags} - set(ATTEND), set())
        results.save(self.folder)
        rows = (self.folder / "heads.csv").read_text("utf-8").splitlines()[1:]
        self.assertEqual([row.split(",")[0] for row in rows], ["2"] * HEADS + ["6"] * HEADS)

    def test_numbers_are_those_of_modules_else_of_the_list_else_the_order(self) -> None:
        place = {k: Place(k, LAYERS) for k in range(LAYERS)}
        for numbers, places, expected in (
            ([2, 6], [place[2], place[6]], ((2, 6), LAYERS)),
            ([0, 1], [None, None], ((0, 1), 2)),
            ([None, None], [place[1], place[3]], ((1, 3), LAYERS)),
            ([-1, -1], [place[1], place[3]], ((1, 3), LAYERS)),  # one module that is used again
            ([0, 0, 0], [Place(0, 1)] * 3, ((0, 1, 2), 3)),
        ):
            layers = [{"number": n, "place": p} for n, p in zip(numbers, places, strict=True)]
            self.assertEqual(_numbered(layers), expected)

    def test_heads_are_chosen_by_their_layer(self) -> None:
        chosen = headgauge.scan(self.model, TEXTS[0], heads="6.1", **WEIGHTS)
        self.assertEqual(chosen.coords["layer"], [6])
        whole = headgauge.scan(self.model, TEXTS[0], **WEIGHTS)
        self.assertEqual(
            chosen["entropy_with_sinks"].values[0, 0, 0], whole["entropy_with_sinks"].values[1, 1, 0]
        )
        self.assertEqual(headgauge.scan(self.model, TEXTS[0], layers="3-7", **WEIGHTS).coords["layer"], [6])
        for option in ({"heads": "0.1"}, {"heads": "7.*"}, {"layers": "3-5"}):
            with self.assertRaisesRegex(errors.UsageError, r"layers with attention \(2, 6\)"):
                headgauge.scan(self.model, TEXTS[0], **option, **WEIGHTS)

    def test_other_commands_speak_of_the_same_layers(self) -> None:
        for each in (None, "layer", "head"):
            compared = headgauge.compare(
                self.model, TEXTS, normalizer=["ssmax", "softmax:t=2"], each=each, **WEIGHTS
            )
            with self.subTest(each=each):
                self.assertEqual(compared.coords["layer"], ATTEND)
                for name in ("output_change", "entropy_with_sinks", *(["loss_change"] if each else [])):
                    self.assertTrue(np.isfinite(compared[name].values[:, :, 1:]).all(), name)
        converged = headgauge.converge(self.model, TEXTS[0], lengths=[LENGTH])
        self.assertEqual(converged.coords["layer"], ATTEND)
        self.assertIn("cache_bytes", converged)
        validated = headgauge.validate(
            self.model, TEXTS, lengths=[LENGTH], normalizer=["ssmax"], pattern="topk:k=16"
        )
        for results in (compared, converged, validated):
            self.assertEqual((results.coords["layer"], NOTICE in results.notices), (ATTEND, True))

    def test_use_changes_the_layer_that_is_named(self) -> None:
        base = logits(self.model, TEXTS[0])
        with headgauge.use(self.model, "uniform", heads=[(6, 1)]):
            changed = logits(self.model, TEXTS[0])
        self.assertGreater(float((changed - base).abs().max()), 1e-5)
        found = loss_under(self.model, "uniform", heads=[(6, 1)])
        expected = losses(self.model, normalizer=["uniform"], heads="6.1")[1]
        self.assertAlmostEqual(found, expected, delta=1e-4)

    def test_use_of_a_head_that_does_not_exist_is_refused(self) -> None:
        refused(self, self.model, [(0, 1), (2, 1)], "2, 6")

    def test_training_refuses_it_too_but_not_a_layer_that_it_left_out(self) -> None:
        model = jamba().train()
        refused(self, model, [(0, 1)], "2, 6")
        with (
            headgauge.use(model, "ssmax", heads=[(6, 1)]),
            mock.patch.object(model.model.layers[6], "forward", lambda hidden, *_, **__: hidden),
        ):
            logits(model, TEXTS[0])

    def test_drawn_keys_are_those_of_use(self) -> None:
        """A pattern that draws does so by the number of the layer."""
        pattern = "bigbird:window=4,random=2,global=1"
        found, expected = loss_under(self.model, pattern=pattern), losses(self.model, pattern=pattern)[1]
        self.assertAlmostEqual(found, expected, delta=1e-5)

    def test_a_plan_names_the_layers_of_the_model(self) -> None:
        planned = planned_quickly(self.model)
        self.assertEqual(planned.coords["layer"], ATTEND)
        self.assertIn(NOTICE, planned.notices)
        self.assertTrue(np.isfinite(planned["kept_keys"].values).all())
        found = planned.plan
        assert found is not None
        self.assertEqual(found["model"]["layers"], LAYERS)
        self.assertTrue(found["heads"])
        self.assertLessEqual({entry["layer"] for entry in found["heads"]}, set(ATTEND))
        self.assertLessEqual(found["measured"]["cache_share"], 0.5)
        base = logits(self.model, TEXTS[0])
        with headgauge.use(self.model, planned):
            self.assertGreater(float((logits(self.model, TEXTS[0]) - base).abs().max()), 1e-6)
        wrong = {**found, "heads": [{**found["heads"][0], "layer": 0}]}
        wrong_file = self.folder / "wrong.json"
        wrong_file.write_text(json.dumps(wrong), "utf-8")
        with self.assertRaisesRegex(
            errors.BadInputError, r"0\.\d: expected a head of a layer with attention"
        ):
            headgauge.compare(self.model, TEXTS[0], plan=wrong_file, **WEIGHTS)

    def test_a_dump_keeps_the_numbers(self) -> None:
        headgauge.dump(self.model, TEXTS[0], self.folder / "d.safetensors")
        dumped = headgauge.scan(self.folder / "d.safetensors", lengths=[LENGTH], measures=["weights"])
        self.assertEqual(dumped.coords["layer"], ATTEND)
        self.assertIn(NOTICE, dumped.notices)
        measured = headgauge.scan(self.model, TEXTS[0], **WEIGHTS)
        np.testing.assert_array_equal(
            dumped["entropy_with_sinks"].values, measured["entropy_with_sinks"].values
        )

    def test_a_monitor_keeps_the_numbers(self) -> None:
        model = jamba()
        path = self.folder / "run.jsonl"
        with headgauge.Monitor(model, every=1, path=path) as monitor:
            model.train()
            model(torch.tensor(TEXTS[:1]), use_cache=False).logits.sum().backward()
            record = monitor.step()
        assert record is not None
        known = [k for k, row in enumerate(record["metrics"]["entropy_with_sinks"]) if row[0] is not None]
        self.assertEqual((known, len(record["metrics"]["entropy_with_sinks"])), (ATTEND, LAYERS))
        entropy = headgauge.Results.load(path)["entropy_with_sinks"].values
        self.assertEqual(np.flatnonzero(np.isfinite(entropy).all((1, 2))).tolist(), ATTEND)


class NumbersOfUse(TorchTest):
    """Modules that know no number have that of their place, as in scan()."""

    def changed(self, model: Any, run: Any, **change: Any) -> float:
        with torch.no_grad():
            base = run()
            with headgauge.use(model, **change):
                return float((run() - base).abs().max())

    def test_zamba2_as_compare_measures_it(self) -> None:
        model = zamba2()
        self.assertEqual(headgauge.scan(model, TEXTS[0], **WEIGHTS).coords["layer"], [2, 4])
        own, changed = losses(model, normalizer=["uniform"], heads="4.1")
        self.assertAlmostEqual(loss_under(model, "uniform", heads=[(4, 1)]), changed, delta=1e-4)
        self.assertGreater(abs(changed - own), 1e-3)
        refused(self, model, [(3, 1)], "2, 4")

    def test_a_plan_of_zamba2(self) -> None:
        model = zamba2()
        planned = planned_quickly(model)
        assert planned.plan is not None
        self.assertLessEqual({entry["layer"] for entry in planned.plan["heads"]}, {2, 4})
        self.assertTrue(planned.plan["heads"])
        self.assertGreater(self.changed(model, lambda: logits(model, TEXTS[0]), rule=planned), 1e-6)

    def test_encoders(self) -> None:
        esm = tiny.spread(transformers.EsmModel(transformers.EsmConfig(**SMALL, mask_token_id=2)).eval())
        config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                        intermediate_size=64, image_size=32, patch_size=8)  # fmt: skip
        vit = tiny.spread(transformers.ViTModel(config).eval())
        pixels = torch.randn(1, 3, 32, 32, generator=torch.manual_seed(0))
        for model, run in (
            (esm, lambda: esm(torch.tensor([TEXTS[0]])).last_hidden_state),
            (vit, lambda: vit(pixels).last_hidden_state),
        ):
            with self.subTest(type(model).__name__):
                found = [self.changed(model, run, rule="uniform", heads=[(k, 0)]) for k in range(2)]
                self.assertGreater(min(found), 1e-5)
                self.assertNotEqual(*found)

    def test_a_module_that_is_used_again_is_refused(self) -> None:
        albert = transformers.AlbertModel(transformers.AlbertConfig(**SMALL, embedding_size=32)).eval()
        shared = zamba2()
        shared.model.layers[4].shared_transformer = shared.model.layers[2].shared_transformer
        for model, layer in ((albert, 1), (shared, 4)):
            said = self.assertRaisesRegex(errors.UnsupportedError, "used again.*change all heads")
            with headgauge.use(model, "uniform", heads=[(layer, 0)]), said:
                model(torch.tensor([TEXTS[0]]))
