"""The errors of the nulls of separability hold the noise of their draws: scans under 20 seeds.

The spread of a null over the seeds is compared with the standard error that each scan states, for
every head and for the mean over heads. The figures are those of docs/mathematics.md 7a.
"""

import json
import random
import tempfile
import unittest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.agreement.program import DEMO, headgauge, token_ids
from tests.golden.catalogue.gpt2 import capp_tokens
from tests.places import DATA

Array = npt.NDArray[np.float64]

SEEDS = 20
ALLOWED = 1.2  # spread over stated error
NULLS = (
    "separability_null_with_sinks separability_excess_with_sinks separability_null_local separability_excess_local "
    "separability_sphere"
).split()
FIGURES = (
    "separability_with_sinks",
    "separability_null_with_sinks",
    "separability_null_local",
    "separability_sphere",
)


class Nulls(unittest.TestCase):
    def model(self, name: str) -> Path:
        model = DATA / "models" / name
        if not model.exists():
            self.skipTest(f"{model} is absent (HEADGAUGE_TEST_DATA names its root)")
        return model

    def scans(self, model: Path, ids: list[int]) -> list[dict[str, tuple[Array, Array]]]:
        """For every seed the values and errors at N = 20 of the metrics, over all heads."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="headgauge-nulls-")))
        tokens = folder / "ids"
        tokens.write_text("\n".join(map(str, ids)) + "\n")
        found = []
        for seed in range(SEEDS):
            options = ["--measures", "separability", "--top-n", "20", "--seed", seed, "--json"]
            text = headgauge("scan", model, "--tokens", tokens, "--lengths", len(ids), *options)
            metrics = json.loads(text)["metrics"]
            found.append(
                {
                    name: tuple(
                        np.asarray(metrics[name][part], dtype=float)[..., 0, 0].ravel()
                        for part in ("values", "stderr")
                    )
                    for name in ("separability_with_sinks", *NULLS)
                }
            )
        return found

    def hold(self, scans: list[dict[str, tuple[Array, Array]]]) -> None:
        for name in NULLS:
            values = np.stack([scan[name][0] for scan in scans])
            errors = np.stack([scan[name][1] for scan in scans])
            heads = values.shape[1]
            ratio = values.std(axis=0, ddof=1) / np.sqrt((errors**2).mean(axis=0))
            mean = np.sqrt((errors**2).sum(axis=1).mean()) / heads
            together = values.mean(axis=1).std(ddof=1) / mean
            print(
                f"{self.id()} {name}: {values.mean():+.4f} ± {mean:.4f}, spread over error "
                f"{np.median(ratio):.2f} (median), {ratio.max():.2f} (largest), "
                f"{together:.2f} (mean over heads)"
            )
            self.assertLessEqual(np.median(ratio), ALLOWED, name)
            self.assertLessEqual(together, ALLOWED, name)
            # Both sides of a ratio are estimates, from 20 seeds and few batches: a spread 1.2 times
            # the error shows as more in some heads, as twice that in hardly any.
            self.assertLessEqual((ratio > ALLOWED).mean(), 0.1, name)
            self.assertLessEqual(ratio.max(), 2 * ALLOWED, name)

    def figures(self, scans: list[dict[str, tuple[Array, Array]]], *expected: float) -> None:
        """The mean over heads of the first seed, within three of its errors, of FIGURES."""
        for name, value in zip(FIGURES, expected, strict=True):
            values, errors = scans[0][name]
            error = np.sqrt((errors**2).sum()) / len(values)
            self.assertLessEqual(abs(values.mean() - value), 3 * error, name)

    def test_demo_model(self) -> None:
        scans = self.scans(DEMO, token_ids(DEMO)[:1024])
        self.hold(scans)
        self.figures(scans, 0.638, 0.456, 0.458, 0.635)

    def test_stories260k(self) -> None:
        model = self.model("stories260k")
        # The whole novel becomes tokens once, not once a seed.
        scans = self.scans(model, token_ids(model, DATA / "text/war_and_peace.txt")[:512])
        self.hold(scans)
        self.figures(scans, 0.736, 0.771, 0.760, 0.512)

    def capp(self, ids: list[int], *expected: float) -> None:
        scans = self.scans(self.model("capp-gpt"), ids)
        self.hold(scans)
        self.figures(scans, *expected)

    def test_capp_gpt_on_orders(self) -> None:
        self.capp(capp_tokens(320), 0.634, 0.608, 0.612, 0.464)

    def test_capp_gpt_on_processes_alone(self) -> None:
        draw = random.Random(20260101)
        self.capp([draw.randrange(29, 49) for _ in range(320)], 0.768, 0.386, 0.380, 0.490)
