"""What the docs advise for the demo model, followed: the loss does what the sentence says."""

from __future__ import annotations

import unittest

from tests.cli.command import CommandTest
from tests.places import ROOT
from tests.results.schema import validate

DEMO = (str(ROOT / "demo/model"), "--text", str(ROOT / "demo/text.txt"), "--measures", "weights")

# docs/convergence.md: the heads, the pattern, the change of the loss that it states.
FOLLOWED = (
    (("--layers", "4,5"), "sinks:sinks=4,window=296", 0.0003),
    (("--layers", "4,5"), "sinks:sinks=4,window=60", -0.006),
    (("--layers", "0,1"), "sinks:sinks=4,window=296", -0.0110),
    (("--layers", "0,1"), "sinks:sinks=4,window=60", 0.110),
    (("--heads", "0.0"), "sinks:sinks=4,window=60", -0.0071),
    (("--heads", "4.1"), "sinks:sinks=4,window=42", -0.0013),
    (("--heads", "1.3,2.1"), "sinks:sinks=4,window=60", 0.014),
    (("--heads", "1.3,2.1"), "topk:k=16", -0.0004),
)


class Advice(CommandTest):
    def test_the_loss_is_what_the_docs_say(self) -> None:
        text = (ROOT / "docs/convergence.md").read_text()
        for heads, pattern, stated in FOLLOWED:
            out = self.folder / "out"
            self.succeed("compare", *DEMO, *heads, "--pattern", pattern, "--quiet", "--out",
                         str(out))
            metrics = validate(out / "results.json")["metrics"]
            change = metrics["loss_change"]["values"][1][-1]
            rounding = 0.6 * 10 ** -len(f"{stated}".split(".")[1])
            self.assertAlmostEqual(change, stated, delta=rounding, msg=pattern)
            self.assertIn(f"{stated:+}".replace("0.", ".").lstrip("+"), text)

    def test_what_was_recommended_does_not_raise_the_loss(self) -> None:
        """Each recommendation of compare, one head each, put in by itself."""
        done = self.succeed("compare", *DEMO, "--each", "head", "--normalizers",
                            "ssmax,logn-entropy,softmax1,entmax:alpha=1.25", "--out", "each")
        advised = [line.split(": ") for line in done.out.splitlines()
                   if line.startswith("Recommended for head ")]
        self.assertGreater(len(advised), 0)
        for head, rest in [(parts[0].split()[-1], parts[1]) for parts in advised]:
            normalizer = rest.split(",")[0]
            stated = float(rest.split("loss ")[1].split()[0])
            self.succeed("compare", *DEMO, "--heads", head, "--normalizers", normalizer, "--quiet",
                         "--out", "one")
            loss = validate(self.folder / "one/results.json")["metrics"]["loss_change"]
            self.assertAlmostEqual(loss["values"][1][-1], stated, delta=1e-4, msg=head)
            self.assertLess(loss["values"][1][-1], 0)


if __name__ == "__main__":
    unittest.main()
