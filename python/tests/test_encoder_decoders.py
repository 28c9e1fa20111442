"""Encoders and decoders of encoder-decoders: outputs unchanged, statistics those of eager attention."""

import unittest
from typing import Any

import numpy as np
from needs_torch import TorchTest, torch, transformers
from test_live import LENGTH, ROOT, ids, make

import headgauge
from headgauge import errors


class EncoderDecoders(TorchTest):
    """The self-attention of the encoder and of the decoder, each by itself."""

    MODELS: dict[str, dict[str, Any]] = {  # noqa: RUF012
        "bart": {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                 "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
                 "max_position_embeddings": 256},
        "t5": {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4},
        "whisper": {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
                    "num_mel_bins": 8, "max_source_positions": 40, "max_target_positions": 256},
    }  # fmt: skip

    def model(self, kind: str, attention: str = "sdpa") -> Any:
        torch.manual_seed(0)
        special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
        config = transformers.AutoConfig.for_model(kind, vocab_size=97, **special, **self.MODELS[kind])
        auto = (
            transformers.AutoModelForSpeechSeq2Seq
            if kind == "whisper"
            else transformers.AutoModelForSeq2SeqLM
        )
        try:
            return auto.from_config(config, attn_implementation=attention).eval()
        except ValueError as error:
            raise unittest.SkipTest(
                f"{kind} has no {attention} in transformers {transformers.__version__}"
            ) from error

    def assert_entropy(self, found: Any, weights: Any, place: int = 0) -> None:
        given = torch.stack([w[0] for w in weights]).double()
        expected = -(given * given.clamp_min(1e-300).log()).sum(-1).mean(-1).numpy()
        np.testing.assert_allclose(found["entropy_with_sinks"].values[..., place], expected, atol=1e-5)

    def test_outputs_are_unchanged_and_weights_are_those_of_eager_attention(self) -> None:
        tokens, source = ids(), ids(50)[::-1].copy()
        for kind in self.MODELS:
            with self.subTest(kind):
                model, eager = self.model(kind), self.model(kind, "eager")
                eager.load_state_dict(model.state_dict())
                inputs = {"input_ids": torch.tensor(source)[None]}
                if kind == "whisper":
                    inputs = {
                        "input_features": torch.randn(1, 8, 80, generator=torch.Generator().manual_seed(0))
                    }
                given = {**inputs, "decoder_input_ids": torch.tensor(tokens)[None]}
                with torch.no_grad():
                    before = model(**given).logits
                    expected = eager(**given, output_attentions=True)
                options: dict[str, Any] = {"lengths": [LENGTH], "measures": ["weights", "model"]}
                found = headgauge.scan(model, tokens, inputs=inputs, **options)
                with torch.no_grad():
                    self.assertTrue(torch.equal(model(**given).logits, before))
                self.assert_entropy(found, expected.decoder_attentions)
                losses = torch.nn.functional.cross_entropy(
                    before[0, :-1].double(), given["decoder_input_ids"][0, 1:]
                )
                self.assertAlmostEqual(float(found["loss"].values[0, 0]), float(losses), delta=1e-5)
                options["lengths"] = [32, LENGTH]
                cross = headgauge.scan(model, tokens, inputs=inputs, attention="cross", **options)
                self.assert_entropy(cross, expected.cross_attentions, 1)
                # The decoder is causal: its first tokens attend as those of the shorter text.
                self.assert_entropy(cross, [w[:, :, :32] for w in expected.cross_attentions])
                keys = expected.cross_attentions[0].shape[-1]
                self.assertEqual(set(cross["visible_keys"].values.ravel()), {keys})
                self.assertTrue(np.isnan(cross["attention_distance_with_sinks"].values).all())
                self.assertEqual(cross["loss"].values[0, -1], found["loss"].values[0, 0])
                self.assertEqual(cross.document["model"]["attention"], "cross")
                if kind == "whisper":
                    continue  # its encoder has no tokens
                encoder = headgauge.scan(model.get_encoder(), source, lengths=[50], measures="weights")
                self.assert_entropy(encoder, expected.encoder_attentions)

    def test_what_has_no_meaning_across_two_texts_is_refused(self) -> None:
        inputs = {"input_ids": torch.tensor(ids(50))[None]}
        found = headgauge.scan(self.model("bart"), ids(), inputs=inputs, attention="cross", lengths=[LENGTH])
        self.assertIn("jacobian_spectral", found)
        for options in ({"measures": "weights,distance"}, {"pattern": "window:size=8"}, {"examples": 2}):
            with self.subTest(options), self.assertRaises(errors.UnsupportedError):
                headgauge.scan(self.model("bart"), ids(), inputs=inputs, attention="cross", **options)
        with self.assertRaises(errors.UsageError):
            headgauge.scan(self.model("bart"), ids(), attention="cross")
        with self.assertRaises(errors.UsageError):
            headgauge.scan(make("llama"), ids(), attention="both")
        padded = {**inputs, "attention_mask": (torch.arange(50) < 40).long()[None]}
        with self.assertRaisesRegex(errors.UnsupportedError, "without padding"):
            headgauge.scan(self.model("bart"), ids(), inputs=padded, attention="cross", lengths=[LENGTH])

    def test_commands_that_take_no_inputs_say_so(self) -> None:
        model = self.model("bart")
        with self.assertRaisesRegex(errors.UnsupportedError, "plan: .*get_encoder"):
            headgauge.plan(model, [ids(), ids()], confirm=ids())
        with self.assertRaisesRegex(errors.UnsupportedError, "converge: .*get_encoder"):
            headgauge.converge(model, ids())

    def test_inputs_are_asked_for(self) -> None:
        inputs = {"input_ids": torch.tensor(ids(50))[None]}
        with self.assertRaisesRegex(errors.UsageError, r"inputs=.*get_encoder"):
            headgauge.scan(self.model("t5"), ids())
        with self.assertRaisesRegex(errors.UsageError, "inputs"):
            headgauge.scan(make("llama"), ids(), inputs=inputs)
        with self.assertRaisesRegex(errors.UsageError, "inputs"):
            headgauge.scan(ROOT / "demo/model", ids(), inputs=inputs)
        with self.assertRaisesRegex(errors.BadInputError, "2 texts"):
            headgauge.scan(self.model("t5"), [ids(), ids()], inputs=inputs)
