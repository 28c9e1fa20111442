"""Examples of a scan against the reference: which queries are kept, their keys and the weights."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np

from tests.agreement.program import DEMO, headgauge, token_ids
from tests.places import DATA
from tests.reference.examples import SHARE, HeadWeights, examples_of_head
from tests.reference.normalizers import make_normalizer, softmax
from tests.reference.sources import Document, model_documents
from tests.results.schema import validate

# The program computes in float32: two rows, or two keys, as near as that may change places.
TOLERANCE = 2e-4
COUNT = 6


class Examples(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="headgauge-examples-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def scanned(self, model: Path, texts: list[list[int]], length: int, *options: str) -> Any:
        paths = []
        for number, ids in enumerate(texts):
            paths.append(self.folder / f"{number}.ids")
            paths[-1].write_text(" ".join(map(str, ids)))
        asked = ["--lengths", str(length), "--measures", "weights", "--examples", str(COUNT)]
        out = ("--out", self.folder, "--force", "--quiet")
        headgauge("scan", model, "--tokens", *paths, *asked, *options, *out)
        return validate(self.folder / "results.json")

    def weights_of(
        self, document: Document, layer: int, head: int, *, window: int = 0, normalizer: str = ""
    ) -> HeadWeights:
        logits = document.logits(layer, head)
        query, key = np.indices(logits.shape)
        causal = key <= query
        original = np.asarray(softmax(np.where(causal, logits, -np.inf)))
        if window > 0:
            seen = causal & (query - key < window)
            weights = np.asarray(softmax(np.where(seen, logits, -np.inf)))
            return HeadWeights(weights, seen, original)
        if normalizer:
            rule, weights = make_normalizer(normalizer), np.zeros_like(logits)
            for t in range(len(logits)):
                weights[t, : t + 1] = rule.weigh(logits[t : t + 1, : t + 1], t + 1, t + 1)[0]
            return HeadWeights(weights, causal, original)
        return HeadWeights(original, causal)

    def compare(self, results: Any, documents: list[Document], length: int, **changed: Any) -> None:
        seen = 0
        for layer in results["coords"]["layer"]:
            for head in results["coords"]["head"]:
                found = [e for e in results["examples"] if (e["layer"], e["head"]) == (layer, head)]
                heads = [self.weights_of(d, layer, head, **changed) for d in documents]
                expected = examples_of_head(heads, COUNT, length)
                with self.subTest(layer=layer, head=head):
                    self.compare_head(found, expected, heads, length)
                seen += len(found)
        self.assertGreater(seen, 0)
        self.assertEqual(seen, len(results["examples"]))

    def compare_head(self, found: Any, expected: Any, heads: list[HeadWeights], length: int) -> None:
        self.assertEqual([e["why"] for e in found], [kept.why for kept in expected])
        values = [head.values(length) for head in heads]
        for example, kept in zip(found, expected, strict=True):
            # As good as the best there is, and the very one but for rounding.
            own = values[example["document"]][example["why"]][example["query"]]
            self.assertAlmostEqual(own, example["value"], delta=TOLERANCE)
            self.assertAlmostEqual(kept.value, example["value"], delta=TOLERANCE)
            self.compare_keys(example, heads[example["document"]])

    def compare_keys(self, example: Any, head: HeadWeights) -> None:
        query, keys = example["query"], example["keys"]
        np.testing.assert_allclose(example["weights"], head.weights[query, keys], atol=TOLERANCE)
        share = head.shares()[query]
        self.assertAlmostEqual(share[keys].sum(), example["covered"], delta=TOLERANCE)
        larger = share
        self.assertEqual("originals" in example, head.original is not None)
        if head.original is not None:
            originals = head.original[query, keys]
            np.testing.assert_allclose(example["originals"], originals, atol=TOLERANCE)
            larger = np.maximum(share, head.original_shares()[query])
        self.assertEqual(example["others"], head.others(query, keys))
        heaviest = head.heaviest(query)
        most = min(len(keys), len(heaviest))
        np.testing.assert_allclose(larger[keys[:most]], larger[heaviest[:most]], atol=TOLERANCE)
        if len(keys) != len(heaviest):
            # One key fewer holds the share here but for rounding.
            self.assertTrue(self.at_the_edge(head, query))

    def at_the_edge(self, head: HeadWeights, query: int) -> bool:
        shares = [head.shares()[query]]
        if head.original is not None:
            shares.append(head.original_shares()[query])
        held = [np.cumsum(np.sort(share)[::-1]) for share in shares]
        return any(bool((np.abs(sums - SHARE) < TOLERANCE).any()) for sums in held)

    def test_demo_model(self) -> None:
        ids = token_ids(DEMO)
        texts = [ids[:256], ids[300:500]]
        results = self.scanned(DEMO, texts, 200)
        self.compare(results, model_documents(DEMO, texts, 200, "embedding"), 200)
        self.assertEqual({e["document"] for e in results["examples"]}, {0, 1})
        self.assertEqual({e["why"] for e in results["examples"]}, {"far", "near", "spread"})

    def test_the_queries_are_the_same_where_nothing_is_near(self) -> None:
        """Of heads whose rows differ by more than rounding the very queries and keys agree."""
        texts = [token_ids(DEMO)[:256]]
        results = self.scanned(DEMO, texts, 256)
        document = model_documents(DEMO, texts, 256, "embedding")[0]
        same = total = 0
        for layer, head in {(e["layer"], e["head"]) for e in results["examples"]}:
            found = [e for e in results["examples"] if (e["layer"], e["head"]) == (layer, head)]
            weights = self.weights_of(document, layer, head)
            for example, kept in zip(found, examples_of_head([weights], COUNT, 256), strict=True):
                total += 1
                same += example["query"] == kept.query and example["keys"] == weights.heaviest(kept.query)
        self.assertGreater(same, 0.9 * total)

    def test_pattern(self) -> None:
        texts = [token_ids(DEMO)[:160]]
        results = self.scanned(DEMO, texts, 160, "--pattern", "window:size=24")
        self.compare(results, model_documents(DEMO, texts, 160, "embedding"), 160, window=24)
        self.assertIn("change", {e["why"] for e in results["examples"]})

    def test_normalizer(self) -> None:
        texts = [token_ids(DEMO)[:160]]
        results = self.scanned(DEMO, texts, 160, "--normalizer", "sparsemax")
        documents = model_documents(DEMO, texts, 160, "embedding")
        self.compare(results, documents, 160, normalizer="sparsemax")

    def test_plan(self) -> None:
        """Heads of the first layer under a plan, whose queries and keys are the model's own."""
        model = json.loads((self.plan(DEMO)).read_text())
        texts = [token_ids(DEMO)[:160]]
        results = self.scanned(DEMO, texts, 160, "--plan", str(self.folder / "plan.json"), "--layers", "0")
        documents = model_documents(DEMO, texts, 160, "embedding")
        self.assertEqual(len(model["heads"]), 36)
        for head, window in [(1, 24), (2, 0)]:
            found = [e for e in results["examples"] if e["head"] == head]
            weights = self.weights_of(documents[0], 0, head, window=window)
            self.compare_head(found, examples_of_head([weights], COUNT, 160), [weights], 160)
        changed = {e["head"] for e in results["examples"] if e["why"] == "change"}
        self.assertEqual(changed, {1})

    def plan(self, model: Path) -> Path:
        """A plan that gives head 0.1 a window and leaves the others as they are."""
        few = ("--lengths", 32, "--measures", "weights", "--quiet")
        headgauge("scan", model, "--tokens", self.ids(model), *few, "--out", self.folder)
        facts = json.loads((self.folder / "results.json").read_text())["model"]
        keys = ("config_sha256", "weights_sha256", "name", "layers", "heads", "kv_heads")
        heads = [{"layer": layer, "kv_head": head} for layer in range(6) for head in range(6)]
        heads[1]["pattern"] = "window:size=24"
        described = {key: facts[key] for key in keys}
        plan = {"schema": "headgauge.plan/1", "model": described, "context": 160, "heads": heads}
        path = self.folder / "plan.json"
        path.write_text(json.dumps(plan))
        return path

    def ids(self, model: Path) -> Path:
        path = self.folder / "short.ids"
        path.write_text(" ".join(map(str, token_ids(model)[:32])))
        return path

    def test_stories260k(self) -> None:
        """Grouped heads."""
        model = DATA / "models/stories260k"
        if not model.exists():
            self.skipTest(f"{model} is absent (HEADGAUGE_TEST_DATA names its root)")
        texts = [token_ids(model)[:256]]
        self.compare(self.scanned(model, texts, 256), model_documents(model, texts, 256, "embedding"), 256)
