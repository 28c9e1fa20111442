"""Rows of dumped scores that are -Inf throughout: they see no key, are left out, and are counted."""

import math
import random

from tests.cli.checkpoints import make_dump
from tests.cli.command import BAD_INPUT, CommandTest
from tests.results.schema import validate

LENGTH = 48


class HiddenRows(CommandTest):
    def dump(self, name: str, hidden: dict[int, range]) -> None:
        """Scores of two heads; `hidden` maps a row of head 1 to the keys that are -Inf."""
        draw = random.Random(3)
        scores = [draw.gauss(0, 1) for _ in range(2 * LENGTH * LENGTH)]
        for row, keys in hidden.items():
            for key in keys:
                scores[(LENGTH + row) * LENGTH + key] = -math.inf
        x = [draw.gauss(0, 1) for _ in range(LENGTH * 4)]
        make_dump(
            self.folder / name,
            0,
            2,
            LENGTH,
            4,
            x=([LENGTH, 4], x),
            **{"layers.0.scores": ([2, LENGTH, LENGTH], scores)},
        )

    def scan(self, name: str, *options: str) -> tuple[dict, str]:
        done = self.succeed("scan", name, "--lengths", "16,48", "--out", "out", "--force", *options)
        return validate(self.folder / "out/results.json"), done.err

    def test_they_are_left_out_and_counted(self) -> None:
        self.dump("whole.safetensors", {})
        self.dump("hidden.safetensors", {20: range(LENGTH), 33: range(LENGTH)})
        for normalizer in ("softmax", "sparsemax", "sasoftmax", "sigmoid"):
            whole, said = self.scan("whole.safetensors", "--normalizer", normalizer)
            self.assertNotIn("-Inf", said)
            hidden, said = self.scan("hidden.safetensors", "--normalizer", normalizer)
            self.assertIn("2 rows of heads see no key", said)
            for name in (
                "entropy_with_sinks",
                "mass",
                "distance",
                "separability_with_sinks",
                "max_weight_with_sinks",
            ):
                rows, all_rows = (r["metrics"][name]["rows"][0] for r in (hidden, whole))
                values, all_values = (r["metrics"][name]["values"][0] for r in (hidden, whole))
                self.assertEqual(values[0], all_values[0], name)  # the head without such rows
                self.assertEqual(values[1][0], all_values[1][0], name)  # and the first 16 rows
                at, of = rows[1][1], all_rows[1][1]
                at, of = (at[0], of[0]) if isinstance(at, list) else (at, of)
                self.assertEqual(at, of - 2, name)

    def test_other_infinities_are_errors(self) -> None:
        self.dump("d.safetensors", {20: range(3, 5)})
        self.refuse(BAD_INPUT, "scan", "d.safetensors", says=("-Inf", "layers.0.scores"))
