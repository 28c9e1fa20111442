"""A whole scan of a small model: against plain loops, and the comparison finding what is wrong."""

import copy
import itertools
import json
import math
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.golden.catalogue.gpt2 import Gpt2
from tests.places import ROOT
from tests.reference import brute
from tests.reference.catalogue import ELSEWHERE, FILES, GROUPS, METRICS, expected_metrics
from tests.reference.compare import compare
from tests.reference.geometry import on_unit_sphere
from tests.reference.oracle import Oracle
from tests.reference.results_io import scanned_heads, write_results
from tests.reference.rows import softmax
from tests.reference.safetensors_io import write_file
from tests.reference.settings import Metric, Settings
from tests.reference.sources import Document, dump_document, model_documents

LENGTHS, TOP_N = [8, 16], [1, 3]
SMALL = Gpt2("small", "", width=8, vocab=13, positions=32)
TEXTS = [[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3], [2, 7, 1, 8, 2, 8, 1, 8, 2]]


def settings_for(documents: list[Document], **changes: Any) -> Settings:
    heads = [(layer, h) for layer in documents[0].layers for h in range(documents[0].heads)]
    values: dict[str, Any] = {
        "lengths": LENGTHS,
        "top_n": TOP_N,
        "temperatures": [0.1, 1.0],
        "epsilons": [1e-3, 10.0],
        "groups": list(GROUPS),
        "seed": 5,
        "heads": heads,
        **changes,
    }
    return Settings(**values)


