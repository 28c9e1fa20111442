"""The commands on bidirectional models: tiny BERTs, a dump, and all-MiniLM-L6-v2."""

import json
import math
import signal
import unittest

from tests.cli.checkpoints import change_config, copy_golden, make_dump, read_weights, write_weights
from tests.cli.command import BAD_INPUT, INTERRUPTED, UNSUPPORTED, USAGE, CommandTest
from tests.cli.terminal import Terminal
from tests.places import GOLDEN, MINILM, ROOT
from tests.results.schema import validate

TEXT = ROOT / "demo/text.txt"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "three", "four", "five", "##s"]


class BertTest(CommandTest):
    def results(self, *arguments, out: str = "out") -> tuple[dict, str]:
        """What a command wrote, and what it said on stderr."""
        done = self.succeed(*arguments, "--out", out, "--force")
        return validate(self.folder / out / "results.json"), done.err


class Tiny(BertTest):
    """2 layers of 4 heads, 97 positions, 41 tokens."""

    def setUp(self) -> None:
        super().setUp()
        copy_golden("bert/plain", self.folder / "model")
        self.ids(120)
        self.model = ("model", "--tokens", "ids.txt")

    def test_a_pass_for_each_length(self) -> None:
        results, err = self.results("scan", *self.model)
        self.assertEqual(results["coords"]["length"], [32, 64, 97])
        self.assertEqual(results["coords"]["position"][-1], 97)
        self.assertIs(results["model"]["causal"], False)
        self.assertNotIn("loss", results["metrics"])
        self.assertEqual(err, "")
        entropy = results["metrics"]["entropy"]
        self.assertEqual(entropy["rows"][0][0], [32, 64, 97])
        self.assertEqual(results["metrics"]["visible_keys"]["values"][1][3], [32, 64, 97])
        for length, values in ((32, entropy["values"][0][0][0]), (64, entropy["values"][0][0][1])):
            alone, _ = self.results("scan", *self.model, "--lengths", str(length), out=str(length))
            self.assertEqual(alone["metrics"]["entropy"]["values"][0][0], [values])
        slope = results["metrics"]["entropy_slope"]["values"]
        self.assertTrue(all(isinstance(value, float) for layer in slope for value in layer))

    def test_a_loss_that_is_asked_for(self) -> None:
        _, err = self.results("scan", *self.model, "--measures", "weights,model")
        self.assertIn("note: there is no loss: model sees the whole text", err)

    def test_text_stands_between_cls_and_sep(self) -> None:
        self.write("model/vocab.txt", "\n".join(WORDS) + "\n")
        self.write("text.txt", "One twos three four five " * 8)
        results, _ = self.results(
            "scan", "model", "--text", "text.txt", "--lengths", "8,20", "--measures", "weights"
        )
        pieces = [5, 6, 10, 7, 8, 9] * 8
        self.assertEqual(results["text"]["tokens"], [20])
        self.assertEqual(results["text"]["tokens_total"], [len(pieces) + 2])
        for place, length in enumerate((8, 20)):
            ids = [2, *pieces[: length - 2], 3]
            self.write("by-hand.txt", " ".join(map(str, ids)))
            alone, _ = self.results(
                *"scan model --tokens by-hand.txt --lengths".split(),
                str(length),
                "--measures",
                "weights",
                out="by-hand",
            )
            for layer in range(2):
                for head in range(4):
                    self.assertEqual(
                        results["metrics"]["entropy"]["values"][layer][head][place],
                        alone["metrics"]["entropy"]["values"][layer][head][0],
                    )

    def test_lengths_that_do_not_fit(self) -> None:
        self.write("model/vocab.txt", "\n".join(WORDS) + "\n")
        self.write("text.txt", "one two three " * 50)
        text = ("scan", "model", "--text", "text.txt")
        self.refuse(BAD_INPUT, *text, "--lengths", "1,16", says=("at least 2", "special tokens"))
        self.refuse(BAD_INPUT, *text, "--lengths", "98", says="at most 97")
        self.refuse(BAD_INPUT, "scan", *self.model, "--lengths", "200", says="97")

    def test_what_needs_the_next_token_is_refused(self) -> None:
        self.refuse(
            UNSUPPORTED, "scan", *self.model, "--measures", "model", says="a prediction of the next token"
        )
        self.refuse(
            USAGE,
            "scan",
            *self.model,
            "--normalizer",
            "logn-qwen",
            says=("a causal model", "whose queries see the whole text", "logn-entropy"),
        )
        self.refuse(USAGE, "compare", *self.model, "--normalizer", "ssmax,logn-qwen", says="a causal model")

    def test_patterns_look_to_both_sides(self) -> None:
        for pattern, keys in (("window:size=8", 9), ("sinks:sinks=2,window=4", 7)):
            results, _ = self.results(
                "scan",
                *self.model,
                "--lengths",
                "64",
                "--pattern",
                pattern,
                "--measures",
                "weights,counterfactual",
            )
            visible = results["metrics"]["visible_keys"]["values"][0][0][0]
            self.assertLess(visible, keys)
            self.assertGreater(visible, keys - 1)  # there are fewer at both ends
        results, _ = self.results(
            "scan",
            *self.model,
            *"--lengths 64 --measures weights --pattern bigbird:window=4,random=6,global=2".split(),
        )
        visible = results["metrics"]["visible_keys"]["values"][0][0][0]
        self.assertGreater(visible, 12)
        self.assertLess(visible, 16)  # two queries see all 64

    def test_compare(self) -> None:
        for each in ((), ("--each", "head")):
            results, err = self.results(
                "compare", *self.model, "--lengths", "16,32,96", "--normalizer", "ssmax,sparsemax", *each
            )
            self.assertIn("there is no loss and no divergence, and no recommendation", err)
            self.assertEqual(results["coords"]["length"], [16, 32, 96])
            metrics = results["metrics"]
            for name in ("loss", "loss_change", "kl"):
                self.assertNotIn(name, metrics)
            for name in ("output_change", "entropy", "entropy_change"):
                self.assertEqual(metrics[name]["dims"], ["layer", "head", "normalizer", "length"])
            for name in ("entropy_slope", "entropy_slope_change"):
                self.assertEqual(metrics[name]["dims"], ["layer", "head", "normalizer"])
            self.assertNotIn("recommended", {flag["name"] for flag in results["flags"]})
            change = metrics["output_change"]["values"][0][0]
            self.assertEqual(change[0], [0, 0, 0])
            self.assertTrue(all(value > 0 for value in change[2]))

    def test_inspect(self) -> None:
        facts = json.loads(self.succeed("inspect", "model", "--json").out)
        expected = {
            "family": "bert",
            "layers": 2,
            "heads": 4,
            "head_dim": 5,
            "positions": 97,
            "causal": False,
            "activation": "gelu",
            "prefix": "",
        }
        self.assertEqual({key: facts[key] for key in expected}, expected)
        header, _ = read_weights(GOLDEN / "bert" / "plain/model.safetensors")
        sizes = (math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
        self.assertEqual(facts["parameters"], sum(sizes))
        text = self.succeed("inspect", GOLDEN / "bert" / "prefix").out
        self.assertRegex(text, r"(?m)^prefix +bert\.$")

    def test_what_is_not_run_and_what_does_not_fit(self) -> None:
        for code, changes, *says in (
            (UNSUPPORTED, {"position_embedding_type": "relative_key"}, "relative_key", "absolute"),
            (UNSUPPORTED, {"position_embedding_type": "relative_key_query"}, "relative_key_query"),
            (UNSUPPORTED, {"is_decoder": True}, "is_decoder"),
            (UNSUPPORTED, {"add_cross_attention": True}, "add_cross_attention"),
            (UNSUPPORTED, {"hidden_act": "mish"}, "mish"),
            (BAD_INPUT, {"num_attention_heads": 3}, "a multiple of num_attention_heads = 3"),
            (BAD_INPUT, {"layer_norm_eps": 0}, "layer_norm_eps"),
            (BAD_INPUT, {"num_hidden_layers": 1}, "more than 1"),
            (BAD_INPUT, {"num_hidden_layers": 3}, "encoder.layer.2."),
            (BAD_INPUT, {"type_vocab_size": 3}, "token_type_embeddings"),
            (BAD_INPUT, {"intermediate_size": 21}, "intermediate.dense"),
            (BAD_INPUT, {"vocab_size": None}, "vocab_size"),
        ):
            with self.subTest(changes):
                copy_golden("bert/plain", self.folder / "model")
                change_config(self.folder / "model", **changes)
                self.refuse(code, "scan", *self.model, says=says)
        copy_golden("bert/plain", self.folder / "model")
        path = self.folder / "model/model.safetensors"
        header, data = read_weights(path)
        header["x"] = header.pop("embeddings.LayerNorm.bias")
        write_weights(path, header, data)
        self.refuse(BAD_INPUT, "scan", *self.model, says="embeddings.LayerNorm.bias")


class Dumps(BertTest):
    def test_a_dump_that_is_not_causal(self) -> None:
        path = make_dump(self.folder / "dump.safetensors", layers=1, heads=2, length=64, width=4)
        header, data = read_weights(path)
        header["__metadata__"]["causal"] = "false"
        write_weights(path, header, data)
        results, err = self.results("scan", "dump.safetensors", "--lengths", "16,64")
        self.assertEqual(results["metrics"]["visible_keys"]["values"][0][0], [16, 64])
        self.assertIn("was made of a context of 64 tokens", err)
        _, err = self.results("scan", "dump.safetensors", "--lengths", "64")
        self.assertNotIn("was made of a context", err)


@unittest.skipUnless(MINILM.exists(), f"{MINILM} is not there: tools/minilm.sh installs it")
class MiniLm(BertTest):
    """Real weights: 6 layers of 12 heads, 512 positions; its tokenizer.json asks for 128 tokens."""

    def test_scan(self) -> None:
        results, err = self.results("scan", MINILM, "--text", TEXT)
        self.assertNotIn("note: ", err)
        self.assertEqual(results["model"]["family"], "bert")
        self.assertEqual(results["coords"]["length"], [32, 64, 128, 256, 512])
        self.assertEqual(results["text"]["tokens"], [512])
        self.assertGreater(results["text"]["tokens_total"][0], 512)
        for name in ("entropy", "separability", "distance", "jacobian_spectral"):
            values = results["metrics"][name]["values"]
            self.assertEqual((len(values), len(values[0]), len(values[0][0])), (6, 12, 5))
            self.assertNotIn("null", json.dumps([head[-1] for layer in values for head in layer]))
        keys = results["metrics"]["visible_keys"]["values"][5][11]
        self.assertEqual(keys, [32, 64, 128, 256, 512])
        summary = self.succeed(
            "scan", MINILM, "--text", TEXT, "--quiet", "--top", "1", "--lengths", "32,64"
        ).out
        self.assertRegex(summary, r"heads? rests? on sinks")
        self.assertNotIn("previous token", summary)

    def test_interrupted_it_keeps_the_lengths_that_were_finished(self) -> None:
        terminal = Terminal(
            "scan",
            str(MINILM),
            "--text",
            str(TEXT),
            *"--out out --lengths 64,256,300,512".split(),
            cwd=self.folder,
        )
        terminal.read_until(r"length 300: measuring")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        partial = validate(self.folder / "out/results.json")
        self.assertTrue(partial["partial"])
        self.assertEqual(partial["layers_done"], 6)
        lengths = partial["coords"]["length"]
        self.assertIn(lengths, ([512], [300, 512]))
        self.assertEqual(
            terminal.messages()[-1],
            f"headgauge: interrupted; 6 layers were finished at {len(lengths)} of 4 lengths and "
            "saved in out/results.json, marked partial",
        )

    def test_compare_under_patterns(self) -> None:
        results, _ = self.results(
            "compare",
            MINILM,
            "--text",
            TEXT,
            *(
                "--lengths 64,128 --pattern bigbird:window=16,random=16,global=2,window:size=32 --measures "
                "weights"
            ).split(),
        )
        self.assertEqual(results["coords"]["pattern"][0], "original")
        kept = results["metrics"]["kept_mass"]["values"]
        values = [v for layer in kept for head in layer for pattern in head for v in pattern]
        self.assertTrue(all(v is None or 0 < v < 1 + 1e-6 for v in values))
