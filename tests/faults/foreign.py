"""What is not headgauge's: files beside its own, scores that no weight can hold, lists with a NUL."""

import json
import math
from pathlib import Path

from tests.cli.checkpoints import make_dump
from tests.cli.command import environment, flat
from tests.faults.materials import SHARED, SMALL
from tests.faults.running import commands, take_small
from tests.faults.trial import Fault, Trial

NAMES = ("part-1-of-1", "part-2-of-3", "2026", "part-1-of-1.state-0-1", "notes", "")
ENDINGS = (".journal", ".journal.md", ".journal~", ".journals", ".journal.tmp.bak", ".svg", "")
FOLDERS = ("journal", "figures", "")
SCALES = (1e-30, 1e-12, 1e-3, 1.0, 30.0, 1e3, 1e12, 1e30)
OWN_NORMALIZERS = ("sigmoid:b=-60", "sigmoid:b=60", "softmax:t=1e-39", "ssmax:s=1e30")


def put_foreign_files(trial: Trial) -> dict[Path, bytes]:
    """Files of a user's own in the folders that headgauge writes to, or behind links from there."""
    draw, there = trial.draw, {}
    for _ in range(draw.choice((1, 2, 5))):
        folder = trial.folder / "out" / draw.choice(FOLDERS)
        name = draw.choice(NAMES) + draw.choice(ENDINGS)
        if not name or name in ("journal", "figures"):
            continue
        if not folder.exists() and folder.name != "out" and draw.random() < 0.3:
            elsewhere = trial.folder / f"elsewhere-{folder.name}"
            elsewhere.mkdir()
            folder.parent.mkdir(exist_ok=True)
            folder.symlink_to(elsewhere)
        folder.mkdir(parents=True, exist_ok=True)
        content = draw.choice((b"mine\n", b"", b"<svg/>", b"headgauge.journal/1 2 00000000\n{}\n"))
        (folder / name).write_bytes(content)
        there[folder / name] = content
    return there


def foreign_files(trial: Trial) -> None:
    """Whatever a command does, what it did not write stays as it was."""
    take_small(trial)
    of_shares = [(*command, "--out") for command in SHARED.values()]
    command = trial.draw.choice([*commands(trial), *of_shares])
    there = put_foreign_files(trial)
    command = (*command, "out/page" if command[0] == "report" else "out")
    # A journal is kept at once, or not at all.
    env = environment(HEADGAUGE_JOURNAL_SECONDS=trial.draw.choice(("0", "3600")))
    for _ in range(trial.draw.choice((1, 2))):
        trial.run(*command, codes={0, 3, 5}, changes=True, quiet=False, env=env)
        for path, content in there.items():
            if not path.is_file() or path.read_bytes() != content:
                raise Fault(f"a file of somebody else's is gone or changed: {path.relative_to(trial.folder)}")


def scores_beyond_float32(trial: Trial) -> None:
    """Any normalizer on scores of any size: a metric has a finite value and rows, or neither, and what
    weights beyond float32 leave out is said."""
    draw, length, heads = trial.draw, 40, 2
    scale = draw.choice(SCALES)
    drawn = {part: [draw.gauss(0, 1) for _ in range(heads * length * 4)] for part in ("q", "k")}
    parts = {f"layers.0.{part}": ([heads, length, 4], values) for part, values in drawn.items()}
    make_dump(trial.folder / "dump.safetensors", 0, heads, length, 4, {"scale": repr(scale)}, **parts)
    known = trial.materials.__dict__.setdefault("normalizers", [])
    if not known:
        listed = trial.start("list", "normalizers", "--json").finish()
        known += [one["name"] for one in json.loads(listed.out)]
    normalizer = draw.choice([*OWN_NORMALIZERS, *known])
    words = ("scan", "dump.safetensors", "--normalizer", normalizer, *SMALL, "--out", "out")
    done = trial.run(*words, quiet=False, codes={0, 3, 4}, changes=True)
    if done.code != 0:
        return
    results = json.loads((trial.folder / "out/results.json").read_text())
    for name, metric in results["metrics"].items():
        for value, rows in zip(flat(metric["values"]), flat(metric.get("rows") or []), strict=False):
            if (value is not None and math.isfinite(value)) != (rows > 0):
                raise Fault(
                    f"{name} is {value} in the mean of {rows} rows under {normalizer} at scale {scale}"
                )
    left_out = heads * length - sum(last_rows(results))
    said = any("squares are beyond float32" in notice for notice in results["notices"])
    if (left_out > 0) != said:
        raise Fault(f"{left_out} rows left out, and the notice says otherwise: {results['notices']}")


def last_rows(results: dict) -> list[int]:
    """The rows that the total weight of each head is a mean of, at the longest length."""
    return [head[-1] for layer in results["metrics"]["mass"]["rows"] for head in layer]


def lists(trial: Trial) -> None:
    """Words of @LIST with a NUL, which would name another file: refused."""
    take_small(trial)
    words = ["ids.txt", "a.txt"]
    at = trial.draw.randrange(len(words))
    cut = trial.draw.choice((len(words[at]), trial.draw.randrange(len(words[at]) + 1)))
    words[at] = words[at][:cut] + "\0" + words[at][cut:]
    trial.write("list", trial.draw.choice(("\n", "\r\n")).join(words))
    trial.run("scan", "model", "--tokens", "@list", "--lengths", "16", *SMALL, codes={3})
