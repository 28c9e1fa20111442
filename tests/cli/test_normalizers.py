"""Every normalizer that `headgauge list normalizers` lists, in a scan."""

import json
import subprocess
import sys

from tests.cli.checkpoints import make_dump
from tests.cli.command import CommandTest
from tests.places import BINARY, ROOT


def flat(part: object) -> list[float]:
    if isinstance(part, list):
        return [value for item in part for value in flat(item)]
    return [] if part is None else [part]


class EveryNormalizer(CommandTest):
    tiny_ids = 123

    def listed(self) -> list[dict]:
        return json.loads(self.succeed("list", "normalizers", "--json").out)

    def scan(self, normalizer: str, *options: str) -> dict:
        return self.saved(
            *"scan model --tokens ids.txt --normalizer".split(),
            normalizer,
            *"--lengths 48 --quiet".split(),
            *options,
        )[0]

    def test_each_is_measured_and_keeps_its_word(self) -> None:
        names = [entry["name"] for entry in self.listed()]
        self.assertEqual(len(set(names)), len(names))
        for entry in self.listed():
            with self.subTest(entry["name"]):
                results = self.scan(entry["name"])
                self.assertEqual(results["settings"]["normalizer"], entry["name"])
                metrics = results["metrics"]
                mass = flat(metrics["mass"]["values"])
                self.assertTrue(mass)
                for value in mass:
                    if entry["simplex"]:
                        self.assertAlmostEqual(value, 1, delta=1e-5)
                # Shares of |a|, whatever the sign of a: at least one key, at most all of them.
                for name in ("mass_90", "effective_tokens", "participation_ratio"):
                    shares = flat(metrics[name]["values"])
                    self.assertGreaterEqual(min(shares), 1 - 1e-6, name)
                    self.assertLessEqual(max(shares), 48 + 1e-6, name)
                for name in ("entropy", "distance", "separability", "sensitivity", "jacobian_spectral"):
                    self.assertTrue(flat(metrics[name]["values"]), name)
                spectral = flat(metrics["jacobian_spectral"]["values"])
                bound = flat(metrics["jacobian_bound"]["values"])
                for norm, limit in zip(spectral, bound):
                    self.assertLessEqual(norm, limit * (1 + 1e-5) + 1e-9)
                # Rows of so few keys are all measured.
                self.assertFalse([n for n in results["notices"] if "one random row" in n])

    def test_long_rows_are_drawn_for_finite_steps(self) -> None:
        for name, drawn in (("sigmoid", True), ("ssmax", False)):
            results = self.saved(
                "scan",
                ROOT / "demo/model",
                "--text",
                ROOT / "demo/text.txt",
                *"--lengths 64,200 --measures sensitivity --normalizer".split(),
                name,
                *"--quiet".split(),
            )[0]
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

    def test_the_tables_of_the_docs_are_what_is_declared(self) -> None:
        done = subprocess.run(
            [sys.executable, ROOT / "tools/docs.py", "--check", BINARY],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        pages = [(ROOT / "docs" / name).read_text() for name in ("normalizers.md", "patterns.md")]
        for page, name, row in zip(
            pages,
            ("normalizers", "patterns"),
            (
                "| `softmax` | `t` | 1 | a number above 0 |",
                "| `window` | `size` | 128 | a whole number of at least 1",
            ),
            strict=True,
        ):
            self.assertIn(f"<!-- tools/docs.py {name} -->\n| name |", page)
            self.assertIn(row, page)

    def test_softmax_at_another_temperature_is_softmax_of_scaled_logits(self) -> None:
        cold = self.scan("softmax:t=0.5", "--temperatures", "1", "--epsilons", "0.1")["metrics"]
        warm = self.scan("softmax", "--temperatures", "1,0.5", "--epsilons", "0.1")["metrics"]
        for one, other in zip(flat(cold["entropy"]["values"]), flat(warm["entropy"]["values"])):
            self.assertLess(one, other)
        # g of the normalizer t = 1/2 at temperature 1 is g of softmax at temperature 1/2.
        for one, other in zip(flat(cold["sensitivity"]["values"]), flat(warm["sensitivity"]["values"])[1::2]):
            self.assertAlmostEqual(one, other, delta=1e-6 * other)

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
