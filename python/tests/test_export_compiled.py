"""A folder that `headgauge plan --export hf` wrote under torch.compile: the numbers of the same model without it."""

import unittest
from typing import Any

from commands import BINARY
from exports import FAMILIES, Exported
from needs_torch import MISSING, torch

if not MISSING:
    from transformers import AutoModelForCausalLM


@unittest.skipUnless(BINARY.exists(), f"there is no {BINARY}, which writes the folder")
class Compiled(Exported):
    def load(self, family: str) -> Any:
        torch._dynamo.reset()
        return AutoModelForCausalLM.from_pretrained(self.folders[family], trust_remote_code=True).eval()

    def test_logits_with_and_without_a_cache(self) -> None:
        ids = self.ids(60)
        padded = torch.ones_like(ids)
        padded[0, :7] = 0
        for family in FAMILIES:
            model = self.load(family)
            for backend in ("eager", "aot_eager"):
                for given in ({"use_cache": False}, {"use_cache": True}, {"attention_mask": padded}):
                    with self.subTest(family, backend=backend, given=[*given]), torch.no_grad():
                        torch._dynamo.reset()
                        found = torch.compile(model, backend=backend)(ids, **given)
                        expected = model(ids, **given)
                        torch.testing.assert_close(found.logits, expected.logits, atol=1e-5, rtol=1e-5)

    def test_generates_what_it_generates_uncompiled(self) -> None:
        ids = self.ids(40)
        options: dict[str, Any] = {"max_new_tokens": 12, "min_new_tokens": 12, "do_sample": False,
                                   "pad_token_id": 0, "attention_mask": torch.ones_like(ids)}  # fmt: skip
        for family in ("Llama", "GPT2"):
            for backend in ("eager", "aot_eager"):
                model = self.load(family)
                expected = model.generate(ids, **options)
                model.compile(backend=backend)
                for use_cache in (True, False):
                    with self.subTest(family, backend=backend, use_cache=use_cache):
                        found = model.generate(ids, use_cache=use_cache, **options)
                        self.assertEqual(found.tolist(), expected.tolist())

    def test_several_texts_in_a_row_are_refused(self) -> None:
        model, ids = self.load("Llama"), self.ids(40)
        positions = torch.cat([torch.arange(25), torch.arange(15)])[None]
        gap = torch.cat([torch.arange(25), torch.arange(30, 45)])[None]  # several texts, too
        for part in (model, model.model):
            for given in (positions, gap):
                torch._dynamo.reset()
                with self.assertRaisesRegex(NotImplementedError, "found several"):
                    torch.compile(part, backend="eager")(ids, position_ids=given, use_cache=False)
                with self.assertRaisesRegex(NotImplementedError, "one text a row.*found several"):
                    part(ids, position_ids=given, use_cache=False)
