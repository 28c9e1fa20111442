"""headgauge compare as a user runs it."""

import json

from tests.cli.answers import likeliest, write_cases
from tests.cli.checkpoints import draws, make_dump
from tests.cli.command import UNSUPPORTED, USAGE, CommandTest, defined, flat
from tests.places import ROOT
from tests.results.schema import validate

DEMO = ("compare", ROOT / "demo/model", "--text", ROOT / "demo/text.txt")


class CompareTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.tiny(96)
        self.model = ("model", "--tokens", "ids.txt", "--lengths", "16,96")

    def compare(self, *options: str, model: tuple[str, ...] | None = None) -> dict:
        return self.saved("compare", *(model or self.model), "--quiet", *options)[0]


class Compare(CompareTest):
    def test_the_files(self) -> None:
        results = self.compare(
            "--normalizer",
            "ssmax:s=0.43,b=0,sparsemax",
            "--normalizer",
            "entmax:alpha=1.25",
            "--measures",
            "all",
        )
        normalizers = ["original", "ssmax:s=0.43,b=0", "sparsemax", "entmax:alpha=1.25"]
        self.assertEqual(results["coords"]["normalizer"], normalizers)
        self.assertEqual(results["command"], "compare")
        self.assertEqual(results["settings"]["normalizer"], normalizers[1:])
        self.assertEqual(results["settings"]["each"], "none")
        metrics = results["metrics"]
        for name in ("loss", "loss_change"):
            self.assertEqual(metrics[name]["dims"], ["normalizer", "outcome", "length"], name)
        for name in ("kl", "critical_n", "critical_n_change"):
            self.assertEqual(metrics[name]["dims"], ["normalizer", "length"], name)
        for name in (
            "output_change",
            "entropy_with_sinks",
            "entropy_with_sinks_change",
            "jacobian_spectral_change",
        ):
            self.assertEqual(metrics[name]["dims"], ["layer", "head", "normalizer", "length"], name)
        for name in ("distance_change", "separability_with_sinks_change"):
            self.assertEqual(metrics[name]["dims"], ["layer", "head", "normalizer", "length", "top_n"], name)
        self.assertEqual(
            metrics["sensitivity"]["dims"], ["layer", "head", "normalizer", "temperature", "epsilon"]
        )
        self.assertEqual(metrics["entropy_slope_with_sinks"]["dims"], ["layer", "head", "normalizer"])

    def test_every_normalizer_runs(self) -> None:
        """All of them in one call: the list says each by its own parameters."""
        listed = [
            f"{entry['name']}:{entry['parameters']}".rstrip(":")
            for entry in json.loads(self.succeed("list", "normalizers", "--json").out)
        ]
        results = self.compare("--normalizer", ",".join(listed), "--measures", "weights")
        self.assertEqual(results["coords"]["normalizer"], ["original", *listed])
        for name in ("loss", "kl"):
            for normalizer, values in zip(
                results["coords"]["normalizer"], results["metrics"][name]["values"], strict=True
            ):
                self.assertNotIn(None, flat(values), f"{name} of {normalizer}")
        # softmax at temperature 1 is what the model has.
        self.assertEqual(results["metrics"]["kl"]["values"][1], [0, 0])

    def test_nothing_is_said_of_what_equal_weights_are_by_definition(self) -> None:
        results = self.compare("--normalizer", "uniform,ssmax", "--measures", "all")
        said = [line["text"] for line in results["summary"] if " went from " in line["text"]]
        self.assertTrue(said)
        self.assertEqual([line for line in said if " under uniform" in line], [])

    def test_what_is_special_is_said_once(self) -> None:
        done = self.succeed(
            "compare", *self.model, "--normalizer", "topk:k=20,ssmax", "--measures", "weights"
        )
        self.assertEqual(done.err.count("rows with fewer than k = 20 keys keep all"), 1, done.err)

    def test_a_pattern_says_what_it_drops_and_what_the_loss_does_not_show(self) -> None:
        results = self.compare("--pattern", "window:size=24", "--measures", "weights")
        found = {line["text"]: line for line in results["summary"]}
        said = "The loss of text does not show whether the model still finds tokens far back."
        # There is no tokenizer, and so no probe.
        command = "`headgauge compare model --tokens ids.txt --tasks FILE --pattern "
        self.assertIn(command, found[said]["next"])
        few = "--lengths 64 --pattern window:size=24 --measures weights --probe none"
        probe = "--pattern window:size=24 --probe replay`"
        self.assertIn(probe, self.succeed(*DEMO, *few.split()).out)
        for text in found:
            if text.startswith("window:size=24"):
                self.assertIn("At L = 96, ", text)
        write_cases(self, "tasks.jsonl", likeliest(self, "model", [30] * 12))
        for words in ("--pattern window:size=24 --tasks tasks.jsonl", "--normalizer sparsemax"):
            judged = self.compare(*words.split(), "--measures", "weights")
            self.assertNotIn(said, [line["text"] for line in judged["summary"]])

    def test_one_at_a_time(self) -> None:
        words = "--normalizer sparsemax --each layer --measures weights"
        done = self.succeed("compare", *self.model, *words.split(), "--out", "out")
        self.assertNotIn("critical_n", self.read("out/results.json")["metrics"])
        self.assertIn("No recommendation: a text of 96 tokens has too few blocks", done.out)

    def test_a_dump_has_outputs_but_no_loss(self) -> None:
        values = {f"layers.{layer}.v": draws(3, 40, 8) for layer in range(2)}
        make_dump(self.folder / "d.safetensors", 2, 3, 40, 8, **values)
        done = self.succeed("compare", "d.safetensors", "--normalizer", "sparsemax,topk", "--out", "out")
        self.assertIn("there is no loss and no divergence", done.err)
        metrics = validate(self.folder / "out/results.json")["metrics"]
        self.assertNotIn("loss", metrics)
        self.assertGreater(min(defined([h[1:] for l in metrics["output_change"]["values"] for h in l])), 0)


