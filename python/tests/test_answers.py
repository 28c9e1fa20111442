"""Answers of task files against a pass of transformers in float64, for a checkpoint and for a live model."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from needs_torch import TorchTest, torch, transformers
from test_live import make

import headgauge
from headgauge import errors

VOCABULARY, CASES, WINDOW = 97, 5, 8


def cases() -> list[dict[str, Any]]:
    draw = np.random.default_rng(5)
    made = []
    for number in range(CASES):
        prompt = draw.integers(3, VOCABULARY, size=40 + number).tolist()
        control = prompt[:10] + draw.integers(3, VOCABULARY, size=6).tolist() + prompt[16:]
        answer = draw.integers(3, VOCABULARY, size=3).tolist()
        made.append({"task": "toy", "prompt": prompt, "answer": answer, "control": control, "distance": 30})
    return made


class Answers(TorchTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.model = make("llama")
        for parameter in cls.model.parameters():  # larger than usual, so that answers depend on the prompt
            parameter.data *= 6 if parameter.dim() > 1 else 1
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.checkpoint = folder / "model"
        cls.model.save_pretrained(cls.checkpoint)
        cls.cases = cases()
        cls.file = folder / "toy.jsonl"
        cls.file.write_text("".join(json.dumps(case) + "\n" for case in cls.cases))

    def expected(self, key: str, window: int = 0) -> np.ndarray:
        """The mean loss of each answer behind the prompts under `key`, in float64."""
        model = transformers.LlamaForCausalLM.from_pretrained(
            self.checkpoint, dtype=torch.float64, attn_implementation="eager"
        ).eval()
        found = []
        for case in self.cases:
            ids = torch.tensor([case[key] + case["answer"]])
            length, answered = ids.shape[1], len(case["answer"])
            place = torch.arange(length)
            back = place[:, None] - place[None, :]
            seen = (back >= 0) & (back < (window or length))
            mask = torch.where(seen, 0.0, -torch.inf).to(torch.float64)[None, None]
            with torch.no_grad():
                logits = model(ids, attention_mask=mask).logits[0]
            losses = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:], reduction="none")
            found.append(losses[-answered:].mean().item())
        return np.array(found)

    def check(self, model: Any) -> None:
        results = headgauge.compare(
            model, tasks=str(self.file), pattern=[f"window:size={WINDOW}"], lengths=[16], measures=["weights"]
        )
        before, after = self.expected("prompt"), self.expected("prompt", WINDOW)
        loss = results["loss"].sel(outcome="toy", length=16).values
        np.testing.assert_allclose(loss, [before.mean(), after.mean()], atol=1e-4)
        change = results["loss_change"].sel(outcome="toy", length=16)
        self.assertGreater(abs((after - before).mean()), 0.01, "the window must change something")
        self.assertAlmostEqual(change.values[1], (after - before).mean(), delta=1e-4)
        error = (after - before).std(ddof=1) / np.sqrt(CASES)
        self.assertAlmostEqual(change.stderr[1], error, delta=1e-4)
        gain = self.expected("control") - before
        self.assertAlmostEqual(results["answer_gain"].values[0], gain.mean(), delta=1e-4)

    def test_of_a_checkpoint(self) -> None:
        self.check(str(self.checkpoint))

    def test_of_a_live_model(self) -> None:
        self.check(self.model)

    def test_a_live_model_computes_the_logits_of_answers_alone(self) -> None:
        rows: list[int] = []
        hook = self.model.lm_head.register_forward_hook(lambda _, args, __: rows.append(args[0].shape[1]))
        self.addCleanup(hook.remove)
        self.check(self.model)
        self.assertEqual(max(rows), 4)

    def test_numbers_of_tokens_need_few_logits_in_float64_at_a_time(self) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        from headgauge import _next_tokens

        class Sizes(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                found = func(*args, **(kwargs or {}))
                if isinstance(found, torch.Tensor) and found.dtype == torch.float64:
                    sizes.append(found.numel())
                return found

        sizes: list[int] = []
        draw = torch.Generator().manual_seed(1)
        logits, others = torch.randn((2, 24, 262_144), generator=draw)
        ids = torch.randint(262_144, (24,), generator=draw).tolist()
        with Sizes():
            losses, apart = _next_tokens.losses(logits, ids), _next_tokens.divergence(logits, others)
        self.assertLessEqual(max(sizes), 2**21)
        own, other = (torch.log_softmax(each.double(), dim=1) for each in (logits, others))
        expected = -own[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(losses, dtype=torch.float64), expected)
        torch.testing.assert_close(
            torch.tensor(apart, dtype=torch.float64), (other.exp() * (other - own)).sum(1)
        )

    def test_a_model_without_a_loss_has_no_answers(self) -> None:
        with self.assertRaisesRegex(errors.UnsupportedError, "tasks: expected a model that predicts"):
            headgauge.scan(self.model.model, tasks=str(self.file), lengths=[16])

    def test_a_live_model_has_no_probe(self) -> None:
        with self.assertRaisesRegex(errors.UnsupportedError, "probe: expected a checkpoint"):
            headgauge.scan(self.model, probe=["replay"], lengths=[16])
