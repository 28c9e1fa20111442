"""Faults while the program runs: it is killed, its files change, and what it needs runs out."""

import csv
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.faults.materials import LONG_SIMULATION, PLAN, SMALL, Materials
from tests.faults.trial import CODES, Done, Fault, Skip, Trial

LARGE = (
    *("scan", "large", "--force", "--tokens", "many.txt", *SMALL),
    *("--measures", "weights,distance", "--lengths", "320"),
)
SHORT = (*LARGE[:-1], "32")
SCAN = ("scan", "model", "--tokens", "ids.txt", "--measures", "weights", "--force", *SMALL)
PAIR = ["heads.csv", "results.json"]
SAVING_PAIRS = ("scan", "compare", "converge", "diff")


def take_large(trial: Trial) -> float:
    """The model that takes a while, in the trial's folder; how long it takes."""
    materials = trial.materials
    materials.large
    for name in ("large", "many.txt"):
        materials.take(name, trial.folder)
    return seconds_of(materials, LARGE)


def take_small(trial: Trial) -> None:
    for name in ("model", "ids.txt", "a.txt", "b.txt", "c.txt"):
        trial.materials.take(name, trial.folder)


def seconds_of(materials: Materials, command: tuple[str, ...]) -> float:
    """How long a command takes here, measured once."""
    known = materials.__dict__.setdefault("durations", {})
    if command not in known:
        began = time.monotonic()
        materials.run(*command, "--out", f"timed-{len(known)}")
        known[command] = time.monotonic() - began
    return known[command]


def pair_of_one_run(out: Path) -> set[int]:
    """The lengths that results.json and heads.csv have; Fault where they differ or are no files."""
    try:
        of_results = set(json.loads((out / "results.json").read_text())["coords"]["length"])
        with (out / "heads.csv").open(newline="") as table:
            of_table = {int(row["length"]) for row in csv.DictReader(table)}
    except (ValueError, KeyError, OSError) as error:
        raise Fault(f"half a file in {sorted(os.listdir(out))}: {error!r}") from None
    if of_results != of_table:
        raise Fault(f"files of two runs: lengths {of_results} and {of_table}")
    return of_results


def kills(trial: Trial) -> None:
    """kill -9 at a random time, into a folder with results of another length or without; then again."""
    draw, out = trial.draw, trial.folder / "out"
    whole = take_large(trial)
    old = draw.random() < 0.5
    if old:
        trial.run(*SHORT, "--out", "out")
    going = trial.start(*LARGE, "--out", "out")
    # Half of them at the end, where it saves.
    going.wait(whole * draw.uniform(0.0, 1.1) if draw.random() < 0.5 else whole * draw.uniform(0.85, 1.1))
    going.send(signal.SIGKILL)
    killed = going.finish()
    names = set(os.listdir(out)) if out.exists() else set()
    if old and "results.json" not in names:
        raise Fault(f"the old results are gone: {killed}")
    if killed.code == 0 or names >= set(PAIR):
        if pair_of_one_run(out) not in ({32}, {320}):
            raise Fault(f"lengths of neither run: {killed}")
    elif "heads.csv" in names:  # results.json takes its place first
        raise Fault(f"a table without results: {killed}")
    trial.run(*SHORT, "--out", "out", codes={0})
    if pair_of_one_run(out) != {32} or sorted(os.listdir(out)) != PAIR:
        raise Fault(f"the next run leaves {sorted(os.listdir(out))}")


def kills_of_long_runs(trial: Trial) -> None:
    """A simulation or a plan is killed, some times, and goes on where it was: the same numbers in the end."""
    take_small(trial)
    command = trial.draw.choice((LONG_SIMULATION, PLAN))
    whole = seconds_of(trial.materials, command)
    for _ in range(trial.draw.choice((1, 2))):
        going = trial.start(*command, "--out", "out")
        going.wait(trial.draw.uniform(0.0, whole))
        going.send(trial.draw.choice((signal.SIGKILL, signal.SIGINT, signal.SIGTERM)))
        ended = going.finish()
        if ended.code >= 0:
            trial.judge(ended, {0, 130})
    trial.run(*command, "--out", "out", codes={0})
    found = json.loads((trial.folder / "out/results.json").read_text())["metrics"]
    number = list(trial.materials.durations).index(command)
    good = trial.materials.folder / f"timed-{number}/results.json"
    if found != json.loads(good.read_text())["metrics"]:
        raise Fault(f"other numbers than those of a run that was not stopped: {command}")


