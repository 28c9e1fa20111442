"""Model types that each had a fault, made tiny; tools/architectures.py runs all of them."""

import re
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from needs_torch import MISSING, TorchTest, torch, transformers
from test_live import LENGTH, SMALL, ids, make, measured
from test_plans import plan

import headgauge
from headgauge import errors

if not MISSING:
    import architectures
    import tiny

    from headgauge._config import of_layers

PAGE = Path(__file__).resolve().parents[2] / "docs/model-types.md"


def known(kind: str) -> bool:
    return kind in transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES


def of(kind: str, **more: Any) -> Any:
    """A model with scores that are spread, of a kind that this transformers has."""
    if not known(kind):
        raise unittest.SkipTest(f"transformers {transformers.__version__} has no {kind}")
    config = transformers.AutoConfig.for_model(kind, **{**SMALL, **more})
    return tiny.spread(transformers.AutoModelForCausalLM.from_config(config).eval())


class EachType(TorchTest):
    def test_works_or_is_refused(self) -> None:
        masked = r"DogeAttention: expected a mask that shows keys or hides them"
        parts = r"CLIPModel: .*part by part"
        works = (
            "afmoe exaone4 vit dinov2 clip_vision_model siglip_vision_model whisper splinter tipsv2".split()
        )
        refused = {"doge": masked, "clip": parts, "xlnet": "analyze"}
        for kind, refusal in {**dict.fromkeys(works, ""), **refused}.items():
            if known(kind):
                with self.subTest(kind):
                    found = architectures.outcome(kind)
                    self.assertEqual(found.kind, "refused" if refusal else "works", found.text)
                    self.assertRegex(found.text, refusal or "^$")

    def test_the_eager_function_is_the_one_that_the_module_names(self) -> None:
        if not known("tipsv2"):
            raise unittest.SkipTest(f"transformers {transformers.__version__} has no tipsv2")
        from headgauge._attention import original

        _, eager, _ = architectures.tried("tipsv2")
        modules = {type(module).__name__: module for module in eager.modules()}
        for name, expected in (
            ("Tipsv2TextAttention", "text_eager_attention_forward"),
            ("Tipsv2VisionAttention", "eager_attention_forward"),
        ):
            self.assertEqual(original("eager", modules[name]).__name__, expected)

    def test_what_is_wrong_is_seen(self) -> None:
        """The check itself: weights of another model, and outputs that change meanwhile."""
        model, eager, given = architectures.tried("llama")
        with torch.no_grad():
            eager.model.layers[0].self_attn.q_proj.weight.mul_(1.001)
        with mock.patch("architectures.close", return_value=True):
            self.assertRegex(architectures.check(model, eager, given).text, "from eager's")
        count = iter(range(1000))

        def noise(_: Any, __: Any, out: Any) -> Any:
            return out + next(count)

        hook = model.model.layers[1].mlp.register_forward_hook(noise)
        self.assertRegex(architectures.check(model, eager, given).text, "other outputs")
        hook.remove()

    def test_the_table_has_every_type(self) -> None:
        table = PAGE.read_text("utf-8").split("<!-- tools/architectures.py -->")[1].split("<!-- end")[0]
        if f"transformers {transformers.__version__}, " not in table:
            self.skipTest("the table is of another transformers")
        self.assertEqual(sorted(set(re.findall(r"`([\w.-]+)`", table)) & set(tiny.kinds())), tiny.kinds())


class Windows(TorchTest):
    """EXAONE-4: the module has a window in all layers, and the call says None in full ones."""

    def model(self) -> Any:
        types = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
        more = {"num_key_value_heads": 2, "sliding_window": 8, "sliding_window_pattern": 2}
        return of("exaone4", **{**more, "num_hidden_layers": 4, "layer_types": types})

    def test_layers_that_see_all_have_none(self) -> None:
        model = self.model()
        expected = np.array(architectures.expected(copy_of(model), {"input_ids": torch.tensor(ids())[None]}))
        np.testing.assert_allclose(measured(model)[..., 0], expected[:, 0], atol=1e-5)

    def test_the_results_have_the_window_of_each_layer(self) -> None:
        model = make("gemma3_text", num_hidden_layers=2, sliding_window=8, query_pre_attn_scalar=256,
                     layer_types=["sliding_attention", "full_attention"])  # fmt: skip
        found = headgauge.scan(model, ids(96), lengths=[64])
        self.assertEqual(found.coords["window"], [8, 0])

    def test_a_cache_under_a_pattern_holds_what_they_need(self) -> None:
        model, given = self.model(), torch.tensor(ids())[None]
        for pattern in ("window:size=12", "sinks:sinks=2,window=20"):
            with self.subTest(pattern), headgauge.use(model, pattern=pattern):
                found, whole = decoded(model, given)
                np.testing.assert_allclose(found, whole, atol=1e-4)


