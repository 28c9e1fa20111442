#!/usr/bin/env python3
"""Writes the texts and cases that docs/plan.md plans SmolLM2 on.

    tools/plan_bars.py MODEL war_and_peace.txt wikitext-2-raw.test.txt FOLDER [LENGTH [HEADGAUGE]]

Three kinds of text, each in a half to search on and a half to confirm on: a novel, wikitext, and the
source of Python's library. The cases of `keys`, `repeats` and `copy` are for the search. Three kinds have
no part in it: `passkey`, `city` (where does Anna live?) and `colour` (of which colour is a door?).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import sysconfig
from pathlib import Path

HALF = 300_000  # characters
SEARCHED = {"keys": 48, "repeats": 48, "copy": 48}
CONFIRMED = {"passkey": 28}
FACTS = 36  # cases of `city` and of `colour`
CHARACTERS = 4.1  # of a token of the default sentences
MODULES = (
    "argparse ast calendar configparser csv dataclasses decimal difflib doctest fractions ftplib".split()
)
MODULES += "gettext heapq imaplib inspect mailbox optparse pickle shelve statistics tarfile zipfile".split()
PEOPLE = "Anna Boris Clara David Elena Frank Greta Henry Irene Jacob Karen Louis Maria Nancy Oscar Peter"
PLACES = "Paris London Berlin Rome Madrid Moscow Vienna Dublin Athens Boston Chicago Tokyo Prague Cairo"
HOUSES = "school mill church bakery library station hospital tavern museum theatre castle bank"
COLOURS = "red white black pink purple orange brown silver"
KINDS = {  # who or what, which, the fact, the question
    "city": (PEOPLE, PLACES, "{} lives in {}.", "Where does {0} live? {0} lives in"),
    "colour": (
        HOUSES,
        COLOURS,
        "The door of the {} is {}.",
        "What colour is the door of the {0}? The door of the {0} is",
    ),
}
NEUTRAL = """The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.
A cold wind blew over the hills. The river ran slowly to the sea. Nobody was in the street that night.
The old clock in the hall struck nine. Somewhere a door was closed. The snow lay deep on the roofs.
They had bread and cheese for supper. The train was late again. Leaves fell from the tall trees.
A dog barked behind the house. The ship left the harbour at dawn. It had rained since the morning.
The lamp on the table gave little light. Two birds sat on the fence. The road went up to the village."""
SENTENCES = [f"{one.strip()}." for one in NEUTRAL.replace("\n", " ").split(".") if one.strip()]


def fact_case(kind: str, number: int, length: int) -> dict[str, str]:
    """A question whose answer stands in one of two facts, at another depth each time."""
    things, values, fact, question = KINDS[kind]
    draw = random.Random(number)
    (asked, other), (value, elsewhere) = draw.sample(things.split(), 2), draw.sample(values.split(), 2)
    lines: list[str] = []
    while sum(map(len, lines)) < CHARACTERS * (length - 40):
        lines.append(draw.choice(SENTENCES))
    depth = (0.05 + 0.8 * (number * 0.618 % 1)) * len(lines)
    source = fact.format(asked, value)
    lines.insert(int(depth), source)
    lines.insert(draw.randrange(len(lines)), fact.format(other, elsewhere))
    return {"prompt": " ".join([*lines, question.format(asked)]), "answer": f" {value}", "source": source}


def halves(text: str, begin: float) -> tuple[str, str]:
    start = int(begin * len(text))
    half = min(HALF, (len(text) - start) // 2)
    return text[start : start + half], text[start + half : start + 2 * half]


def main(
    model: str, novel: str, wiki: str, to: str, length: str = "512", headgauge: str = "headgauge"
) -> None:
    folder = Path(to)
    folder.mkdir(parents=True, exist_ok=True)
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = {
        "novel": (Path(novel).read_text(encoding="utf-8"), 0.3),
        "wiki": (Path(wiki).read_text(encoding="utf-8"), 0.0),
        "python": ("".join((library / f"{name}.py").read_text(encoding="utf-8") for name in MODULES), 0.0),
    }
    for name, (text, begin) in texts.items():
        for half, part in zip("ab", halves(text, begin), strict=True):
            (folder / f"{name}_{half}.txt").write_text(part, encoding="utf-8")
    for task, count in (SEARCHED | CONFIRMED).items():
        out = folder / f"{task}.jsonl"
        out.unlink(missing_ok=True)
        command = [headgauge, "task", task, "--model", model, "--length", length, "--cases", str(count)]
        subprocess.run([*command, "--seed", str(int(task in CONFIRMED)), "--out", str(out)], check=True)
    for kind in KINDS:
        cases = (json.dumps(fact_case(kind, number, int(length))) + "\n" for number in range(FACTS))
        (folder / f"{kind}.jsonl").write_text("".join(cases), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
