"""Heads that keep first and last keys, all keys or a mean: PyTorch's kernels beside weights in memory."""

from typing import Any
from unittest import mock

from needs_torch import TorchTest, torch, transformers
from test_caches import row, sharp
from test_live import close, fed, make
from test_plans import plan

import headgauge
from headgauge import errors

ENTRIES = [{"pattern": "sinks:sinks=2,window=6"}, {}, {"normalizer": "uniform"}, {"pattern": "window:size=9"}]
WITH_RULE = [{"pattern": "sinks:sinks=2,window=6"}, {"normalizer": "ssmax"}, {}]
BOTH = [{"pattern": "sinks:sinks=2,window=6", "normalizer": "yarn:factor=2"}, {}]


def plan_of(model: Any, entries: Any = ENTRIES) -> dict[str, Any]:
    config = model.config
    count = getattr(config, "num_key_value_heads", config.num_attention_heads)
    made = plan(config.num_hidden_layers, count, entries)
    made["model"]["heads"] = config.num_attention_heads
    return made


def by_weights() -> Any:
    """Leaves attention to the code that has all weights in memory."""
    return mock.patch("headgauge._held_attention.attend", return_value=None)


def by_kernels() -> Any:
    """Refuses weights in memory."""
    return mock.patch("headgauge._swap.Attention", side_effect=AssertionError("weights in memory"))


