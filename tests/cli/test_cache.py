"""What a smaller cache costs: compare --window, cache, and the caches that a scan tries."""

from typing import Any

from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import USAGE
from tests.cli.shares import DEMO, SharesTest
from tests.places import ROOT

TEXT = ROOT / "demo/text.txt"
CASES = ("--cases", "2")


class Caches(SharesTest):
    def compared(self, *options: Any, command: str = "compare") -> dict:
        done = self.succeed(command, DEMO, *options, "--out", "out", "--force")
        self.notices = done.err
        return self.results("out")

    def test_a_window_is_measured_on_two_to_four_times_its_size(self) -> None:
        results = self.compared("--text", TEXT, "--window", "64,100", *CASES)
        self.assertEqual(results["coords"]["length"], [200, 400])
        patterns = ["original", "sinks:sinks=4,window=60", "sinks:sinks=4,window=96"]
        self.assertEqual(results["coords"]["pattern"], patterns)
        self.assertNotIn("entropy", results["metrics"])
        (task,) = results["text"]["tasks"]
        self.assertEqual((task["name"], task["cases"]), ("passkey", 2))

    def test_a_window_above_half_of_the_context_has_one_length(self) -> None:
        results = self.compared("--text", TEXT, "--window", "700", "--probe", "none")
        self.assertEqual(results["coords"]["length"], [1024])
        self.assertIn("700 tokens is measured at 1024 tokens alone", self.notices)
        self.assertIn("324 tokens lose keys there", self.notices)
        self.assertEqual(results["coords"]["outcome"], ["text"])

    def test_lengths_that_are_given_stay(self) -> None:
        results = self.compared("--text", TEXT, "--window", "32", "--lengths", "48,96", "--probe", "none")
        self.assertEqual(results["coords"]["length"], [48, 96])

    def test_the_rise_is_that_of_the_tokens_behind_the_window(self) -> None:
        options = ("--window", "32", "--lengths", "96", "--probe", "none", "--examples", "1000")
        results = self.compared("--text", TEXT, *options)
        rise = results["metrics"]["loss_change_lost_keys"]
        changes = [
            token["losses"][1] - token["losses"][0]
            for token in results["token_losses"]
            if token["position"] > 32  # the query before it is the first that sees more than 32 keys
        ]
        self.assertEqual(rise["rows"][1], [len(changes)])
        self.assertAlmostEqual(rise["values"][1][0], sum(changes) / len(changes), places=12)
        whole = results["metrics"]["loss_change"]["values"][1][0][0]
        self.assertAlmostEqual(whole * 95, rise["values"][1][0] * len(changes), places=9)

    def test_the_size_of_the_cache_is_that_of_the_context_that_is_served(self) -> None:
        options = ("--window", "32", "--lengths", "96", "--probe", "none", "--serve", "4096")
        metrics = self.compared("--text", TEXT, *options)["metrics"]
        share = metrics["served_cache_share"]["values"]
        self.assertEqual(share, [[1], [32 / 4096]])
        self.assertEqual(
            metrics["served_cache_bytes"]["values"][1][0] * 4096 / 32,
            metrics["served_cache_bytes"]["values"][0][0],
        )

    def test_all_groups_are_measured_if_asked_for(self) -> None:
        quick = ("--lengths", "64", "--normalizer", "ssmax")
        few = self.compared("--text", TEXT, *quick)["metrics"]
        every = self.compared("--text", TEXT, *quick, "--measures", "all")["metrics"]
        self.assertNotIn("entropy", few)
        self.assertIn("entropy", every)
        self.assertEqual(few["loss"]["values"], every["loss"]["values"])

    def test_cache_tries_six_sizes(self) -> None:
        results = self.compared("--text", TEXT, "--lengths", "256", *CASES, command="cache")
        sizes = [16, 32, 64, 96, 128, 192]
        specs = [f"sinks:sinks=4,window={size - 4}" for size in sizes]
        self.assertEqual(results["coords"]["pattern"], ["original", *specs])
        self.assertEqual(results["coords"]["length"], [256])

    def test_cache_asks_for_answers_alone_without_a_text(self) -> None:
        results = self.compared("--lengths", "256", *CASES, command="cache")
        self.assertEqual(results["coords"]["outcome"], ["passkey"])
        self.assertNotIn("loss_change_lost_keys", results["metrics"])

    def test_a_model_that_cannot_be_asked_says_why(self) -> None:
        copy_golden("gpt2/plain", self.folder / "bare")
        self.write("ids.txt", " ".join(str(k % 40) for k in range(64)))
        done = self.succeed("compare", "bare", "--tokens", "ids.txt", "--window", "16", "--out", "out")
        self.assertIn("no answers were asked for: the model has no tokenizer", done.err)
        make_dump(self.folder / "dump.safetensors", layers=1, heads=1, length=64, width=4)
        self.succeed("compare", "dump.safetensors", "--window", "16", "--out", "dumped")
        self.assertEqual(self.results("dumped")["coords"]["pattern"][1:], ["sinks:sinks=4,window=12"])

    def test_shards_have_the_bits_of_one_process(self) -> None:
        quick = ("--tokens", *self.write_ids(), "--probe", "none")
        self.assert_shards_have_the_bits_of_one("compare", DEMO, *quick, "--window", "32", at="compare/")

    def write_ids(self) -> tuple[str, ...]:
        for name in ("a.ids", "b.ids"):
            self.write(name, " ".join(str((7 * k + len(name)) % 500) for k in range(160)))
        return ("a.ids", "b.ids")

    def test_bad_input(self) -> None:
        for window in ("4", "0", "many", "64,auto", "-5"):
            words = ("compare", DEMO, "--text", TEXT, f"--window={window}")
            self.refuse(USAGE, *words, says="whole numbers above 4, or auto")
        self.refuse(USAGE, "compare", DEMO, "--text", TEXT, "--window", "1024", says="which keeps all")


