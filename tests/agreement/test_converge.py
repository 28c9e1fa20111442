"""`headgauge converge` against tests/reference/convergence.py, every head of the demo model, of a
Llama and of a bidirectional dump: what it draws is drawn again from the same streams of random
numbers, everything else is float64."""

import math
import tempfile
import unittest
from pathlib import Path

import numpy as np

from tests.agreement.program import DEMO, headgauge, token_ids
from tests.places import DATA
from tests.reference.convergence import (
    SAMPLERS,
    Head,
    budget,
    cache_bytes,
    error_curves,
    fitted_rate,
    horizon_of_weights,
    predicted_rate,
    spread_of,
)
from tests.reference.gpt2 import Model
from tests.reference.llama import LlamaModel
from tests.reference.normalizers import make_normalizer
from tests.reference.safetensors_io import write_file
from tests.results.schema import validate

LLAMA = DATA / "models/stories260k"
LENGTH = 256  # the shortest with standard errors, which critical_fraction_head needs
REPLICATES, DRAWS, SEED = 5, 3, 11
TOLERANCES = [0.01, 0.05, 0.1]
SERVED, RECENT = 1, 1  # the tolerance and the sampler that a cache is cut by
# float32 against float64: relative errors.
EXACT, ERROR, RATE = 2e-5, 2e-4, 2e-4


def heads_of(config) -> list[tuple[int, int]]:
    return [(layer, head) for layer in range(config.layers) for head in range(config.heads)]


