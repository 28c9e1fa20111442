"""Exports of a plan that are killed or interrupted, or meet what is not theirs in their folder."""

import json
import os
import shutil
import signal
from pathlib import Path

from tests.cli.test_export_folder import MARK, content
from tests.cli.test_gguf import gguf, metadata
from tests.faults.mutate import hostile_bytes
from tests.faults.trial import Fault, Trial

FORMATS = (("hf",), ("hf-layers",), ("hf-layers", "hf"), ("hf", "hf-layers"))
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def command(plan: str, formats: tuple[str, ...], out: str) -> tuple[str, ...]:
    return ("plan", "tiny.gguf", "--plan", plan, "--export", ",".join(formats), "--out", out, "--quiet")


def put_foreign(trial: Trial, folder: Path) -> None:
    """A change of an export, or of an empty place, that headgauge did not make."""
    draw = trial.draw
    elsewhere = trial.write("elsewhere/notes.txt", "mine").parent
    if folder.exists() and draw.random() < 0.2:
        folder.rename(elsewhere / "moved")
        folder.symlink_to(elsewhere / "moved")
        return
    folder.mkdir(parents=True, exist_ok=True)
    written = sorted(path for path in folder.iterdir() if path.is_file() and path.name != MARK)
    file = draw.choice([*written, folder / "optimizer.pt"])
    how = draw.randrange(5)
    if how == 0 and (folder / MARK).exists():
        (folder / MARK).unlink()
    elif how == 1:
        (folder / "checkpoint").mkdir()
        (folder / "checkpoint/model.safetensors").write_text("trained")
    elif how == 2:
        file.unlink(missing_ok=True)
        file.symlink_to(draw.choice((elsewhere, elsewhere / "notes.txt", elsewhere / "none")))
    elif how == 3 and file.exists():
        before = file.read_bytes()
        while file.read_bytes() == before:
            file.write_bytes(hostile_bytes(before, draw))
    else:
        (folder / f"{file.name}.mine").write_bytes(hostile_bytes(b"mine", draw))


def export(trial: Trial) -> None:
    """Each folder is the old one or the new one whole, what is not headgauge's stays as it was, and the
    same command works afterwards."""
    draw, out = trial.draw, trial.folder / "out"
    trial.write("tiny.gguf", gguf(metadata()))
    plan = {"schema": "headgauge.plan/1", "model": {"layers": 1, "heads": 2, "kv_heads": 2}}
    windows = [{"layer": 0, "kv_head": head, "pattern": "window:size=9"} for head in (0, 1)]
    trial.write("old.json", json.dumps({**plan, "heads": []}))
    trial.write("new.json", json.dumps({**plan, "heads": windows}))
    formats = draw.choice(FORMATS)
    again = command("new.json", formats, "out")
    done = trial.run(*command("new.json", formats, "whole"), codes={0}, quiet=False)
    new = content(trial.folder / "whole")
    if draw.random() < 0.7:
        trial.run(*command("old.json", formats, "out"), codes={0}, quiet=False)
    if draw.random() < 0.4:
        place = out / draw.choice(formats)
        put_foreign(trial, place)
        before = content(trial.folder)
        trial.run(*again, codes={2, 3})
        if content(trial.folder) != before:
            raise Fault(f"what is not headgauge's was changed in {place.name}")
        place.unlink() if place.is_symlink() else shutil.rmtree(place)
    old = {name: content(out / name) if (out / name).exists() else None for name in formats}
    going, sent = trial.start(*again), draw.choice(SIGNALS)
    going.wait(done.seconds * draw.uniform(0.0, 1.1))
    going.send(sent)
    ended = going.finish()
    if ended.code != -sent:
        trial.judge(ended, {0, 130}, quiet=False)
    for name in formats:
        found = content(out / name) if (out / name).exists() else None
        whole = content(trial.folder / "whole" / name)
        if found not in (old[name], whole):
            raise Fault(f"{name} is neither the old export nor the new one: {ended}")
        if ended.code == 130 and old[name] != whole and (found == whole) != (f"out/{name}/" in ended.said):
            raise Fault(f"another export than {name} is said to be saved: {ended}")
    trial.run(*again, codes={0}, quiet=False)
    if content(out) != new:
        raise Fault(f"the same command leaves {sorted(os.listdir(out))}, or other files in them")
