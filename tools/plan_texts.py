#!/usr/bin/env python3
"""Cuts a novel into the excerpts that docs/plan.md plans on: two to select, four to confirm.

tools/plan_texts.py war_and_peace.txt FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

SELECTED = 60_000  # characters of each
UNSEEN = 0.95  # the demo model was trained on what is before this share of the text


def main(novel: str, folder: str) -> None:
    text = Path(novel).read_text(encoding="utf-8")
    begin = int(UNSEEN * len(text))
    quarter = int((1 - UNSEEN) * len(text) / 4)
    parts = {
        f"train_{name}.txt": (int(share * len(text)), SELECTED) for name, share in (("a", 0.3), ("b", 0.62))
    }
    parts |= {f"val_{k}.txt": (begin + k * quarter, quarter) for k in range(4)}
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, (start, count) in parts.items():
        (Path(folder) / name).write_text(text[start : start + count], encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