class Kernels(TorchTest):
    def test_agree_with_weights_however_a_text_is_fed(self) -> None:
        """A text that is more than a block of queries, and the texts of a padded batch."""
        batch, mask = torch.cat([row(60), row(60).flip(1)]), torch.ones(2, 60, dtype=torch.long)
        mask[1, :13] = batch[1, :13] = 0
        alone = row(300), torch.ones(1, 300, dtype=torch.long)
        ways = ([300], [40, *[1] * 30, 230], [280, *[1] * 20]), ([60], [40, *[1] * 20], [8, 5, 30, *[1] * 17])
        for kind in ("llama", "gpt2", "mistral", "gemma3_text"):
            model = sharp(make(kind, **({"max_position_embeddings": 512} if kind == "gpt2" else {})))
            entries = ENTRIES if kind in ("llama", "gpt2") else [e for e in ENTRIES if "normalizer" not in e]
            change = plan_of(model, entries)
            for (tokens, seen), all_parts in zip((alone, (batch, mask)), ways, strict=True):
                given = None if len(tokens) == 1 else seen
                with headgauge.use(model, change), by_weights():
                    expected = fed(model, tokens, all_parts[0], given)[0][seen.bool()]
                for parts in all_parts:
                    with self.subTest(kind, parts=parts[:3]), headgauge.use(model, change), by_kernels():
                        close(fed(model, tokens, parts, given)[0][seen.bool()], expected)

    def test_have_the_gradients_of_weights(self) -> None:
        model, found = sharp(make("llama")), []
        for path in (by_weights, by_kernels):
            model.zero_grad()
            with headgauge.use(model, plan_of(model)), path():
                model(row(40), labels=row(40), use_cache=False).loss.backward()
            found.append([weight.grad.clone() for weight in model.parameters()])
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-3)

    def test_hold_what_the_plan_says(self) -> None:
        model = sharp(make("llama"))
        with headgauge.use(model, plan_of(model, [{"pattern": "sinks:sinks=2,window=6"}])) as changed:
            fed(model, row(300), [200, *[1] * 100])
        assert changed.cache_bytes is not None
        self.assertEqual(changed.cache_bytes.held * 300, changed.cache_bytes.whole * 8)
        past, entries = transformers.DynamicCache(), [{"pattern": "sinks:sinks=2,window=6"}]
        with headgauge.use(model, plan_of(model, entries), record_past=True) as changed, torch.no_grad():
            for tokens, taken, held in ((200, 5, 8), (4, 0, 8), (9, 0, 8)):
                model(row(tokens), past_key_values=past)
                past.crop(-taken)
                assert changed.cache_bytes is not None
                self.assertEqual(
                    changed.cache_bytes.held * past.get_seq_length(), changed.cache_bytes.whole * held
                )

    def test_leave_other_changes_to_weights(self) -> None:
        model = sharp(make("llama"))
        dropping = sharp(make("llama", attention_dropout=0.5)).train()
        windows = sharp(make("mistral"))  # a mean of the keys that a window of the model's own shows
        others = (WITH_RULE, BOTH, [{"pattern": "topk:k=4"}], [{"pattern": "bigbird:window=6"}])
        self.assertGreater(model.config.num_attention_heads, model.config.num_key_value_heads)
        for of, change in (
            *((model, {"rule": plan_of(model, entries)}) for entries in others),
            (windows, {"rule": plan_of(windows)}),
            # Query heads that share keys are changed alike, or by weights.
            (model, {"pattern": "window:size=4", "heads": [(0, 0)]}),
            (dropping, {"rule": plan_of(dropping)}),
        ):
            refused = self.assertRaisesRegex(AssertionError, "weights in memory")
            with self.subTest(str(change)), headgauge.use(of, **change), by_kernels(), refused:
                of(row(40))

    def test_leave_a_text_to_the_weights_that_began_it_or_that_go_on_with_it(self) -> None:
        model, tokens = sharp(make("llama", attention_dropout=1e-12)), row(60)
        for begins, *goes_on in ((True, False), (False, False, True, True, False, True)):
            past, found = transformers.DynamicCache(config=model.config), []
            with headgauge.use(model, plan_of(model)), torch.no_grad():
                expected = model.eval()(tokens, use_cache=False).logits[:, 30:]
                model.train(begins)(tokens[:, :30], past_key_values=past, use_cache=True)
                for trains, part in zip(goes_on, tokens[:, 30:].chunk(len(goes_on), 1), strict=True):
                    model.train(trains)
                    found.append(model(part, past_key_values=past, use_cache=True).logits)
            close(torch.cat(found, dim=1), expected)

    def test_leave_keys_of_a_cache_of_fixed_size_to_weights(self) -> None:
        model = sharp(make("llama"))
        past = transformers.StaticCache(config=model.config, max_cache_len=48)
        with (
            mock.patch("headgauge._swap.can_prune", return_value=False),
            headgauge.use(model, plan_of(model)),
            torch.no_grad(),
            self.assertRaisesRegex(errors.UnsupportedError, "expected 40 keys, found 48"),
        ):
            model(row(40), past_key_values=past)

    def test_leave_padding_as_the_model_does(self) -> None:
        model, tokens, mask = (
            sharp(make("llama")),
            torch.cat([row(), row()]),
            torch.ones(2, 40, dtype=torch.long),
        )
        mask[1, :13] = 0
        with torch.no_grad():
            expected = model(tokens, attention_mask=mask).logits
            with headgauge.use(model, pattern="window:size=200"), by_kernels():
                torch.testing.assert_close(model(tokens, attention_mask=mask).logits, expected)

    def test_go_on_after_padding_at_the_end_by_weights(self) -> None:
        model, tokens, mask = (
            sharp(make("llama")),
            torch.cat([row(50), row(50)]),
            torch.ones(2, 50, dtype=torch.long),
        )
        mask[1, 20:30] = 0
        with headgauge.use(model, plan_of(model, [{"pattern": "window:size=9"}, {}])):
            with by_weights():
                expected = fed(model, tokens, [30, 20], mask)[0][mask.bool()]
            found = fed(model, tokens, [30, 20], mask)[0][mask.bool()]
        close(found, expected)

    def test_leave_tokens_that_are_hidden_within_a_text_to_weights(self) -> None:
        model, mask = sharp(make("llama")), torch.ones(1, 60, dtype=torch.long)
        mask[0, 25:35] = 0
        with headgauge.use(model, plan_of(model, [{"pattern": "sinks:sinks=2,window=9"}, {}])):
            expected = fed(model, row(60), [60], mask)[0][mask.bool()]
            found = fed(model, row(60), [20, 20, *[1] * 20], mask)[0][mask.bool()]
        close(found, expected)

    def test_refuse_to_hide_tokens_that_were_seen(self) -> None:
        model = sharp(make("llama"))
        for hidden, says in (
            (slice(5), "found padding or a window beside a"),
            (slice(20, 30), "hidden within a text"),
        ):
            past, mask = transformers.DynamicCache(config=model.config), torch.ones(1, 41, dtype=torch.long)
            mask[0, hidden] = 0
            with headgauge.use(model, plan_of(model)), torch.no_grad():
                model(row(40), past_key_values=past)
                with self.assertRaisesRegex(errors.UnsupportedError, says):
                    model(row(1), past_key_values=past, attention_mask=mask)

    def test_write_to_no_tensor_that_others_need(self) -> None:
        model, entries = sharp(make("llama")), plan_of(sharp(make("llama")))
        with headgauge.use(model, entries):
            past = transformers.DynamicCache(config=model.config)
            with torch.inference_mode():
                model(row(40), past_key_values=past)
            with torch.no_grad():
                model(row(1), past_key_values=past)
            past = transformers.DynamicCache(config=model.config)
            loss = model(row(40), past_key_values=past, labels=row(40)).loss
            with torch.no_grad():
                for _ in range(2):
                    model(row(1), past_key_values=past)
            loss.backward()


