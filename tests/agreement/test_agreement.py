"""The program against the independent reference: every metric of whole scans within its tolerance.

The reference (tests/reference) shares no code with the library. For each model this prints the worst
deviation of every metric and how many values were compared.
"""

import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.agreement.program import DEMO, comparison, headgauge, token_ids
from tests.places import DATA, GOLDEN, PHANTOM
from tests.results.schema import validate


class Agreement(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="headgauge-agreement-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write_ids(self, name: str, ids: list[int]) -> Path:
        path = self.folder / name
        path.write_text("\n".join(map(str, ids)) + "\n")
        return path

    def random_ids(self, count: int, vocabulary: int) -> Path:
        generator = random.Random(20260101)
        return self.write_ids("ids", [generator.randrange(vocabulary) for _ in range(count)])

    def agree(self, model: Path, tokens: list[Path], *options: str) -> None:
        headgauge("scan", model, "--tokens", *tokens, "--out", self.folder, "--force", "--quiet", *options)
        validate(self.folder / "results.json")
        results, jobs = self.folder / "results.json", os.cpu_count() or 1
        done = comparison(results, "--model", model, "--tokens", *tokens, "--jobs", jobs)
        table = done.stdout
        print(f"\n{self.id()}\n{table}", flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("effective_tokens_with_sinks", table)
        self.assertNotIn("not checked", table)

    def test_demo_model(self) -> None:
        # Half of its layers: the reference takes a minute of one core for them.
        self.agree(DEMO, [self.write_ids("ids", token_ids(DEMO))], "--layers", "0,2,5")

    def test_capp_gpt(self) -> None:
        model = DATA / "models/capp-gpt"
        if not model.exists():
            self.skipTest(f"{model} is absent (HEADGAUGE_TEST_DATA names its root)")
        vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
        self.agree(model, [self.random_ids(512, vocabulary)])

    def test_stories260k(self) -> None:
        """Grouped heads and rotary positions."""
        model = DATA / "models/stories260k"
        if not model.exists():
            self.skipTest(f"{model} is absent (HEADGAUGE_TEST_DATA names its root)")
        self.agree(model, [self.write_ids("ids", token_ids(model)[:256])])

    def test_soft_caps(self) -> None:
        """A Gemma 2 whose windows are longer than the text."""
        model = self.folder / "gemma2"
        shutil.copytree(GOLDEN / "llama/gemma2-plain", model)
        config = json.loads((model / "config.json").read_text()) | {"sliding_window": 64}
        (model / "config.json").write_text(json.dumps(config))
        self.agree(model, [self.random_ids(64, config["vocab_size"])])

    def test_phantom(self) -> None:
        model = self.folder / "phantom"
        subprocess.run([PHANTOM, model, "4"], check=True)
        config = json.loads((model / "config.json").read_text())
        count = min(256, config["n_positions"])
        self.agree(model, [self.random_ids(count, config["vocab_size"]), model / "repeated.txt"])
