"""headgauge converge as a user runs it."""

import csv
import json
import math
import random
import signal
import unittest
from array import array
from pathlib import Path

from tests.cli.checkpoints import make_dump, make_gpt2, read_weights, write_weights
from tests.cli.command import BAD_INPUT, INTERRUPTED, UNSUPPORTED, USAGE, CommandTest
from tests.cli.terminal import Terminal
from tests.places import DATA, ROOT
from tests.results.schema import validate, validate_text

FEW = ("--replicates", 5, "--draws", 2)
TOLERANCES, SAMPLERS = [0.01, 0.05, 0.1], ["uniform", "recent", "top"]
CURVES = ("error_mean", "error_covariance", "error_mean_absolute", "error_covariance_absolute")
ONCE = (
    "horizon horizon_paper rate_predicted error_constant rate_mean rate_covariance "
    "points_under_floor_mean points_under_floor_covariance"
).split()


def flat(part: object) -> list:
    if isinstance(part, list):
        return [value for item in part for value in flat(item)]
    return [part]


def draws(*shape: int, seed: int = 3) -> tuple[list[int], list[float]]:
    generator = random.Random(seed)
    return list(shape), [generator.gauss(0, 1) for _ in range(math.prod(shape))]


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
        self.assertIn("participation_ratio", row)

    def test_json_is_what_the_file_holds(self) -> None:
        arguments = ("converge", *self.model, *FEW, "--measures", "weights", "--out", "out")
        done = self.succeed(*arguments, "--json")
        printed = validate_text(done.out, "what --json prints")
        self.assertEqual(printed, validate(self.folder / "out/results.json"))

    def test_three_points_have_no_slope(self) -> None:
        results = self.converge(*self.model, *FEW, "--points", 3, "--measures", "weights")
        self.assertEqual(results["coords"]["tokens"], [16, 39, 96])
        for kind in ("mean", "covariance"):
            rate = results["metrics"][f"rate_{kind}"]
            self.assertEqual(set(flat(rate["values"])), {None})
            self.assertEqual(set(flat(rate["stderr"])), {None})
            self.assertEqual(set(flat(rate["rows"])), {3})
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
        for spec, predicted in (("cosine", False), ("sparsemax", False), ("softmax:t=2", True)):
            results, done = self.saved(
                "converge", *self.model, *FEW, "--normalizer", spec, *"--measures weights".split()
            )
            self.assertEqual(f"{spec} is not softmax(c <q, k>)" in done.err, not predicted, spec)
            if predicted:
                horizon = results["metrics"]["horizon"]["values"][1][3] / 2
                self.assertAlmostEqual(
                    results["metrics"]["rate_predicted"]["values"][1][3],
                    1 / (2 * (1 + horizon**2)),
                    places=12,
                )
            else:
                self.absent(results, "rate_predicted")

    def test_the_table(self) -> None:
        done = self.succeed("converge", *self.model, *FEW, "--top", 3)
        for line in done.out.split("\n\n")[1].splitlines():
            self.assertLessEqual(len(line), 100, line)
        self.assertIn("... 3 of 8 heads shown", done.out)
        self.assertIn("keys needed for an output within 5 %: drawn at random", done.out)
        self.assertIn("the key-value cache takes 320 bytes per token", done.out)

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
        write_scores(self.folder / "d.safetensors", values=False)
        says = ("d.safetensors", "queries and keys, or values", "scores alone")
        self.refuse(UNSUPPORTED, "converge", "d.safetensors", "--out", "out", says=says)


def write_scores(path: Path, values: bool) -> None:
    """A dump of scores, with values or without."""
    tensors = {f"layers.{layer}.scores": draws(3, 96, 96, seed=layer) for layer in range(2)}
    if values:
        tensors |= {f"layers.{layer}.v": draws(3, 96, 8, seed=9 + layer) for layer in range(2)}
    header: dict = {"__metadata__": {"format": "headgauge.dump/1", "causal": "true"}}
    data = array("f")
    for name, (shape, numbers) in tensors.items():
        offsets = [4 * len(data), 4 * (len(data) + len(numbers))]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
        data.extend(numbers)
    write_weights(path, header, data.tobytes())


