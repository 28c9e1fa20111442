"""Command lines as people write them: MODEL last, lists with spaces, `-` for the standard input, help."""

import json

from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, CommandTest

QUICK = ("--lengths", "32", "--measures", "weights", "--json")


class WordsTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.tiny(123)
        self.ids(97, vocabulary=37, name="more.txt")

    def scan(self, *words, **options) -> dict:
        return json.loads(self.succeed("scan", *words, **options).out)


class Model(WordsTest):
    def test_it_may_stand_last(self) -> None:
        expected = self.scan("model", "--tokens", "ids.txt", "more.txt", *QUICK)
        for words in (
            ("--tokens", "ids.txt", "more.txt", "model", *QUICK),
            (*QUICK, "--tokens", "ids.txt", "more.txt", "model"),
            ("--tokens=ids.txt", "more.txt", "model", *QUICK),
            "--tokens ids.txt more.txt --lengths 32 --json --measures weights model".split(),
            "--tokens ids.txt more.txt --measures weights --json --lengths 32 model".split(),
        ):
            with self.subTest(words):
                self.assertEqual(self.scan(*words)["metrics"], expected["metrics"])

    def test_of_every_command_with_a_model(self) -> None:
        for words in (
            "compare --normalizer ssmax --tokens ids.txt model --lengths 32 --measures weights",
            "converge --tokens ids.txt model --lengths 64 --replicates 2 --draws 2 --grid 8 32",
            "reproduce limits --tokens ids.txt model --lengths 64 --out made",
            "validate --tokens ids.txt more.txt model --lengths 64 --permutations 99 --resamples 99 "
            "--pattern none",
        ):
            self.succeed(*words.split())
        self.refuse_each(
            (BAD_INPUT, "reproduce tokens --tokens ids.txt model --lengths 999", "--lengths"),
            (USAGE, "plan --confirm ids.txt more.txt model", "neither --text nor --tokens"),
        )

    def test_what_took_it_is_named(self) -> None:
        says = ("expected MODEL, found none, for --tokens takes the words behind it",
                "write headgauge scan MODEL --tokens")  # fmt: skip
        self.write("nothing/notes.txt", "no model")
        self.refuse_each(
            (USAGE, "scan --tokens ids.txt", *says),
            (USAGE, "scan --tokens ids.txt more.txt --lengths 32", *says),
            # What is no file is no text, whoever has no such model.
            (BAD_INPUT, "scan --tokens ids.txt gpt9", "`hf download gpt9`"),
            (BAD_INPUT, "scan --tokens ids.txt nothing", "nothing: expected config.json"),
        )

    def test_one_that_is_named_stays(self) -> None:
        """A folder behind --tokens is then no model, but what it was."""
        self.refuse(BAD_INPUT, "scan", "model", "--tokens", "ids.txt", "model", form=False)
        last = "scan model --lengths 32 --tokens ids.txt --top 1 model"
        self.refuse_each((USAGE, last, 'no further argument, found "model"'))


class Lists(WordsTest):
    def test_spaces_for_commas(self) -> None:
        lists = {
            "--lengths": "16 32 64",
            "--top-n": "1 5",
            "--temperatures": "0.1 1",
            "--epsilons": ".1 3",
            "--top-share": "0.1 0.5",
            "--heads": "0.1 1.* *.3",
            "--layers": "0 1",
            "--measures": "weights distance",
        }
        base = ("model", "--tokens", "ids.txt", "--json")
        spaced = [word for option, items in lists.items() for word in (option, *items.split())]
        commas = [f"{option}={items.replace(' ', ',')}" for option, items in lists.items()]
        mixed = [f"{option}={items.replace(' ', ', ')}" for option, items in lists.items()]
        mixed = [word for option in mixed for word in option.split(" ")]
        expected = self.scan(*base, *commas)
        for words in ((*base, *spaced), (*base, *mixed), (*spaced[:2], "model", *base[1:], *spaced)):
            if words[0] == "--lengths":
                words = (*spaced, *base)
            found = self.scan(*words)
            self.assertEqual(found["metrics"], expected["metrics"])
            self.assertEqual(found["settings"], expected["settings"])

    def test_a_word_that_is_no_number_is_no_length(self) -> None:
        self.assertEqual(self.scan("--lengths", "16", "32", "model", "--tokens", "ids.txt", "--json",
                                   "--measures", "weights")["settings"]["lengths"], [16, 32])  # fmt: skip
        self.refuse(USAGE, "scan", "model", "--tokens", "ids.txt", "--lengths", "16", "x", says='"x"')
        self.refuse(USAGE, "scan", "model", "--tokens", "ids.txt", "--lengths", "16", "3x", says="--lengths")


class StandardInput(WordsTest):
    def test_a_hyphen_is_it(self) -> None:
        ids = (self.folder / "ids.txt").read_text()
        found = self.scan("model", "--tokens", "-", *QUICK, typed=ids)
        self.assertEqual(found["metrics"], self.scan("model", "--tokens", "ids.txt", *QUICK)["metrics"])
        self.assertEqual(found["text"]["names"], ["/dev/stdin"])
        self.assertEqual(
            len(self.scan("model", "--tokens", "-", "ids.txt", *QUICK, typed=ids)["text"]["names"]), 2
        )

    def test_it_is_read_once(self) -> None:
        self.refuse_each(
            (USAGE, "scan model --tokens - -", "standard input", "once", "2 times"),
            (USAGE, "scan model --tokens - /dev/stdin", "standard input", "once", "2 times"),
            (USAGE, "compare model --tokens - --confirm - --normalizer ssmax", "standard input"),
        )


