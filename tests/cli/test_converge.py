"""headgauge converge as a user runs it."""

import csv
import json
import unittest

from tests.cli.checkpoints import draws, make_dump
from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, CommandTest, flat
from tests.places import ROOT
from tests.results.schema import validate, validate_text

FEW = ("--replicates", 5, "--draws", 2)
TOLERANCES, SAMPLERS = [0.01, 0.05, 0.1], ["uniform", "recent", "top"]
CURVES = ("error_mean", "error_covariance", "error_mean_absolute", "error_covariance_absolute")
ONCE = (
    "horizon horizon_paper rate_predicted error_constant rate_mean rate_covariance "
    "points_under_floor_mean points_under_floor_covariance"
).split()


class ConvergeTest(CommandTest):
    def converge(self, *arguments, out: str = "out") -> dict:
        return self.saved("converge", *arguments, "--quiet", out=out)[0]

    def absent(self, results: dict, *names: str) -> None:
        """Neither a number nor, where there is none for any head, a metric."""
        for name in names:
            metric = results["metrics"].get(name)
            if metric is not None:
                self.assertEqual(set(flat(metric["values"])), {None}, name)

    def present(self, results: dict, *names: str) -> None:
        for name in names:
            self.assertNotIn(None, flat(results["metrics"][name]["values"]), name)


