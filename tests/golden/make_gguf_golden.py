#!/usr/bin/env python3
"""Writes tests/golden/gguf/blocks.gguf: for every type of blocks a tensor of random bytes, and what the
package gguf (0.19.0, `pip install gguf==0.19.0`) widens it to, as the F32 tensor NAME.widened."""

from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter
from gguf.quants import dequantize

TYPES = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]
# The float16 scales of a block stand here, if not at 0; they have to be finite.
TWO = ("Q4_1", "Q5_1", "Q4_K", "Q5_K")
SCALES = {"Q2_K": [80, 82], "Q3_K": [108], "Q6_K": [208], **{name: [0, 2] for name in TWO}}
ROWS, BLOCKS = 2, 3


def main() -> None:
    random = np.random.default_rng(35)
    writer = GGUFWriter(Path(__file__).parent / "gguf/blocks.gguf", "none")
    for name in TYPES:
        kind = GGMLQuantizationType[name]
        elements, size = GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (ROWS * BLOCKS * (64 if elements == 1 else 1), size), np.uint8)
        for at in SCALES.get(name, [0]):
            blocks[:, at + 1] &= 0xBF  # no exponent of all ones
        stored = blocks.reshape(ROWS, -1)
        widened = dequantize(stored, kind).astype(np.float32)
        if name in ("F16", "BF16"):
            stored = stored.view(np.float16 if name == "F16" else np.uint16)
        if name == "F16":
            writer.add_tensor(name, stored)
        else:
            writer.add_tensor(name, stored.view(np.uint8), raw_dtype=kind)
        writer.add_tensor(f"{name}.widened", widened)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