class TriedByAScan(SharesTest):
    def test_a_scan_of_everything_tries_three(self) -> None:
        options = ("--text", TEXT, "--lengths", "64,1024")
        self.succeed("scan", DEMO, *options, "--out", "scan")
        scan = self.results("scan")
        tried = ["sinks:sinks=4,window=508", "sinks:sinks=4,window=252", "window:size=512"]
        self.assertEqual(scan["coords"]["smaller"], tried)
        patterns = ",".join(tried)
        words = ("--text", TEXT, "--lengths", "1024", "--pattern", patterns, "--probe", "none")
        self.succeed("compare", DEMO, *words, "--out", "compare")
        compared = self.results("compare")["metrics"]
        rise = scan["metrics"]["loss_change_lost_keys"]
        for key in ("values", "stderr", "rows"):
            whole = [row[0] for row in compared["loss_change_lost_keys"][key][1:]]
            self.assertEqual(rise[key], whole, key)
        change = [row[0][0] for row in compared["loss_change"]["values"][1:]]
        self.assertEqual([row[0] for row in scan["metrics"]["smaller_loss_change"]["values"]], change)
        said = [line["text"] for line in scan["summary"] if line.get("lead")]
        self.assertTrue(any(text.startswith("Lost answers were not measured") for text in said), said)

    def test_it_asks_for_the_answers_of_a_probe(self) -> None:
        options = ("--text", TEXT, "--lengths", "256", "--probe", "replay", *CASES)
        self.succeed("scan", DEMO, *options, "--out", "scan")
        scan = self.results("scan")
        self.assertEqual(scan["coords"]["outcome"], ["text", "replay"])
        self.assertEqual(scan["metrics"]["smaller_loss_change"]["dims"], ["smaller", "outcome"])
        self.assertIsNotNone(scan["metrics"]["smaller_loss_change"]["values"][0][1])

    def test_a_scan_that_is_cheaper_than_four_passes_says_what_is_not_measured(self) -> None:
        self.succeed("scan", DEMO, "--text", TEXT, "--lengths", "64", "--out", "out")
        results = self.results("out")
        self.assertNotIn("smaller", results["coords"])
        said = [line["text"] for line in results["summary"]]
        self.assertTrue(any(text.startswith("What a smaller cache costs was not measured") for text in said))

    def test_a_scan_of_some_groups_or_heads_tries_none(self) -> None:
        for options in (("--measures", "weights,model"), ("--heads", "0.0"), ("--pattern", "window:size=16")):
            self.succeed("scan", DEMO, "--text", TEXT, "--lengths", "64", *options, "--out", "out", "--force")
            self.assertNotIn("smaller", self.results("out")["coords"], options)

    def test_shards_have_the_bits_of_one_process(self) -> None:
        for name in ("a.ids", "b.ids"):
            self.write(name, " ".join(str((7 * k + ord(name[0])) % 500) for k in range(96)))
        words = ("scan", DEMO, "--tokens", "a.ids", "b.ids", "--lengths", "96")
        self.assert_shards_have_the_bits_of_one(*words, at="scan/")
