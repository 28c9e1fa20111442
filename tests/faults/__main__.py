"""The attack as a suite: hostile files, faults while running, payloads in names and labels.

    python3 -m tests.faults                            # every kind; a few minutes
    python3 -m tests.faults --trials 10 texts options  # some kinds, ten trials of each
    python3 -m tests.faults --seed 7 --repeat kills:3  # one trial again

Every trial is made from the seed, its kind and its number. The last lines are a table, counted per
kind; exit status 1 if any trial failed. What a trial that failed worked on is kept.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.kinds import KINDS, TABLE
from tests.faults.suite import Suite
from tests.places import BINARY

TRIALS = 100


def numbers_of(kind: str, trials: int) -> range:
    return range(max(1, round(trials * TABLE[kind][1])))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests.faults", description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "--trials", type=int, default=TRIALS, help="of each kind of hostile files; the others in proportion"
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--repeat", metavar="KIND:NUMBER", help="one trial again; its files are kept")
    parser.add_argument("--messages", action="store_true", help="print what every run said")
    options = parser.parse_args(arguments)
    kind, _, number = (options.repeat or "").partition(":")
    unknown = {*options.kinds, *([kind] if kind else [])} - set(KINDS)
    if unknown:
        parser.error(f"expected kinds of {', '.join(KINDS)}, found {', '.join(sorted(unknown))}")
    if not BINARY.exists():
        parser.error(f"expected the program at {BINARY}, found none; build it, or set HEADGAUGE_BINARY")

    # In the background of a script it is ignored, which the programs under test would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="headgauge-faults-")).resolve()
    suite = Suite(
        KINDS, options.seed, folder, say=lambda text: print(text, flush=True), messages=options.messages
    )
    user = "root" if os.geteuid() == 0 else "a plain user"
    print(
        f"seed {options.seed}, as {user}; repeat all of it: make faults SEED={options.seed} "
        f"TRIALS={options.trials}",
        flush=True,
    )
    began = time.monotonic()
    if options.repeat:
        suite.trial(kind, int(number))
    else:
        for name in options.kinds or KINDS:
            suite.run(name, numbers_of(name, options.trials))
            tally = suite.tallies[name]
            print(
                f"{name}: {tally.trials} trials, {tally.counts['failed']} failed, {tally.seconds:.0f} s",
                flush=True,
            )
    if not suite.failures and not options.repeat:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        "\n".join(["", *suite.skipped(), f"{time.monotonic() - began:.0f} s", "", suite.table()]), flush=True
    )
    return 1 if suite.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
