"""Shards of random texts, an --out that meets what is read, and calls of Python with what nobody should give."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cli.shares import of_no_bit
from tests.faults.materials import PLAN, SMALL
from tests.faults.running import take_small
from tests.faults.trial import Fault, Skip, Trial
from tests.places import BUILD, ROOT

SHARED = {
    "scan": ("--measures", "weights,coverage,model", "--examples", "1"),
    "compare": ("--normalizer", "ssmax", "--measures", "weights,model"),
    "compare each": ("--normalizer", "ssmax", "--each", "head", "--measures", "weights"),
    "converge": ("--replicates", "3", "--draws", "3", "--points", "2", "--measures", "weights"),
}
HOSTILE = ROOT / "python/tests/hostile.py"
PACKAGES = (BUILD / "python", ROOT / "build/python-packages", ROOT / "build/python-torch")
CALLS = 60  # of Python in one trial
WRITTEN = ("results.json", "heads.csv", "report.html", "figures/entropy.svg", "plan.json", "plan_25.json")


def merge(trial: Trial) -> None:
    """What is merged has the bits of one run; what one run refuses is refused, whole and in shares."""
    draw = trial.draw
    trial.materials.take("model", trial.folder)
    names = []
    for k in range(draw.choice((1, 2, 3, 5))):
        ids = [draw.randrange(41) for _ in range(draw.choice((2, 17, 64, 65, 100, 288)))]
        names.append(trial.write(f"{k}.txt", " ".join(map(str, ids))).name)
    lengths = draw.choice(((), (), ("--lengths", draw.choice(("auto", "16", "8,64", "96")))))
    command = draw.choice(sorted(SHARED))
    words = (command.split()[0], "model", "--tokens", *names, *lengths, *SHARED[command], *SMALL)
    whole = trial.run(*words, "--out", "whole", codes={0, 3}, changes=True)
    count = draw.choice((1, 2, 3, 4))
    for k in range(1, count + 1):
        done = trial.run(*words, "--shard", f"{k}/{count}", "--out", f"part{k}", codes={0, 3}, changes=True)
        if done.code != whole.code:
            raise Fault(f"whole: exit {whole.code}, a share of it: {done}")
    parts = [f"part{k}" for k in range(1, count + 1)]
    draw.shuffle(parts)
    trial.run("merge", *parts, "--out", "merged", "--quiet", codes={whole.code}, changes=True)
    if whole.code == 0:
        one, merged = (
            of_no_bit(json.loads((trial.folder / out / "results.json").read_text()))
            for out in ("whole", "merged")
        )
        if one != merged:
            raise Fault(f"{count} shares of {command} on {names} give other results than one run")


def commands(trial: Trial) -> list[tuple[tuple[str, ...], list[str]]]:
    """Commands up to their --out, and what each reads."""
    take_small(trial)
    trial.materials.results  # which are made once
    for name in ("of-scan", "of-plan"):
        trial.materials.take(name, trial.folder)
    small = ("--lengths", "16", "--measures", "weights,model", *SMALL)
    scan = ("scan", "model", "--tokens", "a.txt", "b.txt", *small)
    text = ("book.txt", "demo")
    shutil.copyfile(ROOT / "demo/text.txt", trial.folder / text[0])
    (trial.folder / text[1]).mkdir()
    for path in (ROOT / "demo/model").iterdir():
        shutil.copyfile(path, trial.folder / text[1] / path.name)
    task = ("task", "copy", "--model", text[1], "--text", text[0], *"--length 96 --cases 2 --quiet".split())
    trial.write("list.txt", "a.txt\nb.txt\n")
    both = ["of-scan", "of-scan/results.json"]
    return [
        (scan, ["model", "a.txt", "b.txt", "model/config.json"]),
        (("scan", "model", "--tokens", "@list.txt", *small), ["model", "list.txt", "a.txt"]),
        ((*scan, "--shard", "1/2"), ["model", "a.txt"]),
        (
            ("scan", "model", "--tokens", "c.txt", *small, "--plan", "of-plan/plan.json"),
            ["of-plan/plan.json"],
        ),
        (
            ("compare", *scan[1:], "--normalizer", "ssmax", "--confirm", "c.txt"),
            ["model", "a.txt", "c.txt", "model/model.safetensors"],
        ),
        (PLAN, ["model", "a.txt", "c.txt"]),
        (
            ("plan", "model", "--plan", "of-plan/plan.json", "--export", "hf", "--quiet"),
            ["model", "of-plan/plan.json"],
        ),
        (("diff", "of-scan", "of-scan/results.json", "--quiet"), both),
        (("series", "of-scan", "of-scan/results.json", "--quiet"), both),
        (("report", "of-scan", "--quiet"), ["of-scan/results.json"]),
        (("report", "of-scan", "--format", "svg", "--quiet"), ["of-scan/results.json"]),
        (("reproduce", "limits", "--results", "of-scan", "--quiet"), ["of-scan/results.json", "of-scan"]),
        (task, [*text, "demo/tokenizer.json", "demo/model.safetensors"]),
    ]


def place(trial: Trial, read: str) -> str:
    """An --out that is what is read, or lies in it, or has it or a link to it where a file is written."""
    draw, path = trial.draw, trial.folder / read
    how = draw.randrange(6)
    if how == 0:
        return draw.choice((read, f"./{read}", str(path), f"model/../{read}", f"{read}/"))
    if how == 1:
        return f"{read}/{draw.choice(('sub', 'a/b', 'results.json', 'tokenizer.json', '../new'))}"
    if how == 2:
        (trial.folder / "link").symlink_to(draw.choice((read, path)))
        return draw.choice(("link", "link/sub", "./link"))
    written = trial.folder / "out" / draw.choice(WRITTEN)
    written.parent.mkdir(parents=True)
    if how == 3 or path.is_dir():
        written.symlink_to(path)
    elif how == 4:
        os.link(path, written)
    else:
        return str(Path(read).parent)  # beside what is read
    return draw.choice(("out", "./out", str(written)))


def contents(folder: Path, read: list[str]) -> dict[str, bytes]:
    """The bytes of all that is read."""
    found = {}
    for name in read:
        path = folder / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and not file.name.startswith("report"):
                found[str(file)] = file.read_bytes()
    return found


def out(trial: Trial) -> None:
    """Whatever --out is, what a command reads has the bytes that it had, and none is new in a model's folder."""
    command, read = trial.draw.choice(commands(trial))
    where = place(trial, trial.draw.choice(read))
    force = ("--force",) if command[0] not in ("report", "task") and "--export" not in command else ()
    before = contents(trial.folder, read)
    done = trial.run(*command, *force, "--out", where, codes={0, 2, 3, 4, 5}, quiet=False, changes=True)
    after = contents(trial.folder, read)
    if changed := sorted(name for name in before if after.get(name) != before[name]):
        raise Fault(f"{changed} were read, and are not as they were: {done}")
    if added := sorted(
        name for name in after.keys() - before.keys() if "/model/" in name or "/demo/" in name
    ):
        raise Fault(f"{added} are new in a model that was read: {done}")


def python(trial: Trial) -> None:
    """No crash, and only errors of headgauge, TypeError and ValueError, which name what is wrong."""
    packages = PACKAGES if trial.draw.random() < 0.3 else PACKAGES[:2]  # torch takes seconds to load
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages))}
    if subprocess.run(
        [sys.executable, "-c", "import headgauge"], env=environment, capture_output=True, check=False
    ).returncode:
        raise Skip("all: the Python package is not built")
    seed = str(trial.draw.randrange(10**9))
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HOSTILE), str(trial.folder), seed, str(CALLS)],
        env=environment,
        cwd=trial.folder,
        capture_output=True,
        timeout=300,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        last = done.stdout.decode("utf-8", "replace").splitlines()[-1:]
        raise Fault(f"exit {done.returncode} of hostile.py with seed {seed}, after {last}: {said[-3000:]}")
    trial.worked += 1
