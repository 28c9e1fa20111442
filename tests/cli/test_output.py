"""Where the output goes and cannot go: full disks, unwritable folders, closed streams."""

import json
import os
import resource
import shutil
import unittest

from tests.cli.command import BAD_INPUT, RESOURCE, USAGE, CommandTest, files_in, run
from tests.places import BINARY
from tests.results.schema import validate


class OutputTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.tiny(64)
        self.scan = ("scan", "model", "--tokens", "ids.txt", "--measures", "weights")


class Folder(OutputTest):
    def test_is_made_with_its_parents(self) -> None:
        self.succeed(*self.scan, "--out", "new/deep/out/")
        made = {name for name in files_in(self.folder) if name.startswith("new/")}
        files = {"new/deep/out/results.json", "new/deep/out/heads.csv"}
        self.assertEqual(made, {"new/deep", "new/deep/out"} | files)

    def test_of_an_earlier_run_is_overwritten(self) -> None:
        self.write("out/results.json", "old")
        self.write("out/notes.txt", "mine")
        self.succeed(*self.scan, "--out", "out")
        self.assertTrue((self.folder / "out/results.json").read_text().startswith("{"))
        self.assertEqual((self.folder / "out/notes.txt").read_text(), "mine")

    def result(self, out: str = "out") -> dict:
        return validate(self.folder / out / "results.json")

    def refuse_out(self, *words, out: str = "out") -> None:
        another = "--out: expected a folder without finished results of another request"
        self.refuse(USAGE, *words, "--out", out, says=(another, f"{out}/results.json", "--force"))

    def test_with_finished_results_of_another_request_is_refused(self) -> None:
        self.succeed(*self.scan, "--out", "out", "--quiet")
        first = self.result()
        shutil.copytree(self.folder / "out", self.folder / "old")
        self.ids(64, 31, "b.txt")
        self.ids(64, 37, "c.txt")
        model = ("model", "--tokens", "ids.txt")
        plan = ("model", "--tokens", "ids.txt", "b.txt", "--confirm", "c.txt", "--lengths", 32)
        for words in (
            (*self.scan, "--seed", 1),
            ("scan", "model", "--tokens", "b.txt", "--measures", "weights"),
            ("compare", *model, "--measures", "weights", "--normalizer", "ssmax"),
            ("converge", *model),
            ("converge", "--synthetic", "gaussian"),
            ("validate", *model, "b.txt", "--pattern", "window:size=9"),
            ("plan", *plan),
            ("reproduce", "limits", *model),
            ("reproduce", "limits", "--results", "old"),
            ("reproduce", "tokens", *model),
            ("diff", "old", "old"),
        ):
            with self.subTest(words):
                self.refuse_out(*words)
        self.assertEqual(self.result(), first)

    def test_takes_the_same_request_again_in_other_words(self) -> None:
        self.succeed(*self.scan, "--lengths", "32,64", "--out", "out", "--quiet")
        first = self.result()
        again = ("scan", self.folder / "model", "--tokens", self.folder / "ids.txt", "--measures", "weights")
        self.succeed(*again, "--lengths", "64,32", "--threads", 1, "--top", 2, "--out", "out", "--quiet")
        self.assertEqual(self.result()["request"], first["request"])
        for shard in ("1/2", "2/2"):
            self.succeed(*self.scan, "--lengths", "32,64", "--shard", shard, "--out", "parts", "--quiet")
        self.succeed("merge", "parts", "--out", "out", "--quiet")
        self.assertEqual(self.result()["request"], first["request"])

    def test_of_commands_that_read_results(self) -> None:
        for out, seed in (("a", 1), ("b", 2)):
            self.succeed(*self.scan, "--seed", seed, "--out", out, "--quiet")
        for command in ("diff", "series"):
            steps = ("--steps", "1,2") if command == "series" else ()
            for _ in range(2):
                self.succeed(command, "a", "b", *steps, "--out", command)
            self.refuse_out(command, "b", "a", *steps, out=command)
            self.succeed(command, "b", "a", *steps, "--out", command, "--force")

    def test_loses_the_drawings_of_older_results(self) -> None:
        for more in ((), ("--seed", 1, "--force")):
            self.succeed(*self.scan, "--out", "out", "--quiet")
            self.succeed("report", "out")
            self.succeed("report", "out", "--format", "svg")
            self.succeed("report", "out", "--format", "md")
            self.assertTrue((self.folder / "out/report.md").exists())
            self.assertTrue(list((self.folder / "out/figures").glob("*.svg")))
            self.write("out/figures/mine.svg", "<svg/>")
            self.write("out/mine.html", "mine")
            self.succeed(*self.scan, *more, "--out", "out", "--quiet")
            self.assertFalse((self.folder / "out/report.html").exists())
            left = {path.name for path in (self.folder / "out").rglob("*") if path.is_file()}
            self.assertEqual(left, {"results.json", "heads.csv", "mine.svg", "mine.html"})

    def test_of_an_older_version_is_another_request(self) -> None:
        self.succeed(*self.scan, "--out", "out", "--quiet")
        old = self.result()
        del old["request"]
        self.write("out/results.json", json.dumps(old))
        self.refuse_out(*self.scan)
        old["partial"] = True  # what is unfinished makes room
        self.write("out/results.json", json.dumps(old))
        self.succeed(*self.scan, "--seed", 1, "--out", "out", "--quiet")

    def test_that_cannot_be_made(self) -> None:
        self.refuse(RESOURCE, *self.scan, "--out", "ids.txt", says="ids.txt")
        self.refuse(RESOURCE, *self.scan, "--out", "ids.txt/out", says="ids.txt/out")
        self.refuse(RESOURCE, *self.scan, "--out", "/proc/out", says="/proc/out")

    def test_a_link_to_what_is_not_there(self) -> None:
        (self.folder / "link").symlink_to("gone")
        for out in ("link", "link/deeper"):
            says = (f"{out}: expected a writable folder", "found a link to a missing file (link)")
            self.refuse(RESOURCE, *self.scan, "--out", out, says=says)

    def test_that_cannot_be_written_is_refused_before_the_work(self) -> None:
        # /proc takes no files, even from root. That the model is not there is found later.
        arguments = ("scan", "nowhere", "--tokens", "ids.txt", "--out", "/proc")
        self.refuse(RESOURCE, *arguments, says="/proc/results.json")
        (self.folder / "out/results.json").mkdir(parents=True)
        self.refuse(RESOURCE, *self.scan, "--out", "out", says=("out/results.json", "directory"))

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_without_permission(self) -> None:
        (self.folder / "out").mkdir(mode=0o555)
        self.refuse(RESOURCE, *self.scan, "--out", "out", says="Permission denied")


