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

    def has_table(self, text: str, heading: str, *rows: str) -> None:
        """The heading, whose lines begin behind a bar, and right below it rows, with # for each
        character of a number or of the space before it."""
        lines = [line.strip().removeprefix("|") for line in heading.strip().splitlines()]
        found = text.splitlines()
        place = next((i for i in range(len(found)) if found[i : i + len(lines)] == lines), None)
        self.assertIsNotNone(place, "\n".join([*lines, "is not in", text]))
        for k, row in enumerate(rows):
            pattern = re.escape(row).replace(r"\#", r"[-+ ><.*%\d±()\[\],to/]")
            self.assertRegex(found[place + len(lines) + k], f"^{pattern}$")

    def test_compare(self) -> None:
        run = ("compare", *self.model, "--normalizer", "ssmax,topk:k=4")
        self.has_table(
            self.succeed(*run).out,
            """
            |normalizer   loss           change     KL output  entr.   eff.    max  dist.  sep.  sens. crit.
            |             nats             ± se   nats      % of max   keys weight               ||J||     N
            """,
            "original   ######                                ###### ###### ###### ###### ##### ###### #####",
            "ssmax      ###### ################ ###### ###### ###### ###### ###### ###### ##### ###### #####",
        )
        self.has_table(
            self.on_terminal(60, *run),
            """
            |normalizer   loss           change     KL output crit.
            |             nats             ± se   nats      %     N
            """,
            "original   ######                                #####",
        )

    def test_compare_one_at_a_time(self) -> None:
        run = ("compare", *self.model, "--normalizer", "sparsemax", "--measures", "weights", "--each")
        self.has_table(
            self.succeed(*run, "head").out,
            "| head best normalizer  loss change ± se       KL   output  effective tokens",
            "  0.0 sparsemax  ################# ######## ######## #################",
        )
        self.has_table(
            self.succeed(*run, "layer").out,
            "|layer best normalizer  loss change ± se       KL",
            "    0 sparsemax  ################# ########",
        )

    def test_converge(self) -> None:
        run = ("converge", *self.model, "--replicates", 5, "--draws", 2)
        whole = self.succeed(*run).out
        self.has_table(
            whole,
            """
            | head  sep. slope  n_eff     H pred.         rate         rate  unif. recent   top
            |                    keys                     mean         cov.   keys   keys  keys
            """,
            "  0.0 ##### ##### ###### ##### ##### ############ ############ ###### ###### #####",
        )
        self.has_table(whole, "|   layer       full     budget", "       0 ########## ########## ######")
        self.has_table(
            self.on_terminal(60, *run),
            """
            | head     H pred.         rate  unif. recent   top
            |                          mean   keys   keys  keys
            """,
            "  0.0 ##### ##### ############ ###### ###### #####",
        )

    def test_synthetic(self) -> None:
        text = self.succeed("converge", *SMALL).out
        self.has_table(
            text,
            """
            |    scale   horizon      rate       rate of       rate of     mean     mean     cov.     cov.
            |                  H predicted          mean    covariance     n=60    n=480     n=60    n=480
            """,
            "######### ######### ######### ############# ############# ######## ######## ######## ########",
        )
        self.has_table(
            text,
            "| radius R          rate  error*sqrt(n)   predicted",
            "        1 ############# ############## ###########",
        )

    def test_plan(self) -> None:
        confirm = ("--confirm", "c.txt", "d.txt", "--random-plans", 3, "--out", "plan")
        text = self.succeed("plan", *self.model, "b.txt", *FEW, *confirm).out
        self.has_table(
            text,
            "|50 %                        cache            loss change (95 %)           plan less it (95 %)",
            "plan                     ######## #############################",
            "equal windows, sinks     ######## ############################# ##############################",
        )
        self.has_table(
            text,
            "|keys kept, 50 %             .0    .1    .2    .3",
            "layer 0                  ##### ##### ##### #####",
        )

    def test_validate(self) -> None:
        text = self.succeed(
            "validate", *self.model, "b.txt", *FEW, "--permutations", 99, "--resamples", 99,
            "--normalizer", "sparsemax", "--pattern", "topk:k=16",
        ).out  # fmt: skip
        self.has_table(
            text,
            "|one head gets               median change        largest worse / better     replicates   losing\n"
            "|                                                                                         % rows",
            "topk:k=16                  ############## ############## ############## #######################",
        )
        self.has_table(text, "|rank correlation with the change       topk:k=16   sparsemax")
        self.assertRegex(text, r"\nflag dispersed {22}[-+\d. ]{11}[* ][-+\d. ]{11}[* ]\n")

    def test_diff(self) -> None:
        for name in ("a", "b"):
            self.succeed("scan", "model", "--tokens", f"{name}.txt", *FEW, "--out", name, "--quiet")
        text = self.on_terminal(100, "diff", "a", "b")
        (table,) = re.findall(r"(?m)^relative +head  metric .*\n(?:.+\n)+", text)
        title, *rows = table.splitlines()
        place = title.index("metric")
        self.assertGreater(len(rows), 10)
        for row in rows[:10]:
            self.assertRegex(row[:place], r"^ *[\d.]+ %  +\S+  $")

    def test_reproduce(self) -> None:
        run = ("reproduce", "limits", "model", "--tokens", "a.txt", *FEW)
        text = self.succeed(*run).out
        self.assertRegex(text, r"verdict        claim, and what was measured\n[a-z ]{13}  \S.*\n")
        for line in text[: text.index("\nAt L = 96")].splitlines():
            self.assertLessEqual(len(line), 100, line)
