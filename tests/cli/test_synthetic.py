"""headgauge converge --synthetic: tables, files, resumption, and what is refused."""

import resource

from tests.cli.command import CommandTest
from tests.results.schema import validate

SMALL = (
    *(
        "converge --synthetic gaussian --dimension 6 --horizons 0.5,2 --grid 60:480:4 --replicates 4 --radii "
        "1,2 --threads 2"
    ).split(),
)


class Synthetic(CommandTest):
    def test_table_and_files(self) -> None:
        done = self.succeed(*SMALL, "--out", "out")
        about = "gaussian tokens   synthetic, 1 layer x 1 head, 1 KV head each"
        for part in (
            about,
            "Rates and errors by scale",
            "Hardmax limit",
            "Worst query",
        ):
            self.assertIn(part, done.out)
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()), ["results.json"])
        results = validate(self.folder / "out/results.json")
        self.assertEqual(results["command"], "converge --synthetic")
        typed = {"synthetic": "gaussian", "dimension": 6, "grid": [60, 120, 240, 480], "replicates": 4}
        typed |= {"points": 4, "horizons": [0.5, 2], "radii": [1, 2]}
        meant = {"seed": 0, "full": False, "reference": "exact", "normalizer": "softmax", "radius": None}
        meant |= {"variance": 0.1, "values": "identity"}
        for key, value in (typed | meant).items():
            self.assertEqual(results["settings"][key], value, key)
        self.assertEqual(results["model"]["family"], "synthetic")
        metrics = results["metrics"]
        self.assertEqual(metrics["uniform_error"]["dims"], ["tokens", "radius"])
        for h, paper in zip(metrics["horizon"]["values"], metrics["horizon_paper"]["values"]):
            self.assertAlmostEqual(paper, h * 6**0.5)

    def test_other_laws_and_normalizers(self) -> None:
        for law, *more in (
            ("sphere",),
            ("atoms", "--values", "random"),
            ("gaussian", "--normalizer", "softcap:c=2"),
            ("gaussian", "--normalizer", "sparsemax"),
            ("gaussian", "--reference", "sample", "--reference-tokens", "900"),
        ):
            arguments = [law if part == "gaussian" else part for part in SMALL]
            with self.subTest(law, more=more):
                done = self.succeed(*arguments, *more)
                self.assertIn(f"{law} tokens   synthetic", done.out)
        self.assertIn("has no known limit", self.succeed(*SMALL, "--normalizer", "topk:k=3").err)

    def test_refused(self) -> None:
        self.refuse_each(
            (2, "", "MODEL"),
            (2, "--synthetic cube", "gaussian, sphere, atoms"),
            (2, "model --synthetic gaussian", "both"),
            (2, "model --full", "--synthetic"),
            (2, "--synthetic sphere --variance 2", "--variance"),
            base=("converge",),
        )
        gaussian = ("converge", "--synthetic", "gaussian")
        self.refuse_each(
            (2, "--text x", "--text"),
            (2, "--radius 2", "--radius"),
            (2, "--reference-tokens 900", "--reference-tokens"),
            (2, "--lengths 64", "--lengths"),
            (2, "--draws 3", "--draws"),
            (2, "--grid 5,4", "5, 4"),
            (2, "--grid 1,4", "from 2"),
            (2, "--scales 1 --horizons 1", "both"),
            (2, "--scales 1e40", "single precision"),
            (2, "--radii 2,1", "--radii"),
            (4, "--normalizer cosine", "cosine"),
            (4, "--normalizer ssmax --reference exact", "ssmax"),
            base=gaussian,
        )
        self.refuse(2, *gaussian, "--grid", "50,60", "--points", "3", says="--points", form=False)
        self.refuse(2, *gaussian, "--dimension", "0", says="at least 1", form=False)
        large = ("--dimension", "500", "--grid", "1000000")
        self.refuse(5, *gaussian, *large, says="of memory", limits={resource.RLIMIT_AS: 2**30})
