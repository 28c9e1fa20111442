"""Key-value caches, chunks, padding and copies of a live model under another attention."""

import copy
import inspect
from typing import Any
from unittest import mock

from needs_torch import MISSING, TorchTest, torch, transformers
from test_live import SMALL, close, fed, make
from test_live import ids as any_ids
from test_plans import agree, generated, same_scores

import headgauge
from headgauge import errors

if not MISSING:
    from headgauge._cache import can_prune
    from headgauge._swap import cache_names

PLACES = [{"rule": "logn-qwen:train=8"}, {"pattern": "bigbird:window=6,random=4,global=2"},
          {"pattern": "window:size=8,global=2"}, {"pattern": "topk:k=6"}, {"pattern": "sinks:sinks=2,window=6"},
          {"rule": "uniform"}]  # fmt: skip


def sharp(model: Any) -> Any:
    """With queries and keys so large that what a head sees makes a difference."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("q_proj.weight", "k_proj.weight")):
                weight *= 12
    return model


def row(count: int = 40) -> Any:
    return torch.tensor(any_ids(count))[None]


class Caches(TorchTest):
    def test_of_models_with_windows_of_their_own(self) -> None:
        for kind in ("mistral", "gemma3_text", "gpt_neo"):
            model = sharp(make(kind))
            for change in PLACES:
                with self.subTest(kind=kind, **change), headgauge.use(model, **change):
                    agree(model, row())

    def test_whole_bytes_are_those_of_the_model_s_own_cache(self) -> None:
        for kind in ("llama", "mistral", "gemma3_text"):
            model, tokens = make(kind), row(60)
            own = transformers.DynamicCache(config=model.config)
            with torch.no_grad():
                model(tokens, past_key_values=own)
            expected = sum(t.nbytes for layer in own.layers for t in (layer.keys, layer.values))
            with self.subTest(kind), headgauge.use(model, pattern="sinks:sinks=1,window=3") as changed:
                with torch.no_grad():
                    model(tokens, use_cache=True)
                assert changed.cache_bytes is not None
                self.assertEqual(changed.cache_bytes.whole, expected)

    def test_of_a_padded_batch(self) -> None:
        tokens, mask = torch.cat([row(), row().flip(1)]), torch.ones(2, 40, dtype=torch.long)
        mask[1, :13] = tokens[1, :13] = 0
        for kind in ("llama", "mistral"):
            model = sharp(make(kind))
            for change in PLACES:
                with self.subTest(kind=kind, **change), headgauge.use(model, **change):
                    agree(model, tokens, attention_mask=mask)

    def test_of_fixed_size(self) -> None:
        model = sharp(make("llama"))
        for change in (
            {"rule": "ssmax"},
            {"pattern": "bigbird:window=4,random=3,global=1"},
            {"pattern": "sinks:sinks=2,window=6"},
        ):
            with self.subTest(**change), headgauge.use(model, **change):
                whole = generated(model, row(), use_cache=False)
                found = generated(model, row(), cache_implementation="static")
                same_scores(found, whole)

    def test_of_the_caller_stay_the_callers(self) -> None:
        model, tokens = sharp(make("llama")), row(25)
        for change in PLACES:
            with self.subTest(**change), headgauge.use(model, **change), torch.no_grad():
                whole, past = model(tokens).logits, transformers.DynamicCache()
                model(tokens[:, :20], None, None, past)
                again = copy.deepcopy(past)
                names = [name for name in cache_names if name in inspect.signature(model.forward).parameters]
                for name, cache in [("past_key_values", past), (names[0], again)]:
                    found = model(tokens[:, 20:], **{name: cache}).logits
                    close(found, whole[:, 20:])
                    self.assertEqual(cache.get_seq_length(), 25)

    def test_that_hold_tokens_already_are_used_where_they_hold_all(self) -> None:
        for kind in ("llama", "mistral"):
            model, tokens = sharp(make(kind)), row(25)
            with torch.no_grad():
                past = transformers.DynamicCache(config=model.config)
                model(tokens[:, :20], past_key_values=past)
                with headgauge.use(model, "ssmax"):
                    if kind == "llama":
                        model(tokens[:, 20:], past_key_values=past)
                        continue
                    with self.assertRaisesRegex(errors.UnsupportedError, "key-value cache that holds some"):
                        model(tokens[:, 20:], past_key_values=past)

    def test_that_layers_share_are_not_taken_for_those_of_each(self) -> None:
        model = sharp(make("llama"))
        with (
            mock.patch("headgauge._swap.can_prune", return_value=False),
            headgauge.use(model, pattern="sinks:sinks=2,window=6") as changed,
        ):
            agree(model, row())
            self.assertIsNone(changed.cache_bytes)
        self.assertTrue(can_prune(model))
        model.config.num_kv_shared_layers = 1  # as Gemma 3n says it
        self.assertFalse(can_prune(model))
        config = transformers.AutoConfig.for_model("diffllama", **SMALL, num_key_value_heads=2)
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
        with headgauge.use(model, pattern="window:size=6"), torch.no_grad():
            try:
                model(row(), use_cache=True)
            except errors.UnsupportedError:
                return  # two attentions for each update of the cache
            self.skipTest("DiffLlama calls its attention once a layer")

    def test_chunks_of_which_one_is_all_padding(self) -> None:
        model, tokens = sharp(make("llama")), torch.cat([row(22), row(22).flip(1)])
        mask = torch.ones(2, 22, dtype=torch.long)
        mask[1, :13] = tokens[1, :13] = 0
        places = (mask.cumsum(1) - 1).clamp_min(0)
        for change in PLACES:
            with self.subTest(**change), headgauge.use(model, **change), torch.no_grad():
                whole = model(tokens, attention_mask=mask, position_ids=places).logits
                found, _ = fed(model, tokens, [8, 5, 8, 1], mask)
                close(found[mask.bool()], whole[mask.bool()])


class Masks(TorchTest):
    def test_several_texts_in_one_row_have_places_of_their_own(self) -> None:
        model = sharp(make("llama"))
        tokens, places = row(40), torch.cat([torch.arange(20), torch.arange(20)])[None]
        with headgauge.use(model, "ssmax"), torch.no_grad():
            found = model(tokens, position_ids=places, use_cache=False).logits[:, 20:]
            close(found, model(tokens[:, 20:]).logits)
        for change in ({"rule": "logn-qwen:train=8"}, {"pattern": "sinks:sinks=2,window=6"}):
            with (
                self.subTest(**change),
                headgauge.use(model, **change),
                self.assertRaisesRegex(errors.UnsupportedError, "several texts in one row"),
            ):
                model(tokens, position_ids=places, use_cache=False)

    def test_a_hidden_key_within_a_text_is_none_of_the_heaviest(self) -> None:
        model, mask = sharp(make("llama")), torch.ones(1, 30, dtype=torch.long)
        mask[0, 10:20] = 0
        seen = mask.bool()[0]
        with headgauge.use(model, pattern="topk:k=4"), torch.no_grad():
            found = model(row(30), attention_mask=mask, position_ids=torch.arange(30)[None]).logits[:, seen]
            # Without these tokens, but at the same places.
            expected = model(row(30)[:, seen], position_ids=torch.arange(30)[None, seen],
                             attention_mask=mask[:, seen]).logits  # fmt: skip
        close(found, expected)
        with headgauge.use(model, pattern="bigbird"), self.assertRaises(errors.UnsupportedError):
            model(row(30), attention_mask=mask)


class Models(TorchTest):
    def test_copies_are_models_of_their_own(self) -> None:
        for kind in ("llama", "gpt_neo"):
            model = sharp(make(kind))
            plain = generated(model, row()).sequences
            with self.subTest(kind), headgauge.use(model, pattern="window:size=3"):
                copied = copy.deepcopy(model)
                self.assertTrue(torch.equal(generated(copied, row()).sequences, plain))
            self.assertTrue(torch.equal(generated(copied, row()).sequences, plain))
            self.assertTrue(torch.equal(generated(model, row()).sequences, plain))

    def test_within_another_the_last_one_counts(self) -> None:
        model = sharp(make("llama"))
        for outer, inner in (
            ({"rule": "ssmax"}, {"rule": "uniform"}),
            ({"pattern": "window:size=8"}, {"rule": "ssmax"}),
        ):
            with headgauge.use(model, **inner):
                expected = generated(model, row())
            with (
                self.subTest(f"{outer} {inner}"),
                headgauge.use(model, **outer),
                headgauge.use(model, **inner),
            ):
                found = generated(model, row())
                torch.testing.assert_close(torch.stack(found.scores), torch.stack(expected.scores))

    def test_compiled(self) -> None:
        model = make("llama")
        for compiled in (torch.compile(model, backend="eager"), model):
            with headgauge.use(compiled, pattern="window:size=6"), torch.no_grad():
                found = compiled(row()).logits
        compiled = torch.compile(model, backend="eager")
        with headgauge.use(compiled, pattern="window:size=6"), torch.no_grad():
            torch.testing.assert_close(compiled(row()).logits, found, atol=1e-5, rtol=1e-5)

    def test_dropout_of_the_attention_stays(self) -> None:
        for kind in ("gpt2", "gptj", "gpt_neo"):
            name = "attention_dropout" if kind == "gpt_neo" else "attn_pdrop"
            rest = {"resid_dropout": 0.0, "embed_dropout": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}
            model = make(kind, **rest, **{name: 0.5}).train()
            with self.subTest(kind), headgauge.use(model, "ssmax"), torch.no_grad():
                self.assertFalse(torch.equal(model(row()).logits, model(row()).logits))

    def test_encoder_decoders_are_refused(self) -> None:
        config = transformers.BartConfig(vocab_size=97, d_model=32, encoder_layers=1, decoder_layers=1,
                                         encoder_attention_heads=4, decoder_attention_heads=4)  # fmt: skip
        with self.assertRaisesRegex(errors.UnsupportedError, "found both"):
            headgauge.use(transformers.BartForConditionalGeneration(config), "ssmax")
