"""`headgauge compare` against float64 passes of tests/reference/counterfactual.py: losses, their
changes with standard errors, divergences, output changes and kept mass."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

from tests.agreement.program import DEMO, headgauge, token_ids
from tests.reference.assembly import loss_by_gap
from tests.reference.counterfactual import Counterfactual, Intervention, mean_up_to
from tests.reference.normalizers import make_normalizer
from tests.results.schema import validate

LENGTHS = [64, 256]
# The last layers see what the first ones made of float32: relative to the size of a change.
SPECS = "ssmax:s=0.3 softmax1 entmax:alpha=1.25 sparsemax cosine:g=12 softpick softmax:t=0.8".split()
LOSS, DIVERGENCE, OUTPUT = 2e-4, 2e-4, 1e-4


class CompareAgreement(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="headgauge-compare-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        ids = token_ids(DEMO)[: LENGTHS[-1]]
        cls.tokens = np.asarray(ids)
        cls.ids = cls.folder / "ids"
        cls.ids.write_text("\n".join(map(str, ids)) + "\n")
        cls.reference = Counterfactual(DEMO, ids)
        config = cls.reference.model.config
        cls.heads = [(layer, head) for layer in range(config.layers) for head in range(config.heads)]

    def compare(self, *options: str) -> dict:
        few = ("--lengths", ",".join(map(str, LENGTHS)), "--measures", "weights", "--quiet", "--force")
        headgauge("compare", DEMO, "--tokens", self.ids, *few, "--out", self.folder / "out", *options)
        return validate(self.folder / "out/results.json")

    def near(self, found: float, expected: float, tolerance: float, what: str) -> None:
        self.assertLessEqual(abs(found - expected), tolerance * max(1.0, abs(expected)), what)

    def check_losses(self, cell: dict, interventions: dict, what: str) -> None:
        """`cell` has values and standard errors by length of loss, loss_change, kl and same_token."""
        outcome = self.reference.under(interventions)
        original = self.reference.trace.next_token_loss
        self.check_gaps(cell, outcome.losses, "loss_by_gap", what)
        self.check_gaps(cell, outcome.losses - original, "loss_change_by_gap", what)
        for place, length in enumerate(LENGTHS):
            for name, values, rows, tolerance in (
                ("loss", outcome.losses, length - 1, LOSS),
                ("loss_change", outcome.losses - original, length - 1, LOSS),
                ("kl", outcome.divergence, length, DIVERGENCE),
                ("same_token", outcome.same_token, length - 1, LOSS),
            ):
                mean, error = mean_up_to(values, rows)
                label = f"{what}: {name} at {length}"
                self.near(cell[name][0][place], mean, tolerance, label)
                if np.isnan(error):
                    self.assertIsNone(cell[name][1][place], label)
                else:
                    self.near(cell[name][1][place], error, tolerance, label)

    def check_gaps(self, cell: dict, values: np.ndarray, name: str, what: str) -> None:
        expected = loss_by_gap([values], [self.tokens])
        self.assertEqual(len(cell[name][0]), len(expected.values), what)
        for part, numbers in zip(cell[name], (expected.values, expected.stderr), strict=True):
            for place, number in enumerate(numbers):
                if np.isnan(number):
                    self.assertIsNone(part[place], f"{what}: {name}, octave {place}")
                else:
                    self.near(part[place], number, LOSS, f"{what}: {name}, octave {place}")

    def check_outputs(self, results: dict, index: int, intervention: Intervention, what: str) -> None:
        layers = range(self.reference.model.config.layers)
        changes = [self.reference.output_changes(layer, intervention) for layer in layers]
        for layer, head in self.heads:
            for place, length in enumerate(LENGTHS):
                found = results["metrics"]["output_change"]["values"][layer][head][index][place]
                expected = float(np.nanmean(changes[layer][head, :length]))
                label = f"{what}: output_change of {layer}.{head} at {length}"
                self.near(found, expected, OUTPUT, label)

    @staticmethod
    def cell(results: dict, *at: int) -> dict:
        def of(part: list) -> list:
            for index in at:
                part = part[index]
            return part

        def of_text(name: str, key: str) -> list:
            metric = results["metrics"][name]
            found = of(metric[key])
            return found[0] if "outcome" in metric["dims"] else found

        return {
            name: (of_text(name, "values"), of_text(name, "stderr"))
            for name in ("loss", "loss_change", "kl", "same_token", "loss_by_gap", "loss_change_by_gap")
        }

    def test_all_heads_at_once(self) -> None:
        results = self.compare("--normalizer", ",".join(SPECS))
        for place, spec in enumerate(SPECS):
            intervention = Intervention(normalizer=make_normalizer(spec))
            with self.subTest(spec):
                changed = dict.fromkeys(self.heads, intervention)
                self.check_losses(self.cell(results, place + 1), changed, spec)
                self.check_outputs(results, place + 1, intervention, spec)

    def test_one_head_at_a_time(self) -> None:
        normalizers = ["ssmax:s=0.6", "sparsemax"]
        few = ("--each", "head", "--heads", "1.3,1.5,4.*")
        results = self.compare("--normalizer", ",".join(normalizers), *few)
        chosen = [(1, 3), (1, 5), *(at for at in self.heads if at[0] == 4)]
        for layer, head in chosen:
            for place, spec in enumerate(normalizers):
                changed = {(layer, head): Intervention(normalizer=make_normalizer(spec))}
                cell = self.cell(results, layer, head, place + 1)
                self.check_losses(cell, changed, f"{spec} in {layer}.{head}")
        for layer, head in set(self.heads) - set(chosen):
            self.assertEqual(self.cell(results, layer, head, 1)["kl"][0], [None, None])

    def test_a_pattern(self) -> None:
        window, sinks = 24, 3

        def kept(t: int) -> np.ndarray:
            position = np.arange(t)
            return (position < sinks) | (position > t - 1 - window)

        results = self.compare("--pattern", f"sinks:sinks={sinks},window={window}")
        intervention = Intervention(mask=kept)
        outcome = self.reference.under(dict.fromkeys(self.heads, intervention))
        change = outcome.losses - self.reference.trace.next_token_loss
        lost = self.reference.losing_keys(0, intervention)[0].astype(bool)
        for place, length in enumerate(LENGTHS):
            rise, rows = (
                results["metrics"]["loss_change_lost_keys"][part][1][place] for part in ("values", "rows")
            )
            of_lost = change[: length - 1][lost[: length - 1]]
            self.assertEqual(rows, len(of_lost))
            if len(of_lost) > 0:
                self.near(rise, float(of_lost.mean()), LOSS, f"loss_change_lost_keys at {length}")
        self.check_losses(self.cell(results, 1), dict.fromkeys(self.heads, intervention), "sinks")
        self.check_outputs(results, 1, intervention, "sinks")
        layers = range(self.reference.model.config.layers)
        kept_mass = [self.reference.kept_masses(layer, intervention) for layer in layers]
        losing = self.reference.losing_keys(0, intervention)
        for layer, head in self.heads:
            for place, length in enumerate(LENGTHS):
                for name, rows, tolerance in (
                    ("kept_mass", kept_mass[layer][head], 1e-5),
                    ("queries_losing_keys", losing[head], 1e-12),
                ):
                    found = results["metrics"][name]["values"][layer][head][1][place]
                    self.near(found, float(rows[:length].mean()), tolerance, name)
