"""A live model under patterns and plans: losses of the core, and a cache without the dropped keys."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from needs_torch import TorchTest, torch, transformers
from test_live import ROOT, close, fed, make
from test_live import ids as any_ids
from test_swap import demo, ids, left_padded, loss

import headgauge
from headgauge import errors

LAYERS = HEADS = 6
LENGTH = 96
# Of the demo model: patterns of two sizes, a mean, a normalizer, both, and heads as they are.
ENTRIES = [
    {"pattern": "sinks:sinks=2,window=10"},
    {"pattern": "window:size=24"},
    {"normalizer": "uniform"},
    {"normalizer": "ssmax"},
    {"pattern": "sinks:sinks=2,window=10", "normalizer": "yarn:factor=2"},
    {},
]


def plan(layers: int = LAYERS, kv_heads: int = HEADS, entries: Any = ENTRIES) -> dict[str, Any]:
    heads = [
        {"layer": layer, "kv_head": head, **entries[(layer + head) % len(entries)]}
        for layer in range(layers)
        for head in range(kv_heads)
        if entries[(layer + head) % len(entries)]
    ]
    sizes = {"layers": layers, "heads": HEADS, "kv_heads": kv_heads}
    return {"schema": "headgauge.plan/1", "model": sizes, "heads": heads}


def generated(model: Any, tokens: Any, **options: Any) -> Any:
    return model.generate(
        tokens, max_new_tokens=12, do_sample=False, pad_token_id=0, output_scores=True,
        return_dict_in_generate=True, **{"attention_mask": torch.ones_like(tokens), **options},
    )  # fmt: skip


def same_scores(found: Any, expected: Any) -> None:
    close(torch.stack(found.scores), torch.stack(expected.scores))


def agree(model: Any, tokens: Any, **options: Any) -> Any:
    """What is generated with a cache is what is generated without one."""
    found, whole = (generated(model, tokens, **more, **options) for more in ({}, {"use_cache": False}))
    np.testing.assert_array_equal(found.sequences, whole.sequences)
    same_scores(found, whole)
    return found


class Patterns(TorchTest):
    def test_losses_are_those_that_compare_measures(self) -> None:
        model = demo()
        tokens = ids(model, LENGTH)
        patterns = ["window:size=12", "sinks:sinks=3,window=9", "bigbird:window=6,random=4,global=2", "topk:k=8",
                    "keydiff:keys=9", "tova:keys=9", "h2o:keys=9,recent=4"]  # fmt: skip
        options: dict[str, Any] = {"lengths": [LENGTH], "measures": ["weights", "model"]}
        compared = headgauge.compare(ROOT / "demo/model", tokens, pattern=patterns, **options)
        for pattern, expected in zip(patterns, compared["loss"].values[1:, 0, 0], strict=True):
            with self.subTest(pattern), headgauge.use(model, pattern=pattern):
                self.assertAlmostEqual(loss(model, tokens), expected, delta=1e-4)

    def test_a_window_of_both_sides(self) -> None:
        model, tokens = make("bert"), any_ids()
        found = []
        hook = model.register_forward_hook(lambda _, __, out: found.append(out.last_hidden_state))
        with headgauge.use(model, pattern="window:size=8"), torch.no_grad():
            try:
                model(torch.tensor(tokens)[None])
            except errors.UnsupportedError:
                self.skipTest(f"BERT computes its own attention in transformers {transformers.__version__}")
        hook.remove()
        place = torch.arange(len(tokens))
        near = (place[:, None] - place).abs() <= 4
        with torch.no_grad():
            expected = model(torch.tensor(tokens)[None], attention_mask=near[None, None]).last_hidden_state
        torch.testing.assert_close(found[0], expected, atol=1e-5, rtol=1e-5)

    def test_evictions_where_heads_share_keys_and_in_windows(self) -> None:
        for family, options in (("llama", {}), ("mistral", {"sliding_window": 20})):
            model, tokens = make(family, **options), any_ids()
            with tempfile.TemporaryDirectory() as folder:
                model.save_pretrained(folder)
                patterns = ["keydiff:keys=8", "tova:keys=8", "h2o:keys=8,recent=3"]
                compared = headgauge.compare(
                    folder, tokens, pattern=patterns, lengths=[len(tokens)], measures=["weights", "model"]
                )
                for pattern in patterns:
                    options: dict[str, Any] = {"pattern": pattern, "lengths": [len(tokens)]}
                    options["measures"] = ["weights", "counterfactual"]
                    live = headgauge.scan(model, tokens, **options)
                    read = headgauge.scan(folder, tokens, **options)
                    for name in ("kept_mass", "entropy_with_sinks"):
                        np.testing.assert_allclose(live[name].values, read[name].values, atol=1e-5)
            self.assertGreater(np.ptp(compared["loss"].values[:, 0, 0]), 1e-3)
            for pattern, expected in zip(patterns, compared["loss"].values[1:, 0, 0], strict=True):
                with self.subTest(family, pattern=pattern), headgauge.use(model, pattern=pattern):
                    self.assertAlmostEqual(loss(model, tokens), expected, delta=1e-4)

    def test_evictions_by_key_go_on_in_windows(self) -> None:
        model = make("mistral", sliding_window=20)
        tokens = torch.tensor(any_ids())[None]
        with headgauge.use(model, pattern="keydiff:keys=8"), torch.no_grad():
            whole = model(tokens, use_cache=False).logits
            found, _ = fed(model, tokens, [30, *[1] * 34])
        close(found, whole)

    def test_evictions_by_weight_need_the_text_in_one_pass(self) -> None:
        model = demo()
        tokens = torch.tensor(ids(model, 20))[None]
        with headgauge.use(model, pattern="keydiff:keys=8"):
            self.assertEqual(generated(model, tokens).sequences.shape, (1, 32))
        refused = self.assertRaisesRegex(errors.UnsupportedError, "a text in one pass.*what tova evicts")
        with headgauge.use(model, pattern="tova:keys=8"), refused:
            generated(model, tokens)

    def test_padding_changes_nothing(self) -> None:
        model = demo()
        tokens = torch.tensor(ids(model, 30))[None]
        patterns = (
            "sinks:sinks=2,window=5",
            "bigbird:window=6,random=4,global=2",
            "keydiff:keys=6",
            "tova:keys=6",
        )
        changes = [{"rule": "sparsemax"}, *({"pattern": pattern} for pattern in patterns)]
        for padding, change in ((40, {"rule": "logn-qwen:train=8"}), *((6, change) for change in changes)):
            with self.subTest(**change), headgauge.use(model, **change), torch.no_grad():
                alone = model(tokens).logits
                beside = model(**left_padded(tokens, padding)).logits[:, padding:]
                close(beside, alone)

    def test_gradients_go_through(self) -> None:
        for more in ({}, {"pattern": "sinks:sinks=2,window=5"}):
            model = demo().train()
            tokens = torch.tensor(ids(model, 32))[None]
            with headgauge.use(model, "entmax:alpha=1.5", **more):
                model(tokens, labels=tokens).loss.backward()
            for weight in (model.transformer.h[0].attn.c_attn.weight, model.transformer.wte.weight):
                self.assertTrue(bool(torch.isfinite(weight.grad).all()))
                self.assertGreater(float(weight.grad.abs().max()), 0)


class Plans(TorchTest):
    def test_losses_are_those_that_compare_measures(self) -> None:
        model = demo()
        tokens = ids(model, LENGTH)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            path.write_text(json.dumps(plan()))
            options: dict[str, Any] = {"lengths": [LENGTH], "measures": ["weights", "model"]}
            compared = headgauge.compare(ROOT / "demo/model", tokens, plan=path, **options)
            for given in (plan(), path, str(path)):
                with headgauge.use(model, given):
                    self.assertAlmostEqual(
                        loss(model, tokens), float(compared["loss"].values[1, 0, 0]), delta=1e-4
                    )

    def test_generation_drops_keys_and_its_scores_are_those_of_whole_passes(self) -> None:
        model = demo()
        tokens = torch.tensor(ids(model, 60))[None]
        with headgauge.use(model, plan()) as changed:
            self.assertIsNone(changed.cache_bytes)
            agree(model, tokens)
            held = changed.cache_bytes
        # Tokens that the cache has seen: all but the last. Heads of all keys made room when the first came.
        seen, size = 60 + 12 - 1, 2 * 4 * model.config.n_embd // HEADS
        per_head = [2 + 10, 24, 0.5, 60 + 1 + 128, 2 + 10, 60 + 1 + 128]
        assert held is not None
        self.assertEqual(held.whole, seen * LAYERS * HEADS * size)
        self.assertEqual(held.held, LAYERS * sum(per_head) * size)
        self.assertEqual(changed.cache_bytes, held)

    def test_beams_batches_and_padding(self) -> None:
        model = demo()
        tokens = torch.tensor(np.stack([ids(model, 40), ids(model, 40)[::-1]]))
        mask = torch.ones_like(tokens)
        mask[1, :13] = 0
        tokens[1, :13] = 0
        for options in ({}, {"num_beams": 3}):
            with self.subTest(str(options)), headgauge.use(model, plan()):
                found = agree(model, tokens, attention_mask=mask, **options)
                alone = generated(model, tokens[1:, 13:], **options)
                self.assertEqual(alone.sequences[0, -12:].tolist(), found.sequences[1, -12:].tolist())

    def test_grouped_heads_and_windows_of_the_model(self) -> None:
        entries = [{"pattern": "sinks:sinks=1,window=6"}, {"normalizer": "uniform"}, {}]
        for kind in ("llama", "mistral", "gemma3_text"):
            model = make(kind)
            config = model.config.get_text_config()
            given = plan(config.num_hidden_layers, config.num_key_value_heads, entries)
            given["model"]["heads"] = config.num_attention_heads
            tokens = torch.tensor(any_ids(40))[None]
            with self.subTest(kind), headgauge.use(model, given) as changed:
                agree(model, tokens)
                assert changed.cache_bytes is not None
                self.assertLess(changed.cache_bytes.held, changed.cache_bytes.whole)

    def test_query_heads_of_one_key_head_may_differ(self) -> None:
        model, tokens = make("llama"), torch.tensor(any_ids(40))[None]
        with headgauge.use(model, heads=[(0, 0), (1, 2), (1, 3)], pattern="sinks:sinks=1,window=6"):
            agree(model, tokens)

    def test_a_cache_of_another_attention_is_refused(self) -> None:
        model = demo()
        tokens = torch.tensor(ids(model, 20))[None]
        with headgauge.use(model, plan()) as changed, torch.no_grad():
            past = model(tokens, use_cache=True).past_key_values
            with self.assertRaisesRegex(errors.UnsupportedError, "takes tokens back"):
                past.crop(-2)
            with headgauge.use(model, "ssmax"), self.assertRaisesRegex(errors.UnsupportedError, "another"):
                model(tokens[:, :1], past_key_values=past)
            self.assertIs(type(changed.cache_bytes), headgauge._swap.CacheBytes)
        with self.assertRaisesRegex(errors.UnsupportedError, "has ended"), torch.no_grad():
            model(tokens[:, :1], past_key_values=past)

    def test_what_makes_no_sense_is_refused(self) -> None:
        model = demo()
        with tempfile.TemporaryDirectory() as folder:
            bad = Path(folder) / "bad.json"
            bad.write_text('{"schema": "headgauge.plan/1"')
            for rule, options, kind in (
                (plan(layers=3), {}, errors.BadInputError),
                (plan(kv_heads=2), {}, errors.BadInputError),
                (plan(entries=[{"pattern": "no-such-pattern"}]), {}, errors.BadInputError),
                (plan(), {"heads": [(0, 0)]}, errors.UsageError),
                (plan(), {"pattern": "window"}, errors.UsageError),
                ({}, {}, errors.BadInputError),
                (bad, {}, errors.BadInputError),
                (Path(folder) / "absent.json", {}, errors.BadInputError),
                (None, {}, errors.UsageError),
                (3, {}, errors.UsageError),
                (None, {"pattern": "window:size=0"}, errors.UsageError),
                (None, {"pattern": "no-such-pattern"}, errors.UsageError),
            ):
                with self.subTest(f"{rule} {options}"), self.assertRaises(kind):
                    headgauge.use(model, rule, **options)
        self.assertEqual(model.config._attn_implementation, "sdpa")
