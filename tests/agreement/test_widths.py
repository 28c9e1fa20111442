"""The forward pass at the published widths of GPT-2, whose weights are too large to commit, against Hugging
Face's in float64: losses, and statistics of every head."""

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from tests.agreement.program import headgauge
from tests.golden.catalogue.gpt2 import WIDTHS
from tests.golden.golden_file import read_family


class Widths(unittest.TestCase):
    def test_are_those_of_hugging_face(self) -> None:
        for case in WIDTHS:
            golden = read_family("gpt2")[case.name]
            with self.subTest(case.name), tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                case.write(folder)
                ids = folder / "ids"
                ids.write_text(" ".join(map(str, case.token_ids())))
                options = ("--lengths", ",".join(map(str, golden["lengths"])), "--quiet", "--json")
                groups = ("--measures", "weights,sensitivity,model")
                metrics = json.loads(headgauge("scan", folder, "--tokens", ids, *options, *groups))["metrics"]
                (losses,) = metrics["loss"]["values"]
                np.testing.assert_allclose(losses, golden["loss"], rtol=0, atol=golden["logit_tolerance"])
                for metric, expected in golden["statistics"].items():
                    values = metrics.get(f"{metric}_with_sinks", metrics[metric])["values"]  # of all weight
                    off = np.abs(values - expected) / np.maximum(np.abs(expected), 1e-6)
                    self.assertLessEqual(off.max(), 2e-5, metric)