def decoded(model: Any, given: Any) -> tuple[Any, Any]:
    """The logits of six tokens that are decoded one by one, and those of one pass over all."""
    out = model.generate(given, min_new_tokens=6, max_new_tokens=6, do_sample=False, pad_token_id=0,
                         return_dict_in_generate=True, output_logits=True)  # fmt: skip
    with torch.no_grad():
        whole = model(out.sequences, use_cache=False).logits[0, LENGTH - 1 : -1]
    assert len(out.logits) == 6
    return torch.stack(out.logits)[:, 0].numpy(), whole.numpy()


def copy_of(model: Any) -> Any:
    eager = type(model)._from_config(model.config, attn_implementation="eager").eval()
    eager.load_state_dict(model.state_dict())
    return eager


class Images(TorchTest):
    """`inputs` in place of ids."""

    def vit(self) -> Any:
        config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                        intermediate_size=48, image_size=16, patch_size=4)  # fmt: skip
        return tiny.spread(transformers.ViTModel(config).eval())

    def images(self, seed: int = 0) -> dict[str, Any]:
        return {"pixel_values": torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))}

    def test_all_groups_that_have_a_meaning(self) -> None:
        model = self.vit()
        found = headgauge.scan(model, inputs=self.images())
        self.assertEqual(found.coords["length"], [17])  # 16 patches and the class
        self.assertEqual(found.document["model"]["causal"], False)
        for x in ("value", "hidden"):
            near = headgauge.scan(model, inputs=self.images(), x=x, measures="distance")
            self.assertTrue(np.isfinite(near["distance"].values).any())
        one, other, both = (
            headgauge.scan(model, inputs=inputs, measures="weights")["entropy_with_sinks"].values
            for inputs in (self.images(0), self.images(1), [self.images(0), self.images(1)])
        )
        np.testing.assert_allclose(both, (one + other) / 2, atol=1e-9)

    def test_the_encoder_of_sounds(self) -> None:
        config = transformers.WhisperConfig(vocab_size=97, d_model=32, encoder_layers=2, decoder_layers=2,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
            num_mel_bins=8, max_source_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=2)  # fmt: skip
        encoder = transformers.WhisperForConditionalGeneration(config).eval().get_encoder()
        found = headgauge.scan(encoder, inputs={"input_features": torch.randn(1, 8, 80)}, measures="weights")
        self.assertEqual(found.coords["length"], [40])
        with self.assertRaisesRegex(errors.UsageError, r"inputs=\{'input_features': \.\.\.\}"):
            headgauge.scan(encoder, ids())

    def test_anything_else_is_refused_by_name(self) -> None:
        model, weights = self.vit(), {"measures": "weights"}
        usage, bad, unsupported = errors.UsageError, errors.BadInputError, errors.UnsupportedError
        write = r"^inputs: .*write inputs=\{'pixel_values': \.\.\.\}$"
        shaped = r"^inputs: expected pixel_values as ViTModel\.forward\(\) .*processor makes$"
        for kind, says, inputs, more in (
            (usage, r"ViTModel: .*inputs=\{'pixel_values': \.\.\.\}", None, {"text_or_ids": ids()}),
            (usage, "ViTModel: expected ids, or inputs=", self.images(), {"text_or_ids": ids()}),
            (usage, r"ViTModel\.forward\(\) takes .*found pixels", {"pixels": torch.randn(1, 3, 16, 16)}, {}),
            (unsupported, r"17 positions.*leave lengths= out", self.images(), {"lengths": [8], **weights}),
            (unsupported, "batch of 2", {"pixel_values": torch.randn(2, 3, 16, 16)}, weights),
            *((usage, write, of, {}) for of in ({}, [], [{}], torch.randn(1, 3, 16, 16), "image.png")),
            (
                usage,
                "^inputs: expected pixel_values as a tensor.*found str",
                {"pixel_values": "image.png"},
                {},
            ),
            *((bad, shaped, {"pixel_values": torch.randn(of)}, {}) for of in ((1, 3, 48, 48), (3, 16, 16))),
        ):
            with self.subTest(says), self.assertRaisesRegex(kind, says):
                headgauge.scan(model, inputs=inputs, **more)
        for command in (headgauge.converge, headgauge.validate, headgauge.plan):
            says = rf"^{command.__name__}: .*ids.*scan\(\) or compare\(\), which take inputs="
            with self.assertRaisesRegex(unsupported, says):
                command(model, inputs=self.images())

    def test_images_alone_of_a_model_of_several_parts(self) -> None:
        model, _, given = architectures.tried("clip")
        with self.assertRaisesRegex(errors.UnsupportedError, "^CLIPModel: .*token ids too.*part by part"):
            headgauge.scan(model, inputs={"pixel_values": given["pixel_values"]})

    def test_arrays_and_lists_are_tensors(self) -> None:
        model, images = self.vit(), self.images()
        expected = headgauge.scan(model, inputs=images, measures="weights")["entropy_with_sinks"].values
        for value in (images["pixel_values"].numpy(), images["pixel_values"].tolist()):
            found = headgauge.scan(model, inputs={"pixel_values": value}, measures="weights")
            np.testing.assert_array_equal(found["entropy_with_sinks"].values, expected)


