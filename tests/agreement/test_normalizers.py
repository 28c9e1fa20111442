"""Every normalizer against the reference: whole scans of a dump, so that both see the same logits."""

import json
import os
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tests.agreement.program import DEMO, comparison, headgauge, token_ids
from tests.reference.gpt2 import Model
from tests.reference.normalizers import NORMALIZERS, make_normalizer
from tests.reference.safetensors_io import write_file
from tests.reference.sources import model_documents
from tests.results.schema import validate

LENGTH = 64
LONG = 200  # more than the keys of rows that are all measured
LAYERS = [2, 4]  # spread and sharp heads: logits from -41 to 19
OPTIONS = ["--lengths", "32,64", "--top-n", "1,5,20", "--temperatures", "0.1,1,10"]
COMPARED = [spec for entry in NORMALIZERS.values() for spec in entry.compared]


class Normalizers(unittest.TestCase):
    folder: Path
    dump: Path
    long_dump: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        ids = token_ids(DEMO)
        cls.ids = cls.folder / "ids"
        cls.ids.write_text("\n".join(map(str, ids[:LENGTH])) + "\n")
        cls.dump = cls.write_dump("dump", ids[:LENGTH], LAYERS, 6)
        cls.long_dump = cls.write_dump("long", ids[:LONG], LAYERS[:1], 2)

    @classmethod
    def write_dump(cls, name: str, ids: list[int], layers: list[int], heads: int) -> Path:
        document = model_documents(DEMO, [ids], len(ids), "hidden")[0]
        tensors = {"x": Model(DEMO).forward(ids).embedding.astype(np.float32)}
        for place, layer in enumerate(layers):
            scores = [document.logits(layer, head) for head in range(heads)]
            tensors[f"layers.{place}.scores"] = np.stack(scores).astype(np.float32)
        dump = cls.folder / f"{name}.safetensors"
        write_file(dump, tensors, {"format": "headgauge.dump/1", "causal": "true"})
        return dump

    def disagreement(self, spec: str, source: list[str | Path], options: list[str]) -> str:
        """What the comparison says; empty where everything agrees."""
        out = self.folder / "".join(c if c.isalnum() else "_" for c in spec)
        headgauge("scan", *source, "--out", out, "--force", "--quiet", "--normalizer", spec, *options)
        validate(out / "results.json")
        named = ["--model", *source] if "--tokens" in source else ["--dump", *source]
        # As many processes as cores, of one thread each.
        done = comparison(out / "results.json", *named, OPENBLAS_NUM_THREADS="1")
        lines = done.stdout.splitlines()
        print(f"{spec}: {lines[-1] if lines else ''}", flush=True)
        if done.returncode == 0 and "effective_tokens_with_sinks" in done.stdout:
            return ""
        failed = [line for line in lines if "FAIL" in line or line.startswith("    ")]
        return "\n".join([spec, *failed, done.stderr])

    def test_every_normalizer_on_a_dump(self) -> None:
        print()
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            plain = [spec for spec in COMPARED if not make_normalizer(spec).unit_norms]
            found = pool.map(lambda spec: self.disagreement(spec, [self.dump], OPTIONS), plain)
            self.assertEqual([text for text in found if text], [])

    def test_normalizers_that_need_norms(self) -> None:
        print()
        model: list[str | Path] = [DEMO, "--tokens", self.ids]  # with queries and keys
        for spec in COMPARED:
            if make_normalizer(spec).unit_norms:
                self.assertEqual(self.disagreement(spec, model, ["--layers", "1,4", *OPTIONS]), "")

    def test_rows_drawn_for_finite_steps(self) -> None:
        print()
        options = ["--lengths", "150,200", "--measures", "weights,sensitivity", "--seed", "5"]
        for spec in ("sigmoid", "entmax:alpha=1.5", "softcap:c=2"):
            self.assertEqual(self.disagreement(spec, [self.long_dump], options), "")

    def test_no_normalizer_is_left_out(self) -> None:
        listed = json.loads(headgauge("list", "normalizers", "--json"))
        self.assertEqual(
            {entry["name"]: {p["key"]: p["default"] for p in entry["accepts"]} for entry in listed},
            {name: entry.parameters for name, entry in NORMALIZERS.items()},
        )
