"""docs/tour.ipynb runs, and says what its committed outputs say."""

import copy
import unittest
from pathlib import Path
from typing import Any

try:
    import matplotlib  # noqa: F401
    import nbformat
    import pandas  # noqa: F401
    import xarray  # noqa: F401
    from nbclient import NotebookClient
except ImportError as error:
    MISSING = f"{error.name} is not installed"
else:
    MISSING = ""

ROOT = Path(__file__).resolve().parents[2]


def told(cell: Any) -> list[str]:
    """What a cell prints, and the text of its value; of pictures that there is one."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if output.output_type == "stream" and output.name == "stdout":
            found.append(output.text)
        elif "image/png" in data:
            found.append("a picture")
        elif "text/plain" in data:
            found.append(data["text/plain"])
        elif output.output_type == "error":
            found.append(output.evalue)
    return found


@unittest.skipIf(MISSING, MISSING)
class Tour(unittest.TestCase):
    def test_it_runs_and_says_what_it_said(self) -> None:
        committed = nbformat.read(ROOT / "docs/tour.ipynb", as_version=4)
        again = copy.deepcopy(committed)
        NotebookClient(again, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
        compared = 0
        for before, after in zip(committed.cells, again.cells, strict=True):
            if before.cell_type == "code":
                self.assertEqual(told(after), told(before), before.source)
                compared += len(told(before))
        self.assertGreater(compared, 8)