class Checkpoint(ConvergeTest):
    def setUp(self) -> None:
        super().setUp()
        self.tiny(128)
        self.model = ("model", "--tokens", "ids.txt")

    def test_every_metric_is_declared_and_every_declared_one_is_there(self) -> None:
        listed = json.loads(self.succeed("list", "measures", "--json").out)
        of_scan = {m["name"] for m in listed if m["command"] == "scan"}
        declared = {m["name"]: m["unit"] for m in listed if m["command"] == "converge"}
        metrics = self.converge(*self.model, *FEW)["metrics"]
        found = {
            name: metric["unit"]
            for name, metric in metrics.items()
            if name.removesuffix("_by_position") not in of_scan
        }
        self.assertEqual(found, declared)

    def test_the_files(self) -> None:
        results = self.converge(*self.model, "--grid", "16,32,48,64,100", *FEW)
        coords, metrics, settings = (results[k] for k in ("coords", "metrics", "settings"))
        self.assertEqual(coords["tokens"], [16, 32, 48, 64, 100])
        self.assertEqual(coords["tolerance"], TOLERANCES)
        self.assertEqual(coords["sampler"], SAMPLERS)
        self.assertEqual(coords["cache"], ["full", "budget"])
        self.assertEqual(results["command"], "converge")
        self.assertEqual(settings["grid"], coords["tokens"])
        for name, value in (
            ("replicates", 5),
            ("draws", 2),
            ("tolerances", TOLERANCES),
            ("normalizer", "softmax"),
        ):
            self.assertEqual(settings[name], value, name)
        for name in ONCE:
            self.assertEqual(metrics[name]["dims"], ["layer", "head"], name)
        for name in CURVES:
            self.assertEqual(metrics[name]["dims"], ["layer", "head", "tokens"], name)
            self.assertGreater(min(flat(metrics[name]["stderr"])), 0, name)
        for name in ("tokens_for_error", "budget_keys"):
            self.assertEqual(metrics[name]["dims"], ["layer", "head", "tolerance", "sampler"], name)
        self.assertEqual(metrics["cache_bytes_by_layer"]["dims"], ["layer", "cache"])
        self.assertEqual(metrics["cache_bytes"]["dims"], ["cache"])
        self.present(results, *ONCE, *CURVES, "tokens_for_error", "budget_keys", "cache_bytes")
        self.assertEqual(set(flat(metrics["rate_mean"]["rows"])), {5})
        self.assertIn("converge_s", results["timings"])
        # Fewer errors are allowed: more keys.
        for head in (head for layer in metrics["tokens_for_error"]["values"] for head in layer):
            for sampler in range(3):
                needed = [head[tolerance][sampler] for tolerance in range(3)]
                self.assertEqual(needed, sorted(needed, reverse=True))
                self.assertTrue(all(8 <= keys <= 128 and keys == int(keys) for keys in needed))

        with (self.folder / "out/heads.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        row = next(r for r in rows if (r["layer"], r["head"], r["length"]) == ("1", "2", "128"))
        for name in ONCE:
            self.assertEqual(float(row[name]), metrics[name]["values"][1][2], name)
        self.assertIn("participation_ratio_with_sinks", row)

    def test_json_is_what_the_file_holds(self) -> None:
        arguments = ("converge", *self.model, *FEW, "--measures", "weights", "--out", "out")
        done = self.succeed(*arguments, "--json")
        printed = validate_text(done.out, "what --json prints")
        self.assertEqual(printed, validate(self.folder / "out/results.json"))

    def test_three_points_have_no_slope(self) -> None:
        results = self.converge(*self.model, *FEW, "--points", 3, "--measures", "weights")
        self.absent(results, "rate_mean", "rate_covariance")
        self.present(results, *CURVES, "rate_predicted", "tokens_for_error")
        self.assertIn("16 of 16 rates are absent: fewer than 4 usable points", results["notices"])
        table = self.succeed("converge", *self.model, *FEW, "--grid", "16:96:3").out
        self.assertNotIn("nan", table)
        self.assertNotIn("settles slowest", table)

    def test_a_grid_of_neighbours_is_taken_once(self) -> None:
        grid = self.converge(*self.model, *FEW, "--points", 500, "--measures", "weights")["coords"]["tokens"]
        self.assertEqual(grid, list(range(16, 97)))

    def test_other_tolerances(self) -> None:
        results = self.converge(*self.model, *FEW, "--tolerances", "0.3,0.02,0.3", "--measures", "weights")
        # 5 % is what caches are about, asked for or not.
        self.assertEqual(results["coords"]["tolerance"], [0.02, 0.05, 0.3])
        self.present(results, "cache_bytes")

    def test_chosen_heads(self) -> None:
        results = self.converge(*self.model, *FEW, "--heads", "0.1,1.*", "--measures", "weights")
        whole = self.converge(*self.model, *FEW, "--measures", "weights", out="whole")
        metrics = results["metrics"]
        for name in (*ONCE, *CURVES, "tokens_for_error", "budget_keys"):
            of_all = whole["metrics"][name]["values"]
            self.assertEqual(set(flat(metrics[name]["values"][0][0])), {None}, name)
            self.assertEqual(metrics[name]["values"][0][1], of_all[0][1], name)
            self.assertEqual(metrics[name]["values"][1], of_all[1], name)
        # Layer 0 cannot be cut to budgets that are not known.
        cache = metrics["cache_bytes_by_layer"]["values"]
        self.assertIsNone(cache[0][1])
        self.assertEqual(cache[0][0], whole["metrics"]["cache_bytes_by_layer"]["values"][0][0])
        self.assertEqual(cache[1], whole["metrics"]["cache_bytes_by_layer"]["values"][1])
        self.assertIsNone(metrics["cache_bytes"]["values"][1])
        self.assertNotIn("nan", self.succeed("converge", *self.model, *FEW, "--heads", "0.1").out)

    def test_one_layer_has_no_cache_of_the_model(self) -> None:
        results = self.converge(*self.model, *FEW, "--layers", 1, "--measures", "weights")
        self.assertNotIn("cache_bytes", results["metrics"])
        self.present(results, "cache_bytes_by_layer")

    def test_a_normalizer_whose_logits_are_cosines_has_no_predicted_rate(self) -> None:
        """H is of queries and keys of any length."""
        words = ("converge", *self.model, *FEW, "--measures", "weights", "--normalizer")
        results, done = self.saved(*words, "cosine")
        self.assertIn("cosine is not softmax(c <q, k>)", done.err)
        self.absent(results, "rate_predicted")
        self.assertNotIn("is not softmax", self.succeed(*words, "softmax:t=2").err)

    def test_the_table(self) -> None:
        done = self.succeed("converge", *self.model, *FEW, "--top", 3, "--explain")
        for line in done.out.split("\n\n")[1].splitlines():
            self.assertLessEqual(len(line), 100, line)
        self.assertIn("and 5 more (--top all)", done.out)
        self.assertIn("keys needed for an output within the tolerance of 0.05, drawn at random", done.out)
        self.assertIn(" of 320 bytes per token", done.out)

    def test_of_several_texts_those_that_reach_the_context_count(self) -> None:
        self.ids(50, vocabulary=37, name="short.txt")
        self.ids(128, vocabulary=39, name="other.txt")
        files = [["ids.txt"], ["ids.txt", "short.txt"], ["other.txt"], ["ids.txt", "other.txt"]]
        horizons = [
            self.converge("model", "--tokens", *names, *FEW, "--measures", "weights", out=f"out{i}")[
                "metrics"
            ]["horizon"]["values"][1][0]
            for i, names in enumerate(files)
        ]
        self.assertEqual(horizons[0], horizons[1])
        self.assertAlmostEqual(horizons[3], (horizons[0] + horizons[2]) / 2, places=12)


class Refused(ConvergeTest):
    tiny_ids = 128

    def test_grids(self) -> None:
        self.ids(50, name="few.txt")
        long = "--lengths 64,100 --grid 64,256"
        ascending = "ascending numbers of tokens of at least 2"
        self.refuse_each(
            (BAD_INPUT, "few.txt", "at least 64 tokens", "found 50"),
            (BAD_INPUT, "ids.txt --lengths 16,32", "at least 64 tokens", "found 32", "--lengths"),
            (USAGE, f"ids.txt {long}", "--grid: expected at most 100 tokens", "found 256"),
            *((USAGE, f"ids.txt --grid={grid}", "--grid", ascending, grid.replace(",", ", "))
              for grid in ("64,32", "64,64", "1,2,3,4", "-4,8")),
            *((USAGE, f"ids.txt --grid={grid}", "--grid", "whole numbers", grid)
              for grid in ("8,x", "8.5")),
            base=("converge", "model", "--out", "out", "--tokens"),
        )  # fmt: skip
        both = ("--grid", "32,64", "--points", "3")
        self.refuse(USAGE, "converge", "model", "--tokens", "ids.txt", *both, says="--points", form=False)

    def test_numbers(self) -> None:
        self.refuse_each(
            *((USAGE, option, option.partition("=")[0])
              for option in ("--replicates=1", "--replicates=-3", "--points=0", "--draws=0", "--draws=2.5",
                             "--tolerances=0", "--tolerances=0.1,nan", "--top=0", "--heads=9.9",
                             "--pattern=window", "--normalizer=sparsmax")),
            base=("converge", "model", "--tokens", "ids.txt"),
        )  # fmt: skip

    def test_scores_alone(self) -> None:
        make_dump(self.folder / "d.safetensors", 0, 3, 96, 8, **of_layers("scores", 96))
        says = ("d.safetensors", "queries and keys, or values", "scores alone")
        self.refuse(UNSUPPORTED, "converge", "d.safetensors", "--out", "out", says=says)


def of_layers(part: str, width: int) -> dict:
    """A tensor of three heads and 96 tokens in each of two layers."""
    return {f"layers.{layer}.{part}": draws(3, 96, width, seed=layer) for layer in range(2)}


class Dumps(ConvergeTest):
    def test_a_cache_holds_values_as_wide_as_they_are(self) -> None:
        make_dump(self.folder / "d.safetensors", 2, 3, 96, 8, **of_layers("v", 16))
        full, kept = self.converge("d.safetensors", *FEW)["metrics"]["cache_bytes"]["values"]
        self.assertEqual(full, 2 * 3 * (8 + 16) * 4)
        self.assertLessEqual(kept, full)

    def test_without_values_there_are_horizons_alone(self) -> None:
        make_dump(self.folder / "d.safetensors", 2, 3, 96, 8)
        results = self.converge("d.safetensors", *FEW)
        self.present(results, "horizon", "horizon_paper", "rate_predicted", "participation_ratio_with_sinks")
        self.absent(
            results,
            *CURVES,
            *(
                "rate_mean rate_covariance error_constant tokens_for_error budget_keys cache_bytes "
                "cache_bytes_by_layer"
            ).split(),
        )
        notices = [n for n in results["notices"] if n.startswith("there are no values")]
        self.assertEqual(len(notices), 1)
        self.assertFalse([n for n in results["notices"] if "rates are absent" in n])

    def test_scores_with_values_have_no_horizon_and_no_cache(self) -> None:
        make_dump(self.folder / "d.safetensors", 0, 3, 96, 8, **of_layers("scores", 96), **of_layers("v", 8))
        results, done = self.saved("converge", "d.safetensors", *FEW)
        self.absent(
            results, "horizon", "horizon_paper", "rate_predicted", "cache_bytes", "cache_bytes_by_layer"
        )
        self.present(results, *CURVES, "rate_mean", "rate_covariance", "tokens_for_error")
        self.assertNotIn("nan", done.out)
        self.assertNotIn("key-value cache", done.out)

    def test_bidirectional(self) -> None:
        """Budgets take the nearest; there is no cache. tests/agreement has the numbers."""
        metadata = {"causal": "false"}
        make_dump(self.folder / "d.safetensors", 2, 3, 96, 8, metadata, **of_layers("v", 8))
        results, done = self.saved("converge", "d.safetensors", *FEW, "--grid", "24,48,72,96", "--explain")
        self.assertIs(results["model"]["causal"], False)
        self.assertNotIn("cache_bytes", results["metrics"])
        self.assertIn("the same of the nearest keys and 4 sinks", done.out)
        self.assertNotIn("most recent", done.out)


@unittest.skipUnless((ROOT / "demo/model").exists(), "no demo model")
class Demo(ConvergeTest):
    def test_every_head_has_every_figure(self) -> None:
        results = self.converge(
            ROOT / "demo/model", "--text", ROOT / "demo/text.txt", "--lengths", "128,256", *FEW
        )
        self.present(results, *ONCE, *CURVES, "tokens_for_error", "budget_keys", "cache_bytes")
        slow = {(f["layer"], f["head"]) for f in results["flags"] if f["name"] == "slow"}
        rates = results["metrics"]["rate_predicted"]["values"]
        self.assertEqual(
            slow, {(layer, head) for layer in range(6) for head in range(6) if rates[layer][head] < 0.1}
        )
        self.assertTrue(slow)
