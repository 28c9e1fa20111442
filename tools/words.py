#!/usr/bin/env python3
"""Prints the words of each page for users, and of all of them: README.md and docs/*.md.

Tables and lists that a tool writes between two marks do not count, nor do the pages for developers and
the notes in docs/notes.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEVELOPERS = {"architecture", "formats", "mathematics", "performance", "reliability"}
MADE = re.compile(r"<!-- tools/\w+\.py.*?<!-- end .*?-->", re.DOTALL)


def words() -> dict[str, int]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {
        str(page.relative_to(ROOT)): len(MADE.sub("", page.read_text(encoding="utf-8")).split())
        for page in pages
        if page.stem not in DEVELOPERS
    }


def main() -> None:
    found = words()
    for name, count in [*found.items(), ("all", sum(found.values()))]:
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