class Scan(unittest.TestCase):
    folder: Path
    documents: list[Document]
    settings: Settings
    metrics: dict[str, Metric]
    results: dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        SMALL.write(cls.folder)
        cls.documents = model_documents(cls.folder, TEXTS, 16, "embedding")
        cls.settings = settings_for(cls.documents)
        oracle = Oracle(cls.documents, cls.settings)
        cls.metrics = oracle.run()
        written = write_results(cls.metrics, cls.settings, oracle.edges)
        cls.results = json.loads(json.dumps(written))

    def rows(self, length: int) -> list[tuple[int, int]]:
        """(document, t) of the rows that count for a length."""
        return [(d, t) for d, text in enumerate(TEXTS) if len(text) >= length for t in range(1, length + 1)]

    def row(self, layer: int, head: int, document: int, t: int) -> tuple[npt.NDArray[Any], ...]:
        trace = self.documents[document].traces[layer]  # type: ignore[attr-defined]
        q, k = trace.queries[head], trace.keys[head]
        logits = np.array([float(q[t - 1] @ k[j]) / 2.0 for j in range(t)])
        embedding = self.documents[document].embedding.x[:t]  # type: ignore[attr-defined]
        return logits, softmax(logits), embedding

    def mean(self, values: list[float]) -> float:
        return sum(values) / len(values)

    def test_means_by_length(self) -> None:
        for layer, head in self.settings.heads:
            for i, length in enumerate(LENGTHS):
                seen = [self.row(layer, head, *where) for where in self.rows(length)]
                found = self.metrics["entropy_with_sinks"].values[layer, head, i]
                expected = self.mean([float(-(a * np.log(a)).sum()) for _, a, _ in seen])
                self.assertAlmostEqual(found, expected)
                for j, size in enumerate(TOP_N):
                    fit = [(a, x, brute.top_set(z, size)) for z, a, x in seen if len(a) > size]
                    expected = self.mean([brute.distance(*row) for row in fit])
                    self.assertAlmostEqual(self.metrics["distance"].values[layer, head, i, j], expected)
                    separable = [brute.separability(a, on_unit_sphere(x), chosen) for a, x, chosen in fit]
                    expected = self.mean([row["separability_with_sinks"] for row in separable])
                    self.assertAlmostEqual(
                        self.metrics["separability_with_sinks"].values[layer, head, i, j], expected
                    )
                    count = self.metrics["separability_with_sinks"].rows
                    assert count is not None
                    self.assertEqual(count[layer, head, i, j], len(fit))

    def test_pairs_of_one_token(self) -> None:
        """No key is judged a sink in so short a text."""
        found = self.metrics["equal_key_pairs"]
        assert found.rows is not None
        for place, length in enumerate(LENGTHS):
            shares = []
            for document, t in self.rows(length):
                pairs = list(itertools.combinations(TEXTS[document][:t], 2))
                if pairs:
                    shares.append(sum(one == other for one, other in pairs) / len(pairs))
            self.assertAlmostEqual(found.values[1, 0, place], self.mean(shares))
            self.assertEqual(found.rows[1, 0, place], len(shares))

    def test_bins_by_position(self) -> None:
        found = self.metrics["max_weight_with_sinks_by_position"].values[1, 0]
        lower = 0
        for place, upper in enumerate([1, 2, 4, 8, 16]):
            values = [
                self.row(1, 0, d, t)[1].max()
                for d, text in enumerate(TEXTS)
                if len(text) >= upper
                for t in range(lower + 1, upper + 1)
            ]
            self.assertAlmostEqual(found[place], self.mean(values))
            lower = upper

    def test_sensitivity_stays_in_its_envelope(self) -> None:
        g, bound = self.metrics["sensitivity"].values, self.metrics["sensitivity_bound"].values
        self.assertTrue((g <= bound * (1.0 + 1e-12)).all())
        np.testing.assert_array_equal(self.metrics["sensitivity_max"].values, g.max(axis=(0, 1)))

    def test_union_of_heads(self) -> None:
        size, shares = 3, self.metrics["separability_with_sinks"].values[0, :, 1, 1]
        separable_of, hoped_of = [], []
        for document, t in self.rows(16):
            if t <= size:
                continue
            union: set[int] = set()
            separable: set[int] = set()
            missed: dict[int, float] = {}
            for head in range(2):
                logits, a, x = self.row(0, head, document, t)
                u = on_unit_sphere(x)
                chosen = brute.top_set(logits, size)
                r, inside = brute.radius(a, u, chosen), brute.selected_distances(a, u, chosen)
                union |= set(chosen)
                separable |= {i for i, q in zip(chosen, inside, strict=True) if q < r}
                for i in chosen:
                    missed[i] = missed.get(i, 1.0) * (1.0 - shares[head])
            separable_of.append(len(separable) / len(union))
            hoped_of.append(self.mean([1.0 - missed[i] for i in union]))
        found = self.metrics["union_coverage"].values[0, 1, 1]
        self.assertAlmostEqual(found, self.mean(separable_of))
        found = self.metrics["union_coverage_independent"].values[0, 1, 1]
        self.assertAlmostEqual(found, self.mean(hoped_of))
        paper = 1.0 - (1.0 - shares.mean()) ** 2
        self.assertAlmostEqual(self.metrics["union_coverage_paper"].values[0, 1, 1], paper)

    def test_overlap_of_heads(self) -> None:
        shares = []
        for document, t in self.rows(16):
            if t <= 10:
                continue
            chosen = []
            for head in range(2):
                _, a, _ = self.row(0, head, document, t)
                limit = sorted(a, reverse=True)[10] * 1.0001
                chosen.append({j for j in range(t) if a[j] > limit})
            both, either = chosen[0] & chosen[1], chosen[0] | chosen[1]
            shares.append(len(both) / len(either) if either else 0.0)
        self.assertEqual(len(shares), 6)
        found = self.metrics["top_overlap"].values[0]
        self.assertAlmostEqual(found[0], self.mean(shares))
        self.assertEqual(found[0], found[1])
        self.assertEqual(self.metrics["top_overlap_partner"].values.tolist(), [[1, 0], [1, 0]])

    def test_step_between_the_two_best_keys(self) -> None:
        gains = []
        for document, t in self.rows(16):
            logits, a, _ = self.row(1, 0, document, t)
            if t < 2:
                continue
            best, second = np.argsort(-logits)[:2]
            moved = logits.copy()
            moved[best] += 1e-3 * math.sqrt(0.5)
            moved[second] -= 1e-3 * math.sqrt(0.5)
            gains.append(float(np.linalg.norm(softmax(moved) - a)) / 1e-3)
        self.assertAlmostEqual(self.metrics["sensitivity_top2"].values[1, 0], self.mean(gains))

    def test_log_ratios_of_a_head(self) -> None:
        """Every N up to min(L - 1, critical-max), with the error of the linear part of the ratio."""
        oracle = Oracle(self.documents, self.settings)
        rows = oracle.head_rows(0, 1, [d.points(0, 1) for d in self.documents])
        distance = rows.values["distance_prefixes"]
        context = rows.values["context_prefixes"]
        for most, tried in ((128, 15), (2, 2)):
            oracle.settings = settings_for(self.documents, critical_max=most)
            _, prefixes = oracle.head_cells(rows)
            reach = [len(at_length.ratios.log_ratio) for at_length in prefixes]
            self.assertEqual(reach, [min(7, tried), tried])
        whole = oracle.index.up_to(self.settings.longest)
        chosen = whole & ~np.isnan(distance[:, 0])
        expected = math.log(distance[chosen, 0].mean() / context[chosen, 0].mean())
        self.assertAlmostEqual(float(prefixes[-1].ratios.log_ratio[0]), expected)

    def test_loss(self) -> None:
        losses = [d.next_token_loss for d in self.documents]
        joined = np.concatenate([losses[0][:7], losses[1][:7]])  # type: ignore[index]
        self.assertAlmostEqual(self.metrics["loss"].values[0, 0], joined.mean())
        rows = self.metrics["loss"].rows
        assert rows is not None
        self.assertEqual(rows.tolist(), [[14, 15]])

    def failures(self, results: dict[str, Any]) -> list[str]:
        checks = compare(results, model=self.folder, texts=TEXTS)
        return [check.name for check in checks if check.failures]

    def test_agrees_with_itself(self) -> None:
        self.assertEqual(self.failures(self.results), [])
        names = expected_metrics(list(GROUPS), points=True, loss=True)
        self.assertEqual(set(names), set(self.metrics))

    def test_every_declared_metric_is_known(self) -> None:
        """The reference computes a metric unless another test holds it to its definition."""
        for name in METRICS:
            if ELSEWHERE.keys() & {name, METRICS[name]["group"]}:
                continue
            self.assertIn(name, self.metrics)
        for place in ELSEWHERE.values():
            self.assertTrue((ROOT / place).exists(), place)
        self.assertEqual(ELSEWHERE.keys() - METRICS.keys() - {f["group"] for f in FILES}, set())

    def test_finds_what_is_wrong(self) -> None:
        wrong = copy.deepcopy(self.results)
        metrics = wrong["metrics"]
        metrics["entropy_with_sinks"]["values"][0][1][1] += 1e-3
        metrics["max_weight_with_sinks"]["stderr"] = copy.deepcopy(metrics["max_weight_with_sinks"]["values"])
        metrics["distance"]["rows"][1][0][0][0] += 1
        metrics["separability_with_sinks"]["values"][0][0][0][0] = None
        metrics["jacobian_bound"]["dims"] = ["head", "layer", "length"]
        metrics["critical_n"]["values"][0] += 1
        metrics["visible_keys"]["values"][1][1][0] += 1
        metrics["weight_bound_use"]["values"][0][0][1] += 1e-3
        metrics["separability_excess_distinct"]["values"][0][1][1][0] += 0.02
        metrics["equal_key_pairs"]["values"][1][0][0] += 1e-6
        metrics["sensitivity_top2"]["values"][0][1] *= 1.01
        metrics["top_overlap"]["values"][1][0] += 0.01
        metrics["top_overlap_partner"]["values"][1][0] = 0
        del metrics["mass_90_with_sinks_by_position"]
        metrics["critical_ks_d"]["p"][1] += 0.01
        metrics["closest_n"]["low"][0] = 1
        metrics["closest_ratio"]["p"] = metrics["closest_ratio"]["values"]
        del metrics["effective_tokens_forecast_with_sinks"]["high"]
        expected = (
            "entropy_with_sinks max_weight_with_sinks distance separability_with_sinks jacobian_bound critical_n mass_90_with_sinks_by_position "
            "visible_keys weight_bound_use separability_excess_distinct equal_key_pairs sensitivity_top2 "
            "top_overlap top_overlap_partner critical_ks_d closest_n closest_ratio "
            "effective_tokens_forecast_with_sinks"
        )
        self.assertEqual(set(self.failures(wrong)), set(expected.split()))

    def test_other_settings(self) -> None:
        for changes in (
            {"x": "hidden"},
            {"x": "value", "heads": [(1, 0), (0, 1)], "critical_max": 2, "unit_sphere": False},
        ):
            documents = model_documents(
                self.folder, TEXTS, 16, str(changes["x"]), bool(changes.get("unit_sphere", True))
            )
            settings = settings_for(documents, **changes)
            oracle = Oracle(documents, settings)
            results = write_results(oracle.run(), settings, oracle.edges)
            results["settings"]["heads"] = [f"{i}.{j}" for i, j in settings.heads]
            self.assertEqual(self.failures(json.loads(json.dumps(results))), [])

    def test_choice_of_heads(self) -> None:
        results = {"coords": {"layer": [3, 7], "head": [0, 1, 5]}, "settings": {"heads": "3.5,7.*"}}
        self.assertEqual(scanned_heads(results), [(3, 5), (7, 0), (7, 1), (7, 5)])

    def of_dump(self, results: dict[str, Any], dump: Path) -> list[Any]:
        checks = compare(json.loads(json.dumps(results)), dump=dump)
        self.assertEqual([check.name for check in checks if check.failures], [])
        return checks

    def test_dump_of_the_same_heads(self) -> None:
        """A dump of a model's q, k and embedding gives the model's own numbers."""
        trace = self.documents[0].traces  # type: ignore[attr-defined]
        tensors = {"x": self.documents[0].embedding.x}  # type: ignore[attr-defined]
        for layer, heads in enumerate(trace):
            tensors[f"layers.{layer}.q"] = heads.queries
            tensors[f"layers.{layer}.k"] = heads.keys
        dump = self.folder / "dump.safetensors"
        write_file(dump, tensors, {"format": "headgauge.dump/1", "causal": "true"})
        untold = replace(self.documents[0], tokens=None)  # a dump has no token ids
        oracle = Oracle([untold], self.settings)
        metrics = oracle.run()
        del metrics["loss"]
        checks = self.of_dump(write_results(metrics, self.settings, oracle.edges), dump)
        self.assertTrue(all(check.share < 1e-6 for check in checks if not math.isnan(check.share)))

    def test_dump_of_scores(self) -> None:
        """Without points, what needs them is absent and not asked for."""
        scores = np.random.default_rng(1).normal(size=(2, 16, 16))
        dump = self.folder / "scores.safetensors"
        write_file(dump, {"layers.0.scores": scores}, {"format": "headgauge.dump/1"})
        documents = [dump_document(dump, 16, "embedding")]
        settings = settings_for(documents)
        oracle = Oracle(documents, settings)
        results = write_results(oracle.run(), settings, oracle.edges)
        self.assertNotIn("distance", results["metrics"])
        self.of_dump(results, dump)