class FullDisk(OutputTest):
    def test_a_file_that_may_not_grow(self) -> None:
        for limit in (0, 4096):
            limits = {resource.RLIMIT_FSIZE: limit}
            says = ("out/results.json", "File too large", "free some space")
            self.refuse(RESOURCE, *self.scan, "--out", "out", limits=limits, says=says)

    def test_an_earlier_file_stays_whole(self) -> None:
        old = self.write("out/results.json", "old")
        limits = {resource.RLIMIT_FSIZE: 4096}
        self.refuse(RESOURCE, *self.scan, "--out", "out", limits=limits)
        self.assertEqual(old.read_text(), "old")

    def test_a_full_file_system(self) -> None:
        script = f"'{BINARY}' {' '.join(self.scan)} --out disk/out; code=$?; ls -A disk; exit $code"
        left = self.full_disk("16k", script, r"^headgauge: disk/out/results.json: .*No space left .*\n$")
        self.assertEqual(left, [], "nothing may be left on the disk")


class Streams(OutputTest):
    def test_a_full_stdout(self) -> None:
        for arguments in (
            self.scan,
            (*self.scan, "--json"),
            ("list", "measures"),
            ("list", "measures", "--json"),
            ("list", "normalizers"),
            ("list", "patterns"),
            ("inspect", "model"),
            ("--help",),
            ("scan", "--help"),
            ("--version",),
        ):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                says = ("standard output", "No space left")
                self.refuse(RESOURCE, *arguments, stdout=full, says=says)

    def test_what_is_in_files_stays_when_stdout_is_full(self) -> None:
        with open("/dev/full", "wb") as full:
            done = run(*self.scan, "--out", "out", stdout=full, cwd=self.folder)
        self.assertEqual(done.code, RESOURCE)
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["heads.csv", "results.json"])

    def test_stderr_that_takes_nothing_costs_only_the_notices(self) -> None:
        self.succeed(*self.scan, "--out", "out")
        self.assertIn("headgauge: note: ", self.succeed("diff", "out", "out").err)
        for closed in ("2>&-", "2>/dev/full", "<&- 2>&-"):
            with self.subTest(closed):
                done = self.other("sh", "-c", f"'{BINARY}' diff out out --out both {closed}")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                validate(self.folder / "both/results.json")

    def test_no_file_takes_the_place_of_a_closed_stream(self) -> None:
        """The first that is opened would be it: read as the text, or written messages into."""
        done = self.other("sh", "-c", f"'{BINARY}' scan model --tokens /dev/stdin <&-")
        self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
        self.assertRegex(done.stderr, r"^headgauge: /dev/stdin: expected .+, found an empty file; .+\n$")

    def test_a_reader_that_leaves_early(self) -> None:
        done = self.other("sh", "-c", f"'{BINARY}' list measures | head -n 1")
        self.assertEqual((done.stdout, done.stderr), ("weights\n", ""))