class Dumps(ConvergeTest):
    def dump(self, **metadata: str) -> Path:
        """Queries, keys and values."""
        path = self.folder / "d.safetensors"
        values = {f"layers.{layer}.v": draws(3, 96, 8, seed=layer) for layer in range(2)}
        make_dump(path, 2, 3, 96, 8, **values)
        header, data = read_weights(path)
        header["__metadata__"] |= metadata
        write_weights(path, header, data)
        return path

    def test_a_cache_holds_values_as_wide_as_they_are(self) -> None:
        wide = {f"layers.{layer}.v": draws(3, 96, 16, seed=layer) for layer in range(2)}
        make_dump(self.folder / "d.safetensors", 2, 3, 96, 8, **wide)
        full, kept = self.converge("d.safetensors", *FEW)["metrics"]["cache_bytes"]["values"]
        self.assertEqual(full, 2 * 3 * (8 + 16) * 4)
        self.assertLessEqual(kept, full)

    def test_without_values_there_are_horizons_alone(self) -> None:
        make_dump(self.folder / "d.safetensors", 2, 3, 96, 8)
        results = self.converge("d.safetensors", *FEW)
        self.present(results, "horizon", "horizon_paper", "rate_predicted", "participation_ratio")
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
        write_scores(self.folder / "d.safetensors", values=True)
        results, done = self.saved("converge", "d.safetensors", *FEW)
        self.absent(
            results, "horizon", "horizon_paper", "rate_predicted", "cache_bytes", "cache_bytes_by_layer"
        )
        self.present(results, *CURVES, "rate_mean", "rate_covariance", "tokens_for_error")
        self.assertNotIn("nan", done.out)
        self.assertNotIn("key-value cache", done.out)

    def test_bidirectional(self) -> None:
        """All 96 tokens are queries and keys; budgets take the nearest; there is no cache."""
        self.dump(causal="false")
        results, done = self.saved("converge", "d.safetensors", *FEW, "--grid", "24,48,72,96")
        self.assertIs(results["model"]["causal"], False)
        self.present(results, *ONCE, *CURVES, "tokens_for_error")
        self.assertNotIn("cache_bytes", results["metrics"])
        self.assertIn("the nearest ones and 4 sinks", done.out)
        self.assertNotIn("most recent", done.out)
        self.dump(causal="true")
        causal = self.converge("d.safetensors", *FEW, "--grid", "24,48,72,96")
        self.assertEqual(causal["metrics"]["horizon"], results["metrics"]["horizon"])
        for name in ("error_mean", "tokens_for_error"):
            self.assertNotEqual(causal["metrics"][name], results["metrics"][name])

    def test_the_scale_of_the_scores_is_that_of_the_dump(self) -> None:
        self.dump(scale="0.5")
        metrics = self.converge("d.safetensors", *FEW)["metrics"]
        for found, paper in zip(
            flat(metrics["horizon"]["values"]), flat(metrics["horizon_paper"]["values"]), strict=True
        ):
            self.assertAlmostEqual(found, 0.5 * paper, places=9)


@unittest.skipUnless((DATA / "models/stories260k").exists(), "stories260k is not there")
class GroupedHeads(ConvergeTest):
    def test_heads_that_share_keys_share_a_budget(self) -> None:
        model = (DATA / "models/stories260k", "--text", ROOT / "demo/text.txt", "--lengths", 128)
        results = self.converge(*model, *FEW, "--measures", "weights")
        kv_heads = results["coords"]["kv_head"]
        self.assertEqual(kv_heads, [0, 0, 1, 1, 2, 2, 3, 3])
        metrics, unlike = results["metrics"], 0
        for layer, needed in enumerate(metrics["tokens_for_error"]["values"]):
            kept = 0
            for kv in range(4):
                group = [h for h in range(8) if kv_heads[h] == kv]
                for t in range(3):
                    for s in range(3):
                        most = max(needed[h][t][s] for h in group)
                        unlike += any(needed[h][t][s] < most for h in group)
                        for h in group:
                            self.assertEqual(metrics["budget_keys"]["values"][layer][h][t][s], most)
                kept += max(needed[h][1][1] for h in group)
            full, budget = metrics["cache_bytes_by_layer"]["values"][layer]
            per_key = 2 * results["model"]["head_dim"] * 4  # float32
            self.assertEqual(full, 4 * per_key)
            self.assertAlmostEqual(budget, kept * per_key / 128, places=9)
        self.assertGreater(unlike, 20)


class Interrupted(ConvergeTest):
    def test_finished_layers_are_saved_and_have_the_bits_of_a_complete_run(self) -> None:
        make_gpt2(self.folder / "model", layers=16, heads=2, width=16, positions=256)
        self.ids(256)
        command = ("converge", "model", "--tokens", "ids.txt", "--replicates", 100, "--measures", "weights")
        terminal = Terminal(*command, "--out", "out", cwd=self.folder)
        terminal.read_until(r"layer ([2-9]|\d\d)\b")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        partial = validate(self.folder / "out/results.json")
        done = partial["layers_done"]
        self.assertTrue(partial["partial"])
        self.assertGreaterEqual(done, 2)
        self.assertLess(done, 16)
        self.assertEqual(partial["coords"]["layer"], list(range(done)))
        self.assertEqual(
            terminal.messages()[-1],
            f"headgauge: interrupted; {done} layers were finished and saved in "
            "out/results.json, marked partial",
        )
        self.succeed(*command, "--out", "whole", "--quiet")
        whole = json.loads((self.folder / "whole/results.json").read_text())
        for name, metric in partial["metrics"].items():
            self.assertEqual(metric["dims"][0], "layer", name)
            for key in ("values", "stderr", "rows"):
                if key in metric:
                    self.assertEqual(metric[key], whole["metrics"][name][key][:done], name)
        for name in (*ONCE, *CURVES, "tokens_for_error", "cache_bytes_by_layer"):
            self.assertIn(name, partial["metrics"])
        self.assertEqual([f for f in whole["flags"] if f["layer"] < done], partial["flags"])


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
