"""A plan runs by kvpress as it does in headgauge.

    pip install -r tests/plan/requirements.txt
    python -m unittest tests.plan.test_kvpress

Skipped where kvpress is not installed.
"""

import importlib.util
import json
import sys
import unittest
from itertools import pairwise
from typing import ClassVar

from tests.cli.command import UNSUPPORTED, CommandTest

MISSING = [name for name in ("torch", "transformers", "kvpress") if not importlib.util.find_spec(name)]

TOKENS = 96
VOCABULARY = 41
TOLERANCE = 1e-3  # nats; both compute in float32, and agree to 1e-5
HEADS = {(0, 0): "sinks:sinks=2,window=6", (0, 1): "window:size=9", (1, 1): "sinks:window=20"}


def write_model(folder, family: str, **config) -> None:
    """A random model whose attention is far from even, so that hidden keys are missed."""
    import torch
    import transformers

    transformers.logging.disable_progress_bar()
    torch.manual_seed(5)
    settings = {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 256,
        "initializer_range": 0.2,
        **config,
    }
    made = getattr(transformers, f"{family}Config")(**settings)
    getattr(transformers, f"{family}ForCausalLM")(made).save_pretrained(folder)


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)} (tests/plan/requirements.txt)")
class PressTest(CommandTest):
    family = "Llama"
    config: ClassVar[dict] = {}

    def setUp(self) -> None:
        super().setUp()
        import torch
        from transformers import AutoModelForCausalLM

        write_model(self.folder / "model", self.family, **self.config)
        ids = self.ids(TOKENS, VOCABULARY).read_text().split()
        self.tokens = torch.tensor([[int(i) for i in ids]])
        self.model = AutoModelForCausalLM.from_pretrained(
            self.folder / "model", attn_implementation="sdpa", dtype=torch.float32
        ).eval()
        heads = [
            {"layer": layer, "kv_head": head, "pattern": pattern} for (layer, head), pattern in HEADS.items()
        ]
        plan = {
            "schema": "headgauge.plan/1",
            "model": {"name": "model", "family": self.family.lower(), "layers": 2, "heads": 4, "kv_heads": 2},
            "context": TOKENS,
            "heads": heads,
        }
        self.write("plan.json", json.dumps(plan))
        self.succeed("plan", "model", "--plan", "plan.json", "--export", "kvpress", "--out", "out")
        self.press = self.load(self.folder / "out/kvpress/headgauge_press.py")

    def load(self, path):
        """The press as a user imports it, from the folder that it was written to."""
        spec = importlib.util.spec_from_file_location("headgauge_press", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["headgauge_press"] = module  # where dataclasses looks
        self.addCleanup(sys.modules.pop, "headgauge_press")
        spec.loader.exec_module(module)
        return module.HeadgaugePress

    def losses(self, press, passes: list[int]) -> list[float]:
        """Of every token but the first, fed in passes of so many tokens."""
        import torch
        from transformers import DynamicCache

        cache, logits, at = DynamicCache(config=self.model.config), [], 0
        with torch.no_grad(), press(self.model):
            for count in passes:
                tokens = self.tokens[:, at : at + count]
                logits.append(self.model(tokens, past_key_values=cache).logits)
                at += count
        self.assertEqual(at, TOKENS)
        predicted = torch.cat(logits, 1)[0, :-1].double()
        loss = torch.nn.functional.cross_entropy(predicted, self.tokens[0, 1:], reduction="none")
        return loss.tolist()

    def gauged(self, *options: str) -> list[float]:
        """The same by headgauge scan: differences of the means over the first tokens."""
        lengths = ",".join(str(length) for length in range(2, TOKENS + 1))
        done = self.succeed(
            *"scan model --tokens ids.txt --lengths".split(),
            lengths,
            *"--json --quiet --measures model".split(),
            *options,
        )
        means = json.loads(done.out)["metrics"]["loss"]["values"]
        sums = [0.0] + [mean * count for count, mean in enumerate(means, 1)]
        return [after - before for before, after in pairwise(sums)]

    def assert_close(self, first: list[float], second: list[float]) -> None:
        self.assertEqual(len(first), len(second))
        worst = max(abs(a - b) for a, b in zip(first, second))
        self.assertLess(worst, TOLERANCE)

    def assert_apart(self, first: list[float], second: list[float]) -> None:
        self.assertGreater(max(abs(a - b) for a, b in zip(first, second)), 0.1)


class Kvpress(PressTest):
    def test_token_by_token_it_is_the_plan(self) -> None:
        planned = self.gauged("--plan", "plan.json")
        self.assert_close(self.losses(self.press(), [1] * TOKENS), planned)
        self.assert_apart(planned, self.gauged())

    def test_a_prompt_in_one_pass_is_not_masked(self) -> None:
        self.assert_close(self.losses(self.press(), [TOKENS]), self.gauged())
        behind = self.losses(self.press(), [64] + [1] * 32)
        self.assert_apart(behind[64:], self.gauged()[64:])
        self.assert_apart(behind[64:], self.gauged("--plan", "plan.json")[64:])

    def test_a_prompt_that_is_masked_is_the_plan(self) -> None:
        planned = self.gauged("--plan", "plan.json")
        for passes in ([TOKENS], [40, 1, 30, 1, 1, 23]):
            with self.subTest(passes):
                self.assert_close(self.losses(self.press(mask_prompt=True), passes), planned)

    def test_what_the_press_refuses(self) -> None:
        path = self.folder / "out/kvpress/plan.json"
        plan = json.loads(path.read_text())
        plan["model"]["kv_heads"] = 4
        path.write_text(json.dumps(plan))
        with self.assertRaisesRegex(ValueError, "2 layers of 4"), self.press()(self.model):
            pass
        plan["heads"][0] = {"layer": 0, "kv_head": 0, "normalizer": "uniform"}
        path.write_text(json.dumps(plan))
        with self.assertRaisesRegex(NotImplementedError, "0.0 attends by uniform"):
            self.press()
        plan["schema"] = "headgauge.plan/9"
        path.write_text(json.dumps(plan))
        with self.assertRaisesRegex(ValueError, "headgauge.plan/9"):
            self.press()

    def test_eager_attention_is_refused(self) -> None:
        self.model.set_attn_implementation("eager")
        with self.assertRaisesRegex(NotImplementedError, "eager"), self.press()(self.model):
            pass

    def test_what_kvpress_cannot_do_is_not_exported(self) -> None:
        plan = json.loads((self.folder / "plan.json").read_text())
        plan["heads"][1] = {"layer": 0, "kv_head": 1, "pattern": "topk:k=3"}
        self.write("other.json", json.dumps(plan))
        self.refuse(
            UNSUPPORTED,
            *"plan model --plan other.json --export kvpress --out more".split(),
            says="key-value head 0.1",
        )


class SlidingWindow(PressTest):
    """The cache of such a layer drops what the model itself does not see any more."""

    family = "Mistral"
    config: ClassVar = {"sliding_window": 16}

    def test_it_is_the_plan(self) -> None:
        planned = self.gauged("--plan", "plan.json")
        self.assert_close(self.losses(self.press(), [1] * TOKENS), planned)
        passes = [40, 1, 30, 1, 1, 23]
        self.assert_close(self.losses(self.press(mask_prompt=True), passes), planned)
        self.assert_apart(planned, self.gauged())
