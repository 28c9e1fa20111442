"""The commands on bidirectional models: tiny BERTs, a dump, and all-MiniLM-L6-v2."""

import json
import math
import signal
import unittest

from tests.cli.checkpoints import change_config, copy_golden, read_weights, write_weights
from tests.cli.command import BAD_INPUT, INTERRUPTED, UNSUPPORTED, USAGE, CommandTest
from tests.cli.terminal import Terminal
from tests.places import GOLDEN, MINILM, ROOT
from tests.results.schema import validate

TEXT = ROOT / "demo/text.txt"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "three", "four", "five", "##s"]


class Tiny(CommandTest):
    """2 layers of 4 heads, 97 positions, 41 tokens."""

    def setUp(self) -> None:
        super().setUp()
        copy_golden("bert/plain", self.folder / "model")
        self.ids(120)
        self.model = ("model", "--tokens", "ids.txt")

    def test_a_pass_for_each_length(self) -> None:
        results, done = self.saved("scan", *self.model)
        self.assertEqual(results["coords"]["length"], [32, 64, 97])
        self.assertEqual(results["coords"]["position"][-1], 97)
        self.assertIs(results["model"]["causal"], False)
        self.assertNotIn("loss", results["metrics"])
        self.assertEqual(done.err, "")
        entropy = results["metrics"]["entropy_with_sinks"]
        self.assertEqual(entropy["rows"][0][0], [32, 64, 97])
        self.assertEqual(results["metrics"]["visible_keys"]["values"][1][3], [32, 64, 97])

    def test_a_loss_that_is_asked_for(self) -> None:
        _, done = self.saved("scan", *self.model, "--measures", "weights,model")
        self.assertIn("note: there is no loss: model sees the whole text", done.err)

    def test_text_stands_between_cls_and_sep(self) -> None:
        self.write("model/vocab.txt", "\n".join(WORDS) + "\n")
        self.write("text.txt", "One twos three four five " * 8)
        results, _ = self.saved(
            "scan", "model", "--text", "text.txt", "--lengths", "8,20", "--measures", "weights"
        )
        pieces = [5, 6, 10, 7, 8, 9] * 8
        self.assertEqual(results["text"]["tokens"], [20])
        self.assertEqual(results["text"]["tokens_total"], [len(pieces) + 2])
        for place, length in enumerate((8, 20)):
            ids = [2, *pieces[: length - 2], 3]
            self.write("by-hand.txt", " ".join(map(str, ids)))
            words = ("scan", "model", "--tokens", "by-hand.txt", "--lengths", length, "--measures", "weights")
            alone, _ = self.saved(*words, out="by-hand")
            whole = [[head[place]] for head in results["metrics"]["entropy_with_sinks"]["values"][1]]
            self.assertEqual(alone["metrics"]["entropy_with_sinks"]["values"][1], whole)

    def test_lengths_that_do_not_fit(self) -> None:
        self.write("model/vocab.txt", "\n".join(WORDS) + "\n")
        self.write("text.txt", "one two three " * 50)
        self.refuse_each(
            (BAD_INPUT, "--text text.txt --lengths 1,16", "at least 2", "special tokens"),
            (BAD_INPUT, "--text text.txt --lengths 98", "at most 97"),
            (BAD_INPUT, "--tokens ids.txt --lengths 200", "97"),
            base=("scan", "model"),
        )

    def test_what_needs_the_next_token_is_refused(self) -> None:
        tokens, both_ways = "model --tokens ids.txt", "whose queries see the whole text"
        self.refuse_each(
            (UNSUPPORTED, f"scan {tokens} --measures model", "a prediction of the next token"),
            (USAGE, f"scan {tokens} --normalizer logn-qwen", "a causal model", both_ways, "logn-entropy"),
            (USAGE, f"compare {tokens} --normalizer ssmax,logn-qwen", "a causal model"),
        )

    def test_compare(self) -> None:
        words = ("--lengths", "16,32,96", "--normalizer", "ssmax,sparsemax")
        results, done = self.saved("compare", *self.model, *words)
        self.assertIn("there is no loss and no divergence, and no recommendation", done.err)
        self.assertNotIn("loss", results["metrics"])

    def test_inspect(self) -> None:
        facts = json.loads(self.succeed("inspect", "model", "--json").out)
        sizes = {"layers": 2, "heads": 4, "head_dim": 5, "positions": 97}
        expected = {"family": "bert", "causal": False, "activation": "gelu", "prefix": "", **sizes}
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


@unittest.skipUnless(MINILM.exists(), f"{MINILM} is not there: tools/minilm.sh installs it")
class MiniLm(CommandTest):
    """Real weights: 6 layers of 12 heads, 512 positions; its tokenizer.json asks for 128 tokens."""

    def test_scan(self) -> None:
        results, done = self.saved("scan", MINILM, "--text", TEXT)
        self.assertNotIn("note: ", done.err)
        self.assertEqual(results["model"]["family"], "bert")
        self.assertEqual(results["coords"]["length"], [32, 64, 128, 256, 512])
        self.assertEqual(results["text"]["tokens"], [512])
        self.assertGreater(results["text"]["tokens_total"][0], 512)
        for name in ("entropy_with_sinks", "separability_with_sinks", "distance", "jacobian_spectral"):
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
        words = ("scan", MINILM, "--text", TEXT, "--out", "out", "--lengths", "64,256,300,512")
        terminal = Terminal(*words, cwd=self.folder)
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
