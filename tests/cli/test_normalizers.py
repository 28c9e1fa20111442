"""What a scan says of normalizers; test_compare and tests/agreement run every one that is listed."""

import json
import sys

from tests.cli.checkpoints import make_dump
from tests.cli.command import CommandTest, flat
from tests.places import BINARY, ROOT

DEMO = ("scan", ROOT / "demo/model", "--text", ROOT / "demo/text.txt")


class Normalizers(CommandTest):
    tiny_ids = 123

    def scan(self, normalizer: str, *options: str) -> dict:
        words = f"scan model --tokens ids.txt --normalizer {normalizer} --lengths 48 --quiet"
        return self.saved(*words.split(), *options)[0]

    def test_long_rows_are_drawn_for_finite_steps(self) -> None:
        for name, drawn in (("sigmoid", True), ("ssmax", False)):
            few = f"--lengths 64,200 --measures sensitivity --normalizer {name} --quiet"
            results = self.saved(*DEMO, *few.split())[0]
            said = [n for n in results["notices"] if "in rows of more than 128 keys, sensitivity" in n]
            self.assertEqual(bool(said), drawn, name)
            metrics = results["metrics"]
            rows = {
                metric: set(flat(metrics[metric]["rows"]))
                for metric in ("jacobian_frobenius", "jacobian_spectral", "sensitivity", "sensitivity_top2")
            }
            self.assertEqual(rows["jacobian_frobenius"], {64, 200})
            self.assertEqual(rows["jacobian_spectral"], {64, 200})
            # Rows 2 to 128, and five of the other 72.
            self.assertEqual(rows["sensitivity"], {132 if drawn else 199}, name)
            self.assertEqual(rows["sensitivity_top2"], {132 if drawn else 199}, name)
            # Rows of so few keys are all measured.
            self.assertNotIn("one random row", json.dumps(self.scan(name)["notices"]))

    def test_the_tables_of_the_docs_are_what_is_declared(self) -> None:
        done = self.other(sys.executable, ROOT / "tools/docs.py", "--check", BINARY)
        self.assertEqual(done.returncode, 0, done.stderr)
        pages = [(ROOT / "docs" / name).read_text() for name in ("normalizers.md", "patterns.md")]
        for page, name, row in zip(
            pages,
            ("normalizers", "patterns"),
            (
                "| **softmax:t=1** | a_i = exp(l_i/t) / sum_j exp(l_j/t) | `t`: a number above 0 | ",
                "| **window:size=128,global=0** | ",
            ),
            strict=True,
        ):
            self.assertIn(f"<!-- tools/docs.py {name} -->\n| {name[:-1]} |", page)
            self.assertIn(row, page)

    def test_cosine_needs_queries_and_keys(self) -> None:
        scores = ([1, 8, 8], [0.1 * i for i in range(64)])
        make_dump(self.folder / "d.safetensors", 0, 1, 8, 4, **{"layers.0.scores": scores})
        words = "scan d.safetensors --normalizer cosine --measures weights --lengths 8"
        self.refuse_each((2, words, "queries and keys"))

    def test_top_k_says_where_it_keeps_all_keys(self) -> None:
        few = "topk: rows with fewer than k = {} keys keep all keys; in a causal model these are the first {} rows"
        every = "topk: k = 49 exceeds the number of keys of every row: all keys are kept"
        for spec, notices in (
            ("topk:k=1", []),
            ("topk:k=30", [few.format(30, 29)]),
            ("topk:k=48", [few.format(48, 47)]),
            ("topk:k=49", [every]),
            ("softmax", []),
        ):
            with self.subTest(spec):
                results = self.scan(spec, "--measures", "weights")
                self.assertEqual([n for n in results["notices"] if n.startswith("topk")], notices)
