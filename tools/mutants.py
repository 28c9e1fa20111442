#!/usr/bin/env python3
"""Changes lines of the program one at a time, and counts how many of the changes the tests catch.

    tools/mutants.py draw SEED [OTHER]   draws mutants that compile, and writes tools/mutants.json
    tools/mutants.py run [NUMBER...]     builds all into one program, and gives each to the tests of its room

A mutant turns a comparison or a sign, changes a constant by one, or leaves a statement out. All of them are in one
build, in build/mutants, where the variable HEADGAUGE_MUTANT chooses the one that is alive. A mutant meets the C++
tests of its room first, and those of `scan`, `session` and `cli` if the former pass; with --everywhere also those of
all other rooms. `run` prints which room catches each, and ends with status 1 if a line of the list is in no source.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/mutants.json"
TREE = ROOT / "build/mutants/tree"
BUILD = ROOT / "build/mutants/build"
LAST = ("scan", "session", "cli")

OPERATORS = {
    "<": ("Less", {"<=": "LessEqual", ">": "Greater"}),
    "<=": ("LessEqual", {"<": "Less"}),
    ">": ("Greater", {">=": "GreaterEqual", "<": "Less"}),
    ">=": ("GreaterEqual", {">": "Greater"}),
    "==": ("Equal", {"!=": "NotEqual"}),
    "!=": ("NotEqual", {"==": "Equal"}),
    "+": ("Plus", {"-": "Minus"}),
    "-": ("Minus", {"+": "Plus"}),
    "*": ("Times", {"/": "Over"}),
    "/": ("Over", {"*": "Times"}),
}
CLASSES = {sign: name for sign, (name, _) in OPERATORS.items()}
# Rooms, and how many mutants are drawn from them.
QUOTAS = {
    ("src/kernels", "src/normalize"): 11,
    ("src/statistics", "src/convergence"): 10,
    ("src/checkpoint", "src/tokenize", "src/tasks"): 10,
    ("src/base", "src/session", "src/results"): 11,
    ("src/measures", "src/heads", "src/model", "src/scan"): 12,
    ("src/findings", "src/report", "src/experiments", "src/plan", "src/reproduce", "cli"): 10,
}
TOKEN = re.compile(r"(?<= )(?:<=|>=|==|!=|[<>+\-*/])(?= )|(?<=[ (])\d+(?:\.\d+)?(?=[,;) ])")
STATEMENT = re.compile(r"^[\w.\[\]_>-]+ [+*-]= [^;]*;$")
SKIPPED = re.compile(
    r"//|^#|template|constexpr|static_assert|requires|operator|std::array|\boverload|HWY_|kernels::k"
)


def sources(root: Path) -> list[Path]:
    return sorted([*root.glob("src/**/*.cpp"), *root.glob("cli/*.cpp"), *root.glob("src/**/*-inl.h")])


def candidates(path: Path) -> list[dict]:
    text = path.read_text("utf-8")
    count = Counter(line.strip() for line in text.splitlines())
    found = []
    for line in text.splitlines():
        own = line.strip()
        if count[own] > 1 or SKIPPED.search(own) or '"' in own:
            continue
        place = {"file": str(path.relative_to(ROOT)), "line": own}
        if STATEMENT.match(own):
            found.append(place | {"at": 0, "becomes": ""})
        for match in TOKEN.finditer(own):
            token = match.group()
            turned = OPERATORS[token][1] if token in OPERATORS else [str(int(float(token)) + 1)]
            found += [place | {"at": match.start(), "becomes": other} for other in turned]
    return found


def mutated(mutant: dict, number: int) -> str:
    """Returns the line with both versions."""
    line, at, becomes = mutant["line"], mutant["at"], mutant["becomes"]
    if not becomes:
        return f"if (!mutants::alive({number})) {line}"
    token = TOKEN.match(line, at).group()
    if token in OPERATORS:
        both = f"mutants::Operator<{number}, mutants::{CLASSES[token]}, mutants::{CLASSES[becomes]}>{{}}"
        return f"{line[:at]}{token} {both} {token}{line[at + len(token) :]}"
    return f"{line[:at]}mutants::constant<{number}>({token}, {becomes}){line[at + len(token) :]}"


def lay_out(mutants: list[dict]) -> dict[tuple[str, int], dict]:
    """Copies the tree, changes it, and returns the mutant of each changed line. A line may have moved to another file."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    changed = {}
    for name in filter(None, names):
        if name.split("/")[0] in ("docs", "examples") or not (ROOT / name).exists():
            continue
        changed[name] = (ROOT / name).read_bytes()
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8").splitlines() for path in sources(ROOT)}
    places, lost = {}, []
    for number, mutant in enumerate(mutants, 1):
        nearest = sorted(texts, key=lambda name: name != mutant["file"])
        where = next(
            (
                (name, i)
                for name in nearest
                for i, line in enumerate(texts[name])
                if line.strip() == mutant["line"]
            ),
            None,
        )
        if where is None:
            lost.append(mutant)
            continue
        name, index = where
        texts[name][index] = mutated(mutant, number)
        places[name, index + 1] = mutant | {"number": number, "file": name}
    for mutant in lost:
        print(f"in no source: {mutant['file']}: {mutant['line']}")
    for name, lines in texts.items():
        changed[name] = ("\n".join(lines) + "\n").encode()
    for name, content in changed.items():
        path = TREE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            shutil.copymode(ROOT / name, path)
    for folder in ("cli", "include", "src", "tests"):
        for path in (TREE / folder).rglob("*.?pp"):
            if str(path.relative_to(TREE)) not in changed:
                path.unlink()
    return places


