"""Configs that versions of transformers read differently: the path against the loaded model."""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
import transformers

import headgauge

transformers.logging.set_verbosity_error()

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from tests.golden.catalogue.configs import CASES, REFUSED
from tests.golden.golden_file import read_family

FIGURES = read_family("configs")


@unittest.skipIf(transformers.__version__ < "5", "headgauge reads these configs as transformers 5 does")
class Configs(unittest.TestCase):
    def compare(self, case, folder):
        case.write(folder)
        options = {"lengths": [case.tokens], "measures": ["weights", "model"], "threads": 1}
        path = headgauge.scan(str(folder), case.token_ids(), **options)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, attn_implementation="sdpa", dtype=torch.float32
        ).eval()
        live = headgauge.scan(model, case.token_ids(), **options)
        for metric in ("loss", "entropy_with_sinks"):
            np.testing.assert_allclose(path[metric].values, live[metric].values, atol=2e-5)

    def refuse(self, case, folder):
        case.write(folder)
        with self.assertRaisesRegex(headgauge.errors.Error, REFUSED[case.name][1].removeprefix("field ")):
            headgauge.scan(str(folder), case.token_ids())

    def test_a_path_is_measured_as_the_loaded_model(self):
        measured = []
        for case in CASES:
            old, new = FIGURES[case.name]["4.57"], FIGURES[case.name]["5.24"]
            if "loss" in new and old.get("loss") != new["loss"]:
                with self.subTest(case.name), tempfile.TemporaryDirectory() as scratch:
                    (self.refuse if case.name in REFUSED else self.compare)(case, Path(scratch))
                    measured.append(case.name)
        self.assertGreater(len(set(measured) - REFUSED.keys()), 14)
