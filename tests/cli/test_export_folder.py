"""The folder of an export: what is not headgauge's stays, and it is the old one or the new one."""

import fcntl
import os
import shutil
import signal
import time
from pathlib import Path

from tests.cli.command import INTERRUPTED, SECONDS, USAGE, environment
from tests.cli.terminal import Terminal
from tests.cli.test_plan_export import EXISTING, ExportTest

MARK = "headgauge_export.json"
EXPORT = (*EXISTING, "hf", "--out", "out")


def content(folder: Path) -> dict[str, object]:
    """Files, links and folders, as they are."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.is_dir() or path.read_bytes()
        for path in folder.rglob("*")
    }


class Foreign(ExportTest):
    def test_what_an_export_did_not_write_stays(self) -> None:
        hf = self.folder / "out/hf"
        mine = self.write("mine.txt", "mine")

        def train() -> None:
            (hf / "model.safetensors").unlink()
            (hf / "model.safetensors").write_text("trained")

        def link_elsewhere() -> None:
            (hf / "model.safetensors").unlink()
            (hf / "model.safetensors").symlink_to(mine)

        def be_a_link() -> None:
            hf.rename(self.folder / "elsewhere")
            hf.symlink_to(self.folder / "elsewhere")

        def be_of_an_older_version() -> None:
            (hf / MARK).unlink()

        def be_a_file() -> None:
            shutil.rmtree(hf)
            hf.write_text("mine")

        def make_a_folder() -> None:
            (hf / "__pycache__").mkdir()
            (hf / "__pycache__/notes.txt").write_text("mine")

        def mark_a_folder() -> None:
            (hf / "notes").mkdir()
            text = (hf / MARK).read_text()
            (hf / MARK).write_text(text.replace('"files": {', '"files": {"notes": null,'))

        for change, named in (
            (train, "out/hf/model.safetensors: "),
            (link_elsewhere, "out/hf/model.safetensors: "),
            (lambda: (hf / "README.md").write_text("mine"), "out/hf/README.md: "),
            (lambda: (hf / "optimizer.pt").write_text("mine"), "out/hf/optimizer.pt: "),
            (lambda: (hf / "link").symlink_to(mine), "out/hf/link: "),
            (make_a_folder, "out/hf/__pycache__: "),
            (mark_a_folder, "out/hf/notes: "),
            (be_a_link, "out/hf: "),
            (be_a_file, "out/hf: "),
            (be_of_an_older_version, f"out/hf: expected no folder, or one of an earlier export as it was "
             f"written, found files without {MARK}; choose another --out"),
        ):  # fmt: skip
            with self.subTest(named, change=getattr(change, "__name__", "")):
                self.succeed(*EXPORT)
                change()
                before = content(self.folder)
                self.refuse(USAGE, *EXPORT, says=(named, "choose another --out"))
                self.assertEqual(content(self.folder), before)
                (shutil.rmtree if hf.is_dir() and not hf.is_symlink() else os.unlink)(hf)

    def test_every_format_and_a_search_refuse_before_the_work(self) -> None:
        self.write("out/hf-layers/config.json", "mine")
        self.refuse(USAGE, *EXISTING, "hf,hf-layers", "--out", "out", says="out/hf-layers: ")
        self.write_texts(5, 256)
        search = "plan model --tokens a.txt --confirm b.txt --lengths 64 --out out --export hf-layers"
        self.refuse(USAGE, *search.split(), says="out/hf-layers: ")
        (self.folder / "model").rename(self.folder / "hf")
        self.refuse(USAGE, "plan", "hf", *EXISTING[2:], "hf", "--out", ".", says="apart from what is read")

    def test_what_an_export_wrote_is_replaced(self) -> None:
        self.plan(changes=[{"layer": 1, "kv_head": head, "pattern": "window:size=24"} for head in (0, 1)])
        formats = (*EXISTING, "hf,hf-layers", "--out", "out", "--quiet")
        (self.folder / "out/hf").mkdir(parents=True)
        self.succeed(*formats)
        (self.folder / "out/hf/README.md").unlink()
        (self.folder / "out/hf/__pycache__").mkdir()
        (self.folder / "out/hf/__pycache__/modeling_headgauge.cpython-313.pyc").write_text("")
        stray = self.write("out/hf.abcdefghijkl.tmp/model.safetensors", "half of it").parent
        used = self.write("out/hf.bbbbbbbbbbbb.tmp/model.safetensors", "of a run that goes on").parent
        held = os.open(used, os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        self.succeed(*formats)
        self.assertTrue((self.folder / "out/hf/README.md").is_file())
        self.assertFalse((self.folder / "out/hf/__pycache__").exists())
        self.assertFalse(stray.exists())
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["hf", "hf-layers", used.name])


class Stopped(ExportTest):
    """The old folder is exchanged under a lock, which these tests hold until the new one is built."""

    def setUp(self) -> None:
        super().setUp()
        self.succeed(*EXPORT)
        self.before = content(self.folder / "out")
        self.held = os.open(self.folder / "out", os.O_RDONLY)
        self.addCleanup(os.close, self.held)
        fcntl.flock(self.held, fcntl.LOCK_EX)

    def start(self, *command: str) -> Terminal:
        terminal = Terminal(*command, cwd=self.folder, env=environment(TERM="xterm"))
        deadline = time.monotonic() + SECONDS
        while not list((self.folder / "out").glob(f"*.tmp/{MARK}")):
            self.assertLess(time.monotonic(), deadline, "nothing was built")
        return terminal

    def test_a_killed_export_leaves_the_old_one_and_the_next_clears_up(self) -> None:
        terminal = self.start(*EXPORT)
        terminal.process.kill()
        terminal.finish()
        built = {name for name in content(self.folder / "out") if ".tmp" in name}
        self.assertTrue(built)
        left = {name: found for name, found in content(self.folder / "out").items() if name not in built}
        self.assertEqual(left, self.before)
        fcntl.flock(self.held, fcntl.LOCK_UN)
        self.succeed(*EXPORT)
        self.assertEqual(content(self.folder / "out"), self.before)

    def test_an_interrupted_export_says_what_was_saved(self) -> None:
        terminal = self.start(*EXPORT)
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("Stopping")
        fcntl.flock(self.held, fcntl.LOCK_UN)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        message = "headgauge: interrupted; saved: nothing; nothing else was changed"
        self.assertEqual(terminal.messages()[-1], message)
        self.assertEqual(content(self.folder / "out"), self.before)

    def test_what_comes_into_the_folder_meanwhile_stays(self) -> None:
        terminal = self.start(*EXPORT)
        self.write("out/hf/trained.safetensors", "mine")
        fcntl.flock(self.held, fcntl.LOCK_UN)
        self.assertEqual(terminal.finish(), USAGE, terminal.shown)
        self.assertIn("out/hf/trained.safetensors: ", terminal.shown)
        self.assertEqual(content(self.folder / "out"), {**self.before, "hf/trained.safetensors": b"mine"})
