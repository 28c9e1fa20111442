"""The readers and the forward pass: against Hugging Face's float64 golden files."""

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

from tests.golden.catalogue.gpt2 import Gpt2
from tests.golden.golden_file import Golden, read_family
from tests.places import DATA, GOLDEN
from tests.reference import weights
from tests.reference.gpt2 import Model
from tests.reference.llama import FAMILIES, LlamaModel
from tests.reference.rows import row_blocks
from tests.reference.safetensors_io import read_checkpoint, read_file, write_file
from tests.reference.sensitivity import frobenius
from tests.reference.sources import dump_document, model_documents, open_model

CAPP = DATA / "models" / "capp-gpt"
TRAINED = ("capp-gpt", "stories260k")
DIGITS = 2e-10  # golden files have 12 significant digits


class Readers(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_dtypes(self) -> None:
        values = np.array([[1.0, -2.5], [0.15625, 3.0]])  # exact in every dtype
        for dtype in (np.float64, np.float32, np.float16):
            write_file(self.folder / "t", {"a": values.astype(dtype)}, {"format": "x"})
            tensors, metadata = read_file(self.folder / "t")
            np.testing.assert_array_equal(tensors["a"], values)
            self.assertEqual(metadata, {"format": "x"})

    def test_bf16_shards_and_prefix_give_the_same_tensors(self) -> None:
        for name, shards, prefix in (("one", 1, False), ("three", 3, False), ("named", 1, True)):
            model = Gpt2("small", "", dtype="bf16", shards=shards, prefix=prefix)
            model.write(self.folder / name)
        one, three = (read_checkpoint(self.folder / name) for name in ("one", "three"))
        self.assertEqual(set(one), set(three))
        for name in one:
            np.testing.assert_array_equal(one[name], three[name])
        ids = [1, 5, 2, 12, 0]
        plain, named = (Model(self.folder / n).forward(ids) for n in ("one", "named"))
        np.testing.assert_array_equal(plain.next_token_loss, named.next_token_loss)

    def test_dump(self) -> None:
        rng = np.random.default_rng(0)
        q, k, x = rng.normal(size=(4, 6, 3)), rng.normal(size=(2, 6, 3)), rng.normal(size=(6, 5))
        metadata = {"format": "headgauge.dump/1", "causal": "true", "scale": "0.5"}
        write_file(self.folder / "qk", {"layers.2.q": q, "layers.2.k": k, "x": x}, metadata)
        document = dump_document(self.folder / "qk", 6, "embedding")
        self.assertEqual((document.layers, document.heads, document.length), ([2], 4, 6))
        np.testing.assert_allclose(document.logits(2, 3), 0.5 * q[3] @ k[1].T)
        self.assertEqual(document.point_width(2), 5)
        write_file(self.folder / "s", {"layers.0.scores": q @ q.transpose(0, 2, 1)}, metadata)
        document = dump_document(self.folder / "s", 4, "embedding")
        np.testing.assert_allclose(document.logits(0, 1), (q[1] @ q[1].T)[:4, :4])
        self.assertIsNone(document.points(0, 0))


class Forward(unittest.TestCase):
    def check_golden(self, folder: Path, golden: Golden) -> None:
        """Losses, residual stream and head statistics of one golden file."""
        model = open_model(folder)
        trace = model.forward(golden["tokens"])
        np.testing.assert_allclose(
            -trace.next_token_loss, golden["next_token_log_probs"], rtol=DIGITS, atol=DIGITS
        )
        rows, values = golden["hidden"]["rows"], golden["hidden"]["values"]
        for layer, expected in zip(trace.layers, values, strict=False):
            found = layer.hidden[rows][:, : values.shape[-1]]
            np.testing.assert_allclose(found, expected, rtol=DIGITS, atol=DIGITS)
        layers = range(len(trace.layers))
        if isinstance(model, LlamaModel) and any(map(model.config.window, layers)):
            return  # rows that do not begin at the first key: what they add up to was checked
        document = model_documents(folder, [golden["tokens"]], len(golden["tokens"]), "value")[0]
        for number in document.layers:
            for head in range(document.heads):
                blocks = list(row_blocks(document.logits(number, head), document.visible, 1))
                parts = [
                    {**weights.row_values(b), "jacobian_frobenius": frobenius(b.weights)} for b in blocks
                ]
                for name, values in golden["statistics"].items():
                    column = np.concatenate([part[name] for part in parts])
                    found = [np.nanmean(column[:length]) for length in golden["lengths"]]
                    np.testing.assert_allclose(
                        found, values[number][head], rtol=1e-9, atol=1e-11, err_msg=name
                    )

    def test_against_hugging_face(self) -> None:
        checked = 0
        for name, golden in (read_family("gpt2") | read_family("llama")).items():
            family = "gpt2" if name in read_family("gpt2") else "llama"
            folder = CAPP.parent / name if name in TRAINED else GOLDEN / family / name
            if not (folder / "config.json").exists():
                continue  # weights that are written when needed, or shared data not here
            config = json.loads((folder / "config.json").read_text())
            if config["model_type"] not in ("gpt2", *FAMILIES) or "rope_scaling" in config:
                continue  # not known here
            with self.subTest(name):
                self.check_golden(folder, golden)
                checked += 1
        self.assertGreater(checked, 50)

    def test_what_was_asked_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Gpt2("small", "", vocab=13, positions=4).write(Path(folder))
            model = Model(Path(folder))
            for ids in ([0] * 5, [13], [-1]):
                with self.assertRaises(ValueError):
                    model.forward(ids)
