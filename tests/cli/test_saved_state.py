"""What a long run saves of itself is taken up again as it was saved, or not at all."""

from __future__ import annotations

import re
import signal
import unittest

from tests.cli.checkpoints import copy_golden
from tests.cli.command import BAD_INPUT, INTERRUPTED, RESOURCE, CommandTest, run
from tests.cli.terminal import Terminal
from tests.results.schema import validate


class SavedState(CommandTest):
    def change_a_digit(self, name: str, after: str) -> None:
        """The first behind the point of the first number with a fraction behind `after`: the last of 17
        may name the same number still."""
        path = self.folder / name
        text = path.read_text()
        number = re.compile(r"\d\.(\d)").search(text, text.index(after))
        self.assertIsNotNone(number)
        at = number.start(1)
        self.write(name, text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])

    def refused(self, name: str, *arguments) -> None:
        """For a changed digit, and for a state that is cut short; another run begins anew."""
        self.refuse(BAD_INPUT, *arguments, says=(name, f"delete {name} to start again"))
        path = self.folder / name
        self.write(name, path.read_bytes()[: path.stat().st_size // 2])
        self.refuse(BAD_INPUT, *arguments, says=(name, f"delete {name} to start again"))
        path.unlink()
        self.succeed(*arguments)

    def test_of_a_simulation(self) -> None:
        arguments = (
            "converge",
            "--synthetic",
            "gaussian",
            "--dimension",
            "20",
            "--horizons",
            "0.5,1,1.5,2",
            "--grid",
            "1500,2000",
            "--replicates",
            "40",
            "--radii",
            "1",
            "--out",
            "out",
        )
        terminal = Terminal(*arguments, cwd=self.folder)
        terminal.read_until(r"\b[3-8]\d ?%")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.change_a_digit("out/convergence_state.json", '"mean":')
        self.refused("out/convergence_state.json", *arguments)

    def test_of_a_reproduction(self) -> None:
        arguments = (
            "reproduce",
            "tokens",
            "--dimension",
            "6",
            "--grid",
            "60,120,240,480",
            "--replicates",
            "4",
            "--out",
            "out",
            "--quiet",
        )
        self.succeed(*arguments)
        whole = validate(self.folder / "out/results.json")["metrics"]
        seals = {path: path.stat().st_mtime_ns for path in self.folder.glob("out/*/finished.json")}
        self.assertEqual({path.parent.name for path in seals}, {"gaussian", "sphere"})
        self.succeed(*arguments)
        self.assertEqual({path: path.stat().st_mtime_ns for path in seals}, seals, "taken as they were")
        for name in ("out/gaussian/results.json", "out/sphere/finished.json"):
            with self.subTest(name):
                if name.endswith("results.json"):
                    self.change_a_digit(name, '"values"')
                else:
                    text = (self.folder / name).read_text()
                    self.write(name, text.replace('"results_sha256":"', '"results_sha256":"0'))
                self.refused(name, *arguments)
                self.assertEqual(validate(self.folder / "out/results.json")["metrics"], whole)

    def test_of_a_plan(self) -> None:
        copy_golden("gpt2/plain", self.folder / "model")
        for k, name in enumerate(("a.txt", "b.txt", "c.txt")):
            self.write(
                name, " ".join(str((i * i + 3 * i * (k + 1) + i // 41 * (k + 2)) % 41) for i in range(288))
            )
        arguments = (
            "plan",
            "model",
            "--tokens",
            "a.txt",
            "b.txt",
            "--confirm",
            "c.txt",
            "--lengths",
            96,
            "--random-plans",
            3,
            "--out",
            "out",
            "--quiet",
        )
        # All is measured and saved; then there is no place for the plan.
        (self.folder / "out/plan.json").mkdir(parents=True)
        done = run(*arguments, cwd=self.folder)
        self.assertEqual(done.code, RESOURCE, done.err)
        (self.folder / "out/plan.json").rmdir()
        self.change_a_digit("out/plan_state.json", '"finished"')
        self.refused("out/plan_state.json", *arguments)


if __name__ == "__main__":
    unittest.main()