def signals(trial: Trial) -> None:
    """SIGINT, SIGTERM or SIGHUP at a random time, once or twice: saved and marked, or nothing."""
    draw, out = trial.draw, trial.folder / "out"
    whole = take_large(trial)
    going = trial.start(*LARGE, "--out", "out")
    going.wait(whole * draw.uniform(0.0, 1.1))
    sent = draw.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    going.send(sent)
    if draw.random() < 0.3:
        going.wait(draw.uniform(0.0, 0.05))
        going.send(sent)
    done = going.finish()
    if done.code == -sent:  # before it was listened to
        return
    trial.judge(done, {0, 130}, quiet=False)
    if out.exists() and "results.json" in os.listdir(out):
        pair_of_one_run(out)
        if json.loads((out / "results.json").read_text())["partial"] != (done.code == 130):
            raise Fault(f"partial is not what it was: {done}")
    # A second signal ends it at once, wherever it is: the next run has to clean up.
    trial.run(*SHORT, "--out", "out", codes={0})


def changed_files(trial: Trial) -> None:
    """Weights are cut short, replaced, overwritten, removed or made longer at a random time: the
    numbers of the old file or of the new one, or a refusal; never a mix of both, never SIGBUS."""
    draw = trial.draw
    whole = take_large(trial)
    path = trial.folder / "large/model.safetensors"
    content = path.read_bytes()
    how = draw.choice(("cut", "cut", "replace", "overwrite", "remove", "longer", "config"))
    going = trial.start(*LARGE, "--out", "out")
    going.wait(whole * draw.uniform(0.0, 1.0))
    if how == "cut":
        os.truncate(path, draw.choice((0, 8, 4096, len(content) // 2, len(content) - 1)))
    elif how == "replace":
        trial.write("other", content[:-64] + bytes(64))
        os.replace(trial.folder / "other", path)
    elif how == "overwrite":
        with path.open("r+b") as file:
            file.seek(draw.randrange(len(content) // 2, len(content) - 400))
            file.write(bytes(400))
    elif how == "remove":
        path.unlink()
    elif how == "longer":
        with path.open("ab") as file:
            file.write(b"\0" * 10)
    else:
        (trial.folder / "large/config.json").write_text("{}")
    done = going.finish()
    trial.judge(done, {0, 3})
    trial.no_strays()
    if done.code == 3:
        if (trial.folder / "out/results.json").exists():
            raise Fault(f"refused, and saved: {done}")
        return
    found = json.loads((trial.folder / "out/results.json").read_text())
    (trial.folder / "large").rename(trial.folder / "changed")
    takes = [trial.materials.take("large", trial.folder)]
    if how in ("replace", "overwrite"):
        takes.append(trial.folder / "changed")
    wanted = []
    for model in takes:
        one = trial.start("scan", model.name, *LARGE[2:], "--json").finish()
        results = json.loads(one.out)
        wanted.append((results["model"]["weights_sha256"], results["metrics"]))
    if (found["model"]["weights_sha256"], found["metrics"]) not in wanted:
        raise Fault(f"numbers of neither file after {how}: {done}")


def commands(trial: Trial) -> list[tuple[str, ...]]:
    """Commands that write: a folder or a file, which is called out."""
    trial.materials.results
    for name in ("of-scan", "of-compare"):
        if not (trial.folder / name).exists():
            trial.materials.take(name, trial.folder)
    tokens = ("model", "--tokens", "ids.txt", *SMALL)
    return [
        (*SCAN, "--lengths", ",".join(map(str, range(4, 64, 2))), "--out"),
        (*PLAN, "--force", "--out"),
        ("converge", *tokens, *"--lengths 64 --replicates 4 --points 3 --force --out".split()),
        ("compare", *tokens, *"--normalizer ssmax --lengths 32 --force --out".split()),
        ("report", "of-scan", "--out"),
        ("report", "of-compare", "--format", "svg", "--out"),
        ("diff", "of-scan", "of-scan", "--quiet", "--force", "--out"),
    ]


def whole_files(out: Path) -> None:
    """Whatever there is, is complete."""
    for path in [out] if out.is_file() else out.rglob("*") if out.exists() else []:
        text = path.read_bytes() if path.is_file() else b""
        endings = {".json": b"}", ".csv": b"", ".svg": b"</svg>", ".html": b"</html>"}
        if path.is_file() and not text.rstrip().endswith(endings.get(path.suffix, b"")):
            raise Fault(f"{path.name} is cut short: ...{text[-60:]!r}")


def streams(trial: Trial) -> None:
    """stdout is /dev/full or closed; stdin or stderr is closed."""
    take_small(trial)
    few = (
        ("scan", "model", "--tokens", "ids.txt", "--lengths", "16", "--measures", "weights"),
        ("list", "measures"),
        ("list", "normalizers"),
        ("list", "patterns"),
        ("--help",),
        ("--version",),
        ("inspect", "model"),
        ("inspect", "model", "--json"),
        ("scan", "--help"),
        ("diff", "of-scan", "of-scan"),
        ("report", "of-scan"),
        (*SCAN, "--json"),
        ("report", "of-scan", "--out", "/dev/stdout"),
        (*SCAN, "--out", "out"),
    )
    commands(trial)
    command = trial.draw.choice(few)
    how = trial.draw.choice(("full", "full", "full", "out", "in", "err"))
    if how == "full":
        with open("/dev/full", "wb") as full:
            done = trial.start(*command, stdout=full).finish()
        trial.judge(done, {5}, quiet=False)
        return
    closed = {"out": ">&-", "in": "<&-", "err": "2>&-"}[how]
    done = trial.start(*command, shell=f'"$@" {closed}').finish()
    trial.judge(done, CODES, quiet=False) if how != "err" else only_code(done, CODES)
    whole_files(trial.folder / "out")


def only_code(done: Done, codes: set[int]) -> None:
    if done.code not in codes:
        raise Fault(f"exit code is not of {sorted(codes)}: {done}")


def memory(trial: Trial) -> None:
    """A limit of memory, of addresses or of data, or of open files: done, or refused with exit code 5."""
    take_small(trial)
    command = trial.draw.choice(commands(trial))
    limits = {"-v": (20_000, 60_000), "-d": (1_000, 20_000), "-n": (4, 16)}
    limit = trial.draw.choice([f"{of} {trial.draw.randrange(*ends)}" for of, ends in limits.items()])
    if trial.start("--version", shell=f"ulimit {limit}").finish().code != 0:
        raise Skip("not even the program itself fits into the limit")
    # What cannot be opened for want of files is said of the file.
    codes = {0, 3, 5} if "-n" in limit else {0, 5}
    trial.run(*command, "out", shell=f"ulimit {limit}", codes=codes, changes=True, quiet=False)
    whole_files(trial.folder / "out")


def two_runs(trial: Trial) -> None:
    """Two or three runs into one folder, some of them killed: the files of one of them."""
    take_small(trial)
    out = trial.folder / "out"
    lengths = trial.draw.sample((16, 24, 32, 48), trial.draw.choice((2, 3)))
    going = [trial.start(*SCAN, "--lengths", length, "--out", "out") for length in lengths]
    spared = trial.draw.randrange(len(going))
    for k, run in enumerate(going):
        if k != spared and trial.draw.random() < 0.2:
            run.wait(trial.draw.uniform(0.0, seconds_of(trial.materials, SCAN)))
            run.send(signal.SIGKILL)
    for run in going:
        done = run.finish()
        if done.code != -signal.SIGKILL:
            trial.judge(done, {0})
    if not pair_of_one_run(out) <= set(lengths):
        raise Fault(f"lengths of no run: {pair_of_one_run(out)}")
    trial.run(*SCAN, "--lengths", "64", "--out", "out", codes={0})
    if sorted(os.listdir(out)) != PAIR:
        raise Fault(f"left behind: {sorted(os.listdir(out))}")


def same_process_id(trial: Trial) -> None:
    """Runs in containers, each of which is process 1 or 2: one is killed, the next works."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise Skip("all: no program unshare")
    flags = ["--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        flags = ["--user", "--map-root-user", *flags]
    can = subprocess.run([unshare, *flags, "true"], capture_output=True, text=True, check=False)
    if can.returncode != 0:
        raise Skip(
            f"all: no process ids of one's own for this user here ({can.stderr.strip().splitlines()[-1:]})"
        )
    whole = take_large(trial)
    for _ in range(2):
        going = trial.start(*LARGE, "--out", "out", before=(unshare, *flags))
        going.wait(whole * trial.draw.uniform(0.7, 1.05))
        going.send(signal.SIGKILL)
        going.finish()
    trial.run(*SHORT, "--out", "out", before=(unshare, *flags), codes={0})
    out = trial.folder / "out"
    if pair_of_one_run(out) != {32} or sorted(os.listdir(out)) != PAIR:
        raise Fault(f"left behind: {sorted(os.listdir(out))}")
