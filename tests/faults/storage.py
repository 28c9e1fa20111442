"""Faults of the storage: it is full, has a quota, may not be written to, or fails at some call of the system."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.faults.running import PAIR, SAVING_PAIRS, commands, pair_of_one_run, take_small, whole_files
from tests.faults.trial import Fault, Skip, Trial

CANNOT = 77  # what a shell exits with where it cannot set a fault up
PAGE = 4096
IMAGE = 120 << 20  # bytes; btrfs wants 109 MiB


def file_sizes(trial: Trial) -> None:
    """A limit of the size of files (RLIMIT_FSIZE): the old results stay, and no half of new ones."""
    take_small(trial)
    command = trial.draw.choice(commands(trial))
    blocks = trial.draw.choice((0, 1, 2, 4, 8, 16, 40, 100, 400, 2000))  # of 512 bytes
    out, old = trial.folder / "out", trial.folder / "of-scan"
    over_old = command[0] in SAVING_PAIRS and trial.draw.random() < 0.7
    if over_old:
        shutil.copytree(old, out)
    done = trial.run(
        *command, "out", shell=f"ulimit -f {blocks}", codes={0, 5}, changes=True, quiet=False, pipes=True
    )
    whole_files(out)
    if over_old and done.code == 5:
        require_old_pair(trial, out, old)


def require_old_pair(trial: Trial, out: Path, old: Path) -> None:
    """What a run could not replace is what it was."""
    for name in PAIR:
        if not (out / name).exists():
            raise Fault(f"{name} is gone: {trial.runs[-1]}")
        if (out / name).read_bytes() != (old / name).read_bytes():
            raise Fault(f"{name} is no longer the old one: {trial.runs[-1]}")


def disks(trial: Trial) -> None:
    """A disk that is full, or that has no more names to give, while a run saves: the old pair stays."""
    if trial.draw.random() < 0.7:
        room = f"size={PAGE * trial.draw.choice((1, 2, 3, 5, 8, 12, 20, 40, 90))}"
    else:
        room = f"nr_inodes={trial.draw.randrange(2, 9)}"
    save_on(trial, f"mount -t tmpfs -o {room} none disk", "true")


def quotas(trial: Trial) -> None:
    """A disk with room whose quota is used up (EDQUOT) while a run saves: the old pair stays."""
    if os.geteuid() != 0 or not shutil.which("mkfs.btrfs"):
        raise Skip("all: quotas are set by root, with btrfs-progs")
    with (trial.folder / "image").open("wb") as image:
        image.truncate(IMAGE)
    more = f"{trial.draw.choice((64, 256, 400, 600, 800, 1200, 2000, 4000))} * 1024"  # btrfs reserves much for each name
    held = "btrfs qgroup show --raw disk | awk '$1 == \"0/5\" { print $2 }'"
    save_on(
        trial,
        "mkfs.btrfs -q image && mount -o loop image disk",
        f"btrfs quota enable disk && btrfs quota rescan -w disk && sync -f disk && btrfs qgroup limit $(($({held}) + {more})) disk",
    )


def save_on(trial: Trial, mount: str, limit: str) -> None:
    """Runs a command on a disk of its own, half filled by older results; shell commands set it up."""
    take_small(trial)
    command = trial.draw.choice(commands(trial))
    old = trial.folder / "of-scan"
    (trial.folder / "disk").mkdir()
    script = (
        f"({mount}) >/dev/null 2>&1 || exit {CANNOT}; mkdir -p disk/out 2>/dev/null; "
        "if cp old/* disk/out 2>/dev/null; then touch filled; else rm -rf disk/out/*; fi; "
        f"({limit}) >/dev/null 2>&1 || exit {CANNOT}; "
        '"$@"; code=$?; mkdir left; cp -r disk/. left; umount disk; exit $code'
    )
    shutil.copytree(old, trial.folder / "old")
    in_namespace(trial, script, *command, "disk/out" if command[0] != "report" else "disk/out/page")
    left = trial.folder / "left/out"
    strays = [path.name for path in left.rglob("*.tmp")]
    if strays:
        raise Fault(f"left behind on the disk: {strays}")
    whole_files(left)
    if (trial.folder / "filled").exists() and trial.runs[-1].code == 5 and command[0] in SAVING_PAIRS:
        require_old_pair(trial, left, old)


def in_namespace(trial: Trial, script: str, *command, codes: set[int] = frozenset({0, 5})) -> None:
    """Runs a shell script that ends with a command, where it may mount; Skip where it may not."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise Skip("all: no program unshare")
    flags = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    whole = ["sh", "-c", script, "sh"]
    can = subprocess.run(
        [unshare, *flags, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, text=True, check=False
    )
    if can.returncode != 0:
        raise Skip(f"all: no mount for this user here ({can.stderr.strip().splitlines()[-1:]})")
    done = trial.start(*command, before=(unshare, *flags, *whole)).finish()
    if done.code == CANNOT:
        raise Skip("this disk could not be mounted")
    trial.judge(done, set(codes), quiet=False)


def read_only(trial: Trial) -> None:
    """A folder that nobody may write to: said before the work or after, and nothing is made."""
    take_small(trial)
    command = trial.draw.choice(commands(trial))
    place = trial.folder / "place"
    place.mkdir()
    if os.geteuid() != 0:
        place.chmod(0o555)
        try:
            trial.run(*command, "place/out", codes={5})
        finally:
            place.chmod(0o755)
        return
    script = f'mount -t tmpfs -o ro none place || exit {CANNOT}; exec "$@"'
    in_namespace(trial, script, *command, "place/out", codes={5})


def failing_calls(trial: Trial) -> None:
    """A call of the system fails once or from then on, as on a disk that breaks or a network that
    goes: done, or one line says why and the old pair stays, but for a table that a rename did not bring back."""
    strace = shutil.which("strace")
    if strace is None:
        raise Skip("all: no program strace")
    take_small(trial)
    command = trial.draw.choice(commands(trial))
    out, old = trial.folder / "out", trial.folder / "of-scan"
    over_old = command[0] in SAVING_PAIRS and trial.draw.random() < 0.7
    if over_old:
        shutil.copytree(old, out)
    # A call that fails from then on must not be one that the message is written with.
    word = trial.draw.choice(("write", "fsync+", "fsync", "rename+", "rename", "flock+", "mkdir+"))
    call, lasting = word.removesuffix("+"), "+" * word.endswith("+")
    error = trial.draw.choice(("EDQUOT", "EIO", "ENOSPC", "ENOLCK"))
    when = trial.draw.randrange(1, 9 if call == "write" else 4)
    inject = f"inject={call}:error={error}:when={when}{lasting}"
    before = (strace, *f"-f -qq -o /dev/null -e trace={call} -e {inject}".split())
    done = trial.run(*command, "out", before=before, codes={0, 5}, changes=True, quiet=False)
    whole_files(out)
    if over_old and done.code == 5 and call != "rename":
        require_old_pair(trial, out, old)
    elif over_old and (out / "heads.csv").exists():  # which goes before results.json is renamed
        pair_of_one_run(out)
