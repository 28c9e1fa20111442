"""What a run keeps while it works: after kill -9 the same command goes on, and ends with the same bits."""

import fcntl
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable

from tests.cli.checkpoints import make_gpt2
from tests.cli.command import BAD_INPUT, RESOURCE, environment
from tests.cli.shares import DEMO, SharesTest
from tests.places import BINARY

KILLS = 50
LIVES = 5  # of a run, which then may end


class Journal(SharesTest):
    def setUp(self) -> None:
        super().setUp()
        # Half a second of many layers, of which each is a part for each document.
        make_gpt2(self.folder / "model", layers=48, heads=2, width=16, positions=320)
        for k, length in enumerate((90, 300, 150, 240, 120, 210, 180)):
            self.ids(length, name=f"ids{k}.txt")
        self.ids_files = [f"ids{k}.txt" for k in range(7)]
        measured = ("--measures", "weights,distance,model", "--examples", "2")
        self.scan = ("scan", "model", "--tokens", *self.ids_files, *measured)

    def start(self, *arguments) -> subprocess.Popen:
        return subprocess.Popen(
            [str(BINARY), *map(str, arguments)],
            cwd=self.folder,
            env=environment(HEADGAUGE_JOURNAL_SECONDS="0.1"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill_after(self, seconds: float, *arguments) -> bool:
        """Whether it was still running then."""
        process = self.start(*arguments)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True
        self.assertEqual(process.returncode, 0)
        return False

    def has_kept(self, stage: bytes) -> bool:
        return any(stage in path.read_bytes() for path in self.journals("out"))

    def kill_when(self, is_kept: Callable[[], object], *arguments) -> None:
        """As soon as something was kept, however fast the machine is."""
        for _ in range(20):
            process = self.start(*arguments)
            while process.poll() is None and not is_kept():
                time.sleep(0.002)
            process.kill()
            if process.wait() != 0:
                self.assertTrue(is_kept())
                return
            shutil.rmtree(self.folder / "out", ignore_errors=True)  # it ended first
        self.fail("no run kept anything before it ended")

    def leave_journal(self, *arguments) -> bytes:
        """Of a run that was killed before it wrote its results, of which something was kept."""
        for moment in range(4, 400):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            killed = self.kill_after(moment / 40, *arguments, "--out", "out") and self.journals("out")
            if any((self.folder / "out").glob("results.json*")):
                continue
            if killed and (size := self.journals("out")[0].stat().st_size) > 5000:
                return self.journals("out")[0].read_bytes()[:size]
        self.fail("no run left a journal")

    def test_killed_at_random_moments(self) -> None:
        moments = random.Random(20)
        texts, few = " ".join(self.ids_files), " ".join(self.ids_files[:3])
        documents = " ".join(self.documents[:2])
        kinds = (
            " ".join(self.scan),
            f"compare model --tokens {texts} --normalizer ssmax,sparsemax --measures weights",
            f"compare model --tokens {few} --normalizer ssmax --each head --measures weights",
            f"converge model --tokens {texts} --lengths 64 --replicates 4 --draws 4 --grid 8,32",
            f"validate {DEMO} --pattern topk:k=16 --text {documents} --lengths 64 --permutations 99 "
            "--resamples 99",
        )
        kills = 0
        for kind in kinds:
            words = kind.split()
            with self.subTest(kind):
                self.succeed(*words, "--out", "whole", "--quiet")
                for _ in range(KILLS // LIVES // len(kinds)):
                    for _ in range(LIVES):
                        kills += self.kill_after(moments.uniform(0.1, 0.7), *words, "--out", "out")
                    if not self.journals("out"):  # one that has ended removes its own
                        shutil.rmtree(self.folder / "out", ignore_errors=True)
                        self.kill_when(lambda: self.journals("out"), *words, "--out", "out")
                    self.succeed(*words, "--out", "out", "--quiet")
                    self.assert_same("out", "whole")
                    shutil.rmtree(self.folder / "out")
                shutil.rmtree(self.folder / "whole")
        print(f"\n{kills} kills of {KILLS} hit a run in the middle")

    def test_a_plan_that_is_killed_goes_on(self) -> None:
        """Its journal has the losses of every document under each plan that was tried."""
        moments = random.Random(21)
        make_gpt2(self.folder / "small", layers=8, heads=2, width=16, positions=320)
        self.many_ids("a.txt b.txt c.txt")
        words = (
            "plan small --tokens a.txt b.txt --confirm c.txt --lengths 96 --random-plans 3 --quiet".split()
        )
        self.succeed(*words, "--out", "whole")
        for _ in range(2):
            self.kill_when(lambda: self.journals("out"), *words, "--out", "out")
            for _ in range(LIVES - 1):
                self.kill_after(moments.uniform(0.05, 0.4), *words, "--out", "out")
            self.succeed(*words, "--out", "out")
            self.assert_same("out", "whole")
            for plan in ("plan.json", "plan_25.json", "plan_75.json"):
                self.assertEqual(self.read(f"out/{plan}"), self.read(f"whole/{plan}"))
            shutil.rmtree(self.folder / "out")

    def test_a_reproduction_that_is_killed_goes_on(self) -> None:
        """Killed in its simulations and in its experiments with the model."""
        moments = random.Random(22)
        make_gpt2(self.folder / "small", layers=12, heads=2, width=16, positions=320)
        self.ids(300)
        words = "reproduce tokens small --tokens ids.txt --lengths 256 --dimension 10".split()
        words += ["--grid", "300,600,1200", "--replicates", "20", "--quiet"]
        self.succeed(*words, "--out", "whole")
        for stage in (b"gaussian/simulate/scale", b"model/converge", b"all_heads/compare"):
            with self.subTest(stage):
                self.kill_when(lambda stage=stage: self.has_kept(stage), *words, "--out", "out")
                self.kill_after(moments.uniform(0.05, 0.4), *words, "--out", "out")
                self.succeed(*words, "--out", "out")
                self.assert_same("out", "whole")
                shutil.rmtree(self.folder / "out")

    def test_a_damaged_experiment_leaves_what_others_finished(self) -> None:
        words = ("reproduce", "tokens", *self.scan[1:4], "--dimension", "6", "--grid", "60,120,240,480")
        words = (*words, "--replicates", "4", "--quiet")
        self.kill_when(lambda: self.has_kept(b"model/converge"), *words, "--out", "out")
        saved = self.folder / "out/gaussian/results.json"
        whole = saved.read_bytes()
        saved.write_bytes(whole[: len(whole) // 2])
        kept = self.journals("out")
        self.refuse(BAD_INPUT, *words, "--out", "out", says="delete out/gaussian/results.json to start again")
        self.assertEqual(self.journals("out"), kept)
        saved.unlink()
        self.succeed(*words, "--out", "whole")
        self.succeed(*words, "--out", "out")
        self.assert_same("out", "whole")

    def test_one_of_other_settings_is_refused(self) -> None:
        self.leave_journal(*self.scan)
        says = ("out/journal/part-1-of-1.journal", "the same run", "delete out/journal to start again")
        self.refuse(BAD_INPUT, *self.scan, "--seed", "4", "--out", "out", says=(*says, "--seed"))
        self.refuse(BAD_INPUT, *self.scan[:-2], "--examples", "3", "--out", "out", says=(*says, "--examples"))
        other = (*says, "another value of command")
        self.refuse(BAD_INPUT, "converge", *self.scan[1:-2], "--out", "out", says=other)
        baseline, other = environment(HEADGAUGE_SIMD="baseline"), (*says, "another value of HEADGAUGE_SIMD")
        self.refuse(BAD_INPUT, *self.scan, "--out", "out", env=baseline, says=other)
        (self.folder / "ids3.txt").write_text("1 2 3 4 5 6 7 8 9 " * 30)
        self.refuse(BAD_INPUT, *self.scan, "--out", "out", says=(*says, "texts: sha256"))

    def test_both_values_are_named(self) -> None:
        self.leave_journal(*self.scan, "--lengths", "64")
        says = 'another value of --lengths ("64" instead of "32")'
        self.refuse(BAD_INPUT, *self.scan, "--lengths", "32", "--out", "out", says=says)
        longer = (*self.scan[:3], *self.ids_files, "ids0.txt", *self.scan[-4:], "--lengths", "64")
        says = "another value of texts: sha256 (the end of the list instead of "
        self.refuse(BAD_INPUT, *longer, "--out", "out", says=says)

    def test_what_is_only_shown_is_no_part_of_a_run(self) -> None:
        kept = self.leave_journal(*self.scan)
        self.succeed(*self.scan, "--out", "whole", "--quiet")
        for shown in (("--top", "2"), ("--sort", "entropy_with_sinks"), ("--json",), ("--threads", "1"), ()):
            with self.subTest(shown):
                self.write("out/journal/part-1-of-1.journal", kept)
                done = self.succeed(*self.scan, *shown, "--out", "out")
                self.assertRegex(done.err, r"(?m)^resuming from layer \d+ of 48$")
                expected = {**self.results("whole"), "settings": None}
                self.assertEqual({**self.results("out"), "settings": None}, expected)
                shutil.rmtree(self.folder / "out")
        self.write("out/journal/part-1-of-1.journal", kept)
        self.assertNotIn("resuming", self.succeed(*self.scan, "--quiet", "--out", "out").err)

    def test_what_never_became_a_journal_goes_with_the_others(self) -> None:
        """A run that is killed while it names its journal leaves the name it wrote it under, too, and one
        that is killed while it keeps a state leaves a file that never got its name."""
        self.leave_journal(*self.scan)
        self.succeed(*self.scan, "--out", "whole", "--quiet")
        journal = self.journals("out")[0]
        os.link(journal, journal.with_name(f"{journal.name}.abcdefghijkl.tmp"))
        self.write("out/journal/part-1-of-1.state-0-3.journal.abcdefghijkl.tmp", b"headgauge.journal/1 ")
        self.succeed(*self.scan, "--out", "out", "--quiet")
        self.assert_same("out", "whole")

    def test_one_that_is_torn_or_damaged_is_cut_back(self) -> None:
        data = self.leave_journal(*self.scan)
        self.succeed(*self.scan, "--out", "whole", "--quiet")
        first = data.index(b"\n", data.index(b"\n") + 1) + 1
        places = random.Random(4)
        for kind in ("cut", "changed", "cut", "changed", "appended"):
            journal = self.folder / "out/journal/part-1-of-1.journal"
            journal.parent.mkdir(parents=True, exist_ok=True)
            at = places.randrange(first, len(data))
            torn = bytearray(data)
            if kind == "cut":
                del torn[at:]
            elif kind == "changed":
                torn[at] ^= 64
            else:
                torn += os.urandom(100)
            journal.write_bytes(torn)
            with self.subTest(kind, at=at):
                self.succeed(*self.scan, "--out", "out", "--quiet")
                self.assert_same("out", "whole")
            shutil.rmtree(self.folder / "out")
        for at in (0, 5, 40, first - 3):
            damaged = bytearray(data)
            damaged[at] ^= 64
            self.write("out/journal/part-1-of-1.journal", bytes(damaged))
            self.refuse(BAD_INPUT, *self.scan, "--out", "out", says=("part-1-of-1.journal", "a journal"))

    def test_short_runs_and_runs_without_out_keep_none(self) -> None:
        self.succeed("scan", DEMO, "--text", self.documents[0], "--measures", "weights", "--out", "out")
        self.assertEqual(
            sorted(p.name for p in (self.folder / "out").iterdir()), ["heads.csv", "results.json"]
        )

    def test_another_run_writes_the_same(self) -> None:
        """Of two runs into one folder the second keeps nothing, and ends as if it were alone."""
        self.succeed(*self.scan, "--out", "whole", "--quiet")
        before = self.leave_journal(*self.scan)
        journal = self.journals("out")[0]
        with journal.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            often = environment(HEADGAUGE_JOURNAL_SECONDS="0.1")
            self.succeed(*self.scan, "--out", "out", "--quiet", env=often)
            self.assertEqual(journal.read_bytes()[: len(before)], before)
        self.assertEqual(self.results("out"), self.results("whole"))
        self.refuse(RESOURCE, *self.shard_of_the_same(), says=("another run is writing",))

    def shard_of_the_same(self) -> list:
        words = [*self.scan, "--shard", "1/2", "--out", "shards"]
        self.succeed(*words)
        self.held = self.journals("shards")[0].open("rb")
        self.addCleanup(self.held.close)
        fcntl.flock(self.held, fcntl.LOCK_EX)
        return words
