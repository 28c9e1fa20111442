"""Runs shards of the documents on the workers of an executor."""

from __future__ import annotations

import operator
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from headgauge import _core
from headgauge._options import declared
from headgauge.errors import UsageError

JOURNAL = "journal"


# A document as it is sent to a worker: name, True for ids, and its contents if in memory.
Packed: TypeAlias = tuple[str, bool, str | None, list[int] | None]


def pack(text: _core.Text) -> Packed:
    return text.name, text.is_ids, text.utf8, text.ids


@dataclass(frozen=True)
class Task:
    """A run of which each worker measures one share."""

    experiment: str
    model: str
    options: dict[str, Any]
    texts: list[Packed]

    def shard(self, which: str) -> dict[str, bytes]:
        """Measures share `which` ("1/4") of the documents in a worker; returns its journal
        files."""
        with tempfile.TemporaryDirectory(prefix="headgauge-shard-") as folder:
            self.run(out=folder, shard=which)
            return {path.name: path.read_bytes() for path in (Path(folder) / JOURNAL).iterdir()}

    def run(self, **how: Any) -> _core.Results:
        """Measures, or joins shards; `how` has the settings of the run."""
        options = {
            name: [_core.Text(*text) for text in value]
            if declared(self.experiment)[name]["type"] == "texts"
            else value
            for name, value in self.options.items()
        }
        results: _core.Results = _core.run(
            self.experiment, options, self.model, None, [_core.Text(*text) for text in self.texts], **how
        )
        return results


def shards(executor: Any, documents: int) -> int:
    """Returns the number of shards: one for each worker if their number is known, at most one for
    each document."""
    workers = getattr(executor, "_max_workers", None)
    if workers is None and hasattr(executor, "ncores"):
        workers = len(executor.ncores())
    if workers is None and hasattr(executor, "cluster_resources"):
        workers = int(executor.cluster_resources().get("CPU", 1))
    return max(1, min(documents, workers or documents))


def run(
    executor: Any,
    task: Task,
    count: int,
    progress: Callable[[str, float, float], None] | None,
) -> list[dict[str, bytes]]:
    """Measures all shares and returns their journals. If a worker raises, raises the same exception
    and cancels the other shares."""
    names = [f"{index}/{count}" for index in range(1, count + 1)]
    # Ray has no executor of its own: its module has remote() and get().
    if hasattr(executor, "remote") and hasattr(executor, "get") and not hasattr(executor, "submit"):
        remote = executor.remote(Task.shard)
        futures = [remote.remote(task, name) for name in names]
        take = executor.get
    elif hasattr(executor, "submit"):
        # Dask merges equal calls unless pure=False; equal calls may differ in the contents of the
        # files.
        pure = {"pure": False} if hasattr(executor, "ncores") else {}
        futures = [executor.submit(Task.shard, task, name, **pure) for name in names]
        take = operator.methodcaller("result")
    else:
        raise UsageError(
            f"executor: expected one with submit(), or the module ray, found {type(executor).__name__}"
        )
    parts = []
    try:
        for done, future in enumerate(futures):
            if progress is not None:
                progress("shards", float(done), float(count))
            parts.append(take(future))
    except BaseException:
        for future in futures:
            cancel = getattr(future, "cancel", None)
            if cancel is not None:
                cancel()
        raise
    if progress is not None:
        progress("shards", float(count), float(count))
    return parts


def unpack(parts: list[dict[str, bytes]], folder: str) -> list[str]:
    """Writes the journals in the layout that merge expects; returns their folders."""
    folders = []
    for index, files in enumerate(parts):
        inside = Path(folder) / str(index) / JOURNAL
        inside.mkdir(parents=True)
        for name, data in files.items():
            (inside / name).write_bytes(data)
        folders.append(os.fspath(inside.parent))
    return folders
