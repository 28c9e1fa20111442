"""What may stand where a file is read or written, and what is left when a run ends before its time."""

import csv
import fcntl
import json
import os
import resource
import shutil
import signal
from pathlib import Path

from tests.cli.command import BAD_INPUT, INTERRUPTED, RESOURCE, USAGE, CommandTest
from tests.places import BINARY, ROOT

STRAYS = ("results.json.abcdefghijkl.tmp", "heads.csv.abcdefghijkl.tmp")
MADE = ROOT / "tests/results/data/made.json"
PAGE = 4096


class FilesTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.tiny(64)
        self.scan = ("scan", "model", "--tokens", "ids.txt", "--measures", "weights")
        self.out = self.folder / "out"

    def names(self) -> list[str]:
        return sorted(os.listdir(self.out))

    def pipe(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        return path


class Markup(FilesTest):
    """Files that are read as texts although their text is within markup."""

    def notices(self, name: str, text: str) -> list[str]:
        self.write(name, text)
        scan = ("scan", ROOT / "demo/model", "--text", name, "--measures", "weights", "--lengths", 32)
        done = self.succeed(*scan, "--out", f"out/{name}")
        found = json.loads((self.out / name / "results.json").read_text())["notices"]
        for notice in found:
            self.assertIn(f"headgauge: note: {notice}\n", done.err)
        return [notice for notice in found if "markup" in notice]

    def test_a_notice_says_that_markup_is_measured(self) -> None:
        words = "<p>Once upon a time, there was a little girl.</p>\n" * 20
        for end in ("html", "htm", "xml", "json", "ipynb", "jsonl", "rtf", "HTML", "Jsonl"):
            told = [f"page.{end} is measured as it stands, with its markup"]
            self.assertEqual(self.notices(f"page.{end}", words), told)
        for name in ("page.txt", "page.md", "page"):
            self.assertEqual(self.notices(name, words), [])

    def test_it_names_the_option_for_a_file_of_cases(self) -> None:
        case = json.dumps({"prompt": "Once upon a time, there was a little", "answer": " girl"}) + "\n"
        told = "cases.jsonl is measured as it stands, with its markup; give a file of cases as --tasks"
        self.assertEqual(self.notices("cases.jsonl", case * 20), [told])

    def test_a_byte_order_mark_before_ids(self) -> None:
        self.succeed(*self.scan, "--out", "out")
        plain = json.loads((self.out / "results.json").read_text())["metrics"]
        ids = (self.folder / "ids.txt").read_bytes()
        (self.folder / "ids.txt").write_bytes(b"\xef\xbb\xbf" + ids)
        self.succeed(*self.scan, "--out", "marked")
        marked = self.read("marked/results.json")["metrics"]
        self.assertEqual(marked, plain)


class TokenizerClass(FilesTest):
    def test_a_notice_says_that_the_class_splits(self) -> None:
        shutil.copytree(ROOT / "demo/model", self.folder / "classed")
        self.write("story.txt", "Once upon a time, there was a little girl. She had 12 apples.\n" * 20)
        told = (
            "classed/tokenizer.json: texts are split as it says; Qwen2Tokenizer of transformers 5 may "
            "split them otherwise, unless tokenizer_class is PreTrainedTokenizerFast"
        )
        for name, text, expected in (
            ("Qwen2Tokenizer", ("--text", "story.txt"), [told]),
            ("PreTrainedTokenizerFast", ("--text", "story.txt"), []),
            ("GPT2Tokenizer", ("--text", "story.txt"), []),
            ("Qwen2Tokenizer", ("--tokens", "ids.txt"), []),
        ):
            self.write("classed/tokenizer_config.json", json.dumps({"tokenizer_class": name}))
            scan = ("scan", "classed", *text, "--measures", "weights", "--lengths", 32)
            self.succeed(*scan, "--out", "classed-out", "--force")
            found = self.read("classed-out/results.json")["notices"]
            self.assertEqual([notice for notice in found if "tokenizer.json" in notice], expected, name)


class Temporaries(FilesTest):
    def test_what_a_killed_run_left_goes(self) -> None:
        for name in STRAYS:
            self.write(f"out/{name}", "half")
        self.succeed(*self.scan, "--out", "out")
        self.assertEqual(self.names(), ["heads.csv", "results.json"])

    def test_what_a_living_run_writes_stays(self) -> None:
        with self.write(f"out/{STRAYS[0]}", "half").open("r+") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)
            self.succeed(*self.scan, "--out", "out")
        self.assertEqual(self.names(), ["heads.csv", "results.json", STRAYS[0]])

    def test_the_same_process_id_again_is_in_nobodys_way(self) -> None:
        """In a container every run has the same, as here: 1."""
        for number in range(4):
            for name in ("results.json", "heads.csv"):
                self.write(f"out/{name}.1-{number}.tmp", "half")
        if shutil.which("unshare") is None:
            self.skipTest("no unshare")
        done = self.other("unshare", "--pid", "--fork", "--kill-child", BINARY, *self.scan, "--out", "out")
        if "unshare" in done.stderr:
            self.skipTest(f"no process ids of one's own here: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("results.json", self.names())


class Pairs(FilesTest):
    def lengths(self) -> tuple[set[int], set[int]]:
        results = json.loads((self.out / "results.json").read_text())
        with (self.out / "heads.csv").open(newline="") as table:
            return set(results["coords"]["length"]), {int(row["length"]) for row in csv.DictReader(table)}

    def test_two_runs_into_one_folder_leave_the_files_of_one(self) -> None:
        for _ in range(6):
            words = (*self.scan, "--out", "out", "--force", "--lengths")
            for process in [self.start(*words, length) for length in (32, 48)]:
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, err)
            of_json, of_table = self.lengths()
            self.assertEqual(of_json, of_table)
            self.assertEqual(self.names(), ["heads.csv", "results.json"])

    def test_a_disk_that_is_full_after_the_first_file_leaves_the_old_pair(self) -> None:
        scan = (*self.scan, "--lengths", ",".join(map(str, range(4, 64, 2))))
        self.succeed(*scan, "--out", "out")

        def pages(name: str) -> int:
            return -(-(self.out / name).stat().st_size // PAGE)

        # Room for the old pair, the new results.json and no new heads.csv.
        self.assertGreater(pages("heads.csv"), 1)
        size = PAGE * (2 * pages("results.json") + pages("heads.csv") + 1)
        script = (
            "cp out/* disk; "
            f"'{BINARY}' {' '.join(scan)} --out disk; code=$?; "
            "ls -A disk; cmp disk/results.json out/results.json && cmp disk/heads.csv out/heads.csv "
            "|| exit 78; exit $code"
        )
        left = self.full_disk(size, script, r"^headgauge: disk/heads.csv: .*No space left .*\n$")
        self.assertEqual(left, ["heads.csv", "results.json"])

    def test_a_table_of_other_results_goes_with_them(self) -> None:
        self.succeed(*self.scan, "--out", "out")
        few = "--dimension 3 --grid 20,30 --replicates 3 --out out --force"
        self.succeed("converge", "--synthetic", "gaussian", *few.split())
        self.assertEqual(self.names(), ["results.json"])

    def test_a_pipe_in_the_place_of_a_file_is_refused_before_the_work(self) -> None:
        for name in ("results.json", "heads.csv"):
            pipe = self.pipe(f"out/{name}")
            words = ("scan", "nowhere", *self.scan[2:], "--out", "out")
            self.refuse(RESOURCE, *words, says=(f"out/{name}", "a pipe"))
            pipe.unlink()
        self.write("results.json", MADE.read_text())
        self.pipe("page.html")
        self.refuse(RESOURCE, "report", "results.json", "--out", "page.html", says="without a reader")


class Read(FilesTest):
    """A pipe or a device where a file is expected is refused at once, and never waited for."""

    def refuse_all(self, name: str, *arguments) -> None:
        path = self.folder / name
        self.pipe(name)
        self.refuse(BAD_INPUT, *arguments, says=(name, "a pipe"))
        path.unlink()
        path.symlink_to("/dev/zero")
        self.refuse(BAD_INPUT, *arguments, says=(name, "a device"))
        path.unlink()

    def test_the_parts_of_a_model(self) -> None:
        for name in ("config.json", "model.safetensors"):
            kept = (self.folder / "model" / name).rename(self.folder / "kept")
            self.refuse_all(f"model/{name}", *self.scan)
            self.refuse_all(f"model/{name}", "inspect", "model")
            kept.rename(self.folder / "model" / name)
        text = self.write("text.txt", "a text")
        scan = ("scan", "model", "--text", text.name)
        self.refuse_all("model/tokenizer.json", *scan)
        self.refuse_all("model/tokenizer.json", "inspect", "model")
        named = self.write("model/tokenizer_config.json", '{"tokenizer_class": "BertTokenizer"}')
        self.refuse_all("model/vocab.txt", *scan)
        named.unlink()
        self.write("model/vocab.txt", "[UNK]\na\n")
        self.refuse_all("model/tokenizer_config.json", *scan)
        self.write("model/merges.txt", "#version: 0.2\n")
        self.refuse_all("model/vocab.json", *scan)
        self.write("model/vocab.json", "{}")
        (self.folder / "model/merges.txt").unlink()
        self.refuse_all("model/merges.txt", *scan)
        (self.folder / "model/model.safetensors").unlink()
        self.refuse_all("model/model.safetensors.index.json", *self.scan)

    def test_results_limits_and_plans(self) -> None:
        self.write("results.json", MADE.read_text())
        self.refuse_all("r.json", "report", "r.json")
        self.refuse_all("r.json", "diff", "r.json", "results.json")
        self.refuse_all("r.json", "diff", "results.json", "r.json")
        self.refuse_all("l.json", "diff", "results.json", "results.json", "--limits", "l.json")
        self.refuse_all("p.json", *self.scan, "--plan", "p.json")

    def test_a_config_has_a_size(self) -> None:
        for name in ("model/config.json", "l.json"):
            self.write(name, "{}")
            os.truncate(self.folder / name, 65 << 20)
        self.refuse(BAD_INPUT, *self.scan, says=("model/config.json", "at most 67.1 MB"))
        self.write("results.json", MADE.read_text())
        words = "diff results.json results.json --limits l.json"
        self.refuse_each((BAD_INPUT, words, "l.json", "at most 67.1 MB"))

    def test_a_file_that_does_not_fit_in_memory(self) -> None:
        self.write("r.json", "{}")
        os.truncate(self.folder / "r.json", 3 << 30)
        says = ("r.json", "expected 3.22 GB of memory")
        self.refuse(RESOURCE, "report", "r.json", says=says, limits={resource.RLIMIT_AS: 2 << 30})


class Texts(FilesTest):
    """A text may come from a pipe."""

    def metrics(self, out: str) -> dict:
        return json.loads(out)["metrics"]

    def test_from_a_pipe_as_from_a_file(self) -> None:
        expected = self.metrics(self.succeed(*self.scan, "--json").out)
        ids = (self.folder / "ids.txt").read_text()
        piped = self.succeed("scan", "model", "--tokens", "/dev/stdin", *self.scan[4:], "--json", typed=ids)
        self.assertEqual(self.metrics(piped.out), expected)
        pipe = self.pipe("named")
        process = self.start("scan", "model", "--tokens", "named", *self.scan[4:], "--json")
        pipe.write_text(ids)
        self.assertEqual(self.metrics(process.communicate(timeout=60)[0]), expected)

    def test_a_device_is_no_text(self) -> None:
        for device in ("/dev/zero", "/dev/null"):
            self.refuse(BAD_INPUT, "scan", "model", "--tokens", device, says=(device, "a device"))

    def test_one_interruption_ends_the_waiting(self) -> None:
        for by in (signal.SIGINT, signal.SIGTERM):
            pipe = self.pipe("named")
            process = self.start("scan", "model", "--tokens", "named", "--out", "out")
            with pipe.open("w") as writer:  # returns when the run has opened it
                writer.write("1 2 3")
                writer.flush()
                process.send_signal(by)
                _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, INTERRUPTED, err)
            self.assertEqual(err, "headgauge: interrupted before anything was finished; nothing was saved\n")
            self.assertFalse(self.out.exists())

    def test_what_is_read_twice_is_no_pipe(self) -> None:
        self.pipe("named")
        self.ids(64, name="other.txt", vocabulary=37)
        confirm = "compare model --tokens named --normalizer ssmax --confirm other.txt"
        self.refuse_each(
            (USAGE, "validate model --tokens ids.txt named", "named", "validate reads it more than once"),
            (USAGE, confirm, "named", "compare reads it more than once"),
        )
