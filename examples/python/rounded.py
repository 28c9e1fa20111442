"""Rounds the matrices of a checkpoint to a format of GGUF and back, so that both can be compared.

    python rounded.py MODEL OUT Q4_0

Each matrix is rounded in blocks of 32 along its inputs, as llama.cpp does; embeddings and matrices
whose inputs do not fit stay as they are. OUT is a checkpoint like MODEL. docs/diff.md shows which
heads change. Needs gguf and safetensors.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, quants
from safetensors.numpy import load_file, save_file

BLOCK = 32


def rounded(matrix: np.ndarray, kind: GGMLQuantizationType, inputs: int) -> np.ndarray:
    """The matrix after rounding along the axis of its inputs."""
    rows = np.ascontiguousarray(np.moveaxis(matrix.astype(np.float32), inputs, -1))
    back = quants.dequantize(quants.quantize(rows, kind), kind)
    return np.ascontiguousarray(np.moveaxis(back, -1, inputs).astype(matrix.dtype))


def main(model: Path, out: Path, kind: GGMLQuantizationType) -> None:
    shutil.copytree(model, out)
    config = json.loads((model / "config.json").read_text())
    inputs = 0 if config["model_type"] == "gpt2" else 1  # GPT-2 stores (inputs, outputs)
    weights = load_file(model / "model.safetensors")
    fit = [
        name
        for name, matrix in weights.items()
        if matrix.ndim == 2
        and matrix.shape[inputs] % BLOCK == 0
        and not any(w in name for w in ("embed", "wte", "wpe"))
    ]
    for name in fit:
        weights[name] = rounded(weights[name], kind, inputs)
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    print(f"{len(fit)} matrices rounded to {kind.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), GGMLQuantizationType[sys.argv[3]])
