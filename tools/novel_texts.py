#!/usr/bin/env python3
"""Cuts the four pieces of War and Peace on which README and docs/patterns.md measure SmolLM2.

tools/novel_texts.py war_and_peace.txt FOLDER

The file is Project Gutenberg's no. 2600 (translation of Louise and Aylmer Maude, UTF-8), with or without
the header, contents and licence around the novel: a piece begins with the first words of a book.
"""

from __future__ import annotations

import sys
from pathlib import Path

LENGTH = 8000  # characters of a piece, more than 1024 tokens
BEGINNINGS = {
    "book3": "Prince Vasíli was not a man who deliberately thought out his plans.",
    "book6": "Prince Andrew had spent two years continuously in the country.",
    "book9": "From the close of the year 1811 an intensified arming",
    "book12": "In Petersburg at that time a complicated struggle",
}


def main(novel: str, folder: str) -> None:
    try:
        text = Path(novel).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{novel}: expected a text in UTF-8, found: {error}; give Project Gutenberg's no. 2600")
    for beginning in BEGINNINGS.values():
        if beginning not in text:
            sys.exit(
                f"{novel}: expected Project Gutenberg's no. 2600, found a text without {beginning!r}; fetch that one"
            )
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, beginning in BEGINNINGS.items():
        start = text.index(beginning)
        (Path(folder) / f"{name}.txt").write_text(text[start : start + LENGTH], encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: tools/novel_texts.py war_and_peace.txt FOLDER")
    main(*sys.argv[1:])
