"""prove(): what a folder for transformers decodes is what headgauge measures."""

import hashlib
import json
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from commands import BINARY, ROOT
from exports import SIZES, VOCABULARY, Exported, by_hand, exported, exported_layers, made
from needs_torch import MISSING, TorchTest, torch, transformers

import headgauge
from headgauge import errors

if not MISSING:
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.cache_utils import DynamicCache

    from headgauge import _prove


@unittest.skipUnless(BINARY.exists(), f"there is no {BINARY}, which writes the folder")
class Prove(Exported):
    def setUp(self) -> None:
        self.tasks = Path(self.scratch.name) / "tasks.jsonl"
        ids = self.ids(120)[0].tolist()
        cases = [
            {"task": "keys", "prompt": ids[k : k + 60], "answer": ids[k + 60 : k + 63]} for k in range(3)
        ]
        self.tasks.write_text("".join(json.dumps(case) + "\n" for case in cases))

    def test_holds_of_every_family(self) -> None:
        text = self.ids(200)[0].tolist()
        for family, folder in self.folders.items():
            with self.subTest(family):
                proof = headgauge.prove(folder, [text], self.tasks, pieces=1)
                self.assertTrue(proof.holds, str(proof))
                self.assertEqual((proof.documents, proof.tokens), (4, 95 + 3 * 3))
                self.assertEqual(proof.answers["keys"].cases, 3)
                self.assertAlmostEqual(proof.decoded_change, proof.measured_change, delta=1e-4)
                self.assertNotAlmostEqual(proof.measured_change, 0, delta=1e-3)
                self.assertLess(proof.held_bytes, proof.whole_bytes)
                self.assertIn("4 documents, 104 losses", str(proof))

    def test_does_not_hold_of_another_plan(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = exported(Path(scratch), "Llama", made("Llama"))
            config = json.loads((folder / "config.json").read_text())
            config["headgauge_plan"][0][0] = [2, 7]
            (folder / "config.json").write_text(json.dumps(config))
            proof = headgauge.prove(folder, [self.ids(96)[0].tolist()])
            self.assertFalse(proof.holds, str(proof))

    def test_an_answer_that_differs_in_a_case_is_no_proof(self) -> None:
        """As many are right decoded as measured."""
        judged, right = _prove._judged, iter([True, True, False, True, False, True, True, True, True])
        with mock.patch.object(_prove, "_judged", lambda *given: (judged(*given)[0], next(right))):
            proof = headgauge.prove(self.folders["Llama"], tasks=self.tasks)
        self.assertEqual(proof.answers["keys"], _prove.Answers(3, 3, measured=2, decoded=2, differ=2))
        self.assertLess(proof.largest_difference, proof.tolerance)
        self.assertFalse(proof.holds)
        self.assertIn("2 measured, 2 decoded; 2 differ", str(proof))

    def test_logits_of_answers_alone_are_computed(self) -> None:
        with mock.patch.object(_prove, "_judged", side_effect=_prove._judged) as judged:
            self.assertTrue(headgauge.prove(self.folders["Llama"], tasks=self.tasks).holds)
        rows = {logits.shape[1] - case.answer for (logits, case), _ in judged.call_args_list}
        self.assertEqual(rows, {1})

    def test_change_is_the_mean_over_tokens(self) -> None:
        texts = [self.ids(count)[0, -count:].tolist() for count in (96, 10)]
        long, short = (headgauge.prove(self.folders["Llama"], [text]) for text in texts)
        both = headgauge.prove(self.folders["Llama"], (text for text in texts))  # one by one
        self.assertEqual(both.documents, 2)
        for name in ("measured_change", "decoded_change"):
            expected = (95 * getattr(long, name) + 9 * getattr(short, name)) / (95 + 9)
            self.assertAlmostEqual(getattr(both, name), expected, places=6)

    def test_whole_bytes_are_those_of_the_model_s_own_cache(self) -> None:
        for family in ("Llama", "Mistral"):
            model, ids = made(family), self.ids(60)
            cache = DynamicCache(config=model.config)
            with torch.no_grad():
                for part in ids.split(1, dim=1):
                    model(part, None, None, cache)
            expected = sum(t.nbytes for layer in cache.layers for t in (layer.keys, layer.values))
            proof = headgauge.prove(self.folders[family], ids.tolist(), length=60)
            self.assertEqual(proof.whole_bytes, expected)

    def test_texts_are_read_by_the_tokenizer_that_measured(self) -> None:
        vocabulary = {letter: k for k, letter in enumerate("abcdefghijklmnopqrstuvwxyzĠï»¿")}
        files = {"vocab.json": json.dumps(vocabulary), "merges.txt": "#version: 0.2\n",
                 "tokenizer_config.json": "{}"}  # fmt: skip
        with tempfile.TemporaryDirectory() as scratch:
            folder = exported(Path(scratch), "GPT2", made("GPT2"), files)
            own, its = (
                AutoTokenizer.from_pretrained(place, trust_remote_code=True)
                for place in (Path(scratch) / "model", folder)
            )
            self.assertIs(type(own), type(its))
            self.assertEqual(own("a line of text")["input_ids"], its("a line of text")["input_ids"])
            text, tasks = "a line of text and another line", Path(scratch) / "words.jsonl"
            (Path(scratch) / "text.txt").write_text("\ufeff" + text)
            tasks.write_text('{"input": "the key is seven", "outputs": ["seven"]}\n\n')
            proofs = [
                headgauge.prove(folder, given, tasks)
                for given in (text, Path(scratch) / "text.txt", its(text)["input_ids"])
            ]
            self.assertEqual({proof.tokens for proof in proofs}, {len(text) - 1 + len("seven")})
            self.assertEqual(len({proof.measured_change for proof in proofs}), 1)
            self.assertEqual(proofs[0].answers["words"].cases, 1)

    def test_a_tokenizer_in_a_gguf_file_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = shutil.copytree(self.folders["Llama"], Path(scratch) / "hf")
            (folder / "tiny.gguf").symlink_to(ROOT / "fuzz/corpus/gguf/llama.gguf")  # a, b and ab
            found, expected = (headgauge.prove(folder, given) for given in ("ababbaba", [2, 2, 1, 2, 0]))
            self.assertEqual(found, expected)

    def test_bad_input(self) -> None:
        folder, ids = self.folders["Llama"], [1, 2, 3]
        with self.assertRaisesRegex(errors.BadInputError, "expected texts or tasks"):
            headgauge.prove(folder)
        for line in ('{"prompt": [1, 2]}', "[1]", "no json", '{"prompt": [1], "answer": [41]}'):
            self.tasks.write_text('{"prompt": [1, 2], "answer": [3]}\n' + line)
            with self.assertRaisesRegex(errors.BadInputError, "tasks.jsonl line 2"):
                headgauge.prove(folder, tasks=self.tasks)
        self.tasks.write_text('{"prompt": "a text", "answer": "another"}')
        with self.assertRaisesRegex(errors.BadInputError, "the model has no tokenizer"):
            headgauge.prove(folder, tasks=self.tasks)
        for given, message in (
            ("a text", "expected a tokenizer.json"),
            (Path("none.txt"), "none.txt: expected a text file"),
            ([1, 41], "expected ids from 0 to 40, found 41"),
        ):
            with self.assertRaisesRegex(errors.BadInputError, message):
                headgauge.prove(folder, given)
        for option, least in (("length", 2), ("pieces", 1), ("cases", 1)):
            with self.assertRaisesRegex(errors.UsageError, f"{option}: expected at least {least}"):
                headgauge.prove(folder, [ids], **{option: least - 1})

    def test_today_s_code_is_the_last_of_the_table(self) -> None:
        for family, folder in self.folders.items():
            text = (folder / "modeling_headgauge.py").read_text()
            base = "gemma3_text" if family == "Gemma3" else family.lower()
            self.assertIn(f'\nBASE = "{base}"', text)
            text = text.replace(f'\nBASE = "{base}"', '\nBASE = "llama"')
            self.assertEqual(_prove._TEXTS[-1], hashlib.sha256(text.encode()).hexdigest())
        self.assertEqual(len(set(_prove._TEXTS)), len(_prove._TEXTS))

    def test_other_code_does_not_run(self) -> None:
        ran = Path(self.scratch.name) / "ran"
        code = (
            f"open({str(ran)!r}, 'w')\n"
            "from transformers import LlamaConfig as C, LlamaForCausalLM as M\n"
            "HeadgaugeConfig, HeadgaugeForCausalLM = C, M\n"
        )
        mine = {"AutoConfig": "mine.C", "AutoModelForCausalLM": "mine.M"}

        class_file, config_file, base = "modeling_headgauge.py", "config.json", 'BASE = "llama"'

        def rewritten(file: str, change: Any) -> Any:
            return lambda folder: (folder / file).write_text(change((folder / file).read_text()))

        def configured(**more: Any) -> Any:
            return rewritten(config_file, lambda text: json.dumps({**json.loads(text), **more}))

        def other_file(**more: Any) -> Any:
            def change(folder: Path) -> None:
                configured(auto_map=mine, **more)(folder)
                (folder / "mine.py").write_text(code)

            return change

        def generate(folder: Path) -> None:
            (folder / "custom_generate").mkdir()
            (folder / "custom_generate/generate.py").write_text(code)

        full = {"layer_types": ["full_attention"] * 2}
        for name, change in {
            "altered": rewritten(class_file, lambda text: text + code),
            "removed": lambda folder: (folder / class_file).unlink(),
            "base": rewritten(class_file, lambda text: text.replace(base, f"{base}; exec({code!r})")),
            "other file": other_file(),
            "layers": other_file(model_type="ministral_x", **full),
            "known layers": other_file(model_type="llama", **full),
            "kernel": configured(_attn_implementation="someone/kernel"),
            "generate": generate,
        }.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as scratch:
                folder = shutil.copytree(self.folders["Llama"], Path(scratch) / "hf")
                change(folder)
                with self.assertRaisesRegex(errors.BadInputError, "expected"):
                    headgauge.prove(folder, [1, 2, 3])
                self.assertFalse(ran.exists())

    def test_a_context_that_is_no_number_is_refused(self) -> None:
        folder = Path(self.scratch.name) / "odd"
        shutil.copytree(self.folders["Llama"], folder, symlinks=True)
        (folder / "plan.json").write_text('{"context": "many"}')
        with self.assertRaisesRegex(errors.BadInputError, "context: expected a number of tokens"):
            headgauge.prove(folder, [1, 2, 3])

    def test_folders_that_are_no_export_are_refused(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            plain = shutil.copytree(self.folders["Llama"].parent / "model", Path(scratch) / "plain")
            for content, message in (
                (None, "expected a folder of headgauge plan --export hf"),
                ("[]", "expected an object"),
                ("{}", "expected a folder of headgauge plan --export hf or hf-layers, found another model"),
            ):
                if content:
                    (plain / "plan.json").write_text(content)
                with self.assertRaisesRegex(errors.BadInputError, message):
                    headgauge.prove(plain, [[1, 2, 3]])


@unittest.skipUnless(BINARY.exists(), f"there is no {BINARY}, which writes the folder")
class Layers(TorchTest):
    """Plans of whole layers, which transformers serves without code of ours."""

    WINDOWS = (0, 12, 0)

    def exported(self, family: str, windows: Any = WINDOWS, **more: Any) -> tuple[Path, Any]:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        torch.manual_seed(6)
        config = getattr(transformers, f"{family}Config")(**{**SIZES, "num_hidden_layers": 3, **more})
        model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
        return exported_layers(Path(scratch.name), model, list(windows)), model

    def test_prove_holds_and_the_cache_is_smaller(self) -> None:
        ids = torch.randint(0, VOCABULARY, (120,), generator=torch.Generator().manual_seed(7)).tolist()
        for family in ("Llama", "Mistral", "Qwen2", "Qwen3"):
            with self.subTest(family):
                folder, _ = self.exported(family, **({"sliding_window": None} if family == "Mistral" else {}))
                proof = headgauge.prove(folder, ids, length=60)
                self.assertTrue(proof.holds, proof)
                self.assertLess(proof.largest_difference, 1e-4)
                self.assertGreater(abs(proof.measured_change), 1e-4)
                # transformers holds one key less than the window between two tokens.
                self.assertEqual(proof.held_bytes / proof.whole_bytes, (60 + 11 + 60) / 180)

    def test_logits_by_hand(self) -> None:
        folder, model = self.exported("Llama")
        served = AutoModelForCausalLM.from_pretrained(folder).eval()
        ids = torch.randint(0, VOCABULARY, (1, 50), generator=torch.Generator().manual_seed(8))
        kinds = [2 * [("", [0, window] if window else None)] for window in self.WINDOWS]
        transformers.AttentionInterface.register("layers by hand", by_hand(kinds))
        model.set_attn_implementation("layers by hand")
        with torch.no_grad():
            torch.testing.assert_close(served(ids).logits, model(ids).logits, atol=1e-4, rtol=1e-4)

    def test_a_plan_that_keeps_all_is_the_model(self) -> None:
        for family in ("Llama", "Qwen2"):
            folder, model = self.exported(family, (0, 0, 0))
            served = AutoModelForCausalLM.from_pretrained(folder).eval()
            ids = torch.randint(0, VOCABULARY, (1, 50), generator=torch.Generator().manual_seed(9))
            with torch.no_grad():
                self.assertTrue(torch.equal(served(ids).logits, model(ids).logits), family)

    def test_windows_of_the_cache_alone_are_no_proof(self) -> None:
        """Llama's own class takes layer_types for its cache and not for its mask."""
        folder, _ = self.exported("Llama")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(
            json.dumps({**config, "model_type": "llama", "architectures": ["LlamaForCausalLM"]})
        )
        ids = torch.randint(0, VOCABULARY, (60,), generator=torch.Generator().manual_seed(7)).tolist()
        self.assertFalse(headgauge.prove(folder, ids, length=60).holds)
