"""A fresh clone, built, passes mypy: the build writes all that git lacks."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tests.places import BUILD, ROOT

TOOLS = ROOT / "build/python-layout"
MADE = ("python/headgauge/_commands.pyi", "python/headgauge/_metric_names.py")
# These are the flags of tools/layout.sh, which checks without torch.
MYPY = ("mypy", "--allow-subclassing-any", "--no-warn-return-any", "--no-warn-unused-ignores")


class Clone(unittest.TestCase):
    def test_mypy_passes_on_what_git_has_and_what_the_build_writes(self) -> None:
        if not (ROOT / ".git").exists() or not TOOLS.is_dir():
            self.skipTest("no git, or no mypy of tools/layout.sh")
        command = ["git", "ls-files", "pyproject.toml", "python/headgauge"]
        tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        self.assertFalse(set(tracked) & set(MADE), "the build writes these, and git has them")
        with tempfile.TemporaryDirectory() as clone:
            for name in (*tracked, *MADE):
                (Path(clone) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, Path(clone) / name)
            paths = {**os.environ, "PYTHONPATH": f"{TOOLS}:{ROOT / 'build/python-packages'}"}
            mypy = [sys.executable, "-m", *MYPY, "--cache-dir", str(ROOT / "build/mypy-clone")]
            done = subprocess.run(mypy, cwd=clone, env=paths, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_stub_is_of_the_module_that_was_built(self) -> None:
        module = next((BUILD / "python/headgauge").glob("_core*.so"))
        self.assertGreaterEqual((ROOT / MADE[0]).stat().st_mtime, module.stat().st_mtime)


if __name__ == "__main__":
    unittest.main()