class ConvergeTest(unittest.TestCase):
    """`results` of what `head` has of `heads`."""

    results: dict
    heads: list[tuple[int, int]]
    group = 1  # heads that share keys

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="headgauge-converge-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    @classmethod
    def write_ids(cls, model: Path, length: int) -> list[int]:
        ids = token_ids(model)[:length]
        cls.ids = cls.folder / "ids"
        cls.ids.write_text("\n".join(map(str, ids)) + "\n")
        return ids

    @classmethod
    def converge(cls, *arguments: str | Path | int) -> dict:
        headgauge("converge", *arguments, "--seed", SEED, "--quiet", "--force", "--out", cls.folder / "out")
        return validate(cls.folder / "out/results.json")

    def head(self, layer: int, head: int) -> Head:
        of = self.trace.layers[layer]
        return Head(of.queries[head], of.keys[head], of.values[head], self.model.config.scale(layer))

    @staticmethod
    def cells(results: dict, name: str, layer: int, head: int, part: str = "values") -> np.ndarray:
        at = results["coords"]["layer"].index(layer), results["coords"]["head"].index(head)
        return np.array(results["metrics"][name][part][at[0]][at[1]], dtype=float)

    def near(self, found: object, expected: object, tolerance: float, what: str) -> None:
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0, err_msg=what)

    def check_horizon(self, layer: int, head: int, queries: np.ndarray, keys: np.ndarray) -> None:
        what = f"head {layer}.{head}"
        spread, scale = spread_of(queries, keys), self.head(layer, head).scale
        self.near(self.cells(self.results, "horizon_paper", layer, head), spread, EXACT, what)
        self.near(self.cells(self.results, "horizon", layer, head), scale * spread, EXACT, what)
        found = self.cells(self.results, "rate_predicted", layer, head)
        self.near(found, predicted_rate(scale * spread), EXACT, what)

    def check_printed_horizon(
        self, layer: int, head: int, inputs: np.ndarray, query_weights: np.ndarray, key_weights: np.ndarray
    ) -> None:
        """From the weights, over what enters the projections; what is left is the 1e-6 I."""
        printed = horizon_of_weights(inputs, query_weights, key_weights)
        found = self.cells(self.results, "horizon_paper", layer, head)
        self.near(found, printed, 1e-4, f"head {layer}.{head}, from its weights")

    def check_curves(
        self, results: dict, normalizer: str, heads: list[tuple[int, int]], replicates: int
    ) -> None:
        grid = results["coords"]["tokens"]
        for layer, head in heads:
            curves = error_curves(self.head(layer, head), make_normalizer(normalizer), grid, replicates, SEED)
            for kind, curve in zip(("mean", "covariance"), curves, strict=True):
                what = f"{normalizer}: {kind} of head {layer}.{head}"
                error = curve.deviation / math.sqrt(replicates)
                for name, values, errors in (
                    (f"error_{kind}", curve.relative, error / curve.unit),
                    (f"error_{kind}_absolute", curve.absolute, error),
                ):
                    self.near(self.cells(results, name, layer, head), values, ERROR, what)
                    self.near(self.cells(results, name, layer, head, "stderr"), errors, 10 * ERROR, what)
                rate, deviation = fitted_rate(grid, curve, replicates)
                name = f"rate_{kind}"
                found = self.cells(results, name, layer, head)
                self.assertLess(abs(found - rate), RATE, what)
                self.near(self.cells(results, name, layer, head, "stderr"), deviation, 20 * RATE, what)
                self.assertEqual(self.cells(results, name, layer, head, "rows"), len(grid), what)
                self.assertEqual(self.cells(results, f"points_under_floor_{kind}", layer, head), 0, what)

    def check_budgets(
        self, results: dict, normalizer: str, heads: list[tuple[int, int]], draws: int
    ) -> dict[tuple[int, int], list[list[float]]]:
        """What is expected of tokens_for_error."""
        expected = {}
        for layer, head in heads:
            own = budget(self.head(layer, head), make_normalizer(normalizer), draws, SEED)
            found = self.cells(results, "tokens_for_error", layer, head)
            what = f"{normalizer}: head {layer}.{head}"
            for t, tolerance in enumerate(TOLERANCES):
                for s, sampler in enumerate(SAMPLERS):
                    exact = own.exact(sampler, tolerance)
                    # Rounded up; where float32 puts an exact one on the other side it is one off.
                    near = {math.ceil(exact * (1 - 1e-4)), math.ceil(exact * (1 + 1e-4))}
                    self.assertIn(found[t][s], near, f"{what}: {sampler} within {tolerance}, {exact}")
            if normalizer in ("softmax", "softcap:c=2"):
                self.near(self.cells(results, "error_constant", layer, head), own.constant, ERROR, what)
            else:
                self.assertTrue(np.isnan(self.cells(results, "error_constant", layer, head)), what)
            expected[layer, head] = found.tolist()
        return expected

    def check_shared_budgets(self, needed: dict[tuple[int, int], list]) -> None:
        """budget_keys of a head: what the neediest of the heads that share its keys needs."""
        for layer, head in self.heads:
            first = head - head % self.group
            expected = np.max([needed[layer, h] for h in range(first, first + self.group)], axis=0)
            found = self.cells(self.results, "budget_keys", layer, head)
            np.testing.assert_array_equal(found, expected, f"head {layer}.{head}")

    def check_cache(
        self, needed: dict[tuple[int, int], list], head_width: int, element: int, length: int
    ) -> None:
        """`element`: bytes of a stored number."""
        metrics, totals = self.results["metrics"], np.zeros(2)
        for layer in sorted({layer for layer, _ in self.heads}):
            of_heads = [needed[layer, h][SERVED][RECENT] for at, h in self.heads if at == layer]
            kept = np.reshape(of_heads, (-1, self.group)).max(axis=1)
            expected = cache_bytes(kept.tolist(), head_width, element, length)
            found = metrics["cache_bytes_by_layer"]["values"][layer]
            self.near(found, expected, 1e-12, f"cache of layer {layer}")
            totals += expected
        self.near(metrics["cache_bytes"]["values"], totals, 1e-12, "cache")


