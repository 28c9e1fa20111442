"""Documents that several processes measure: the bits of one process, and a name for what is missing."""

import os
import resource
import subprocess

from tests.cli.checkpoints import copy_golden, make_gpt2
from tests.cli.command import BAD_INPUT, RESOURCE, USAGE, environment
from tests.cli.shares import DEMO, SharesTest, identity_of
from tests.places import BINARY

QUICK = ("--measures", "weights", "--lengths", "64")
LAYERS = ("--layers", "1-3", "--measures", "weights,coverage", "--lengths", "64,100")
GROUPS = ("--measures", "weights,distance", "--lengths", "64,100")
FEW = ("--lengths", "64", "--permutations", "99", "--resamples", "99")
COMMANDS = {
    "scan": ("scan", DEMO, "--examples", "3", "--top-share", "0.2", "--lengths", "32,128"),
    "scan of hidden states": ("scan", DEMO, "--x", "hidden", "--normalizer", "sparsemax", *LAYERS),
    "compare": ("compare", DEMO, "--normalizer", "ssmax,sparsemax", *GROUPS),
    "compare each head": ("compare", DEMO, "--normalizer", "ssmax", "--each", "head", *QUICK),
    "compare each layer": ("compare", DEMO, "--pattern", "window:size=16", "--each", "layer", *QUICK),
    "converge": ("converge", DEMO, "--lengths", "128", "--replicates", "5", "--draws", "5"),
    "validate": ("validate", DEMO, "--pattern", "topk:k=16", *FEW),
}
# These read the texts that the others only measure.
FEWER = {"validate": (0, 2, 5), "compare each head": (0, 2, 4, 6)}