class Help(WordsTest):
    def test_help_of_a_command(self) -> None:
        for words in ((), ("scan",), ("reproduce",), ("reproduce", "tokens"), ("help",)):
            self.assertEqual(self.succeed("help", *words).out, self.succeed(*words, "--help").out)
        self.refuse_each(
            (USAGE, "help scna", '"scna" (did you mean scan?)'),
            (USAGE, "help scan plan", "no word behind scan", '"plan"'),
            (USAGE, "help reproduce limit", '"limit" (did you mean limits?)'),
        )


class Names(WordsTest):
    def test_the_nearest_is_named(self) -> None:
        scan = "scan model --tokens ids.txt"
        for name in ("old", "new"):
            self.scan(*scan.split()[1:], *QUICK, "--out", name)
        limits = {
            "schema": "headgauge.limits/1",
            "limits": [{"metric": "entropy_with_sinks", "max_increas": 1}],
        }
        self.write("key.json", json.dumps(limits))
        limits["limits"] = [{"metric": "entropi", "max_increase": 1}]
        self.write("limits.json", json.dumps(limits))
        for code, words, near in (
            (USAGE, f"{scan} --sort entropi", "entropy"),
            (USAGE, f"{scan} --measures weight", "weights"),
            (USAGE, f"{scan} --normalizer entmax:alpa=1.5", "alpha"),
            (USAGE, f"{scan} --x embeding", "embedding"),
            (USAGE, f"{scan} --lenghts 3", "--lengths"),
            (USAGE, f"{scan} --lenghts=3", "--lengths"),
            (USAGE, f"{scan} --length 32", "--lengths"),
            (USAGE, "compare model --tokens ids.txt --normalizers ssmax", "--normalizer"),
            (USAGE, "list measures --group weigths", "weights"),
            (USAGE, "list measures entropi", "entropy"),
            (USAGE, "list measures previos", "previous"),
            (USAGE, "diff old new --metrics entropi", "entropy"),
            (BAD_INPUT, "diff old new --limits limits.json", "entropy"),
            (BAD_INPUT, "diff old new --limits key.json", "max_increase"),
        ):
            self.refuse_each((code, words, f"(did you mean {near}?)"))
        self.assertNotIn("did you mean", self.refuse(USAGE, *scan.split(), "--sort", "xyzzy"))

    def test_one_metric_or_flag(self) -> None:
        every = json.loads(self.succeed("list", "measures", "--json").out)
        [entropy] = [metric for metric in every if metric["name"] == "entropy_with_sinks"]
        self.assertEqual(
            json.loads(self.succeed("list", "measures", "entropy_with_sinks", "--json").out), entropy
        )
        text = " ".join(self.succeed("list", "measures", "entropy_with_sinks").out.split())
        for key in ("title", "meaning", "unit", "formula", "source", "group", "dims"):
            self.assertIn(" ".join(entropy[key].split()), text)
        self.assertNotIn("max_weight_with_sinks", text)
        self.assertEqual(
            self.succeed("list", "measures", "entropy_with_sinks_by_position").out,
            self.succeed("list", "measures", "entropy_with_sinks").out,
        )
        for metric in every:
            for flag in metric["flags"]:
                shown = json.loads(self.succeed("list", "measures", flag, "--json").out)
                self.assertEqual((shown["name"], shown["metric"]), (flag, metric["name"]))
                self.assertIn(shown["meaning"].split()[0], self.succeed("list", "measures", flag).out)
        text = " ".join(self.succeed("list", "measures", "wide").out.split())
        self.assertIn("90 % of its weight beyond the sinks on more than 6 % of its keys", text)
        self.refuse(USAGE, "list", "measures", "weights", says=("a group", "write --group weights"))
        self.refuse(
            USAGE, "list", "measures", "entropy_with_sinks", "--group", "weights", says="one of the two"
        )


class OtherFormats(WordsTest):
    def test_weights_of_other_formats_are_named(self) -> None:
        for name, what in (("model.onnx", "an ONNX file"), ("pytorch_model.bin", "a PyTorch file"),
                           ("pytorch_model-00001-of-00002.bin", "a PyTorch file")):  # fmt: skip
            says = (name, what, "save_pretrained", "safetensors")
            path = self.write(f"{what}/{name}", "weights")
            self.refuse(UNSUPPORTED, "inspect", path, says=says)
            self.refuse(UNSUPPORTED, "inspect", path.parent, says=says)
            self.refuse(UNSUPPORTED, "scan", "--tokens", "ids.txt", path, says=says)
            self.write(f"{what}/config.json", "{}")
            self.refuse(UNSUPPORTED, "inspect", path.parent, says=says)
            (path.parent / "config.json").unlink()
            path.unlink()
        # No weights: its name says what it is of.
        self.write("trained/training_args.bin", "x")
        self.refuse(BAD_INPUT, "inspect", "trained", says="config.json")