class CompareRefuses(CompareTest):
    def test_what_makes_no_sense(self) -> None:
        base = ("compare", *self.model)
        self.refuse_each(
            (USAGE, "", "--normalizer", "--pattern"),
            (USAGE, "--normalizer sparsmax", "--normalizer:", "sparsemax"),
            (USAGE, "--normalizer ssmax:t=1", "--normalizer ssmax:", "s=0.43"),
            (USAGE, "--normalizer topk,topk", "twice"),
            (USAGE, "--normalizer topk,,logn"),
            (USAGE, "--normalizer topk --heads 9.9", "--heads"),
            base=base,
        )
        self.refuse(USAGE, *base, "--normalizer", "topk", "--pattern", "window", form=False)
        self.refuse(USAGE, *base, "--normalizer", "topk", "--each", "token", form=False)


class CompareOnModels(CommandTest):
    def test_gains_are_candidates_and_recommended_where_another_text_confirms_them(self) -> None:
        """On the demo model some heads gain; what is said of them is in the file."""
        each = "--normalizer logn-entropy,ssmax --each head --heads 1.1,1.5 --measures weights --out out"
        demo = (*DEMO, *each.split())
        done = self.succeed(*demo)
        results = validate(self.folder / "out/results.json")
        self.assertEqual(
            [(f["name"], f["layer"], f["head"]) for f in results["flags"]],
            [("candidate", 1, 1), ("candidate", 1, 5)],
        )
        self.assertEqual(done.out.count("Lower loss in head"), 2)
        self.assertRegex(
            " ".join(done.out.split()),
            r"Lower loss in head 1\.\d: [^ ]+, loss [^ ]+ ± [^ ]+ nats at L = \d+,",
        )
        self.assertIn("compare --confirm FILE tries them on another", " ".join(done.out.split()))
        self.assertNotIn("Recommended", done.out)
        for flag in results["flags"]:
            self.assertNotIn("advice", flag)
            change = results["metrics"]["loss_change"]
            values, errors = (change[key][flag["layer"]][flag["head"]] for key in ("values", "stderr"))
            place = [of_text[-1] for (of_text,) in values].index(flag["value"])
            self.assertLess(flag["threshold"], -2 * errors[place][0][-1], "among 4 tries")
            self.assertLess(flag["value"], flag["threshold"])

        done = self.succeed(*demo, "--confirm", ROOT / "LICENSE", "--force")
        results = validate(self.folder / "out/results.json")
        self.assertEqual(
            [(f["name"], f["head"]) for f in results["flags"]], [("candidate", 1), ("recommended", 5)]
        )
        said = " ".join(done.out.split())
        self.assertIn(f"Recommended for {results['flags'][1]['advice']}.", said)
        self.assertIn("No change of the loss is shown there: head 1.1, logn-entropy (", said)
        self.assertIn("1 of these 2 lowers the loss on LICENSE (L = 1024) beyond chance", said)
        self.assertEqual(results["settings"]["confirm"], [str(ROOT / "LICENSE")])

    def test_what_is_confirmed_on_must_be_another_text(self) -> None:
        self.tiny(96)
        make_dump(self.folder / "d.safetensors", 1, 2, 40, 8)
        another = "another text than the one that is measured"
        text = (ROOT / "demo/text.txt").read_text()
        (self.folder / "shifted.txt").write_text("Hello. " + text)
        (self.folder / "part.txt").write_text(text[500:1500])
        demo = " ".join(map(str, DEMO[1:]))
        self.refuse_each(
            (USAGE, "model --tokens ids.txt --normalizer ssmax --confirm ids.txt", another),
            (UNSUPPORTED, "d.safetensors --normalizer ssmax --confirm ids.txt", "a dump"),
            # The same text, hidden in the other.
            (USAGE, f"{demo} --normalizer ssmax --confirm shifted.txt", "the same text"),
            (USAGE, f"{demo} --normalizer ssmax --confirm part.txt", "the same text"),
            base=("compare",),
        )

    def test_a_normalizer_that_breaks_the_model_is_left_out(self) -> None:
        self.tiny(96)
        words = "compare model --tokens ids.txt --normalizer softmax:t=1e-39,ssmax --measures weights"
        results, done = self.saved(*words.split())
        self.assertEqual(results["coords"]["normalizer"], ["original", "ssmax"])
        self.assertIn("softmax:t=1e-39 is left out: ", done.err)

    def test_the_docs_example_uses_normalizers_that_are_there(self) -> None:
        page = (ROOT / "docs/compare.md").read_text()
        for line in page.splitlines():
            if line.strip().startswith("headgauge compare") and "--normalizer" in line:
                normalizers = line.split("--normalizer", 1)[1].split()[0]
                few = "--lengths 32 --measures weights --quiet"
                self.succeed(*DEMO, "--normalizer", normalizers, *few.split())