class Changed(TorchTest):
    def test_an_encoder_has_no_cache(self) -> None:
        config = transformers.EsmConfig(**{**SMALL, "mask_token_id": 3}, position_embedding_type="rotary")
        model = tiny.spread(transformers.EsmModel(config).eval())
        given = torch.tensor(ids())[None]
        with torch.no_grad(), headgauge.use(model, "softmax") as changed:
            found = model(given).last_hidden_state
            self.assertIsNone(changed.cache_bytes)
        with torch.no_grad():
            np.testing.assert_allclose(model(given).last_hidden_state.numpy(), found.numpy(), atol=1e-5)

    def test_a_first_layer_without_keys(self) -> None:
        types = ["linear_attention", "full_attention"]
        model = of("minimax", num_key_value_heads=2, head_dim=8, num_local_experts=4, layer_types=types)
        with headgauge.use(model, "ssmax"):
            found, whole = decoded(model, torch.tensor(ids())[None])
        np.testing.assert_allclose(found, whole, atol=1e-4)

    def test_what_computes_its_own_attention_is_told_so_at_once(self) -> None:
        for kind in ("bloom", "falcon", "mpt"):
            model = make(kind)
            for more in ({}, {"use_cache": False}):
                expected = self.assertRaisesRegex(errors.UnsupportedError, r"its own.*use\(\) cannot change")
                with self.subTest(kind, **more), headgauge.use(model, "ssmax"), expected:
                    model(torch.tensor(ids())[None], **more)
            model(torch.tensor(ids())[None])

    def test_layers_that_differ(self) -> None:
        model = of("gemma4_text", head_dim=8, global_head_dim=16, num_key_value_heads=4, sliding_window=8,
                   num_global_key_value_heads=2, attention_k_eq_v=True, hidden_size_per_layer_input=0,
                   layer_types=["sliding_attention", "full_attention"], num_kv_shared_layers=0)  # fmt: skip
        with self.assertRaises(RuntimeError):
            _ = model.config.num_key_value_heads
        with headgauge.use(model, "ssmax"), torch.no_grad():
            model(torch.tensor(ids())[None])
        self.assertEqual(of_layers(model.config, "num_key_value_heads"), [4, 2])
        self.assertEqual(of_layers(model.config, "no_such_attribute"), [None, None])
        with self.assertRaisesRegex(errors.UnsupportedError, r"as many key-value heads each, found \[2, 4\]"):
            headgauge.use(model, plan(layers=2, kv_heads=4))
