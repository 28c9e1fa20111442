"""The lines of every table: headings, and values that end where their titles end."""

import re

from tests.cli.checkpoints import copy_golden
from tests.cli.command import CommandTest, environment
from tests.cli.terminal import Terminal

FEW = ("--lengths", 96)
SMALL = ("--synthetic", "gaussian", "--dimension", 6, "--horizons", "0.5,2", "--grid", "60:480:4",
         "--replicates", 4, "--radii", "1,2")  # fmt: skip


class Tables(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.many_ids("a.txt b.txt c.txt d.txt")
        self.model = ("model", "--tokens", "a.txt")

    def on_terminal(self, columns: int, *arguments) -> str:
        env = environment(NO_COLOR="1")
        shown = Terminal(*arguments, "--quiet", cwd=self.folder, stdout=True, columns=columns, env=env)
        self.assertEqual(shown.finish(), 0, shown.shown)
        return shown.shown.replace("\r\n", "\n")

    def has_table(self, text: str, titles: str, width: int = 100) -> None:
        """A line of titles, "<" before those whose values begin where they begin; the values of others end with
        them. No line is wider than `width`."""
        names = titles.split(" | ")
        heading = next(
            (
                line
                for line in text.splitlines()
                if re.split(r"  +", line.strip()) == [n.strip("<") for n in names]
            ),
            None,
        )
        self.assertIsNotNone(heading, f"{titles} is not in\n{text}")
        rows = text[text.index(heading) :].split("\n\n")[0].splitlines()
        places, end = [], 0
        for name in names:
            start = heading.index(name.strip("<"), end)
            end = start + len(name.strip("<"))
            places.append(start if name.startswith("<") else end)
        for row in rows[1:]:
            if re.match(r"\S.*[a-z] [a-z]|\*|\(|and \d", row):
                break  # a note below
            self.assertLessEqual(len(row), width)
            for name, place in zip(names, places):
                part = row[place:] if name.startswith("<") else row[:place]
                edge = part[:1] if name.startswith("<") else part[-1:]
                beyond = row[place - 1 : place] if name.startswith("<") else row[place : place + 1]
                self.assertIn(beyond, ("", " ", "*"), (name, heading, row))
                self.assertTrue(edge.strip() or not part.strip() or "  " in row, (name, heading, row))

    def test_compare(self) -> None:
        run = ("compare", *self.model, "--normalizer", "ssmax,topk:k=4", "--measures", "all")
        whole = (
            "<normalizer | loss | change | KL | output | entr. | eff. | max | dist. | sep. | sens. | crit."
        )
        self.has_table(self.succeed(*run).out, whole)
        self.has_table(
            self.on_terminal(60, *run), "<normalizer | loss | change | KL | output | entr. | eff. | crit.", 60
        )

    def test_compare_one_at_a_time(self) -> None:
        run = ("compare", *self.model, "--normalizer", "sparsemax", "--measures", "weights", "--each")
        of_heads = "head | <best normalizer | loss change ± se | KL | output | effective tokens | after"
        self.has_table(self.succeed(*run, "head").out, of_heads)
        self.has_table(self.succeed(*run, "layer").out, "layer | <best normalizer | loss change ± se | KL")

    def test_converge(self) -> None:
        run = ("converge", *self.model, "--replicates", 5, "--draws", 2)
        whole = self.succeed(*run).out
        self.has_table(whole, "head | sep. | slope | n_eff | H | pred. | rate | rate | unif. | recent | top")
        self.has_table(whole, "layer | full | budget")
        self.has_table(self.on_terminal(60, *run), "head | H | pred. | rate | unif. | recent | top", 60)

    def test_synthetic(self) -> None:
        text = self.succeed("converge", *SMALL).out
        self.has_table(text, "<scale | horizon | rate | rate of | rate of | mean | mean | cov. | cov.")
        self.has_table(text, "<radius | rate | error*sqrt(n) | predicted")

    def test_plan(self) -> None:
        confirm = ("--confirm", "c.txt", "d.txt", "--random-plans", 3, "--out", "plan")
        text = self.succeed("plan", *self.model, "b.txt", *FEW, *confirm).out
        self.has_table(text, "<method | cache | loss change (95 %) | plan less it (95 %) | same token")
        self.has_table(text, "layer | .0 | .1 | .2 | .3")

    def test_validate(self) -> None:
        text = self.succeed(
            "validate", *self.model, "b.txt", *FEW, "--permutations", 99, "--resamples", 99,
            "--normalizer", "sparsemax", "--pattern", "topk:k=16",
        ).out  # fmt: skip
        self.has_table(text, "<intervention | median change | largest | worse | better | replicates | losing")
        self.has_table(text, "<predictor | topk: | sparsemax")
        self.assertRegex(text, r"\n\w+ +[-+]\d\.\d\d[* ]? +[-+]\d\.\d\d[* ]?\n")

    def test_diff(self) -> None:
        for name in ("a", "b"):
            self.succeed("scan", "model", "--tokens", f"{name}.txt", *FEW, "--out", name, "--quiet")
        text = self.on_terminal(100, "diff", "a", "b")
        (table,) = re.findall(r"(?m)^head  metric .* relative\b.*\n(?:.+\n)+", text)
        title, *rows = table.splitlines()
        place = title.index("metric")
        self.assertGreater(len(rows), 10)
        for row in rows[1:11]:  # below the units
            self.assertRegex(row[:place], r"^ *\S+  $")

    def test_reproduce(self) -> None:
        run = ("reproduce", "limits", "model", "--tokens", "a.txt", *FEW)
        text = self.succeed(*run).out
        self.assertRegex(text, r"\n[a-z ]{11}  \S.*\n(.*\n)*Of \d+ claims, .* were not tested\.")
        for line in text[: text.index("\nOf ")].splitlines():
            self.assertLessEqual(len(line), 100, line)
