"""Runs trials of the attack and counts what became of them."""

import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.materials import Materials
from tests.faults.trial import Fault, Skip, Trial

VERDICTS = ("refused", "worked", "skipped", "failed")


@dataclass
class Tally:
    """What became of the trials of a kind."""

    counts: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)  # why they were skipped
    runs: int = 0
    seconds: float = 0.0

    @property
    def trials(self) -> int:
        return sum(self.counts.values())


class Suite:
    """`folder` has the trials; those that failed stay there."""

    def __init__(
        self,
        kinds: dict[str, Callable[[Trial], None]],
        seed: int,
        folder: Path,
        say: Callable[[str], None] = print,
        messages: bool = False,
    ) -> None:
        self.kinds = kinds
        self.seed = seed
        self.folder = folder
        self.say = say
        self.messages = messages
        (folder / "good").mkdir(parents=True, exist_ok=True)
        self.materials = Materials(folder / "good")
        self.tallies: dict[str, Tally] = {}
        self.failures: list[str] = []

    def trial(self, kind: str, number: int) -> str:
        """Runs one and returns its verdict."""
        tally = self.tallies.setdefault(kind, Tally())
        folder = self.folder / f"{kind}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        trial = Trial(self.seed, kind, number, folder, self.materials)
        began = time.monotonic()
        try:
            self.kinds[kind](trial)
            # A trial that does several things was refused if anything of it was.
            verdict = "refused" if trial.refused else "worked"
        except Skip as reason:
            verdict = "skipped"
            tally.reasons[str(reason)] += 1
        except Fault as fault:
            verdict = "failed"
            self.failed(kind, number, str(fault))
        except Exception:  # noqa: BLE001 - a trial that is wrong itself must not end the others, nor be passed over
            verdict = "failed"
            self.failed(kind, number, f"the trial itself broke:\n{traceback.format_exc()}")
        if self.messages:
            for done in trial.runs:
                self.say(f"{kind} {number}: {str(done)[:700]}")
        tally.counts[verdict] += 1
        tally.runs += len(trial.runs)
        tally.seconds += time.monotonic() - began
        if verdict != "failed":
            shutil.rmtree(folder, ignore_errors=True)
        return verdict

    def failed(self, kind: str, number: int, what: str) -> None:
        self.failures.append(f"{kind} {number}: {what}")
        self.say(
            f"FAILED {kind} {number} of seed {self.seed}: {what}\n"
            f"  again: python3 -m tests.faults --seed {self.seed} --repeat {kind}:{number}\n"
            f"  its files: {self.folder}/{kind}-{number}"
        )

    def run(self, kind: str, numbers: Iterable[int]) -> None:
        """Some trials of a kind; what is not here is asked for once."""
        for number in numbers:
            if self.trial(kind, number) == "skipped" and number == 0:
                tally = self.tallies[kind]
                if all(reason.startswith("all: ") for reason in tally.reasons):
                    break

    def table(self) -> str:
        """Counted per kind, in the form of docs/reliability.md."""
        rows = [
            "| kind | trials | " + " | ".join(VERDICTS) + " | runs |",
            "|---|" + "---:|" * (len(VERDICTS) + 2),
        ]
        total = Counter()
        for kind, tally in self.tallies.items():
            counts = [tally.counts[verdict] for verdict in VERDICTS]
            rows.append(f"| {kind} | {tally.trials} | " + " | ".join(map(str, counts)) + f" | {tally.runs} |")
            total.update(dict(zip(VERDICTS, counts)), trials=tally.trials, runs=tally.runs)
        rows.append(
            f"| all | {total['trials']} | "
            + " | ".join(str(total[v]) for v in VERDICTS)
            + f" | {total['runs']} |"
        )
        return "\n".join(rows)

    def skipped(self) -> list[str]:
        """A line for each reason of each kind."""
        return [
            f"skipped {count} of {kind}: {reason.removeprefix('all: ')}"
            for kind, tally in self.tallies.items()
            for reason, count in tally.reasons.items()
        ]
