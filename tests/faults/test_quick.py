"""A quick part of the attack, the same every time; `make faults` runs the whole. And the oracle itself."""

import shutil
import tempfile
import unittest
from pathlib import Path

from tests.faults import payloads
from tests.faults.kinds import KINDS, TABLE
from tests.faults.payloads import CODE, SCRIPT_FAULTS, scripts
from tests.faults.running import pair_of_one_run, whole_files
from tests.faults.suite import Suite
from tests.faults.trial import Done, Fault, Skip, Trial
from tests.places import BINARY

SEED = 16


class Quick(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not BINARY.exists():
            raise AssertionError(f"no {BINARY}: build it, or set HEADGAUGE_BINARY")
        folder = Path(tempfile.mkdtemp(prefix="headgauge-faults-")).resolve()
        cls.suite = Suite(KINDS, SEED, folder)

    @classmethod
    def tearDownClass(cls) -> None:
        print(f"\n{cls.suite.table()}")
        if not cls.suite.failures:
            shutil.rmtree(cls.suite.folder)

    def holds(self, kind: str) -> None:
        before = len(self.suite.failures)
        self.suite.run(kind, range(TABLE[kind][2]))
        self.assertEqual(self.suite.failures[before:], [])
        tally = self.suite.tallies[kind]
        if tally.counts["skipped"] == tally.trials:
            self.skipTest("; ".join(tally.reasons))


for name in KINDS:
    setattr(Quick, f"test_{name.replace('-', '_')}", lambda self, name=name: self.holds(name))


class Oracle(unittest.TestCase):
    """What it must find, it finds."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="headgauge-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()
        self.trial = Trial(SEED, "oracle", 0, self.folder, None)

    def judge(
        self, code: int, err: str = "", out: bytes = b"", memory: int = 0, command: str = "scan"
    ) -> None:
        self.trial.judge(Done((command,), code, out, err.encode("utf-8", "surrogateescape"), 0.1, memory))

    def test_what_is_right(self) -> None:
        self.judge(0, out="a table: μ\n".encode())
        self.judge(1, command="diff")
        self.judge(3, "headgauge: a.txt: expected a text, found none; give one\n")
        self.judge(130, "headgauge: interrupted before anything was finished; nothing was saved\n")
        self.assertEqual((self.trial.worked, self.trial.refused), (2, 2))

    def test_what_is_wrong(self) -> None:
        error = "headgauge: a.txt: expected a text, found none; give one\n"
        for case in (
            {"code": -11},
            {"code": -6, "err": error},
            {"code": 1},
            {"code": 70, "err": error},
            {"code": 3},
            {"code": 3, "err": error + error},
            {"code": 3, "err": error[:-1]},
            {"code": 3, "err": "headgauge: no such file\n"},
            {"code": 3, "err": "expected a, found b; c\n"},
            {"code": 3, "err": error.replace("none", "\x1b[2J")},
            {"code": 3, "err": error.replace("none", "\u202e")},
            {"code": 3, "err": error.replace("none", "\udcff")},
            {"code": 0, "out": b"\x07"},
            {"code": 0, "out": b"\x9b"},
            {"code": 5, "err": f"thread main panicked at src/lib.rs\n{error}"},
            {"code": 0, "err": "said\n"},
            {"code": 0, "memory": 2 << 30},
            {"code": 2, "err": error, "out": b"half a table"},
        ):
            with self.subTest(case), self.assertRaises(Fault):
                self.judge(**case)

    def test_files(self) -> None:
        self.trial.write("out/results.json", '{"coords":{"length":[32]}}')
        self.trial.write("out/heads.csv", "layer,length\n0,48\n")
        with self.assertRaisesRegex(Fault, "two runs"):
            pair_of_one_run(self.folder / "out")
        self.trial.write("out/heads.csv", "layer,length\n0,32\n")
        self.assertEqual(pair_of_one_run(self.folder / "out"), {32})
        whole_files(self.folder / "out")
        self.trial.no_strays()
        self.trial.write("out/results.json", '{"coords":{"length"')
        with self.assertRaisesRegex(Fault, "half a file"):
            pair_of_one_run(self.folder / "out")
        with self.assertRaisesRegex(Fault, "cut short"):
            whole_files(self.folder / "out")
        self.trial.write("out/results.json.abcdefghijkl.tmp", "")
        with self.assertRaisesRegex(Fault, "left behind"):
            self.trial.no_strays()

    def test_markup(self) -> None:
        self.assertEqual(scripts("<script>1</script><p>&lt;script&gt;</p>"), 1)
        for page in SCRIPT_FAULTS:
            with self.subTest(page), self.assertRaises(Fault):
                scripts(page)

    def test_figures(self) -> None:
        begin = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        payloads.only_drawn(
            f"{begin} aria-label='a onload=f() javascript:f()'><text>&lt;script&gt;</text></svg>"
        )
        for inside in (
            " onload='f()'/>",
            "><script/></svg>",
            "><a xlink:href=' JavaScript:f()'/></svg>",
            "><foreignObject/></svg>",
            "><text></svg>",
        ):
            with self.subTest(inside), self.assertRaises(Fault):
                payloads.only_drawn(begin + inside)

    def test_a_payload_that_runs_is_seen(self) -> None:
        self.trial.write(
            "page.html", f"<html><body><div data-shown></div><script>{CODE}</script></body></html>"
        )
        try:
            with self.assertRaisesRegex(Fault, "a payload ran"):
                payloads.look(self.trial, "page.html", "")
        except Skip as reason:
            self.skipTest(str(reason))

    def test_verdicts_are_counted(self) -> None:
        def kind(trial: Trial) -> None:
            if trial.number == 1:
                raise Skip("no such thing")
            if trial.number == 2:
                raise Fault("wrong")
            if trial.number == 3:
                raise KeyError("the trial itself")

        said: list[str] = []
        suite = Suite({"some": kind}, 7, self.folder, said.append)
        suite.run("some", range(4))
        self.assertIn("| some | 4 | 0 | 1 | 1 | 2 | 0 |", suite.table())
        self.assertEqual(suite.skipped(), ["skipped 1 of some: no such thing"])
        self.assertEqual(len(suite.failures), 2)
        self.assertIn("--seed 7 --repeat some:2", said[0])
        self.assertTrue((self.folder / "some-2").is_dir(), "its files are kept")
        self.assertFalse((self.folder / "some-0").exists())
