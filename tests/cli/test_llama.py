"""The commands on the Llama families: grouped heads, windows, texts beyond the trained context."""

import json
import math
import random
import re
import unittest
from pathlib import Path

from tests.cli.checkpoints import change_config, copy_golden
from tests.cli.command import USAGE, CommandTest
from tests.places import DATA, ROOT

STORIES = DATA / "models/stories260k"
TEXT = ROOT / "demo/text.txt"


@unittest.skipUnless(STORIES.exists(), f"{STORIES} is not there")
class Stories(CommandTest):
    """A real model: 5 layers of 8 heads, two of which share keys, trained on 512 tokens."""

    def test_every_head_of_a_scan_is_measured(self) -> None:
        results, done = self.saved("scan", STORIES, "--text", TEXT)
        notice = (
            "the model was trained on contexts of 512 tokens: effective_tokens_forecast_with_sinks at 1024, "
            "2048, 4096 extrapolates the trend of its heads up to 512; it was not trained at these positions"
        )
        self.assertTrue(done.err.endswith(f"headgauge: note: {notice}\n"), done.err)
        self.assertEqual(results["notices"], [notice])
        forecasts = results["metrics"]["effective_tokens_forecast_with_sinks"]["values"]
        self.assertNotIn("null", json.dumps(forecasts))
        self.assertEqual(results["model"]["family"], "llama")
        self.assertEqual(results["model"]["trained_length"], 512)
        self.assertEqual(results["model"]["rope"], "theta 10000")
        coords = results["coords"]
        self.assertEqual(coords["kv_head"], [0, 0, 1, 1, 2, 2, 3, 3])
        # auto, and the text that is read, go no further than the model was trained.
        self.assertEqual(coords["length"], [32, 64, 128, 256, 512])
        self.assertEqual(results["text"]["tokens"], [512])
        self.assertGreater(results["text"]["tokens_total"][0], 512)
        for name in ("entropy_with_sinks", "separability_with_sinks", "distance", "jacobian_spectral"):
            values = results["metrics"][name]["values"]
            self.assertEqual((len(values), len(values[0])), (5, 8))
            self.assertNotIn("null", json.dumps([head[-1] for layer in values for head in layer]))
        (loss,) = results["metrics"]["loss"]["values"]
        self.assertLess(loss[-1], loss[0])  # it knows more of a longer text

    def test_compare_and_patterns(self) -> None:
        arguments = ("compare", STORIES, "--text", TEXT, "--lengths", "128")
        normalizers, _ = self.saved(*arguments, "--normalizer", "sparsemax,ssmax:s=0.2,b=1")
        self.assertEqual(len(normalizers["coords"]["normalizer"]), 3)
        patterns, _ = self.saved(*arguments, "--pattern", "bigbird:window=8", out="patterns")
        kept = patterns["metrics"]["kept_mass"]["values"]
        shares = [head[1][0] for layer in kept for head in layer]
        self.assertTrue(all(0.05 < share < 1 for share in shares), shares)
        for results in (normalizers, patterns):
            change = results["metrics"]["loss_change"]["values"][1][0][0]
            self.assertTrue(math.isfinite(change) and change != 0, change)
        single, _ = self.saved(
            "scan", STORIES, "--text", TEXT, "--lengths", "128", "--pattern", "bigbird:window=8",
            out="single",
        )  # fmt: skip
        values = single["metrics"]["kept_mass"]["values"]
        for layer, both in zip(values, kept, strict=True):
            for head, other in zip(layer, both, strict=True):
                self.assertAlmostEqual(head[0], other[1][0], places=6)

    def test_inspect(self) -> None:
        text = self.succeed("inspect", STORIES).out
        facts = dict(re.findall(r"(?m)^(\S+) +(.*)$", text))
        self.assertEqual((facts["family"], facts["kv_heads"]), ("llama", "4"))
        self.assertEqual((facts["trained_length"], facts["rope"]), ("512", "theta 10000"))
        self.assertEqual(facts["parameters"], "260032")
        self.assertNotIn("positions", facts)


