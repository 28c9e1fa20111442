"""The normalizers in torch alone are those of the core, forward and backward."""

from typing import Any
from unittest import mock

import numpy as np
from needs_torch import MISSING, TorchTest, torch

from headgauge import _core

if not MISSING:
    from headgauge import _torch_rules
    from headgauge._weights import normalize, weigh_visible

SPECS = (
    "softmax:t=0.5", "uniform", "ssmax:s=0.4,b=0.1", "logn", "logn-qwen:train=4", "logn-entropy:train=8", "yarn:factor=8",
    "cosine:g=7", "adaptive-temperature", "softcap:c=2", "sparsemax", "entmax:alpha=1.5", "entmax:alpha=1.2", "entmax:alpha=3",
    "asentmax", "asentmax:alpha=1.3,delta=0.5,beta=0.4,gamma=2", "entmax-logn", "entmax-logn:s=3",
    "softmax1", "sink:b=1.5", "sigmoid", "sigmoid:b=-1",
    "sasoftmax", "softpick", "topk:k=3",
)  # fmt: skip


def rows(spread: float) -> tuple[Any, Any, Any]:
    """Logits, what is visible of them (in some rows with gaps, in one nothing), and positions."""
    draw = torch.Generator().manual_seed(3)
    logits = spread * torch.randn(24, 17, generator=draw, dtype=torch.float64)
    visible = torch.ones(24, 17, dtype=torch.bool).tril()
    visible[20:] &= torch.rand(4, 17, generator=draw) < 0.6
    visible[23] = False
    return logits, visible, torch.arange(24)


def both(logits: Any, spec: str, visible: Any, position: Any) -> tuple[Any, Any]:
    """The weights in torch alone, and those of the core, which takes float64."""
    rule = _core.Rule(spec)
    found = _torch_rules.weigh(logits, rule, visible, position)
    return found, weigh_visible(logits.double(), rule, visible, position)


class OfTheCore(TorchTest):
    def test_every_normalizer_is_there(self) -> None:
        names = set(_core.normalizers())
        self.assertEqual(names, set(_torch_rules.RULES))
        self.assertEqual({spec.partition(":")[0] for spec in SPECS}, names)

    def test_weights_and_gradients(self) -> None:
        for spec in SPECS:
            for spread in (0.3, 3.0):
                with self.subTest(spec, spread=spread):
                    logits, visible, position = rows(spread)
                    rule = _core.Rule(spec)
                    toward = torch.randn(logits.shape, generator=torch.Generator().manual_seed(5)).double()
                    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
                    found = _torch_rules.weigh(ours, rule, visible, position)
                    expected = weigh_visible(theirs, rule, visible, position)
                    np.testing.assert_allclose(found.detach(), expected.detach(), atol=1e-12, rtol=1e-9)
                    gradients = []
                    for weights, of in ((found, ours), (expected, theirs)):
                        if not weights.requires_grad:
                            gradients.append(torch.zeros_like(of))
                            continue
                        gradients += torch.autograd.grad((weights * toward).sum(), of, allow_unused=True)
                    gradients = [torch.zeros_like(logits) if g is None else g for g in gradients]
                    np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-9, rtol=1e-7)

    def test_are_used_where_tensors_are_not_in_main_memory(self) -> None:
        logits, visible, position = rows(3.0)
        rule = _core.Rule("ssmax")
        ranges: dict[str, Any] = {"begin": 2, "end": np.arange(24) % 14 + 3, "position": np.arange(24)}
        expected = (
            weigh_visible(logits, rule, visible, position),
            normalize(logits, "logn-qwen:train=4", **ranges),
        )
        with (
            mock.patch("headgauge._weights.in_main_memory", return_value=False),
            mock.patch("headgauge._weights._Weights.apply", side_effect=AssertionError("the core was asked")),
        ):
            found = (
                weigh_visible(logits, rule, visible, position),
                normalize(logits, "logn-qwen:train=4", **ranges),
            )
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)

    def test_half_as_exact_in_float32(self) -> None:
        logits, visible, position = rows(3.0)
        for spec in SPECS:
            with self.subTest(spec):
                found, expected = both(logits.float(), spec, visible, position)
                scale = float(expected.abs().max())
                np.testing.assert_allclose(found, expected, atol=2e-5 * scale)

    def test_rows_at_the_edge(self) -> None:
        nothing = torch.full((2, 3), -torch.inf, dtype=torch.float64)
        seen, place = torch.ones(2, 3, dtype=torch.bool), torch.tensor([0, 2])
        for spec in SPECS:
            with self.subTest(spec):
                self.assertEqual(_torch_rules.weigh(nothing, _core.Rule(spec), seen, place).abs().max(), 0)
                one = torch.eye(3, dtype=torch.bool)[:2]
                logits = torch.tensor([[2.0, 1, 0], [1, -1, 3]], dtype=torch.float64)
                found, expected = both(logits, spec, one, place)
                np.testing.assert_allclose(found, expected, atol=1e-12)
        power = _core.Rule("asentmax:gamma=-1")
        self.assertEqual(_torch_rules.weigh(logits, power, one, place).tolist(), [[1, 0, 0], [0, 1, 0]])

    def test_scores_that_are_huge(self) -> None:
        logits, visible, position = rows(300.0)
        for spec in ("softmax", "ssmax", "sparsemax", "entmax", "softmax1", "softpick", "sigmoid",
                     "adaptive-temperature", "sasoftmax"):  # fmt: skip
            with self.subTest(spec):
                np.testing.assert_allclose(*both(logits, spec, visible, position), atol=1e-9)
