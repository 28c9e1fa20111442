#!/usr/bin/env python3
"""Runs docs/tour.ipynb from the repository's root and writes its outputs back into it.

tools/execute_tour.py        needs headgauge[plot], nbclient and ipykernel
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
TOUR = ROOT / "docs/tour.ipynb"


def executed() -> Any:
    notebook = nbformat.read(TOUR, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it was run
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(), TOUR)