class Shards(SharesTest):
    def words(self, name: str) -> list[str]:
        texts = [self.documents[k] for k in FEWER.get(name, range(len(self.documents)))]
        return [*map(str, COMMANDS[name]), "--text", *texts]

    def test_merged_they_have_the_bits_of_one_process(self) -> None:
        for name in COMMANDS:
            with self.subTest(name):
                self.assert_shards_have_the_bits_of_one(*self.words(name), count=3, at=f"{name}/")

    def test_all_in_one_folder_and_more_of_them_than_documents(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:2], *QUICK]
        self.succeed(*words, "--out", "one", "--quiet")
        for k in (3, 1, 2):
            self.shard(f"{k}/3", "shared", *words)
        self.assertEqual(len(self.journals("shared")), 3)
        printed = self.succeed("merge", "shared", "--out", "merged")
        self.assertIn("Written: merged/results.json", printed.out)
        self.assert_same("merged", "one")

    def test_a_confirmation_is_made_of_all(self) -> None:
        text = (DEMO.parent / "text.txt").read_text("utf-8")
        self.write("unseen.txt", text[6500:6900])
        self.write("unseen2.txt", text[5000:5500])
        words = ["compare", DEMO, "--text", *self.documents[:3], "--normalizer", "ssmax", *QUICK]
        words += ["--confirm", "unseen.txt", "unseen2.txt"]
        self.assert_shards_have_the_bits_of_one(*words)
        self.assertIn("loss_change_confirmed", self.results("one")["metrics"])
        self.assertEqual(list(self.folder.glob("*.journal")), [], "merge keeps nothing of its own")

    def test_default_patterns_that_were_fitted_are_not_asked_for(self) -> None:
        text = (DEMO.parent / "text.txt").read_text("utf-8")
        self.write("short.txt", text[:300])
        words = ["validate", str(DEMO), "--text", "short.txt", self.documents[1], *FEW]
        words += ["--heads", "0.0-1", "--normalizer", "uniform"]
        done = self.assert_shards_have_the_bits_of_one(*words)
        self.assertIn("the default patterns fit contexts", done.err)

    def test_what_does_not_fit_together_is_named(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:3], *QUICK]
        for k in (1, 2):
            self.shard(f"{k}/2", f"part{k}", *words)
        self.refuse_each(
            (BAD_INPUT, "merge part1", "all 2 shards", "no shard 2", "--shard 2/2"),
            (BAD_INPUT, "merge part1 part1 part2", "each shard once", "shard 1"),
            (BAD_INPUT, "merge part1 0.txt", "0.txt", "a shard"),
        )
        self.shard("2/3", "third", *words)
        self.refuse(BAD_INPUT, "merge", "part1", "third", says=("a run with 2 shards", "a run with 3"))
        self.shard("2/2", "other", *words, "--seed", "7")
        self.refuse(BAD_INPUT, "merge", "part1", "other", says=("the same run", "--seed"))
        self.write("changed.txt", (self.folder / self.documents[1]).read_text() + "more")
        self.shard("2/2", "text", *words[:3], self.documents[0], "changed.txt", self.documents[2], *QUICK)
        self.refuse(BAD_INPUT, "merge", "part1", "text", says=("the same run", "texts: sha256"))
        baseline = environment(HEADGAUGE_SIMD="baseline")
        self.shard("2/2", "slow", *words, env=baseline)
        levels = {identity_of(self.journals(at)[0])["HEADGAUGE_SIMD"] for at in ("slow", "part1")}
        if len(levels) == 2:
            says = ("the same run", "another value of HEADGAUGE_SIMD")
            self.refuse(BAD_INPUT, "merge", "part1", "slow", says=says)
        # A text that changed since.
        (self.folder / self.documents[1]).write_text("quite another text, long enough to be measured " * 20)
        self.refuse(BAD_INPUT, "merge", "part1", "part2", says=("merge", "the same run", "texts: sha256"))

    def test_a_tokenizer_that_changed_between_them_is_named(self) -> None:
        model = copy_golden("bert/plain", self.folder / "words")
        words = ("the", "The", "a", "cat", "Cat", "sat", "Sat", "on", "On", "mat", "Mat")
        (model / "vocab.txt").write_text("\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words)))
        for k in range(2):
            self.write(f"said{k}.txt", "The cat sat On the Mat " * (2 + k))
        command = "scan words --text said0.txt said1.txt --measures weights --lengths 8".split()
        for k, lower in ((1, "true"), (2, "false")):
            (model / "tokenizer_config.json").write_text(f'{{"do_lower_case": {lower}}}')
            self.shard(f"{k}/2", f"part{k}", *command)
        self.refuse(BAD_INPUT, "merge", "part1", "part2", says=("the same run", "tokenizer_config.json"))

    def test_what_breaks_beyond_the_rows_that_are_measured_is_left_out(self) -> None:
        """Under one normalizer the scores of a layer that is not measured are not finite."""
        copy_golden("gpt2/plain", self.folder / "model")
        texts = [self.ids(length, name=f"ids{length}.txt").name for length in (96, 110, 128, 120)]
        few = "--layers 0 --lengths 96 --normalizer softmax:t=1e-39,ssmax --measures weights,model"
        words = ("compare", "model", "--tokens", *texts, *few.split())
        done = self.assert_shards_have_the_bits_of_one(*words)
        self.assertIn("softmax:t=1e-39 is left out: layer 1", done.err)

    def test_usage(self) -> None:
        words = ("scan", DEMO, "--text", *self.documents[:2], *QUICK)
        for wrong in ("0/2", "3/2", "1", "1/", "/2", "a/b", "1/2/3", "-1/2"):
            self.refuse_each((USAGE, f"--shard={wrong} --out out", "--shard", "I/N"), base=words)
        self.refuse_each((USAGE, "--shard 1/2", "--shard", "--out"), base=words)

    def test_a_shard_goes_on_and_is_not_merged_before_it_is_finished(self) -> None:
        words = ["scan", str(DEMO), "--text", *self.documents[:3], *QUICK]
        for k in (1, 2):
            self.shard(f"{k}/2", f"part{k}", *words)
        self.succeed("merge", "part1", "part2", "--out", "whole", "--quiet")
        journal = self.journals("part2")[0]
        data = journal.read_bytes()
        journal.write_bytes(data[: len(data) - 5])
        self.refuse(BAD_INPUT, "merge", "part1", "part2", says=("a finished shard", "--shard 2/2"))
        self.shard("2/2", "part2", *words)
        self.succeed("merge", "part1", "part2", "--out", "merged", "--quiet")
        self.assert_same("merged", "whole")


class Memory(SharesTest):
    def test_a_shard_does_not_hold_the_ids_of_all_documents(self) -> None:
        make_gpt2(self.folder / "model", layers=1, heads=1, width=8, positions=64)
        self.ids(200000)
        self.write("list.txt", "ids.txt\n" * 200)  # 160 MB of ids
        words = "scan model --tokens @list.txt --measures weights --lengths 64 --quiet".split()
        one = self.peak(*words, "--out", "one")
        for part in (1, 2):
            self.assertLess(self.peak(*words, "--shard", f"{part}/2", "--out", f"part{part}"), 0.7 * one)
        self.assertLess(self.peak("merge", "part1", "part2", "--out", "merged", "--quiet"), 0.7 * one)
        self.assert_same("merged", "one")

    def peak(self, *arguments: str) -> int:
        """The memory that it held at most, KiB."""
        process = subprocess.Popen(
            [str(BINARY), *arguments], cwd=self.folder, env=environment(), stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    def test_a_document_that_is_too_long_for_a_share_is_told_before(self) -> None:
        make_gpt2(self.folder / "model", layers=1, heads=4, width=64, positions=120000, sparse=True)
        self.ids(120000)
        words = "scan model --tokens ids.txt --measures distance --lengths 120000 --shard 1/2 --out out"
        self.refuse(RESOURCE, *words.split(), says="of memory", limits={resource.RLIMIT_AS: 600 << 20})
