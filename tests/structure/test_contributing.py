"""What CONTRIBUTING.md names is there: a list of places that has moved misleads every newcomer."""

import re
import unittest

from tests.places import ROOT

# Placeholders for what a contributor adds, and what they are called in the tree.
EXAMPLES = {"NN-GROUP": "01-weights", "GROUP": "coverage", "NAME": "gpt2", "FAMILY": "scaled_softmax"}
NAMED = re.compile(r"`((?:[\w-]+/)*[\w-]+(?:\.(?:cpp|hpp|py|md|json|ts)|/))`")


class Contributing(unittest.TestCase):
    def test_every_file_and_folder_that_it_names_is_there(self) -> None:
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        named = sorted(set(NAMED.findall(text)))
        self.assertGreater(len(named), 30)
        for name in named:
            example = name.rstrip("/")
            for placeholder, real in EXAMPLES.items():
                example = example.replace(placeholder, real)
            # A file name alone is one of the folder that the sentence speaks of.
            found = ROOT.glob(example if "/" in example else f"**/{example}")
            self.assertTrue(any(found), f"CONTRIBUTING.md names {name}, which is not there")