class Made(CommandTest):
    def model(self, golden: str, **changes) -> Path:
        folder = copy_golden(f"llama/{golden}", self.folder / golden)
        change_config(folder, **changes)
        return folder

    def test_inspect_describes_what_a_config_switches(self) -> None:
        self.model("gemma2-plain")
        text = self.succeed("inspect", "gemma2-plain").out
        facts = dict(re.findall(r"(?m)^(\S+) +(.*)$", text))
        self.assertEqual(facts["attention_scale"], "1/sqrt(7)")
        self.assertEqual(facts["sliding_window"], "2 of 3 layers see 21 tokens")
        self.assertEqual((facts["score_softcap"], facts["logit_softcap"]), ("1.5", "2.0"))
        self.model("llama-yarn")
        rope = json.loads(self.succeed("inspect", "llama-yarn", "--json").out)["rope"]
        self.assertIn("theta 10000, yarn scaling by 4 from 16 positions", rope)

    def test_a_window_is_seen(self) -> None:
        self.model("qwen2-window")
        self.ids(64, vocabulary=31)
        results, _ = self.saved("scan", "qwen2-window", "--tokens", "ids.txt")
        self.assertEqual(results["coords"]["window"], [0, 9, 9])
        self.assertEqual(
            results["coords"]["layer_type"], ["full_attention", "sliding_attention", "sliding_attention"]
        )
        reach = results["metrics"]["attention_distance_with_sinks_by_position"]["values"]
        self.assertTrue(all(head[-1] <= 8 for layer in reach[1:] for head in layer))
        self.assertTrue(any(head[-1] > 8 for head in reach[0]))
        text = self.succeed("scan", "qwen2-window", "--tokens", "ids.txt").out
        self.assertRegex(text, r"(?m)  2 of 3 layers see 9 tokens, all but 0$")

    def test_a_comparison_changes_the_layers_without_a_window(self) -> None:
        self.model("gemma3_text-plain")
        self.ids(64, vocabulary=31)
        words = ("compare", "gemma3_text-plain", "--tokens", "ids.txt", "--normalizer", "uniform")
        results, done = self.saved(*words)
        self.assertEqual(results["settings"]["layers"], "1")
        self.assertIn("the others (1) are changed; --layers 0-2 changes all", done.err)
        changes = results["metrics"]["loss_change"]["values"]
        asked, done = self.saved(*words, "--layers", "1", out="asked")
        self.assertEqual(asked["metrics"]["loss_change"]["values"], changes)
        self.assertNotIn("are changed", done.err)
        asked, done = self.saved(*words, "--layers", "0-2", out="all")
        self.assertNotEqual(asked["metrics"]["loss_change"]["values"], changes)
        # A window of the whole text is none.
        short, done = self.saved(*words, "--lengths", "21", out="short")
        self.assertEqual(short["settings"]["layers"], "all")

    def test_forecasts_stay_within_the_window(self) -> None:
        self.model("gemma3_text-plain", sliding_window=40)
        self.ids(64, vocabulary=31)
        results, _ = self.saved("scan", "gemma3_text-plain", "--tokens", "ids.txt", "--lengths", 64)
        high = results["metrics"]["effective_tokens_forecast_with_sinks"]["high"]
        most = [max(max(head) for head in layer) for layer in high]
        self.assertLessEqual(max(most[0], most[2]), 40 * (1 + 1e-9))
        self.assertGreater(most[1], 41)

    def test_slopes_are_taken_where_the_window_hides_nothing(self) -> None:
        self.model("gemma3_text-plain", sliding_window=16)
        self.ids(64, vocabulary=31)
        slopes = {}
        for length in (16, 64):
            results, _ = self.saved(
                "scan", "gemma3_text-plain", "--tokens", "ids.txt", "--lengths", length, out=str(length)
            )
            slopes[length] = results["metrics"]["entropy_slope_with_sinks"]["values"]
        self.assertEqual(slopes[64][0], slopes[16][0])
        self.assertEqual(slopes[64][2], slopes[16][2])
        self.assertNotEqual(slopes[64][1], slopes[16][1])
        self.assertNotIn(None, slopes[16][0])

    def test_a_plan_changes_the_layers_without_a_window(self) -> None:
        self.model("gemma3_text-plain")
        for seed, name in enumerate(("a", "b", "c", "d")):
            ids = random.Random(seed).choices(range(31), k=200)
            self.write(f"{name}.txt", " ".join(map(str, ids)))
        words = "plan gemma3_text-plain --tokens a.txt b.txt --confirm c.txt d.txt --lengths 48 --steps 4"
        few = (*words.split(), "--random-plans", 2, "--pattern", "window:size=12")
        results, done = self.saved(*few)
        self.assertEqual(results["settings"]["layers"], "1")
        self.assertIn("the others (1) are changed; --layers 0-2 changes all", done.err)
        # Layers 0 and 2 hold 21 keys each, layer 1 has 48.
        shares = [(42 + 48 * of) / 90 for of in (0.5, 0.75, 0.25)]
        self.assertEqual(results["coords"]["budget"], [f"{100 * share:.4g} %" for share in shares])
        self.assertEqual({head["layer"] for head in self.read("out/plan.json")["heads"]}, {1})
        _, done = self.saved(*few, "--layers", "0", "--memory", 0.9, "--curve", 0.9, out="asked")
        self.assertEqual({head["layer"] for head in self.read("asked/plan.json")["heads"]}, {0})
        self.assertNotIn("are changed", done.err)
        self.refuse(USAGE, *few, "--memory", 0.4, "--out", "x", says="the smallest choice in all heads")

    def test_the_two_ropes_of_gemma_3_are_shown(self) -> None:
        self.model("gemma3_text-plain")
        rope = json.loads(self.succeed("inspect", "gemma3_text-plain", "--json").out)["rope"]
        self.assertEqual(rope, "theta 50000; with a window: theta 100")
        self.model("smollm3-plain")
        rope = json.loads(self.succeed("inspect", "smollm3-plain", "--json").out)["rope"]
        self.assertEqual(rope, "theta 2000000; 1 of 4 layers without positions")

    def test_the_same_bits_on_any_number_of_threads(self) -> None:
        for golden in ("llama-plain", "gemma2-plain"):
            self.model(golden)
            self.ids(64, vocabulary=31)
            arguments = ("scan", golden, "--tokens", "ids.txt")
            found = [
                self.saved(*arguments, "--threads", n, out=f"{golden}{n}")[0]["metrics"] for n in (1, 2, 7)
            ]
            self.assertEqual(found[0], found[1])
            self.assertEqual(found[0], found[2])
