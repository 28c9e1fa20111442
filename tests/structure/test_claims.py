"""Every name that a text or a fact of claims/ uses is one that the tests of claims give."""

import json
import re
import unittest

from tests.places import ROOT

# What Evidence adds to the name of an interval or of described values.
ENDINGS = re.compile(r"_(low|high|median|least|most|count)$")


class Names(unittest.TestCase):
    def test_texts_use_names_that_tests_give(self) -> None:
        sources = "".join(
            path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/reproduce").glob("*.?pp"))
        )
        given = set(re.findall(r'"(\w+)"', sources)) | set(re.findall(r"metric::(\w+)", sources))
        for kind in ("mean", "covariance"):  # compare_rates() puts them before its names
            given |= {kind + name for name in given if name.startswith("_")}
        for paper in ("limits", "tokens"):
            file = json.loads((ROOT / f"claims/{paper}.json").read_text(encoding="utf-8"))
            for claim in file["claims"]:
                with self.subTest(claim=claim["name"]):
                    told = next(c for c in file["claims"] if c["name"] == claim.get("as", claim["name"]))
                    more = told.get("more", {}) | file.get("more", {})
                    known = given | set(claim.get("thresholds", {})) | set(more)
                    texts = [claim["test"], told["measured"], *more.values()]
                    texts += [*told.get("not_tested", {}).values(), *file.get("not_tested", {}).values()]
                    used = [name for text in texts for name in re.findall(r"\{(\w+)[:}]", text)]
                    used += [fact.split("=")[-1] for fact in told["facts"] if not fact.endswith("*")]
                    unknown = {name for name in used if not {name, ENDINGS.sub("", name)} & known}
                    self.assertEqual(unknown, set())
