"""Hostile journals: what a run kept is changed, and the run goes on from it, or shares are merged."""

import json
import random
import struct
import zlib
from pathlib import Path

from tests.faults.materials import LONG_SIMULATION, PLAN, SHARED, journal_of, numbers_of
from tests.faults.mutate import NUMBERS, hostile_bytes, hostile_json
from tests.faults.readers import AS_MEMORY
from tests.faults.trial import Fault, Trial

SCHEMA = b"headgauge.journal/1"
HEAD = struct.Struct("<iqQQ")  # layer, document, bytes of the stage's name, bytes


def records_of(data: bytes) -> tuple[bytes, list[tuple[int, int, bytes, bytes]]]:
    """The JSON of the header, and the records, as docs/formats.md has them."""
    line, _, rest = data.partition(b"\n")
    size = int(line.split()[1])
    header, at, records = rest[:size], size + 1, []
    while at < len(rest):
        layer, document, stage_size, size = HEAD.unpack_from(rest, at + 4)
        at += 4 + HEAD.size
        records.append(
            (layer, document, rest[at : at + stage_size], rest[at + stage_size : at + stage_size + size])
        )
        at += stage_size + size
    return header, records


def sealed(header: bytes, records: list[tuple[int, int, bytes, bytes]]) -> bytes:
    """Them with checksums that are right."""
    data = b"%s %d %08x\n%s\n" % (SCHEMA, len(header), zlib.crc32(header), header)
    for layer, document, stage, content in records:
        record = HEAD.pack(layer, document, len(stage), len(content)) + stage + content
        data += struct.pack("<I", zlib.crc32(record)) + record
    return data


def change_sealed(data: bytes, draw: random.Random) -> bytes:
    header, records = records_of(data)
    for _ in range(draw.choice((1, 1, 3))):
        at = draw.randrange(len(records))
        layer, document, stage, content = records[at]
        how = draw.randrange(8)
        if how < 3:
            content = hostile_bytes(content, draw)
        elif how == 3:
            layer = draw.choice((-3, -2, -1, 0, 1, 2**31 - 1, -(2**31)))
        elif how == 4:
            document = max(
                -(2**63), min(2**63 - 1, int(draw.choice((document + 1, -1, *filter(is_whole, NUMBERS)))))
            )
        elif how == 5:
            stage = hostile_bytes(stage, draw)
        elif how == 6:
            del records[at]
            records.insert(draw.randrange(len(records) + 1), (layer, document, stage, content))
            continue
        else:
            header = hostile_json(json.loads(header), draw)
        records[at] = (layer, document, stage, content)
    return sealed(header, records)


def make_sparse(path: Path, draw: random.Random) -> None:
    """A record whose name or content has gigabytes, of which nothing is on the disk."""
    size = draw.choice((1 << 21, 3 << 30, 1 << 40))
    sizes = (size, 0) if draw.random() < 0.5 else (4, size)
    with path.open("ab") as file:
        file.write(struct.pack("<I", 0) + HEAD.pack(0, 0, *sizes))
        file.truncate(file.tell() + size)


def is_whole(number) -> bool:
    return isinstance(number, int)


def journals(trial: Trial) -> None:
    """Without the right checksums nothing of it may reach the results."""
    draw = trial.draw
    command = draw.choice(sorted(SHARED))
    whole = trial.materials.shares[command]
    for name in ("model", "a.txt", "b.txt", "c.txt"):
        trial.materials.take(name, trial.folder)
    for k in (1, 2):
        trial.materials.take(f"{command}-{k}", trial.folder, f"part{k}")
    path = journal_of(trial.folder / "part1")
    honest = draw.random() < 0.5
    if draw.random() < 0.2:
        make_sparse(path, draw)
    else:
        path.write_bytes((hostile_bytes if honest else change_sealed)(path.read_bytes(), draw))
    first = (*SHARED[command], "--shard", "1/2", "--out", "part1")

    def merge(codes: set[int]) -> int:
        done = trial.run(
            *"merge part1 part2 --out merged --quiet".split(), codes=codes, changes=True, shell=AS_MEMORY
        )
        if done.code == 0 and honest and numbers_of(trial.folder / "merged") != whole:
            raise Fault("a damaged journal gave other numbers")
        return done.code

    if draw.random() < 0.5 and merge({0, 2, 3, 5}) == 0:
        return
    done = trial.run(*first, codes={0, 3}, changes=True, shell=AS_MEMORY)
    if done.code == 3:  # whoever is told to delete it does
        path.unlink()
        honest = True
        trial.run(*first, codes={0}, changes=True)
    merge({0} if honest else {0, 2, 3, 5})


def resumed(trial: Trial, kept: tuple[bytes, dict], *command) -> None:
    """A changed journal of one process; whoever is told to delete it does, and starts again."""
    data, whole = kept
    honest = trial.draw.random() < 0.5
    path = trial.write(
        "out/journal/part-1-of-1.journal", (hostile_bytes if honest else change_sealed)(data, trial.draw)
    )
    done = trial.run(*command, "--out", "out", codes={0, 3}, changes=True, shell=AS_MEMORY)
    if done.code == 3:
        path.unlink()
        honest = True
        trial.run(*command, "--out", "out", codes={0}, changes=True)
    if honest and numbers_of(trial.folder / "out") != whole:
        raise Fault("a damaged journal gave other numbers")


def simulation(trial: Trial) -> None:
    resumed(trial, trial.materials.unfinished_simulation, *LONG_SIMULATION)


def plan(trial: Trial) -> None:
    for name in ("model", "a.txt", "b.txt", "c.txt"):
        trial.materials.take(name, trial.folder)
    resumed(trial, trial.materials.unfinished_plan, *PLAN)