class DemoModel(ConvergeTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        ids = cls.write_ids(DEMO, LENGTH)
        cls.model = Model(DEMO)
        cls.trace = cls.model.forward(ids)
        cls.results = cls.converge(DEMO, "--tokens", cls.ids, "--replicates", REPLICATES, "--draws", DRAWS)
        cls.heads = heads_of(cls.model.config)

    def test_horizons(self) -> None:
        d = self.model.config.head_width
        for layer, head in self.heads:
            block, of = f"h.{layer}.", self.head(layer, head)
            self.check_horizon(layer, head, of.queries, of.keys)
            inputs = self.model._norm(self.trace.layers[layer].hidden, block + "ln_1")
            joined = self.model._tensors[block + "attn.c_attn.weight"]
            query, key, _ = np.split(joined, 3, axis=1)
            columns = slice(head * d, (head + 1) * d)
            self.check_printed_horizon(layer, head, inputs, query[:, columns], key[:, columns])

    def test_errors_and_rates(self) -> None:
        self.check_curves(self.results, "softmax", self.heads, REPLICATES)

    def test_the_default_grid(self) -> None:
        grid = np.geomspace(LENGTH // 8, LENGTH * 3 // 4, 10)
        self.assertEqual(self.results["coords"]["tokens"], [int(n + 1e-9) for n in grid])

    def test_budgets_and_the_cache(self) -> None:
        needed = self.check_budgets(self.results, "softmax", self.heads, DRAWS)
        self.check_shared_budgets(needed)
        self.check_cache(needed, self.model.config.head_width, 2, LENGTH)  # float16

    def test_effective_tokens(self) -> None:
        """n_eff of a row is 1 / sum a^2; converge gives the mean of all rows."""
        normalizer = make_normalizer("softmax")
        for layer, head in self.heads:
            logits = self.head(layer, head).logits(normalizer)
            sizes = [
                1 / (normalizer.weigh(logits[t : t + 1, : t + 1], t + 1, t + 1)[0] ** 2).sum()
                for t in range(LENGTH)
            ]
            found = self.cells(self.results, "participation_ratio_with_sinks", layer, head)[-1]
            self.near(found, np.mean(sizes), ERROR, f"head {layer}.{head}")

    def check_normalizer(self, normalizer: str) -> None:
        few = "--layers 3 --heads 3.1,3.4 --measures weights --replicates 3 --draws 2 --points 5"
        results = self.converge(DEMO, "--tokens", self.ids, "--normalizer", normalizer, *few.split())
        chosen = [(3, 1), (3, 4)]
        self.check_curves(results, normalizer, chosen, 3)
        self.check_budgets(results, normalizer, chosen, 2)
        for layer, head in chosen:
            self.assertTrue(np.isnan(self.cells(results, "rate_predicted", layer, head)))

    def test_a_pointwise_normalizer(self) -> None:
        self.check_normalizer("softcap:c=2")

    def test_a_normalizer_that_is_not_pointwise(self) -> None:
        self.check_normalizer("entmax:alpha=1.5")


@unittest.skipUnless(LLAMA.exists(), f"{LLAMA} is absent (HEADGAUGE_TEST_DATA names its root)")
class RotaryPositionsAndGroupedHeads(ConvergeTest):
    """Horizons are of queries and keys before the rotation, all else after it."""

    LENGTH, REPLICATES, DRAWS = 128, 3, 2

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        ids = cls.write_ids(LLAMA, cls.LENGTH)
        cls.model = LlamaModel(LLAMA)
        cls.trace = cls.model.forward(ids)
        few = ("--measures", "weights", "--replicates", cls.REPLICATES, "--draws", cls.DRAWS)
        cls.results = cls.converge(LLAMA, "--tokens", cls.ids, *few)
        config = cls.model.config
        cls.heads = heads_of(config)
        cls.group = config.heads // config.kv_heads

    def test_horizons(self) -> None:
        d = self.model.config.head_width
        for layer, head in self.heads:
            block, of = f"layers.{layer}.", self.trace.layers[layer]
            self.check_horizon(layer, head, of.plain_queries[head], of.plain_keys[head])
            inputs = self.model._norm(of.hidden, block + "input_layernorm")
            query, key = (
                self.model._tensors[f"{block}self_attn.{part}_proj.weight"].T[:, at * d : (at + 1) * d]
                for part, at in (("q", head), ("k", head // self.group))
            )
            self.check_printed_horizon(layer, head, inputs, query, key)

    def test_errors_and_rates(self) -> None:
        self.check_curves(self.results, "softmax", self.heads, self.REPLICATES)

    def test_budgets_and_the_cache(self) -> None:
        self.assertGreater(self.group, 1)
        needed = self.check_budgets(self.results, "softmax", self.heads, self.DRAWS)
        self.check_shared_budgets(needed)
        self.check_cache(needed, self.model.config.head_width, 4, self.LENGTH)  # float32


class BidirectionalDump(ConvergeTest):
    """Queries and keys are drawn alike, and "recent" are the nearest on either side."""

    LAYERS, HEADS, KV_HEADS, LENGTH, WIDTH, REPLICATES, DRAWS = 2, 4, 2, 112, 8, 3, 2
    SCALE = 0.75

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.path = cls.folder / "dump.safetensors"
        cls.tensors = cls.drawn_tensors()
        about = {"format": "headgauge.dump/1", "causal": "false", "scale": str(cls.SCALE)}
        write_file(cls.path, cls.tensors, about)
        cls.results = cls.converge(
            cls.path, "--measures", "weights", "--replicates", cls.REPLICATES, "--draws", cls.DRAWS
        )
        cls.heads = [(layer, head) for layer in range(cls.LAYERS) for head in range(cls.HEADS)]
        cls.group = cls.HEADS // cls.KV_HEADS

    @classmethod
    def drawn_tensors(cls) -> dict[str, np.ndarray]:
        """Query p of heads 0 to 3 looks for key p - 3, p - 1, p + 1 and p + 3, so that the nearest
        keys of one side would not do; the last components are noise."""
        draw = np.random.default_rng(SEED)

        def tensor(shifts: list[int], noise: float) -> np.ndarray:
            angles = 2 * np.pi * np.arange(cls.LENGTH) / cls.LENGTH
            turn = 2 * np.pi * np.array(shifts)[:, None] / cls.LENGTH
            waves = [wave(times * (angles + turn)) * 3 for times in (1, 9) for wave in (np.cos, np.sin)]
            rest = draw.normal(0, noise, (len(shifts), cls.LENGTH, cls.WIDTH - 4))
            return np.concatenate([np.stack(waves, axis=2), rest], axis=2).astype(np.float32)

        tensors = {}
        for layer in range(cls.LAYERS):
            tensors[f"layers.{layer}.q"] = tensor([-3, -1, 1, 3], 0.5)
            tensors[f"layers.{layer}.k"] = tensor([0] * cls.KV_HEADS, 0.5 + layer)
            shape = cls.KV_HEADS, cls.LENGTH, cls.WIDTH
            tensors[f"layers.{layer}.v"] = draw.normal(0.5, 1, shape).astype(np.float32)
        return tensors

    def head(self, layer: int, head: int) -> Head:
        of = {part: self.tensors[f"layers.{layer}.{part}"].astype(np.float64) for part in "qkv"}
        kv = head // self.group
        return Head(of["q"][head], of["k"][kv], of["v"][kv], self.SCALE, causal=False)

    def test_horizons(self) -> None:
        for layer, head in self.heads:
            of = self.head(layer, head)
            self.check_horizon(layer, head, of.queries, of.keys)

    def test_errors_and_rates(self) -> None:
        self.assertEqual(self.results["coords"]["tokens"][-1], self.LENGTH * 3 // 4)
        self.check_curves(self.results, "softmax", self.heads, self.REPLICATES)

    def test_a_normalizer_that_is_not_pointwise(self) -> None:
        few = "--heads 1.1,1.2 --layers 1 --measures weights --replicates 3 --draws 2"
        results = self.converge(self.path, "--normalizer", "entmax:alpha=1.5", *few.split())
        self.check_curves(results, "entmax:alpha=1.5", [(1, 1), (1, 2)], 3)
        self.check_budgets(results, "entmax:alpha=1.5", [(1, 1), (1, 2)], 2)

    def test_budgets_without_a_cache(self) -> None:
        needed = self.check_budgets(self.results, "softmax", self.heads, self.DRAWS)
        self.check_shared_budgets(needed)
        self.assertFalse([name for name in self.results["metrics"] if "cache" in name])
