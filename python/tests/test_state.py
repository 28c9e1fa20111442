"""What becomes of a model that is measured: its state, its threads, and what it may do meanwhile."""

import threading
from typing import Any

import numpy as np
from commands import at_once
from needs_torch import TorchTest, torch, transformers
from test_live import LENGTH, ids, make, measured, output

import headgauge
from headgauge import errors


class Numbers(TorchTest):
    """What the model computes is what is measured."""

    def entropy(self, weights: Any) -> Any:
        shares = weights.double()
        return -(shares * shares.clamp_min(1e-300).log()).sum(-1).mean(-1).numpy()

    def test_a_soft_cap_counts_where_the_model_applies_it(self) -> None:
        for attention, cap in (("sdpa", 0.0), ("eager", 0.5)):
            with self.subTest(attention):
                model = make("gemma2", attention, attn_logit_softcapping=0.5, sliding_window=256)
                if model.config._attn_implementation != attention:
                    continue  # transformers gives Gemma 2 no SDPA from 5.20 on
                given = []
                with torch.no_grad():
                    for layer in model.model.layers:
                        layer.self_attn.q_proj.weight *= 50

                found = measured(model)[..., 0]
                from headgauge._attention import here, install

                class Keep:
                    def observe(self, seen: Any, given: Any = given) -> None:
                        keys = seen.key.repeat_interleave(2, dim=1).mT
                        given.append(seen.query @ keys * seen.options["scaling"])

                back = install(model)
                here.running = Keep()
                output(model, ids())
                here.running = None
                back()
                logits = torch.stack([layer[0] for layer in given])
                logits = cap * torch.tanh(logits / cap) if cap else logits
                hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
                weights = torch.softmax(logits.masked_fill(hidden, -torch.inf), dim=-1)
                np.testing.assert_allclose(found, self.entropy(weights), atol=1e-4)

    def test_gpt2_scales_by_itself_under_eager_attention(self) -> None:
        model = make("gpt2", "eager", scale_attn_by_inverse_layer_idx=True)
        with torch.no_grad():
            for block in model.transformer.h:
                block.attn.c_attn.weight *= 30
            weights = model(torch.tensor(ids())[None], output_attentions=True).attentions
        found = measured(model)[..., 0]
        np.testing.assert_allclose(found, self.entropy(torch.stack([w[0] for w in weights])), atol=1e-4)

    def test_biases_by_position_are_refused(self) -> None:
        model = make("falcon", alibi=True, new_decoder_architecture=False, multi_query=True)
        with self.assertRaises(errors.UnsupportedError):
            measured(model)

    def test_no_loss_of_classes(self) -> None:
        config = transformers.LlamaConfig(**{**make("llama").config.to_diff_dict(), "num_labels": 200})
        model = transformers.LlamaForTokenClassification(config)
        self.assertNotIn("loss", headgauge.scan(model, ids(), lengths=[LENGTH]).metrics)

    def test_lengths_in_any_form(self) -> None:
        model = make("llama")
        expected = measured(model, lengths=[32])
        for lengths in ([32.0], np.array([32]), 32, "32", [np.float64(32)]):
            np.testing.assert_array_equal(measured(model, lengths=lengths), expected)
        long = headgauge.scan(model, ids(300), lengths=[LENGTH], measures="weights")
        self.assertEqual(long.document["text"]["tokens_total"], [300])

    def test_under_a_pattern_it_is_refused(self) -> None:
        model = make("llama")
        pattern = headgauge.use(model, pattern="window:size=8")
        with pattern, self.assertRaisesRegex(errors.UnsupportedError, "use"):
            measured(model)
        measured(model)


class State(TorchTest):
    def test_every_part_is_in_the_mode_that_it_had(self) -> None:
        model = make("llama").train()
        model.model.layers[0].eval()
        before = {name: module.training for name, module in model.named_modules()}
        measured(model)
        self.assertEqual({name: module.training for name, module in model.named_modules()}, before)

    def test_configs_below_keep_their_own_implementation(self) -> None:
        model = make("llama")
        other = make("llama", "eager")
        model.beside = other  # a part with a config of its own
        model.config.text_config = other.config
        measured(model)
        self.assertEqual(model.config._attn_implementation, "sdpa")
        self.assertEqual(other.config._attn_implementation, "eager")

    def test_a_model_that_calls_itself(self) -> None:
        model = make("llama")
        expected = measured(model)
        inside = threading.local()

        def again(*_: Any) -> None:
            if not getattr(inside, "is", False):
                inside.__dict__["is"] = True
                output(model, ids()[:7])
                output(model, ids())
                inside.__dict__["is"] = False

        hook = model.model.layers[0].mlp.register_forward_hook(again)
        np.testing.assert_array_equal(measured(model), expected)
        hook.remove()

    def test_outputs_are_the_same_during_a_scan(self) -> None:
        for kind in ("llama", "gemma2", "opt"):
            with self.subTest(kind):
                model = make(kind)
                expected, found = output(model, ids()), []
                hook = model.register_forward_hook(lambda m, i, out, found=found: found.append(out.logits))
                headgauge.scan(model, ids(), lengths=[LENGTH], measures=["weights", "model"])
                hook.remove()
                self.assertTrue(any(torch.equal(logits, expected) for logits in found))


class Threads(TorchTest):
    def test_two_scans_of_one_model_at_once(self) -> None:
        model = make("llama").train()
        expected = measured(model)
        met = threading.Barrier(2, timeout=60)

        def measure(waited: list[int]) -> Any:
            # Both have begun before either goes on.
            return measured(model, progress=lambda *_: waited or waited.append(met.wait()))

        for values in at_once(measure, [[], []]):
            np.testing.assert_array_equal(values, expected)
        self.assertTrue(model.training)
        self.assertEqual(model.config._attn_implementation, "sdpa")

    def test_a_pass_that_is_at_its_end_stays_there(self) -> None:
        from headgauge._forward_pass import Pass, Run

        ended = Pass(Run(make("llama"), [3, 4, 5]))  # not watched: it sees no layer
        self.assertIsNone(ended.next())
        self.assertIsNone(ended.next())
        ended.close()

    def test_a_model_that_catches_exceptions(self) -> None:
        model = make("llama").train()
        layer = model.model.layers[1]
        forward = layer.forward

        def stubborn(*arguments: Any, **options: Any) -> Any:
            try:
                return forward(*arguments, **options)
            except Exception:  # noqa: BLE001 - what the test is about
                return forward(*arguments, **options)

        layer.forward = stubborn

        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        threads = threading.active_count()
        with self.assertRaises(KeyboardInterrupt):
            measured(model, progress=stop)
        self.assertEqual(threading.active_count(), threads)
        self.assertTrue(model.training)
