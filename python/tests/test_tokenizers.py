"""The tokenizers that headgauge builds from vocab.json or vocab.txt, against those of transformers; and the table of
its tokenizer classes (tests/golden/tokenizer/classes.json), which has all of them."""

import importlib
import inspect
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from needs_torch import MISSING, TorchTest, transformers

from headgauge import _core
from headgauge.errors import UnsupportedError

if not MISSING:
    from transformers.models.auto import tokenization_auto

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEADGAUGE_TEST_DATA") or ROOT.parent / "shared/data") / "tokenizers"
TABLE: dict[str, list[str]] = json.loads((ROOT / "tests/golden/tokenizer/classes.json").read_text("utf-8"))
PAIR = ("vocab.json", "merges.txt")
TEXT = (
    "I'M 12345 don't\r\n\r\n  x  y <|endoftext|> [MASK]\n\n\n f(x):\n\treturn  'a'\n\u00c9cole Cafe\u0301 na\u00efve "
    "\u4e2d\u6587 \u00bd \U0001f999 <s> <pad> <|im_start|>user<|im_end|> <think> ABC"
)
COMPARED = ("GPT2Tokenizer", "CodeGenTokenizerFast", "Qwen2Tokenizer", "CohereTokenizer", "GPTNeoXTokenizer")
START, STOP, THINK = "<|im_start|>", "<|im_end|>", "<think>"


def short(name: str) -> str:
    return name.removesuffix("Fast").removesuffix("Tokenizer")


def added(text: str, **other: Any) -> dict[str, Any]:
    flags = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word"), False)
    return {"content": text, **flags, "special": True, **other}


def classes() -> Iterator[str]:
    """The tokenizer classes of the installed transformers, without "Tokenizer" and "Fast"."""
    for names in tokenization_auto.TOKENIZER_MAPPING_NAMES.values():
        yield from (short(name) for name in (names if isinstance(names, tuple) else (names,)) if name)
    for file in sorted((Path(transformers.__file__).parent / "models").glob("*/tokenization_*.py")):
        try:
            module = importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}")
        except (ImportError, NameError):  # it needs a package that is not installed
            continue
        for name, one in vars(module).items():
            own = inspect.isclass(one) and one.__module__ == module.__name__
            if own and isinstance(one.__dict__.get("vocab_files_names"), dict):
                yield short(name)


class Folder(TorchTest):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name: str, value: Any) -> None:
        (self.folder / name).write_text(json.dumps(value), "utf-8")

    def make(self, source: str, files: tuple[str, ...], model: str, **config: Any) -> None:
        if not DATA.is_dir():
            self.skipTest(f"{DATA} is absent (HEADGAUGE_TEST_DATA names its root)")
        for file in self.folder.iterdir():
            file.unlink()
        for file in files:
            shutil.copy(DATA / source / file, self.folder)
        self.write("config.json", {"model_type": model})
        if config:
            self.write("tokenizer_config.json", config)

    def theirs(self) -> list[int]:
        return transformers.AutoTokenizer.from_pretrained(str(self.folder))(TEXT)["input_ids"]

    def agree(self, **about: Any) -> None:
        with self.subTest(**about):
            self.assertEqual(_core.Tokenizer.load(str(self.folder)).encode(TEXT), self.theirs())


