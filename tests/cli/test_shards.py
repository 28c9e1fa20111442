"""Documents that several processes measure: the bits of one process, and a name for what is missing."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

from tests.cli.checkpoints import copy_golden, make_gpt2
from tests.cli.command import BAD_INPUT, RESOURCE, SECONDS, UNSUPPORTED, USAGE, environment
from tests.cli.shares import (
    DEMO,
    SharesTest,
    has_mpi,
    identity_of,
    mpi_environment,
    ranks_of,
    start_ranks,
)
from tests.places import BINARY
from tests.results.schema import validate

QUICK = ("--measures", "weights", "--lengths", "64")
COMMANDS = {
    "scan": ("scan", DEMO, "--examples", "3", "--top-share", "0.2", "--lengths", "32,128"),
    "scan of hidden states": ("scan", DEMO, "--x", "hidden", "--normalizer", "sparsemax", "--layers", "1-3",
                              "--measures", "weights,coverage", "--lengths", "64,100"),
    "compare": ("compare", DEMO, "--normalizer", "ssmax,sparsemax", "--measures", "weights,distance",
                "--lengths", "64,100"),
    "compare each head": ("compare", DEMO, "--normalizer", "ssmax", "--each", "head", *QUICK),
    "compare each layer": ("compare", DEMO, "--pattern", "window:size=16", "--each", "layer", *QUICK),
    "converge": ("converge", DEMO, "--lengths", "128", "--replicates", "5", "--draws", "5"),
    "validate": ("validate", DEMO, "--lengths", "64", "--permutations", "99", "--resamples", "99",
                 "--replicates", "3"),
}
# These read the texts that the others only measure.
FEWER = {"validate": (0, 2, 5), "compare each head": (0, 2, 4, 6)}


class Shards(SharesTest):
    def words(self, name: str) -> list[str]:
        texts = [self.documents[k] for k in FEWER.get(name, range(len(self.documents)))]
        command = [word for word in COMMANDS[name] if name != "validate" or word not in ("--replicates", "3")]
        return [*map(str, command), "--text", *texts]

    def one(self, name: str) -> str:
        self.succeed(*self.words(name), "--out", "one", "--quiet")
        return "one"

    def test_merged_they_have_the_bits_of_one_process(self) -> None:
        for name in COMMANDS:
            with self.subTest(name):
                reference = self.one(name)
                for k in range(1, 4):
                    self.shard(f"{k}/3", f"part{k}", *self.words(name))
                self.succeed("merge", "part1", "part2", "part3", "--out", "merged", "--quiet")
                self.assert_same("merged", reference)
                for folder in ("one", "part1", "part2", "part3", "merged"):
                    shutil.rmtree(self.folder / folder)

    def test_all_in_one_folder_and_more_of_them_than_documents(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:2], *QUICK]
        self.succeed(*words, "--out", "one", "--quiet")
        for k in (3, 1, 2):
            self.shard(f"{k}/3", "shared", *words)
        self.assertEqual(len(self.journals("shared")), 3)
        printed = self.succeed("merge", "shared", "--out", "merged")
        self.assertIn("Written: merged/results.json", printed.out)
        self.assert_same("merged", "one")

    def test_a_fit_and_a_confirmation_are_made_of_all(self) -> None:
        text = (DEMO.parent / "text.txt").read_text("utf-8")
        self.write("fit.txt", text[5800:6500])
        self.write("unseen.txt", text[6500:6900])
        self.write("unseen2.txt", text[5000:5500])
        words = ["compare", str(DEMO), "--text", *self.documents[:3], "--normalizer", "ssmax",
                 "--fit", "fit.txt", "--confirm", "unseen.txt", "unseen2.txt", *QUICK]
        self.succeed(*words, "--out", "one", "--quiet")
        self.assertIn("loss_change_confirmed", validate(self.folder / "one/results.json")["metrics"])
        for k in (1, 2):
            self.shard(f"{k}/2", f"part{k}", *words)
        self.succeed("merge", "part1", "part2", "--out", "merged", "--quiet")
        self.assert_same("merged", "one")
        self.assertEqual(list(self.folder.glob("*.journal")), [], "merge keeps nothing of its own")

    def test_what_does_not_fit_together_is_named(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:3], *QUICK]
        for k in (1, 2):
            self.shard(f"{k}/2", f"part{k}", *words)
        self.refuse(BAD_INPUT, "merge", "part1", says=("all 2 shards", "no shard 2", "--shard 2/2"))
        self.refuse(BAD_INPUT, "merge", "part1", "part1", "part2", says=("each shard once", "shard 1"))
        self.refuse(BAD_INPUT, "merge", "part1", "0.txt", says=("0.txt", "a shard"))
        self.shard("2/3", "third", *words)
        self.refuse(BAD_INPUT, "merge", "part1", "third", says=("one of 2 shards", "one of 3"))
        self.shard("2/2", "other", *words, "--seed", "7")
        self.refuse(BAD_INPUT, "merge", "part1", "other", says=("the same run", "--seed"))
        self.write("changed.txt", (self.folder / self.documents[1]).read_text() + "more")
        self.shard("2/2", "text", *words[:3], self.documents[0], "changed.txt", self.documents[2], *QUICK)
        self.refuse(BAD_INPUT, "merge", "part1", "text", says=("the same run", "--text"))
        baseline = environment(HEADGAUGE_SIMD="baseline")
        self.shard("2/2", "slow", *words, env=baseline)
        if identity_of(self.journals("slow")[0])["HEADGAUGE_SIMD"] != (
            identity_of(self.journals("part1")[0])["HEADGAUGE_SIMD"]
        ):
            self.refuse(BAD_INPUT, "merge", "part1", "slow", says=("the same run", "another HEADGAUGE_SIMD"))
        # A text that changed since.
        (self.folder / self.documents[1]).write_text("quite another text, long enough to be measured " * 20)
        self.refuse(BAD_INPUT, "merge", "part1", "part2", says=("merge", "the same run", "texts: sha256"))

    def test_a_tokenizer_that_changed_between_them_is_named(self) -> None:
        model = copy_golden("bert/plain", self.folder / "words")
        words = ("the", "The", "a", "cat", "Cat", "sat", "Sat", "on", "On", "mat", "Mat")
        (model / "vocab.txt").write_text("\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words)))
        for k in range(2):
            self.write(f"said{k}.txt", "The cat sat On the Mat " * (2 + k))
        command = ["scan", "words", "--text", "said0.txt", "said1.txt", "--measures", "weights", "--lengths", "8"]
        for k, lower in ((1, "true"), (2, "false")):
            (model / "tokenizer_config.json").write_text('{"do_lower_case": %s}' % lower)
            self.shard(f"{k}/2", f"part{k}", *command)
        self.refuse(BAD_INPUT, "merge", "part1", "part2", says=("the same run", "tokenizer_config.json"))

    def breaking(self) -> list[str]:
        """Under one normalizer the scores of a layer that is not measured are not finite."""
        copy_golden("gpt2/plain", self.folder / "model")
        texts = [self.ids(length, name=f"ids{length}.txt").name for length in (96, 110, 128, 120)]
        return ["compare", "model", "--tokens", *texts, "--layers", "0", "--lengths", "96", "--normalizer",
                "relu:power=60,alpha=0,ssmax", "--measures", "weights,model"]

    def test_what_breaks_beyond_the_rows_that_are_measured_is_left_out(self) -> None:
        words = self.breaking()
        done = self.succeed(*words, "--out", "one")
        self.assertIn("relu:power=60,alpha=0 is left out: layer 1", done.err)
        for k in (1, 2):
            self.shard(f"{k}/2", f"part{k}", *words)
        self.succeed("merge", "part1", "part2", "--out", "merged", "--quiet")
        self.assert_same("merged", "one")

    def test_usage(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:2], *QUICK]
        for wrong in ("0/2", "3/2", "1", "1/", "/2", "a/b", "1/2/3", "-1/2"):
            self.refuse(USAGE, *words, f"--shard={wrong}", "--out", "out", says=("--shard", "I/N"))
        self.refuse(USAGE, *words, "--shard", "1/2", says=("--shard", "--out"))

    def test_a_shard_goes_on_and_is_not_merged_before_it_is_finished(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:3], *QUICK]
        for k in (1, 2):
            self.shard(f"{k}/2", f"part{k}", *words)
        self.succeed("merge", "part1", "part2", "--out", "whole", "--quiet")
        journal = self.journals("part2")[0]
        data = journal.read_bytes()
        journal.write_bytes(data[: len(data) - 5])
        self.refuse(BAD_INPUT, "merge", "part1", "part2", says=("a shard that is finished", "--shard 2/2"))
        self.shard("2/2", "part2", *words)
        self.succeed("merge", "part1", "part2", "--out", "merged", "--quiet")
        self.assert_same("merged", "whole")


@unittest.skipUnless(has_mpi(), "no mpirun, or headgauge was built without MPI")
class Ranks(Shards):
    test_merged_they_have_the_bits_of_one_process = None
    test_all_in_one_folder_and_more_of_them_than_documents = None
    test_a_fit_and_a_confirmation_are_made_of_all = None
    test_what_does_not_fit_together_is_named = None
    test_a_tokenizer_that_changed_between_them_is_named = None
    test_what_breaks_beyond_the_rows_that_are_measured_is_left_out = None
    test_usage = None
    test_a_shard_goes_on_and_is_not_merged_before_it_is_finished = None

    def ranks(self, count: int, *arguments) -> tuple[int, str, str]:
        process = start_ranks(count, *arguments, cwd=self.folder)
        out, err = process.communicate(timeout=SECONDS)
        return process.returncode, out, err

    def test_two_and_three_have_the_bits_of_one(self) -> None:
        for name in COMMANDS:
            with self.subTest(name):
                reference = self.one(name)
                for count in (2, 3):
                    code, out, err = self.ranks(count, *self.words(name), "--out", f"of{count}", "--quiet")
                    self.assertEqual(code, 0, err)
                    self.assertEqual(out.count("Written: "), 1, "one of them speaks")
                    self.assert_same(f"of{count}", reference)
                for folder in ("one", "of2", "of3"):
                    shutil.rmtree(self.folder / folder)

    def test_what_breaks_in_one_of_them_is_left_out(self) -> None:
        words = self.breaking()
        self.succeed(*words, "--out", "one", "--quiet")
        code, _, err = self.ranks(2, *words, "--out", "of2", "--quiet")
        self.assertEqual(code, 0, err)
        self.assert_same("of2", "one")

    def test_more_ranks_than_documents_and_no_out(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:2], *QUICK]
        one = self.succeed(*words).out
        code, out, err = self.ranks(3, *words)
        table = "\n\nlayer "  # behind how long it took
        self.assertEqual((code, out.partition(table)[2]), (0, one.partition(table)[2]), err)

    def test_each_reads_its_part_of_the_texts(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:4], *QUICK, "--threads", "1", "--out", self.folder / "of2"]
        self.succeed(*words[:-1], "one", "--quiet")
        process = []
        for rank in range(2):
            folder = self.folder / f"seen by {rank}"
            folder.mkdir()
            for document in self.documents[rank:4:2]:
                shutil.copy(self.folder / document, folder)
            process += [":"] * rank + ["-n", "1", "--wdir", str(folder), str(BINARY), *map(str, words)]
        done = subprocess.run(["mpirun", *process], env=mpi_environment(), capture_output=True, text=True,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same("of2", "one")
        # What none of them can read is told as in one process.
        (self.folder / "seen by 1" / self.documents[3]).write_bytes(b"\xff")
        done = subprocess.run(["mpirun", *process], env=mpi_environment(), capture_output=True, text=True,
                              timeout=SECONDS)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, rf"headgauge: ({self.documents[3]}: expected|rank 1: .*{self.documents[3]} byte 0)")

    def test_one_that_is_killed_is_named_and_the_rest_goes_on_later(self) -> None:
        name = "compare each head"
        words = [*self.words(name)[:-4], *self.documents, *("--temperatures", "1")]
        self.succeed(*words, "--out", "one", "--quiet")
        process = start_ranks(2, *words, "--out", "out", "--quiet", cwd=self.folder)
        deadline = time.monotonic() + SECONDS
        while not self.journals("out") and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "it was to be killed in the middle")
        ranks = ranks_of(process)
        self.assertEqual(len(ranks), 2)
        os.kill(ranks[1], signal.SIGKILL)
        _, err = process.communicate(timeout=SECONDS)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(err, r"(?i)rank 1\b.*(killed|signal 9)", "mpirun says which")
        self.assertFalse((self.folder / "out/results.json").exists())
        # By itself, and by as many as there are then.
        code, _, err = self.ranks(3, *words, "--out", "out", "--quiet")
        self.assertEqual(code, 0, err)
        self.assert_same("out", "one")

    def test_errors_are_told_once(self) -> None:
        code, _, err = self.ranks(2, "scan", DEMO, "--text", "missing.txt")
        self.assertNotEqual(code, 0)
        self.assertEqual(err.count("headgauge: missing.txt"), 1, err)
        code, _, err = self.ranks(2, "converge", "--synthetic", "gaussian", "--dimension", "4")
        self.assertNotEqual(code, 0)
        self.assertIn("headgauge: mpirun: expected scan, compare, converge on a model, or validate", err)

    def test_ranks_of_different_runs_are_named(self) -> None:
        words = [str(BINARY), "scan", str(DEMO), "--text", *self.documents[:3], *QUICK, "--threads", "1"]
        fewer = [word for word in words if word != self.documents[1]]
        for other in (["-x", "HEADGAUGE_SIMD=baseline", *words], [*words, "--seed", "9"], fewer):
            done = subprocess.run(["mpirun", "-n", "1", *words, ":", "-n", "1", *other], cwd=self.folder,
                                  env=mpi_environment(), capture_output=True, text=True, timeout=SECONDS)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"headgauge: rank 1: expected a journal of the same run, found one with")

    def test_a_shard_of_ranks_is_refused(self) -> None:
        code, _, err = self.ranks(2, "scan", DEMO, "--text", *self.documents[:2], "--shard", "1/2",
                                  "--out", "out")
        self.assertNotEqual(code, 0)
        self.assertIn("headgauge: --shard: expected one process, found several that mpirun started", err)


class WithoutMpi(SharesTest):
    @unittest.skipIf(has_mpi(), "headgauge was built with MPI")
    def test_several_processes_are_refused(self) -> None:
        self.refuse(UNSUPPORTED, "scan", DEMO, "--text", self.documents[0],
                    env=environment(OMPI_COMM_WORLD_SIZE="2"), says=("mpirun", "built with MPI"))


class Memory(SharesTest):
    def test_a_shard_does_not_hold_the_ids_of_all_documents(self) -> None:
        make_gpt2(self.folder / "model", layers=1, heads=1, width=8, positions=64)
        self.ids(200000)
        self.write("list.txt", "ids.txt\n" * 200)  # 160 MB of ids
        words = ["scan", "model", "--tokens", "@list.txt", "--measures", "weights", "--lengths", "64", "--quiet"]
        one = self.peak(*words, "--out", "one")
        for part in (1, 2):
            self.assertLess(self.peak(*words, "--shard", f"{part}/2", "--out", f"part{part}"), 0.7 * one)
        self.assertLess(self.peak("merge", "part1", "part2", "--out", "merged", "--quiet"), 0.7 * one)
        self.assert_same("merged", "one")

    def peak(self, *arguments: str) -> int:
        """The memory that it held at most, KiB."""
        process = subprocess.Popen([str(BINARY), *arguments], cwd=self.folder, env=environment(),
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    def test_a_document_that_is_too_long_for_a_share_is_told_before(self) -> None:
        make_gpt2(self.folder / "model", layers=1, heads=4, width=64, positions=120000, sparse=True)
        self.ids(120000)
        self.refuse(RESOURCE, "scan", "model", "--tokens", "ids.txt", "--measures", "distance", "--lengths",
                    "120000", "--shard", "1/2", "--out", "out", says="of memory",
                    limits={resource.RLIMIT_AS: 600 << 20})


if __name__ == "__main__":
    unittest.main()
