"""docs/scale.md as it stands: its commands run, on texts of four lengths, and shards of any number are merged."""

import json
import os
import re
import subprocess
import sys

from tests.cli.checkpoints import make_gpt2
from tests.cli.command import BAD_INPUT, environment
from tests.cli.shares import SharesTest
from tests.faults.journals import records_of, sealed
from tests.places import BINARY, BUILD, ROOT

PAGE = (ROOT / "docs/scale.md").read_text("utf-8")
LETTERS = (200, 500, 900, 1300)  # of the texts


def commands_of(page: str) -> list[str]:
    """The indented blocks of a page, each line with what continues it."""
    blocks = re.findall(r"(?:^    .+\n)+", page, re.MULTILINE)
    return [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]


class Scale(SharesTest):
    def setUp(self) -> None:
        super().setUp()
        text = (ROOT / "demo/text.txt").read_text("utf-8")
        for k, letters in enumerate(LETTERS):
            self.write(f"texts/{k}.txt", text[1000 * k : 1000 * k + letters])
        for name in ("gpt2", "demo/model"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).symlink_to(ROOT / "demo/model")
        self.write("texts.txt", "".join(f"texts/{k}.txt\n" for k in range(len(LETTERS))))

    def shell(self, command: str) -> None:
        words = environment(PATH=f"{BINARY.parent}:{os.environ['PATH']}", HEADGAUGE_JOURNAL_SECONDS="0")
        done = subprocess.run(
            ["sh", "-ec", command], cwd=self.folder, env=words, capture_output=True, check=False, text=True
        )
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")

    def test_the_page_has_the_commands_that_are_run_here(self) -> None:
        starts = [re.sub(r" +#.*", "", line) for line in commands_of(PAGE)]
        self.assertEqual(len(starts), 7, starts)

    def test_a_long_text(self) -> None:
        (command,) = (line for line in commands_of(PAGE) if "smollm2-135m-shaped" in line)
        make_gpt2(self.folder / "smollm2-135m-shaped", layers=1, heads=2, width=8, positions=512)
        self.ids(512)
        self.shell(command.replace("16384,131072", "64,512"))

    def test_shards(self) -> None:
        """Of the section Shards: eight in the text, and two and three."""
        scan, merge = (line for line in commands_of(PAGE) if "--shard 1/8" in line or "part8" in line)
        scan = re.sub(r" +#.*", "", scan)
        self.shell(scan.replace("--shard 1/8 --out part1", "--out one"))
        for count in (2, 3, 8):
            with self.subTest(count):
                for k in range(1, count + 1):
                    self.shell(scan.replace("1/8", f"{k}/{count}").replace("part1", f"of{count}/part{k}"))
                parts = " ".join(f"of{count}/part{k}" for k in range(1, count + 1))
                self.shell(re.sub(r"part1 .* part8", parts, merge).replace("results", f"of{count}/results"))
                self.assert_same(f"of{count}/results", "one")

    def test_two_shards_at_a_time(self) -> None:
        """Of the section "How it scales"; its lengths, and those that auto chooses."""
        one, both, merge = commands_of(PAGE)[-3:]
        for lengths in ("--lengths 32,64", ""):
            with self.subTest(lengths):
                given = one.replace("--lengths 128,256", lengths).replace("@texts", "@texts.txt")
                options = given.removeprefix("headgauge scan").removesuffix("--out one")
                for command in (given, both.replace("scan ...", f"scan {options}"), merge):
                    self.shell(command + " > /dev/null")
                self.assert_same("two", "one")
                self.shell("rm -r one two part1 part2")

    def test_every_command_merges_texts_of_unequal_length(self) -> None:
        tokens = ["--text", *(f"texts/{k}.txt" for k in range(len(LETTERS)))]
        small = ("--measures", "weights", "--quiet")
        for command in (
            ("scan", "gpt2", *tokens, *small, "--examples", "2"),
            ("compare", "gpt2", *tokens, *small, "--normalizer", "ssmax"),
            ("converge", "gpt2", *tokens[:1], *tokens[2:], *small, "--replicates", "3", "--draws", "3"),
        ):
            with self.subTest(command[0]):
                self.assert_shards_have_the_bits_of_one(*command, count=3, at=f"{command[0]}/")

    def test_shards_that_say_nothing_of_what_was_asked_are_refused(self) -> None:
        """As the version before kept them: with lengths that auto had chosen, as if they had been given."""
        for k in (1, 2):
            self.shard(
                f"{k}/2", f"part{k}", "scan", "gpt2", "--text", *self.documents, "--measures", "weights"
            )
            (journal,) = self.journals(f"part{k}")
            header, records = records_of(journal.read_bytes())
            changed = json.loads(header)
            changed["request"]["options"] = changed["request"].pop("asked")
            journal.write_bytes(sealed(json.dumps(changed).encode(), records))
        self.refuse(BAD_INPUT, "merge", "part1", "part2", says=("of this version", "an earlier version"))

    def test_python(self) -> None:
        """The line of the section Python, with a pool of threads: it needs the package alone."""
        (line,) = (line for line in commands_of(PAGE) if "executor=pool" in line)
        packages = f"{BUILD / 'python'}:{ROOT / 'build/python-packages'}"
        program = f"""import concurrent.futures, pathlib, headgauge
texts = list(map(pathlib.Path, {self.texts()}))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    {line}
results.save("merged")
"""
        words = [sys.executable, "-c", program]
        done = subprocess.run(
            words, cwd=self.folder, env=environment(PYTHONPATH=packages), capture_output=True, check=False
        )
        said = done.stderr.decode()
        if "ImportError" in said or "ModuleNotFoundError" in said:
            self.skipTest(said.splitlines()[-1])
        self.assertEqual(done.returncode, 0, said)
        self.succeed("scan", "gpt2", "--text", *self.texts(), "--threads", "1", "--out", "one", "--quiet")
        one, merged = self.results("one"), self.results("merged")
        for part in ("metrics", "coords", "summary"):
            self.assertEqual(merged[part], one[part], part)

    def texts(self) -> list[str]:
        return [f"texts/{k}.txt" for k in range(len(LETTERS))]