class Tokenizers(Folder):
    def test_every_class_is_in_the_table(self) -> None:
        known = {name for names in TABLE.values() for name in names}
        self.assertEqual(sorted(set(classes()) - known), [])

    def test_classes_that_read_vocab_json(self) -> None:
        for name in TABLE["vocab.json and merges.txt"]:
            for end in ("Tokenizer", "TokenizerFast"):
                self.make("gpt2", PAIR, "gpt2", tokenizer_class=name + end)
                self.agree(name=name + end)

    def test_classes_that_read_vocab_txt(self) -> None:
        for name in TABLE["vocab.txt"]:
            for lower in (True, False):
                config = {"tokenizer_class": name + "Tokenizer", "do_lower_case": lower}
                self.make("bert-base-uncased", ("vocab.txt",), "bert", **config)
                self.agree(name=name, lower=lower)

    def test_the_model_type_names_a_class(self) -> None:
        for model in ("gpt2", "qwen2", "qwen3"):
            self.make("gpt2", PAIR, model)
            self.agree(model=model)

    def test_what_the_config_says(self) -> None:
        more: dict[str, Any]
        thinks = added(THINK, special=False, normalized=True, rstrip=True)
        for name in ("GPT2Tokenizer", "Qwen2Tokenizer"):
            for more in (
                {"eos_token": STOP},
                {"pad_token": "<pad>", "additional_special_tokens": [START, STOP]},
                {"bos_token": "<s>", "eos_token": None, "unk_token": None, "pad_token": None},
                {"eos_token": {"__type": "AddedToken", **added(STOP, lstrip=True)}},
                {
                    "add_bos_token": False,
                    "added_tokens_decoder": {"50258": added(STOP), "50257": added(START)},
                },
                {"added_tokens_decoder": {"50257": thinks}},
            ):
                self.make("gpt2", PAIR, "gpt2", tokenizer_class=name, **more)
                self.agree(name=name, more=more)
        self.make("gpt2", PAIR, "gpt2", tokenizer_class="GPT2Tokenizer", add_prefix_space=True)
        self.agree(more="add_prefix_space")

    def test_the_older_files(self) -> None:
        for files in (PAIR, ("tokenizer.json",)):
            for config in ({}, {"added_tokens_decoder": {"50256": added("<|endoftext|>")}}):
                self.make("gpt2", files, "gpt2", tokenizer_class="GPT2Tokenizer", **config)
                self.write("added_tokens.json", {STOP: 50258, START: 50257})
                self.write("special_tokens_map.json", {"eos_token": STOP, "pad_token": "<pad>"})
                self.agree(files=files, config=config)

    def test_tokens_beside_a_tokenizer_json(self) -> None:
        tokens = {"50257": added(START), "50258": added(STOP, rstrip=True)}
        for more in (
            {"added_tokens_decoder": tokens},
            {"pad_token": "<pad>"},
            {"extra_special_tokens": {"think_token": THINK}},
        ):
            self.make("gpt2", ("tokenizer.json",), "llama", tokenizer_class="PreTrainedTokenizerFast", **more)
            self.agree(more=more)

    def test_the_class_beside_a_tokenizer_json(self) -> None:
        """The file counts; a notice says so where transformers 5 makes other ids of a class."""
        if transformers.__version__ < "5":
            self.skipTest("transformers 4 takes the file as it is")
        others = ("PreTrainedTokenizerFast", "LlamaTokenizerFast", "RobertaTokenizer")
        for model in ("gpt2", "llama", "mistral", "qwen2", "qwen3"):
            for name in (None, *others, *COMPARED):
                for digits in (False, True):
                    self.make("gpt2", ("tokenizer.json",), model)
                    self.write("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
                    if digits:
                        file = json.loads((self.folder / "tokenizer.json").read_text("utf-8"))
                        steps = [{"type": "Digits", "individual_digits": True}, file["pre_tokenizer"]]
                        file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
                        self.write("tokenizer.json", file)
                    self.write("config.json", {"model_type": "llama"})
                    of_file = self.theirs()
                    self.write("config.json", {"model_type": model})
                    self.write("tokenizer_config.json", {"tokenizer_class": name} if name else {})
                    found = _core.Tokenizer.load(str(self.folder))
                    with self.subTest(model=model, name=name, digits=digits):
                        self.assertEqual(found.encode(TEXT), of_file)
                        if name != "RobertaTokenizer":  # transformers 5 puts tokens around a text
                            self.assertTrue(found.notice or self.theirs() == of_file)

    def test_what_a_class_saves_is_read(self) -> None:
        for name in (*COMPARED, "RobertaTokenizer", "BartTokenizer"):
            self.make("gpt2", PAIR, "llama", tokenizer_class=name)
            made = transformers.AutoTokenizer.from_pretrained(str(self.folder))
            for file in self.folder.iterdir():
                file.unlink()
            made.save_pretrained(str(self.folder))
            self.write("config.json", {"model_type": "llama"})
            self.agree(name=name)

    def test_the_config_of_bert_beside_a_tokenizer_json(self) -> None:
        for more in (
            {},
            {"do_lower_case": False},
            {"strip_accents": False},
            {"do_lower_case": False, "strip_accents": True},
            {"tokenize_chinese_chars": False},
        ):
            for name in ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"):
                self.make("bert-base-uncased", ("tokenizer.json",), "bert", tokenizer_class=name, **more)
                self.agree(name=name, more=more)

    def test_other_classes_are_refused(self) -> None:
        for name in TABLE["refused"]:
            self.make("gpt2", PAIR, "gpt2", tokenizer_class=name + "Tokenizer")
            with self.subTest(name=name), self.assertRaisesRegex(UnsupportedError, f'found "{name}"'):
                _core.Tokenizer.load(str(self.folder))
