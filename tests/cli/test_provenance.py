"""A model that changes while it is measured: no numbers of two versions, and none of a wrong sum."""

import hashlib
import json
import os
import signal
from pathlib import Path

from tests.cli.checkpoints import copy_golden, make_gpt2
from tests.cli.command import BAD_INPUT, CommandTest
from tests.cli.terminal import Terminal


class Change(CommandTest):
    """Each layer takes long enough that the run is far from its end when the file changes."""

    def setUp(self) -> None:
        super().setUp()
        make_gpt2(self.folder / "model", layers=24, heads=2, width=16, positions=320)
        self.ids(320)
        self.weights = self.folder / "model/model.safetensors"

    def message(self, change, *command: str, at: str = r"measuring layer [1-9]") -> str:
        """What a command, a scan by default, says whose weights `change` acts on while it stands still."""
        command = command or ("scan", "model", "--tokens", "ids.txt")
        terminal = Terminal(*command, "--out", "out", cwd=self.folder)
        terminal.read_until(at)
        terminal.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOWAIT)
        change(self.weights)
        terminal.process.send_signal(signal.SIGCONT)
        self.assertEqual(terminal.finish(), BAD_INPUT, terminal.shown)
        self.assertFalse((self.folder / "out/results.json").exists())
        messages = terminal.messages()
        self.assertEqual(len(messages), 1, messages)
        self.assertTrue(messages[0].startswith("headgauge: model/model.safetensors: expected the "), messages)
        return messages[0]

    def test_written_in_place(self) -> None:
        def overwrite(path: Path) -> os.stat_result:
            before = path.stat()
            with path.open("r+b") as file:
                file.seek(-4, os.SEEK_END)
                file.write(b"\0\0\0\0")
            return before

        def overwrite_with_the_old_time(path: Path) -> None:
            before = overwrite(path)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

        self.assertIn("found a file that was written since; run again", self.message(overwrite))
        said = self.message(overwrite_with_the_old_time)
        self.assertIn("found a file that was changed since; run again", said)

    def test_under_other_commands(self) -> None:
        def overwrite(path: Path) -> None:
            with path.open("r+b") as file:
                file.write(path.read_bytes())

        self.many_ids("0.txt 1.txt 2.txt", 320)
        for command, at in (
            (
                "compare --tokens ids.txt --measures all --normalizer sparsemax,ssmax",
                r"ssmax: measuring layer [1-9]",
            ),
            ("converge --tokens ids.txt", r"measuring layer [1-9]"),
            ("validate --tokens 0.txt 1.txt", r"layer [1-9]"),
            ("plan --tokens 0.txt 1.txt --confirm 2.txt", r"[1-9] ?%"),
        ):
            with self.subTest(command):
                name, *words = command.split()
                said = self.message(overwrite, name, "model", *words, at=at)
                self.assertIn("found a file that was written since; run again", said)

    def test_cut_short(self) -> None:
        # Seen by the next look at the file, or by the next read of what is gone.
        self.assertIn("bytes", self.message(lambda path: os.truncate(path, 8)))


class Sums(CommandTest):
    def test_are_those_of_the_files_that_were_read(self) -> None:
        model = copy_golden("gpt2/plain", self.folder / "model")
        self.ids(64)
        described = self.saved("scan", "model", "--tokens", "ids.txt", "--quiet")[0]["model"]
        config = (model / "config.json").read_bytes()
        self.assertEqual(described["config_sha256"], hashlib.sha256(config).hexdigest())
        raw = (model / "model.safetensors").read_bytes()
        end = 8 + int.from_bytes(raw[:8], "little")
        seen = raw[:end]
        tensors = json.loads(raw[8:end])
        tensors.pop("__metadata__", None)
        for _, tensor in sorted(tensors.items()):
            data = raw[end:][slice(*tensor["data_offsets"])]
            starts = [k * (len(data) - 4096) // 3 for k in range(4)]
            seen += data if len(data) <= 4 * 4096 else b"".join(data[s : s + 4096] for s in starts)
        self.assertEqual(described["weights_sha256"], hashlib.sha256(seen).hexdigest())