class Assisted(TorchTest):
    """Tokens that are taken back, as assisted generation does."""

    def test_what_was_taken_back_leaves_no_trace(self) -> None:
        tokens = row(60)
        for kind, entries in (("llama", ENTRIES), ("llama", WITH_RULE), ("mistral", ENTRIES[:2])):
            model = sharp(make(kind))
            with headgauge.use(model, plan_of(model, entries)), torch.no_grad():
                expected = model(tokens, use_cache=False).logits
            for wrong in (1, 4, 12):
                past = transformers.DynamicCache(config=model.config)
                change = headgauge.use(model, plan_of(model, entries), record_past=True)
                with self.subTest(kind, entries=entries, wrong=wrong), change, torch.no_grad():
                    model(tokens[:, :8], past_key_values=past)
                    past.crop(0)
                    for at in range(8, 60, 4):
                        model(tokens[:, :wrong], past_key_values=past)  # as one verifies
                        past.crop(-wrong)
                        for k in range(wrong):  # as one drafts
                            model(tokens[:, k : k + 1], past_key_values=past)
                        past.crop(-wrong)
                        found = model(tokens[:, at : at + 4], past_key_values=past).logits
                        past.crop(0)
                        close(found, expected[:, at : at + 4])

    def test_drafts_and_verifies(self) -> None:
        model, drafter, tokens = sharp(make("llama")), sharp(make("llama")), row(40)
        found = []
        for changed in (drafter, model):
            with headgauge.use(changed, plan_of(changed), record_past=True):
                alone, drafted = (
                    model.generate(tokens, max_new_tokens=12, do_sample=False, pad_token_id=0,
                                   attention_mask=torch.ones_like(tokens), assistant_model=assistant)
                    for assistant in (None, drafter)
                )  # fmt: skip
            self.assertEqual(drafted.tolist(), alone.tolist())
            found.append(alone.tolist())
        self.assertNotEqual(*found)

    def test_no_more_than_what_came_since_the_last_time(self) -> None:
        model, past = sharp(make("llama")), transformers.DynamicCache()
        with headgauge.use(model, plan_of(model), record_past=True), torch.no_grad():
            model(row(40), past_key_values=past)
            past.crop(-2)
            for more in (1, 50):
                with self.assertRaisesRegex(errors.UnsupportedError, "keys are gone"):
                    past.crop(-more)
            model(row(3), past_key_values=past)
            past.crop(-3)
        past = transformers.DynamicCache()
        with headgauge.use(model, plan_of(model, BOTH)), torch.no_grad():
            model(row(40), past_key_values=past)
            expected = model(row(50), use_cache=False).logits[:, 40:]
            past.activate_past_recording()
            model(row(7), past_key_values=past)
            past.crop(-7)
            found = model(row(50)[:, 40:], past_key_values=past).logits
            close(found, expected)

    def test_is_refused_without_a_record(self) -> None:
        model, past = sharp(make("llama")), transformers.DynamicCache()
        with headgauge.use(model, plan_of(model)), torch.no_grad():
            model(row(40), past_key_values=past)
            with self.assertRaisesRegex(errors.UnsupportedError, "record_past=True"):
                past.crop(-1)
