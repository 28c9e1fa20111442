#!/usr/bin/env python3
"""Write a random GPT-2 checkpoint of a real width in the Hugging Face layout, the same bytes
everywhere (catalogue/draw.py).

    python3 -m tests.golden.random_checkpoint DIR --size xl --layers 2 --dtype f16 --shards 3
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.golden.catalogue.draw import DTYPES
from tests.golden.catalogue.gpt2 import CUT, SIZES, of_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="written to; created if missing")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--layers", type=int, default=CUT["layers"])
    parser.add_argument("--vocab", type=int, default=CUT["vocab"])
    parser.add_argument("--positions", type=int, default=CUT["positions"])
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = vars(parser.parse_args())
    folder = options.pop("folder")
    of_size(**options).write(folder)


if __name__ == "__main__":
    main()
