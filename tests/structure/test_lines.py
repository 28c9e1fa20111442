"""make lines: what counts where, and that it says what it needs."""

import importlib.util
import subprocess
import sys
import unittest

from tests.places import ROOT

TOOL = ROOT / "tools/lines.py"
spec = importlib.util.spec_from_file_location("lines", TOOL)
lines = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lines)


class Lines(unittest.TestCase):
    def test_a_file_counts_in_its_innermost_folder(self) -> None:
        for name, folder in (
            ("src/base/file.cpp", "src"),
            ("python/src/session.cpp", "python/src"),
            ("web/test/unit/a.ts", "web/test"),
            ("docs/plan.md", "docs"),
            ("docs/notes/2026-11-27-training-rules.md", "docs/notes"),
            ("docs/tour.ipynb", None),
            ("tools/lines.py", None),
        ):
            self.assertEqual(lines.folder_of(name), folder, name)

    def test_without_cloc_it_says_how_to_install_it(self) -> None:
        done = subprocess.run(
            [sys.executable, TOOL], env={"PATH": ""}, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get install cloc", done.stderr)
