"""Ctrl-C: what was finished is saved, and is what a complete run would have said."""

import csv
import os
import signal
import time

from tests.cli.checkpoints import make_gpt2
from tests.cli.command import INTERRUPTED, CommandTest
from tests.cli.terminal import Terminal
from tests.places import ROOT
from tests.results.schema import validate

LAYERS = 96  # a second, in which the bar is drawn ten times
STOPPING = "Stopping; Ctrl-C again stops at once."


class InterruptTest(CommandTest):
    def start(self, *options, command: str = "scan") -> Terminal:
        return Terminal(command, "model", "--tokens", "ids.txt", *options, cwd=self.folder)

    def interrupt(self, *options, at: str, by: int = signal.SIGINT, command: str = "scan") -> list[str]:
        """Runs until `at` is shown, interrupts, and returns the lines that stay on the screen."""
        terminal = self.start(*options, command=command)
        terminal.read_until(at)
        terminal.process.send_signal(by)
        code = terminal.finish()
        self.assertEqual(code, INTERRUPTED, terminal.shown)
        return terminal.messages()


class ManyLayers(InterruptTest):
    """Each layer takes long enough that the run is far from its end when it is interrupted."""

    def setUp(self) -> None:
        super().setUp()
        make_gpt2(self.folder / "model", layers=LAYERS, heads=2, width=16, positions=320)
        self.ids(320)

    def layers_of_a_complete_run(self, command: str, *options) -> tuple[dict, dict]:
        """What an interrupted run saved, whose layers have the bits of the complete run, and that."""
        # Layers are counted from 0: at layer 2 and above, two at least are finished.
        at = r"layer ([2-9]|\d\d)\b"
        messages = self.interrupt("--out", "out", *options, at=at, command=command)
        partial = validate(self.folder / "out/results.json")
        done = partial["layers_done"]
        self.assertTrue(partial["partial"])
        self.assertGreaterEqual(done, 2)
        self.assertLess(done, LAYERS)
        self.assertEqual(partial["coords"]["layer"], list(range(done)))
        self.assertLessEqual(len(messages), 3, messages)
        self.assertEqual(
            messages[-1],
            f"headgauge: interrupted; {done} layers were finished and saved in "
            "out/results.json, marked partial",
        )
        whole = self.saved(command, "model", "--tokens", "ids.txt", *options, "--quiet", out="whole")[0]
        self.assertFalse(whole["partial"])
        for name, metric in partial["metrics"].items():
            self.assertEqual(metric["dims"][:1], ["layer"], name)
            for key in ("values", "stderr", "rows"):
                if key in metric:
                    self.assertEqual(metric[key], whole["metrics"][name][key][:done], name)
        self.assertEqual(partial["flags"], [flag for flag in whole["flags"] if flag["layer"] < done])
        return partial, whole

    def test_of_a_converge(self) -> None:
        options = ("--replicates", 20, "--measures", "weights")
        partial, whole = self.layers_of_a_complete_run("converge", *options)
        self.assertEqual(set(whole["metrics"]) - set(partial["metrics"]), {"cache_bytes"})

    def test_of_a_scan(self) -> None:
        partial, whole = self.layers_of_a_complete_run("scan")
        self.assertEqual(whole["layers_done"], LAYERS)
        self.assertGreater(len(partial["metrics"]), 40)
        with (self.folder / "out/heads.csv").open(newline="") as file:
            layers = {int(row["layer"]) for row in csv.DictReader(file)}
        self.assertEqual(layers, set(range(partial["layers_done"])))
        self.assertEqual(
            sorted(path.name for path in (self.folder / "out").iterdir()), ["heads.csv", "results.json"]
        )
        # What is of the whole model needs all layers, and one notice says so.
        caches = {n for n, m in whole["metrics"].items() if "smaller" in m["dims"]}  # tried at the end
        of_model = {n for n, m in whole["metrics"].items() if "layer" not in m["dims"]} - caches
        self.assertEqual(set(whole["metrics"]) - set(partial["metrics"]), of_model | caches)
        notices = [n for n in partial["notices"] if n.startswith("interrupted: ")]
        self.assertEqual(len(notices), 1, partial["notices"])
        for name in [*of_model, "critical_n", "sensitivity_max", "loss"]:
            self.assertRegex(notices[0], rf"\b{name}\b")
            self.assertIn(name, whole["metrics"])

    def test_without_out_nothing_is_kept(self) -> None:
        before = sorted(self.folder.rglob("*"))
        for by in (signal.SIGINT, signal.SIGTERM):
            messages = self.interrupt(at=r"measuring layer [1-9]", by=by)
            self.assertRegex(
                messages[-1],
                r"^headgauge: interrupted; \d+ layers? (was|were) finished but not saved, "
                r"because there is no --out$",
            )
            self.assertLessEqual(len(messages), 3, messages)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


class OneLayer(InterruptTest):
    def setUp(self) -> None:
        super().setUp()
        make_gpt2(self.folder / "model", layers=1, heads=8, width=64, positions=1024)
        self.ids(1024)

    def test_before_the_first_layer_is_finished(self) -> None:
        messages = self.interrupt("--out", "made/out", at="measuring layer 0")
        self.assertEqual(
            messages[-1], "headgauge: interrupted before anything was finished; nothing was saved"
        )
        self.assertFalse((self.folder / "made").exists())

    def test_results_of_an_earlier_run_are_not_overwritten_by_nothing(self) -> None:
        old = self.write("out/results.json", "old")
        self.interrupt("--out", "out", at="measuring layer 0")
        self.assertEqual(old.read_text(), "old")
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], [old.name])


class SecondSignal(InterruptTest):
    def test_ends_it_at_once(self) -> None:
        # Of a pipe that nobody closes there is always more to load. Both signals wait for a process
        # that is stopped, and so come one right after the other.
        os.mkfifo(self.folder / "text")
        terminal = Terminal(
            "scan", ROOT / "demo/model", "--text", "text", "--out", "made/out", cwd=self.folder
        )
        with open(self.folder / "text", "wb"):  # once the process reads
            terminal.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOWAIT)
            for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
                terminal.process.send_signal(sent)
            self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.assertEqual(terminal.messages(), [STOPPING, "headgauge: stopped at once; nothing was saved"])
        self.assertFalse((self.folder / "made").exists())

    def test_the_same_signal_right_after_the_first_is_the_first(self) -> None:
        # timeout(1) sends its signal to the process and then to its group.
        make_gpt2(self.folder / "model", layers=LAYERS, heads=2, width=16, positions=320)
        self.ids(320)
        terminal = self.start("--out", "out")
        terminal.read_until(r"measuring layer ([2-9]|\d\d)\b")
        terminal.process.send_signal(signal.SIGTERM)
        sent = time.monotonic()
        terminal.read_until(STOPPING)
        terminal.process.send_signal(signal.SIGTERM)
        late = time.monotonic() - sent
        code = terminal.finish()
        if late > 0.4:
            self.skipTest(f"the machine is busy: the second was sent {late:.1f} s after the first")
        self.assertEqual(code, INTERRUPTED, terminal.shown)
        self.assertTrue(validate(self.folder / "out/results.json")["partial"])
