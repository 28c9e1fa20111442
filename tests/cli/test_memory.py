"""Memory: what does not fit is refused before the work begins, and what fails is one line."""

import base64
import json
import os
import resource
import struct
from typing import ClassVar

from tests.cli.checkpoints import change_config, copy_golden
from tests.cli.command import BAD_INPUT, RESOURCE, CommandTest, run
from tests.places import ROOT

DEMO = ROOT / "demo"
MB = 1 << 20


class LongTexts(CommandTest):
    """Tokenised whole, the text would take more than two gigabytes."""

    limits: ClassVar = {resource.RLIMIT_AS: 700 * MB}

    def setUp(self) -> None:
        super().setUp()
        text = (DEMO / "text.txt").read_bytes()
        self.text = self.write("long.txt", text * (20 * MB // len(text)))
        self.written.clear()
        beginning = self.text.read_bytes()[: MB // 2].decode("utf-8", "ignore")
        self.write("beginning.txt", beginning)

    def scan(self, text: str, **options) -> dict:
        few = "--lengths 64,1024 --measures weights,model --threads 1 --queries 8 --json --quiet"
        words = ("scan", DEMO / "model", "--text", text, *few.split())
        return json.loads(self.succeed(*words, **options).out)

    def test_are_measured_in_little_memory_as_their_beginning_is(self) -> None:
        long = self.scan("long.txt", limits=self.limits)
        self.assertEqual(long["text"]["tokens"], [1024])
        self.assertEqual(long["text"]["tokens_total"], [None])
        short = self.scan("beginning.txt")
        self.assertGreater(short["text"]["tokens_total"][0], 100000)
        self.assertEqual(long["metrics"], short["metrics"])

    def test_from_a_pipe(self) -> None:
        piped = self.scan("/dev/stdin", typed=self.text.read_bytes().decode())
        self.assertEqual(piped["metrics"], self.scan("long.txt")["metrics"])

    def test_that_are_needed_whole_are_refused_with_the_figure(self) -> None:
        words = ("reproduce", "limits", DEMO / "model", "--text", "long.txt")
        says = ("tokens of 21 MB of text: expected 3.35 GB of memory", "use a shorter text")
        self.refuse(RESOURCE, *words, says=says, limits=self.limits)


class Configs(CommandTest):
    """Sizes that no model with these tensors has."""

    limits: ClassVar = {resource.RLIMIT_AS: 700 * MB}

    def refuse_config(self, golden: str, says: tuple[str, ...], **changes) -> None:
        model = self.folder / "model"
        copy_golden(golden, model)
        change_config(model, **changes)
        self.ids(64)
        for command in (("scan", "model", "--tokens", "ids.txt"), ("inspect", "model")):
            with self.subTest(command=command[0], **changes):
                self.refuse(BAD_INPUT, *command, says=says, limits=self.limits)

    def test_layers(self) -> None:
        says = ("config.json: field num_hidden_layers: expected at most ", "found 1000000000; ")
        self.refuse_config("llama/llama-plain", says, num_hidden_layers=10**9)
        self.refuse_config("bert/plain", says, num_hidden_layers=10**9)
        self.refuse_config("gpt2/plain", ("field n_layer: expected at most ",), n_layer=10**9)

    def test_sizes(self) -> None:
        for field in (
            "head_dim hidden_size intermediate_size num_attention_heads num_key_value_heads vocab_size"
        ).split():
            says = (
                f"config.json: field {field}: expected at most ",
                "for no tensor has a larger dimension, found 1000000000; "
                "weights and config must come from the same model",
            )
            self.refuse_config("llama/llama-plain", says, **{field: 10**9})


class Sets(CommandTest):
    def test_larger_than_the_text_take_no_memory(self) -> None:
        self.tiny(64)
        few = "model --tokens ids.txt --top-n 4,1000000 --quiet --threads 1"
        for words in (f"scan {few}", f"compare {few} --normalizer ssmax"):
            self.succeed(*words.split(), limits={resource.RLIMIT_AS: 700 * MB})


class Draws(CommandTest):
    def test_that_do_not_fit_are_refused_before_the_work(self) -> None:
        self.tiny(64)
        words = "converge model --tokens ids.txt --lengths 64 --draws 100000000 --threads 1".split()
        says = ("convergence on model: expected 2", " GB of memory", "--draws")
        self.refuse(RESOURCE, *words, limits={resource.RLIMIT_AS: 700 * MB}, says=says)


class Limited(CommandTest):
    """Runs under limits of what a process writes to (RLIMIT_DATA)."""

    def hold(self, sizes: tuple[int, ...], *words: str) -> None:
        """Runs with so many KiB end well, or are refused in one line."""
        codes = []
        for kilobytes in sizes:
            arguments = [word.replace("KIB", str(kilobytes)) for word in words]
            done = run(*arguments, cwd=self.folder, limits={resource.RLIMIT_DATA: kilobytes << 10})
            message = f"{kilobytes} KiB: exit {done.code}, {done.err!r}"
            if done.code == 127:
                self.assertRegex(done.err, "shared libraries|TLS")  # the system's own loader
                continue
            self.assertIn(done.code, (0, RESOURCE), message)
            if done.code == RESOURCE:
                self.assertRegex(done.err, r"^headgauge: .+: expected .+, found [^\n]+; [^\n]+\n$", message)
                self.assertNotIn("GB", done.err, "there is not as much as the machine has")
            codes.append(done.code)
        self.assertGreater(codes.count(RESOURCE), 8)
        self.assertEqual(codes[-1], 0)


class Data(Limited):
    def test_whatever_it_is_a_run_is_done_or_refused(self) -> None:
        """Down to where it cannot begin."""
        self.tiny(64)
        words = "scan model --tokens ids.txt --threads 1"
        self.hold((*range(800, 1500, 50), 3000, 6000, 100000), *words.split())


class Figures(Limited):
    def test_whatever_the_limit_they_are_drawn_or_refused(self) -> None:
        """The engine is a library in C, held by one in Rust: neither aborts, and what the engine cannot
        store it does not blame on the results."""
        self.tiny(64)
        self.succeed("scan", "model", "--tokens", "ids.txt", "--measures", "weights", "--out", "out")
        words = "report out --format svg --out figuresKIB"
        self.hold((*range(1600, 8000, 200), 60000), *words.split())


class TokenizerFiles(CommandTest):
    """Files that ask for more memory than there is, each in a line."""

    says = ("headgauge: tokenizer: expected ", " more of memory, found less left; use a smaller text or ")

    def refuse_tokenizer(self, normalizer: dict) -> None:
        model = self.folder / "model"
        model.mkdir(exist_ok=True)
        for name in ("config.json", "model.safetensors"):
            if not (model / name).exists():
                os.symlink(DEMO / "model" / name, model / name)
        tokenizer = json.loads((DEMO / "model/tokenizer.json").read_text())
        tokenizer["normalizer"] = normalizer
        (model / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.write("a.txt", "a" * 5000)
        words = "scan model --text a.txt --lengths 32".split()
        self.refuse(RESOURCE, *words, limits={resource.RLIMIT_AS: 1000 * MB}, says=self.says)

    def test_that_make_a_text_longer_and_longer(self) -> None:
        replace = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"}
        self.refuse_tokenizer({"type": "Sequence", "normalizers": [replace] * 12})

    def test_that_lie_about_the_size_of_what_is_in_them(self) -> None:
        lie = base64.b64encode(struct.pack("<I", 2**32 - 4) + bytes(32)).decode()
        self.refuse_tokenizer({"type": "Precompiled", "precompiled_charsmap": lie})
