"""examples/training: tables of logs, and that the page and its notes have the numbers of the kept ones."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
from test_live import ROOT
from test_training import FOLDER, program

sys.path.insert(0, str(FOLDER))
import forecast_tables
import logs
import tables


class Tables(unittest.TestCase):
    """Of logs that are made up."""

    @staticmethod
    def log(rule: str, rate: float, seed: int, right: float | None, choice: float) -> dict[str, Any]:
        log: dict[str, Any] = {
            "data": "tasks", "rule": rule, "rate": rate, "seed": seed, "warnings": [], "curve": [[0, 6.0, 1.0]],
            "largest_gradient": 3.0, "largest_jacobian": 0.5,
        }  # fmt: skip
        if right is None:
            return {**log, "failed": 7}
        test = {at: {"copy": {"loss": 1.0, "right": right}} for at in logs.TIMES}
        heads = {"jacobian_spectral": [[9.0, 9.0], [0.2, 0.4]], "scale": [[9.0, 9.0], [2.0, 3.0]]}
        series = {
            name: {"change": [[-0.1, 0.2], [0.3, None]], "change_p": [[0.01, 0.2], [0.01, None]],
                   "half_step": [[10, 20], [30, None]]}
            for name in ("weight_induction_with_sinks", "weight_previous_with_sinks", "sink_weight")
        }  # fmt: skip
        return {**log, "test": test, "choice": choice, "heads": heads, "series": series}

    def logs(self, *runs: tuple[str, float, int, float | None, float]) -> Any:
        return logs.Logs([self.log(*run) for run in runs], "tasks")

    def test_the_rate_is_chosen_on_other_texts_and_failures_are_said(self) -> None:
        made = self.logs(
            ("softmax", 1e-3, 0, 0.9, 2.0),
            ("softmax", 2e-3, 0, 0.5, 1.0),
            ("softmax", 4e-3, 0, None, 0.0),
            ("softmax", 2e-3, 1, 0.7, 1.0),
            ("softmax", 2e-3, 2, None, 0.0),
        )
        self.assertIn("| `softmax` | 0.60 ± 0.10 (2 of 3) |", tables.tests_table(made, "right"))
        self.assertIn("| 1.00 | 1.00, 1.00, failed | failed |", tables.rates_table(made))
        self.assertIn("| 5 | 2 | 1 | 3 |", tables.runs_table(made))
        self.assertIn("| `softmax` | 0.90 | 0.50 | failed |", tables.same_rate_table(made))

    def test_the_jacobian_has_the_learned_scale_and_heads_form_where_it_is_shown(self) -> None:
        made = self.logs(("ssmax", 1e-3, 0, 0.9, 2.0))
        self.assertAlmostEqual(tables.of_heads(made.runs[0], "jacobian_spectral"), (0.2 * 2 + 0.4 * 3) / 2)
        self.assertIn("| `ssmax` | 1.0 | +0.30, half by 30 to 30 |", tables.forming_table(made))

    def test_differences_are_paired_by_seed_and_adjusted_for_their_number(self) -> None:
        made = logs.Logs(
            [
                self.log(rule, 1e-3, seed, right, 1.0)
                for rule, of_seeds in {
                    "softmax": (0.5, 0.6, 0.7), "logn": (0.6, 0.72, 0.81), "entmax": (0.6, 0.8, 1.0), "ssmax": (0.9, 0.9),
                }.items()
                for seed, right in enumerate(of_seeds)
            ],
            "tasks",
        )  # fmt: skip
        # scipy.stats.ttest_rel of three seeds: p .00274 and .0742; two seeds have none.
        rows = {
            row.split(" | ")[0]: row.split(" | ")[3:]
            for row in tables.pairs_table(made, "softmax").splitlines()[2:]
        }
        self.assertEqual(rows["| `logn`"], ["0.11 ± 0.01", "0.11 ± 0.01", "0.008", "0.008 |"])
        self.assertEqual(rows["| `entmax`"][2:], ["0.148", "0.148 |"])
        self.assertEqual(rows["| `ssmax`"], ["0.35 ± 0.05", "0.35 ± 0.05", "-", "- |"])
        self.assertEqual(logs.holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
        # scipy.stats.ttest_1samp
        found = logs.p_of_mean([0.1, 0.12, 0.11, 0.2, 0.05, 0.14])
        self.assertAlmostEqual(found, 0.0019156365970127598, places=7)
        self.assertAlmostEqual(logs.p_of_mean([1.0, -0.5, 0.25, 0.125]), 0.5285171863688882, places=7)
        self.assertEqual(logs.p_of_mean([0.0, 0.0, 0.0]), 1.0)
        self.assertTrue(np.isnan(logs.p_of_mean([0.1, 0.2])))
        # scipy.stats.fisher_exact
        self.assertAlmostEqual(logs.p_of_counts((1, 5), (5, 5)), 0.04761904761904762)
        self.assertAlmostEqual(logs.p_of_counts((2, 7), (6, 8)), 0.13193473193473195)
        self.assertEqual(logs.p_of_counts((3, 3), (5, 5)), 1.0)

    def test_seeds_that_do_not_learn_are_counted_and_left_out(self) -> None:
        made = self.logs(
            ("softmax", 1e-3, 0, 0.9, 1.0),
            ("softmax", 1e-3, 1, 0.1, 4.0),
            ("softmax", 5e-4, 1, 0.2, 3.5),
            ("softmax", 1e-3, 2, 0.1, 4.0),
            ("softmax", 2e-3, 2, 0.7, 1.0),
            ("logn", 1e-3, 0, None, 0.0),
        )
        found = tables.learnt_table(made).splitlines()[2:]
        self.assertEqual(found[0], "| `softmax` | 2 of 3 | - |" + " 0.80 ± 0.10 |" * 5)
        self.assertEqual(found[1], "| `logn` | 0 of 1 | 1.000 |" + " - |" * 5)

    def test_answers_without_training_are_paired_by_seed(self) -> None:
        right = {"softmax": (0.5, 0.6, 0.7), "logn": (0.6, 0.72, 0.81), "entmax": (0.6, 0.8, 1.0)}
        said = [
            {
                "data": "fresh", "forecast": f"fresh-softmax-0.001-{seed}", "seed": seed,
                "rules": {rule: {"right_1": 0.9, "right_8": of[seed]} for rule, of in right.items()},
            }
            for seed in range(3)
        ]  # fmt: skip
        runs = [{**self.log(rule, 1e-3, 0, 0.9, 1.0), "data": "fresh"} for rule in ("softmax", "ssmax")]
        made = tables.tables_of(logs.Logs([*runs, *said], "fresh"))
        # scipy.stats.ttest_rel: p .00274 and .0742, adjusted for two.
        self.assertEqual(made["untrained"].splitlines()[2:], [
            "| `softmax` | 0.900 ± 0.000 | 0.600 ± 0.058 | - | - |",
            "| `logn` | 0.900 ± 0.000 | 0.710 ± 0.061 | 0.110 ± 0.006 | 0.005 |",
            "| `entmax` | 0.900 ± 0.000 | 0.800 ± 0.115 | 0.200 ± 0.058 | 0.074 |",
        ])  # fmt: skip
        self.assertNotIn("forecast", made)  # nothing is foretold of ssmax
        self.assertNotIn("untrained", tables.tables_of(logs.Logs(runs, "fresh")))

    def test_a_forecast_is_compared_by_ranks(self) -> None:
        rules = ("softmax", "ssmax", "entmax", "sparsemax", "logn")
        runs = [self.log(rule, 1e-3, 0, 0.1 * place, 1.0) for place, rule in enumerate(rules)]
        keys = ("loss_change_1", "loss_change_8", "right_1", "right_8", "entropy_1", "entropy_8", "kept_8")
        said = {rule: dict.fromkeys(keys, float(place)) for place, rule in enumerate(rules)}
        forecast = {"data": "tasks", "forecast": "tasks-softmax-0.001-0", "seed": 0, "rules": said}
        found = forecast_tables.forecast_table(logs.Logs([*runs, forecast], "tasks"))
        # Of 24 orders of four rules 2 have the correlation 1 or -1.
        cell = r"\+1.00 \(\+1.00\), p (0.08\d), adjusted 0.[45]\d\d"
        self.assertRegex(found, rf"most right at 8 x \| {cell} \| {cell} \| {cell} \|")
        self.assertRegex(found, r"answers lose least at 8 x \| -1.00 \(-1.00\), p 0.08\d")
        flat = {**forecast, "rules": {rule: {**of, "right_8": 1.0} for rule, of in said.items()}}
        found = forecast_tables.forecast_table(logs.Logs([*runs, flat], "tasks"))
        self.assertIn("| most right at 8 x | - | - | - |", found)
        foreseen = forecast_tables.foreseen_table(logs.Logs([*runs, forecast], "tasks")).splitlines()[2:]
        self.assertEqual(foreseen[0], "| `logn` | 4.00 | 4.00 | 4.00 | 0.40 | 0.40 |")
        self.assertEqual(foreseen[-1], "| `softmax` | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 |")

    def test_warnings_are_counted_by_whether_the_run_learnt(self) -> None:
        runs = [self.log("softmax", 1e-3, seed, 0.9, choice) for seed, choice in enumerate((2.0, 2.0, 4.0))]
        runs[0]["warnings"] = [
            "step 70: logit growth began in head 1.2: x",
            "step 9: logit growth began in head 0.2: x",
            "step 80: logit growth began in head 0.2: x",
        ]
        runs[2]["warnings"] = [
            "step 30: entropy collapse began in head 1.2: x",
            "step 20: logit growth began in head 1.1: x",
        ]
        rows = tables.warnings_table(logs.Logs(runs, "tasks")).splitlines()[2:]
        self.assertEqual(rows, [
            "| entropy collapse | 0 of 2 | 1 of 1, from step 30 to 30 on |",
            "| logit growth | 1 of 2, from step 9 to 9 on | 1 of 1, from step 20 to 20 on |",
        ])  # fmt: skip

    def test_rules_that_keep_a_weight_are_set_against_the_others(self) -> None:
        right = {
            "softmax": (0.5, 0.6, 0.7),
            "softmax1": (0.5, 0.6, 0.7),
            "logn": (0.6, 0.72, 0.81),
            "sigmoid": (0.1, 0.1, 0.1),
        }
        runs = [
            self.log(rule, 1e-3, seed, value, 4.0 if rule == "sigmoid" else 1.0)
            for rule, values in right.items()
            for seed, value in enumerate(values)
        ]
        said = {"softmax": 0.2, "softmax1": 0.2, "logn": 0.8, "sigmoid": 0.2}
        rules = {rule: {"kept_8": kept} for rule, kept in said.items()}
        made = logs.Logs([*runs, {"data": "tasks", "forecast": "x", "seed": 0, "rules": rules}], "tasks")
        head, _, row = forecast_tables.contrast_table(made).splitlines()
        self.assertIn("| keep less `softmax`, `softmax1` |", head)
        self.assertEqual(row, "| 1 rules |" + " 0.11 ± 0.01 |" * 5 + " 0.0027 |")

    def test_variants_have_the_rate_of_their_rule(self) -> None:
        made = self.logs(
            ("entmax-logn", 1e-3, 0, 0.9, 2.0),
            ("entmax-logn", 2e-3, 0, 0.5, 1.0),
            ("entmax-logn:s=1", 2e-3, 0, 0.7, 0.5),
        )
        self.assertEqual(made.rules, ["entmax-logn"])
        rows = tables.variants_table(made).splitlines()[2:]
        self.assertEqual([row.split(" | ")[:2] for row in rows], [
            ["| `entmax-logn`", "0.50"], ["| `entmax-logn:s=1`", "0.70"],
        ])  # fmt: skip


class Page(unittest.TestCase):
    def test_has_the_numbers_of_the_kept_logs(self) -> None:
        pages = list((ROOT / "docs/notes").glob("*-training-*.md"))
        written = "".join(page.read_text("utf-8") for page in pages)
        self.assertEqual(written.count("<!-- training: "), 26)
        with tempfile.TemporaryDirectory() as folder:
            copies = [Path(shutil.copy(page, folder)) for page in pages]
            program(FOLDER / "tables.py", "--page", *copies)
            self.assertEqual("".join(copy.read_text("utf-8") for copy in copies), written)

    def test_ranks_and_errors(self) -> None:
        a, b = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 5.0, 2.0, 3.0])
        np.testing.assert_array_equal(logs.ranks(a), [3, 0, 1.5, 1.5])
        # Spearman's rho of scipy.
        self.assertAlmostEqual(logs.rank_correlation(a, b), -0.9486832980505138)
        self.assertTrue(np.isnan(logs.rank_correlation(a, np.array([1.0, 5.0, 2.0, np.nan]))))
        self.assertTrue(np.isnan(logs.p_of_ranks([(a, b), (a, np.ones(4))])))
        self.assertEqual([logs.shown_p(p) for p in (0.0004, 0.0006, float("nan"))], ["< 0.001", "0.001", "-"])
        self.assertEqual(logs.shown([1.0, 2.0, 3.0]), "2.00 ± 0.58")
