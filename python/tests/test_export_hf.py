"""The folder of `headgauge plan --export hf`: transformers loads it, and decodes what the plan says."""

import copy
import json
import sys
import tempfile
import unittest
from typing import Any

from commands import BINARY
from exports import FAMILIES, KINDS, Exported, by_hand, kinds_of, made
from needs_torch import MISSING, torch, transformers
from test_live import close, fed

if not MISSING:
    from transformers import AutoModelForCausalLM
    from transformers.cache_utils import DynamicCache, StaticCache


@unittest.skipUnless(BINARY.exists(), f"there is no {BINARY}, which writes the folder")
class Served(Exported):
    def load(self, family: str) -> Any:
        return AutoModelForCausalLM.from_pretrained(self.folders[family], trust_remote_code=True).eval()

    def logits(self, family: str, ids: Any) -> Any:
        """What the plan says, with other code."""
        model = made(family)
        transformers.AttentionInterface.register("by hand", by_hand(kinds_of(family)))
        model.set_attn_implementation("by hand")
        with torch.no_grad():
            return model(ids, use_cache=False).logits

    def test_config_says_the_plan(self) -> None:
        config = json.loads((self.folders["Llama"] / "config.json").read_text())
        self.assertEqual(config["headgauge_plan"], [[kind for _, kind in of_layer] for of_layer in KINDS])
        self.assertEqual(config["model_type"], "headgauge_llama")
        self.assertTrue((self.folders["Llama"] / "model.safetensors").is_symlink())

    def test_logits_are_those_of_the_plan_however_the_text_is_fed(self) -> None:
        ids = self.ids(300)  # more than a block of queries
        for family in FAMILIES:
            model, expected = self.load(family), self.logits(family, ids)
            for parts in ([300], [*[1] * 60, 240], [280, *[1] * 20], [3, 1, 1, 290, *[1] * 5], [7, 7, 286]):
                with self.subTest(family, parts=parts[:4]):
                    found, _ = fed(model, ids, parts)
                    close(found, expected)
            with self.subTest(family, parts="no cache"), torch.no_grad():
                found = model(ids, use_cache=False).logits
                close(found, expected)

    def test_padding_changes_nothing(self) -> None:
        ids = self.ids(80)
        for family in FAMILIES:
            model, expected = self.load(family), self.logits(family, ids)
            for padding in (1, 5, 30):
                shorter = torch.cat(
                    [torch.zeros(1, padding, dtype=torch.long), ids[:, : 80 - padding]], dim=1
                )
                batch = torch.cat([shorter, ids])
                mask = torch.ones_like(batch)
                mask[0, :padding] = 0
                positions = (mask.cumsum(dim=1) - 1).clamp_min(0)
                # The last begins with a pass in which the shorter text may have no token yet.
                for parts in (
                    [80],
                    [padding + 2, *[1] * (78 - padding)],
                    [50, 20, *[1] * 10],
                    [3, 20, *[1] * 57],
                ):
                    with self.subTest(family, padding=padding, parts=parts[:2]):
                        found, _ = fed(model, batch, parts, mask, positions)
                        close(found[0, padding:], expected[0, : 80 - padding])
                        close(found[1], expected[0])

    def test_cache_holds_no_more_than_the_plan_keeps(self) -> None:
        head_dim, both = 16, 2
        kept = both * (2 + 6) + both * 9 + 1  # sinks, window, the sum of the values
        for family, times in (("Llama", 1), ("GPT2", 2)):  # GPT-2 computes queries, keys and values as one
            model = self.load(family)
            # After the first new token, room is made for more.
            for parts, full in ([150], 150), ([150, *[1] * 50], 151 + 128):
                with self.subTest(family, parts=parts[:2]):
                    _, cache = fed(model, self.ids(200), parts)
                    expected = times * 4 * head_dim * (kept + both * full)
                    self.assertEqual(sum(layer.nbytes for layer in cache.layers), expected)

    def test_generates_what_it_scores(self) -> None:
        model, ids = self.load("Llama"), self.ids(50)
        found = model.generate(ids, max_new_tokens=20, do_sample=False, pad_token_id=0,
                               attention_mask=torch.ones_like(ids))  # fmt: skip
        expected = ids
        for _ in range(20):
            best = self.logits("Llama", expected)[:, -1:].argmax(dim=-1)
            expected = torch.cat([expected, best], dim=1)
        end = found.shape[1]  # it may have ended by itself
        self.assertGreater(end, 60)
        self.assertEqual(found.tolist(), expected[:, :end].tolist())

    def test_beams_are_those_of_a_model_without_a_cache(self) -> None:
        model, ids = self.load("Llama"), self.ids(30)
        options: dict[str, Any] = {"max_new_tokens": 12, "num_beams": 3, "do_sample": False, "pad_token_id": 0,
                                   "attention_mask": torch.ones_like(ids)}  # fmt: skip
        with_cache = model.generate(ids, use_cache=True, **options)
        self.assertEqual(with_cache.tolist(), model.generate(ids, use_cache=False, **options).tolist())

    def test_drafts_and_verifies(self) -> None:
        options: dict[str, Any] = {"max_new_tokens": 20, "do_sample": False}
        ids = self.ids(60)
        options["attention_mask"] = torch.ones_like(ids)
        for family in FAMILIES:
            model, plain = self.load(family), made(family)
            expected = plain.generate(ids, **options).tolist()
            under_plan = model.generate(ids, **options).tolist()
            self.assertNotEqual(expected, under_plan)
            with self.subTest(family):
                found = plain.generate(ids, assistant_model=model, **options)
                self.assertEqual(found.tolist(), expected)
                early = [{"assistant_early_exit": 1}] if family == "Llama" else []
                for more in ({"assistant_model": plain}, {"prompt_lookup_num_tokens": 4}, *early):
                    self.assertEqual(model.generate(ids, **more, **options).tolist(), under_plan)
                config = transformers.GenerationConfig(
                    **{k: v for k, v in options.items() if k != "attention_mask"}
                )
                found = model.generate(ids, config, attention_mask=options["attention_mask"])
                self.assertEqual(found.tolist(), under_plan)

    def test_caches_that_cannot_hold_a_plan_are_refused(self) -> None:
        model, ids = self.load("Llama"), self.ids(10)
        other = StaticCache(config=model.config, max_cache_len=32)
        with self.assertRaisesRegex(ValueError, "found a StaticCache"):
            model(ids, use_cache=True, **{model.cache_name: other})
        _, cache = fed(model, ids, [10])
        with self.assertRaisesRegex(NotImplementedError, "only goes on"):
            cache.crop(5)

    def test_padding_after_a_text_is_scored_and_not_continued(self) -> None:
        model, ids = self.load("Llama"), self.ids(40)
        batch = torch.cat([ids, torch.cat([ids[:, :30], torch.zeros(1, 10, dtype=torch.long)], dim=1)])
        mask = torch.ones_like(batch)
        mask[1, 30:] = 0
        expected, positions = self.logits("Llama", ids), torch.arange(40).expand(2, -1)
        for parts in ([40], [25, 15], [30, 10]):
            found, _ = fed(model, batch, parts, mask, positions)
            close(found[0], expected[0])
            close(found[1, :30], expected[0, :30])
        more = torch.cat([mask, torch.ones(2, 1, dtype=torch.long)], dim=1)
        cache = DynamicCache(config=model.config)
        model(batch, attention_mask=mask, use_cache=True, **{model.cache_name: cache})
        with self.assertRaisesRegex(ValueError, "found some within a text"):
            model(batch[:, :1], attention_mask=more, use_cache=True, **{model.cache_name: cache})

    def test_a_mask_with_a_hole_is_refused(self) -> None:
        model, ids = self.load("Llama"), self.ids(40)
        mask = torch.ones(1, 40, dtype=torch.long)
        mask[0, 10:13] = 0
        for padding in (0, 5):
            mask[0, :padding] = 0
            for use_cache in (True, False):
                with self.assertRaisesRegex(ValueError, "found some within a text"):
                    model(ids, attention_mask=mask, use_cache=use_cache)

    def test_several_texts_in_a_row_are_refused(self) -> None:
        model, ids = self.load("Llama"), self.ids(40)
        positions = torch.cat([torch.arange(25), torch.arange(15)])[None]
        mask = torch.ones_like(ids)
        for given in ({"use_cache": True}, {"use_cache": False, "attention_mask": mask}):
            with self.subTest(given), self.assertRaisesRegex(NotImplementedError, "one text a row"):
                model(ids, position_ids=positions, **given)
        # Padding has any positions.
        batch = torch.cat([ids[:, :7], ids], dim=1)
        mask = torch.ones_like(batch)
        mask[0, :7] = 0
        positions = (mask.cumsum(dim=1) - 1).masked_fill(mask == 0, 1)
        found, _ = fed(model, batch, [30, 10, *[1] * 7], mask, positions)
        close(found[:, 7:], self.logits("Llama", ids))

    def test_another_attention_keeps_a_cache_of_its_own(self) -> None:
        model, ids, parts = self.load("Llama"), self.ids(40), [30, *[1] * 10]
        planned = model.config._attn_implementation
        _, cache = fed(model, ids, [30])
        model.set_attn_implementation("sdpa")
        found, _ = fed(model, ids, parts)
        with torch.no_grad():
            close(found, made("Llama")(ids).logits)
        with self.assertRaisesRegex(ValueError, "the attention of the cache's plan, found sdpa"):
            model(ids[:, :1], use_cache=True, **{model.cache_name: cache})
        model.set_attn_implementation(planned)
        found, _ = fed(model, ids, parts)
        close(found, self.logits("Llama", ids))

    def test_a_cache_may_be_given_by_its_place(self) -> None:
        model, ids = self.load("Llama"), self.ids(40)
        cache = DynamicCache(config=model.config)
        with torch.no_grad():
            found = [model(part, None, None, cache).logits for part in (ids[:, :30], ids[:, 30:])]
        close(torch.cat(found, 1), self.logits("Llama", ids))

    def test_a_pass_that_failed_leaves_nothing_behind(self) -> None:
        model, ids = self.load("Llama"), self.ids(40)
        mask = torch.ones(1, 1, 10, 10, dtype=torch.bool).tril()
        with self.assertRaisesRegex(NotImplementedError, "found one of queries and keys"):
            model(ids[:, :10], attention_mask=mask, use_cache=True)
        with torch.no_grad():
            found = model(ids, use_cache=False).logits
        close(found, self.logits("Llama", ids))

    def test_scores_with_a_cap_or_a_sink_are_refused(self) -> None:
        attention = sys.modules[type(self.load("Llama")).__module__].attention
        one = torch.zeros(1, 2, 3, 4)
        for more in ({"softcap": 30.0}, {"s_aux": torch.zeros(2)}):
            with self.assertRaisesRegex(NotImplementedError, "a cap or a sink"):
                attention(None, one, one, one, None, **more)

    def test_gradients_go_through(self) -> None:
        model, ids = self.load("Llama").train(), self.ids(30)
        model(ids, labels=ids).loss.backward()
        for weight in (model.model.layers[0].self_attn.v_proj.weight, model.model.embed_tokens.weight):
            self.assertTrue(bool(torch.isfinite(weight.grad).all()))
            self.assertGreater(float(weight.grad.abs().max()), 0)

    def test_gradients_go_through_a_cache(self) -> None:
        ids, gradients = self.ids(40), []
        for parts in ([40], [20, *[1] * 20]):
            model = self.load("Llama")
            cache, total = DynamicCache(config=model.config), 0
            for part in ids.split(parts, dim=1):
                total = total + model(part, use_cache=True, **{model.cache_name: cache}).logits.square().sum()
            (total / 1000).backward()
            gradients.append([weight.grad for weight in model.parameters()])
        torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-3)

    def test_a_copy_of_a_cache_goes_on_by_itself(self) -> None:
        model, ids = self.load("Llama"), self.ids(60)
        _, cache = fed(model, ids, [40])
        with torch.no_grad():
            outputs = [
                model(ids[:, 40:], use_cache=True, **{model.cache_name: copy.deepcopy(cache)}).logits
                for _ in range(2)
            ]
        torch.testing.assert_close(outputs[0], outputs[1])
        close(outputs[0], self.logits("Llama", ids)[:, 40:])

    def test_is_saved_and_loaded_again(self) -> None:
        model, ids = self.load("Llama"), self.ids(40)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).eval()
            with torch.no_grad():
                torch.testing.assert_close(again(ids).logits, model(ids).logits)
