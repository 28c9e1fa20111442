"""The program against the independent reference: every metric of whole scans within its tolerance.

The reference (tests/reference) shares no code with the library. For each model this prints the worst
deviation of every metric and how many values were compared.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HEADGAUGE_BUILD", ROOT / "build/release"))
DATA = Path(os.environ.get("HEADGAUGE_TEST_DATA", ROOT / "../shared/data"))
sys.path.insert(0, str(ROOT / "tests/results"))
from schema import validate  # noqa: E402

PROGRAM = BUILD / "headgauge"
PRINT_TOKEN_IDS = BUILD / "tests/tokenize/print_token_ids"


def run(*command: str | Path) -> str:
    """What a command prints on stdout; fails with what it says on stderr."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stderr}{done.stdout}")
    return done.stdout


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
        run(PROGRAM, "scan", model, "--tokens", *tokens, "--out", self.folder, "--quiet", *options)
        validate(self.folder / "results.json")
        table = run(
            sys.executable,
            ROOT / "tests/reference/compare.py",
            self.folder / "results.json",
            "--model",
            model,
            "--tokens",
            *tokens,
            "--jobs",
            str(os.cpu_count() or 1),
        )
        print(f"\n{self.id()}\n{table}", flush=True)
        self.assertIn("effective_tokens", table)
        self.assertNotIn("not checked", table)

    def test_demo_model(self) -> None:
        model = ROOT / "demo/model"
        ids = run(PRINT_TOKEN_IDS, model, ROOT / "demo/text.txt").split()
        self.agree(model, [self.write_ids("ids", [int(i) for i in ids])])

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
        text = ROOT / "demo/text.txt"
        ids = run(PRINT_TOKEN_IDS, model, text).split()[:256]
        self.agree(model, [self.write_ids("ids", [int(i) for i in ids])])

    def test_soft_caps(self) -> None:
        """A Gemma 2 whose windows are longer than the text."""
        model = self.folder / "gemma2"
        shutil.copytree(ROOT / "tests/golden/llama/gemma2-plain", model)
        config = json.loads((model / "config.json").read_text()) | {"sliding_window": 64}
        (model / "config.json").write_text(json.dumps(config))
        self.agree(model, [self.random_ids(64, config["vocab_size"])])

    def test_phantom(self) -> None:
        model = self.folder / "phantom"
        run(PROGRAM, "phantom", model)
        config = json.loads((model / "config.json").read_text())
        count = min(256, config["n_positions"])
        self.agree(model, [self.random_ids(count, config["vocab_size"])])


if __name__ == "__main__":
    unittest.main()