def build() -> str:
    """Builds the tests; returns what the compiler said, and nothing if all is well."""
    BUILD.mkdir(parents=True, exist_ok=True)
    flags = f"-include {ROOT / 'tools/mutants.hpp'} -w"
    configure = ["cmake", "-G", "Ninja", "-S", str(TREE), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=Release"]
    configure += [f"-DCMAKE_CXX_FLAGS={flags}", f"-DHEADGAUGE_CARGO_TARGET_DIR={ROOT / 'build/cargo'}"]
    subprocess.run(configure, check=True, capture_output=True)
    done = subprocess.run(["cmake", "--build", str(BUILD), "--", "-k", "0"], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def refused(said: str, places: dict) -> list[dict]:
    """Returns the mutants whose lines the compiler names in an error."""
    named = {(name, int(line)) for name, line in re.findall(r"tree/([\w./-]+):(\d+)", said)}
    return [mutant for place, mutant in places.items() if place in named]


def draw(seed: int, other: Path | None) -> None:
    """Draws lines of this checkout; they stand in the sources of the other one too, so that both can be compared."""
    rng = random.Random(seed)
    kept = {line.strip() for path in sources(other or ROOT) for line in path.read_text("utf-8").splitlines()}
    left: dict[tuple[str, ...], list[dict]] = {}
    drawn: list[dict] = []

    def next_of(rooms: tuple[str, ...]) -> dict:
        """Takes the next candidate of a file that has no mutant yet."""
        while True:
            choice = left[rooms].pop()
            if all(choice["file"] != other["file"] for other in drawn):
                return choice

    for rooms, quota in QUOTAS.items():
        files = [path for path in sources(ROOT) if str(path.relative_to(ROOT)).startswith(rooms)]
        left[rooms] = [one for path in files for one in candidates(path) if one["line"] in kept]
        rng.shuffle(left[rooms])
        for _ in range(quota):
            drawn.append(next_of(rooms))
    while True:
        places = lay_out(drawn)
        said = build()
        if not said:
            break
        bad = refused(said, places)
        if not bad:
            sys.exit(said[-4000:])
        for mutant in bad:  # another takes its number, so that few files change
            rooms = next(rooms for rooms in QUOTAS if mutant["file"].startswith(rooms))
            drawn[mutant["number"] - 1] = next_of(rooms)
        print(f"{len(bad)} do not compile")
    LIST.write_text(json.dumps(drawn, indent=1) + "\n")
    print(f"{len(drawn)} mutants")


def room_of(name: str) -> str:
    return "cli" if name.startswith("cli/") else name.split("/")[1]


def caught_by(mutant: dict, seconds: int, everywhere: bool) -> str:
    """Returns the room whose tests fail under the mutant, or nothing."""
    environment = os.environ | {"HEADGAUGE_MUTANT": str(mutant["number"])}
    programs = sorted(path for path in BUILD.glob("tests/*/test_*") if path.is_file())
    others = [path.parent.name for path in programs] if everywhere else []
    for room in dict.fromkeys([room_of(mutant["file"]), *LAST, *others]):
        program = BUILD / f"tests/{room}/test_{room}"
        try:
            done = subprocess.run(
                [program, "--gtest_brief=1", "--gtest_fail_fast"],
                env=environment,
                capture_output=True,
                timeout=seconds,
                cwd=program.parent,
            )
        except subprocess.TimeoutExpired:
            return room + " (never ends)"
        if done.returncode:
            return room
    return ""


def run(only: list[int], seconds: int, everywhere: bool) -> int:
    mutants = json.loads(LIST.read_text("utf-8"))
    places = lay_out(mutants)
    said = build()
    if said:
        sys.exit(said[-4000:])
    caught, met = 0, 0
    for mutant in sorted(places.values(), key=lambda mutant: mutant["number"]):
        if only and mutant["number"] not in only:
            continue
        room = caught_by(mutant, seconds, everywhere)
        met, caught = met + 1, caught + bool(room)
        where = f"{mutant['number']:3} {mutant['file']}: {mutant['line']}"
        print(
            f"{'caught by ' + room if room else 'SURVIVES':20} {where} | {mutant['becomes'] or 'left out'}",
            flush=True,
        )
    print(f"{caught} of {met} caught; {len(mutants) - len(places)} in no source")
    return int(len(places) < len(mutants))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    draws = commands.add_parser("draw")
    draws.add_argument("seed", type=int)
    draws.add_argument("other", type=Path, nargs="?", help="a checkout whose sources have the same lines")
    runs = commands.add_parser("run")
    runs.add_argument("numbers", type=int, nargs="*", help="only these mutants")
    runs.add_argument(
        "--seconds", type=int, default=300, help="a program of tests that takes longer has caught it"
    )
    runs.add_argument("--everywhere", action="store_true", help="survivors meet the tests of all rooms")
    options = parser.parse_args()
    if options.command == "draw":
        draw(options.seed, options.other)
    else:
        sys.exit(run(options.numbers, options.seconds, options.everywhere))


if __name__ == "__main__":
    main()
