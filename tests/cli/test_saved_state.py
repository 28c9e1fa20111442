"""What a long run saves of itself is taken up again as it was saved, or not at all."""

import re
import signal
import subprocess

from tests.cli.checkpoints import copy_golden
from tests.cli.command import BAD_INPUT, INTERRUPTED, RESOURCE, CommandTest, environment, run
from tests.cli.terminal import Terminal
from tests.results.schema import validate

JOURNAL = "out/journal/part-1-of-1.journal"
AT_ONCE = environment(HEADGAUGE_JOURNAL_SECONDS="0")


class SavedState(CommandTest):
    def damaged(self, *arguments) -> None:
        """A journal with a changed byte, and one that is cut short: the run resumes from what is whole."""
        kept = (self.folder / JOURNAL).read_bytes()
        records = kept.index(b"\n", kept.index(b"\n") + 1) + 1
        self.assertGreater(len(kept), records + 100)
        self.succeed(*arguments, "--out", "whole")
        for at in (records + 60, len(kept) - 3):
            for damaged in (kept[:at] + bytes([kept[at] ^ 64]) + kept[at + 1 :], kept[:at]):
                self.write(JOURNAL, damaged)
                done = self.succeed(*arguments, "--out", "out")
                is_last = at > records + 60  # and not the first record that is damaged
                self.assertEqual("resuming" in done.err, is_last)
                whole, found = (validate(self.folder / f"{at}/results.json") for at in ("whole", "out"))
                self.assertEqual(found["metrics"], whole["metrics"])
                self.assertFalse((self.folder / "out/journal").exists())

    def test_of_a_simulation(self) -> None:
        arguments = (
            "converge --synthetic gaussian --dimension 20 --horizons 0.5,1,1.5,2 --grid 1500,2000 "
            "--replicates 40 --radii 1"
        ).split()
        terminal = Terminal(*arguments, "--out", "out", cwd=self.folder, env=AT_ONCE)
        terminal.read_until(r"\b[3-8]\d ?%")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.damaged(*arguments)

    def test_of_a_reproduction(self) -> None:
        arguments = (
            "reproduce tokens --dimension 6 --grid 60,120,240,480 --replicates 4 --out out --quiet"
        ).split()
        self.succeed(*arguments)
        whole = validate(self.folder / "out/results.json")["metrics"]
        sums = {path: path.stat().st_mtime_ns for path in self.folder.glob("out/*/results.json.sha256")}
        names = {"gaussian", "sphere", "atoms1", "atoms2", "atoms4"}
        self.assertEqual({path.parent.name for path in sums}, names)
        for path in sums:
            subprocess.run(["sha256sum", "--check", "--quiet", path.name], cwd=path.parent, check=True)
        self.succeed(*arguments)
        self.assertEqual({path: path.stat().st_mtime_ns for path in sums}, sums, "taken as they were")
        for name, changed in (("gaussian", "results.json"), ("sphere", "results.json.sha256")):
            with self.subTest(changed):
                path = self.folder / "out" / name / changed
                kept = path.read_text()
                number = re.compile(r"\d\.(\d)" if changed == "results.json" else r"([0-9])").search(kept)
                at = number.start(1)
                results = f"out/{name}/results.json"
                other = kept[:at] + str((int(kept[at]) + 1) % 10) + kept[at + 1 :]
                for damaged in (other, kept[: len(kept) // 2]):
                    path.write_text(damaged)
                    self.refuse(BAD_INPUT, *arguments, says=(results, f"delete {results} to start again"))
                (self.folder / results).unlink()
                self.succeed(*arguments)
                self.assertEqual(validate(self.folder / "out/results.json")["metrics"], whole)

    def test_of_a_plan(self) -> None:
        copy_golden("gpt2/plain", self.folder / "model")
        self.many_ids("a.txt b.txt c.txt")
        arguments = "plan model --tokens a.txt b.txt --confirm c.txt --lengths 96 --random-plans 3".split()
        # All is measured and kept; then there is no place for the plan.
        (self.folder / "out/plan.json").mkdir(parents=True)
        done = run(*arguments, "--out", "out", cwd=self.folder, env=AT_ONCE)
        self.assertEqual(done.code, RESOURCE, done.err)
        (self.folder / "out/plan.json").rmdir()
        self.damaged(*arguments)
