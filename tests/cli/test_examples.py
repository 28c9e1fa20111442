"""`scan --examples`: how many, in which text, what is printed, and which commands take it."""

import json
import shutil

from tests.cli.command import USAGE, CommandTest
from tests.places import ROOT
from tests.results.schema import validate

TEXT = "One & two <three>\x07 \u202ewords\u202c, \U0001f987 and\tagain.\n" * 12


class Examples(CommandTest):
    def scan(self, *options: str) -> dict:
        return self.saved("scan", *options, "--measures", "weights", "--quiet")[0]

    def demo(self) -> str:
        shutil.copytree(ROOT / "demo/model", self.folder / "demo")
        return "demo"

    def gpt2(self) -> str:
        self.tiny(123)
        return "model"

    def test_the_text_is_the_text(self) -> None:
        self.write("text.txt", TEXT)
        results = self.scan(self.demo(), "--text", "text.txt", "--lengths", "128", "--examples", "3")
        self.assertEqual(results["settings"]["examples"], 3)
        self.assertEqual(len(results["examples"]), 3 * 36)
        for passage in results["passages"]:
            self.assertIn("".join(passage["tokens"]), TEXT)
        self.assertEqual(results["passages"][0]["first"], 0)

    def test_six_by_default_and_none_where_that_is_said(self) -> None:
        results = self.scan(self.gpt2(), "--tokens", "ids.txt")
        self.assertEqual(results["settings"]["examples"], 6)
        self.assertEqual(len(results["examples"]), 6 * 8)
        named = self.scan("model", "--tokens", "ids.txt", "--examples", "none")
        self.assertEqual(named["settings"]["examples"], "none")
        self.assertNotIn("examples", named)
        self.assertNotIn("passages", named)

    def test_none_by_default_of_many_texts_and_of_the_loss_alone(self) -> None:
        model = self.gpt2()
        many = [shutil.copy(self.folder / "ids.txt", self.folder / f"{k}.txt").name for k in range(17)]
        self.assertNotIn("examples", self.scan(model, "--tokens", *many))
        self.assertIn("examples", self.scan(model, "--tokens", *many[:16]))
        self.succeed("scan", model, "--tokens", "ids.txt", "--measures", "model", "--out", "loss", "--quiet")
        self.assertNotIn("examples", validate(self.folder / "loss/results.json"))

    def test_ids_with_a_tokenizer_are_its_tokens(self) -> None:
        self.ids(128, 2000)
        results = self.scan(self.demo(), "--tokens", "ids.txt", "--examples", "1")
        tokens = [token for passage in results["passages"] for token in passage["tokens"]]
        self.assertTrue(any(token.startswith(" ") for token in tokens))
        self.assertFalse(all(token.isdigit() for token in tokens))

    def test_a_broken_tokenizer_leaves_ids(self) -> None:
        self.ids(128, 2000)
        (self.folder / self.demo() / "tokenizer.json").write_text("{")
        results = self.scan("demo", "--tokens", "ids.txt", "--examples", "1")
        tokens = [token for passage in results["passages"] for token in passage["tokens"]]
        self.assertTrue(all(token.isdigit() for token in tokens))

    def test_what_is_printed(self) -> None:
        model = self.gpt2()
        scan = ("scan", model, "--tokens", "ids.txt", "--examples", "1", "--quiet")
        done = self.succeed(*scan, "--out", "out", answer=True)
        self.assertIn("in pictures: headgauge report out\n", done.out)
        found = json.loads(self.succeed(*scan, "--json").out)
        self.assertEqual(len(found["examples"]), len(validate(self.folder / "out/results.json")["examples"]))

    def test_only_heads_that_were_measured(self) -> None:
        results = self.scan(self.gpt2(), "--tokens", "ids.txt", "--examples", "2", "--heads", "1.1")
        self.assertEqual({(e["layer"], e["head"]) for e in results["examples"]}, {(1, 1)})

    def test_diff_keeps_none(self) -> None:
        self.scan(self.gpt2(), "--tokens", "ids.txt", "--examples", "2")
        self.succeed("diff", "out", "out", "--out", "diff", "--quiet")
        self.assertNotIn("examples", self.read("diff/results.json"))

    def test_numbers_that_make_no_sense(self) -> None:
        model = self.gpt2()
        for wrong in ("0", "-1", "1001", "some"):
            self.refuse(USAGE, "scan", model, "--tokens", "ids.txt", "--examples", wrong, says=["--examples"])
        self.refuse(USAGE, "converge", model, "--tokens", "ids.txt", "--examples", "2", says=["--examples"])


class TokenLosses(CommandTest):
    """`compare --examples`: the tokens whose loss a change alters most."""

    def compare(self, *options: str) -> dict:
        shutil.copytree(ROOT / "demo/model", self.folder / "demo", dirs_exist_ok=True)
        changed = ["--measures", "model", "--pattern", "sinks:window=12,topk:k=4"]
        return self.saved("compare", "demo", *options, *changed, "--quiet")[0]

    def test_the_largest_changes_in_their_text(self) -> None:
        self.write("text.txt", TEXT)
        results = self.compare("--text", "text.txt", "--lengths", "128", "--probe", "none")
        self.assertEqual(results["settings"]["examples"], 16)
        self.assertGreaterEqual(len(results["token_losses"]), 16)
        positions = {token["position"] for token in results["token_losses"]}
        for passage in results["passages"]:
            self.assertIn("".join(passage["tokens"]), TEXT)
        self.succeed("diff", "out", "out", "--out", "diff", "--quiet")
        self.assertNotIn("token_losses", self.read("diff/results.json"))
        shown = {at for p in results["passages"] for at in range(p["first"], p["first"] + len(p["tokens"]))}
        self.assertLessEqual(positions, shown)

    def test_none_where_that_is_said_of_many_texts_and_of_one_head_at_a_time(self) -> None:
        self.write("text.txt", TEXT)
        none = self.compare("--text", "text.txt", "--examples", "none")
        self.assertNotIn("token_losses", none)
        self.assertNotIn("passages", none)
        many = self.compare("--text", *["text.txt"] * 17)
        self.assertEqual(many["settings"]["examples"], "none")
        self.assertNotIn("token_losses", many)
        self.assertNotIn("token_losses", self.compare("--text", "text.txt", "--each", "layer"))
        self.refuse(
            USAGE,
            *("compare", "demo", "--text", "text.txt", "--pattern", "topk:k=4"),
            *("--each", "layer", "--examples", "4"),
            says=["--examples", "--each"],
        )
