"""Calls of the core for the functions of the package."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headgauge import _core, _executor
from headgauge._options import checked, declared, plain, take_own
from headgauge._texts import TextOrIds, checked_path, checked_spec, flag, texts_of
from headgauge.errors import BadInputError, UnsupportedError, UsageError, imported

Progress = Callable[[str, float, float], None] | bool
TEXTS = ("confirm",)


class Call:
    """One call of an analysis: its texts, its folder and the options of the core."""

    def __init__(self, experiment: str, text_or_ids: TextOrIds, options: dict[str, Any]) -> None:
        for name in ("text", "tokens"):
            if text_or_ids is not None and options.get(name) is not None:
                raise TypeError(f"{experiment.split()[0]}() was given texts twice, as {name} too")
        self.experiment = experiment
        options = dict(options)
        text = options.pop("text", None) if text_or_ids is None else text_or_ids
        options.pop("text", None)
        tokens = options.pop("tokens", None)
        self.texts: list[_core.Text] = [] if text is None else texts_of(text)
        if tokens is not None:
            self.texts += texts_of(tokens, "tokens", are_files=_are_paths(tokens))
        out, shard = options.pop("out", None), options.pop("shard", None)
        self.out = "" if out is None else checked_path(out, "out")
        self.shard = "" if shard is None else checked_spec(shard, "shard")
        self.force = flag(options.pop("force", False))
        others = {name: options.pop(name) for name in TEXTS if options.get(name) is not None}
        self.own = take_own(options)
        self.options = checked(experiment, {**options, **dict.fromkeys(others)})
        for name, given in others.items():
            self.options[name] = texts_of(given, name, are_files=_are_paths(tokens) and _are_paths(given))
        kinds = {one.is_ids for texts in (self.texts, *self.others.values()) for one in texts}
        if len(kinds) > 1:
            raise BadInputError(f"{experiment}: expected texts or token ids, found both; give one kind")

    @property
    def others(self) -> dict[str, list[_core.Text]]:
        return {name: self.options[name] for name in TEXTS if name in self.options}

    def run(self, model: Any, progress: Progress | None = None) -> Any:
        """`model`: a path or a name, or a LiveModel."""
        with _called(progress) as call:
            return _core.run(
                self.experiment,
                self.options,
                model,
                None,
                self.texts,
                out=self.out,
                shard=self.shard,
                progress=call,
                force=self.force,
                own=self.own,
            )


@contextlib.contextmanager
def _called(progress: Progress | None) -> Iterator[Callable[[str, float, float], None] | None]:
    """Returns what is called with the stage, what is done and the total: of True a line on stderr."""
    if not isinstance(progress, bool):
        if not (progress is None or callable(progress)):
            raise UsageError(f"progress: expected a function or True, found {progress!r:.80}")
        yield progress
        return
    shown = [""]

    def show(stage: str, done: float, total: float) -> None:
        line = f"\r{stage}: {done / max(total, 1e-9):4.0%}".ljust(60)
        if line != shown[-1]:
            print(line, end="", file=sys.stderr, flush=True)
            shown[:] = [line]

    try:
        yield show if progress else None
    finally:
        if shown[-1]:
            print(file=sys.stderr)


def _are_paths(items: Any) -> bool:
    if isinstance(items, str | os.PathLike):
        return True
    return isinstance(items, list | tuple) and any(isinstance(item, str | os.PathLike) for item in items)


def on_model(
    experiment: str,
    model: Any,
    text_or_ids: TextOrIds,
    options: dict[str, Any],
    progress: Progress | None,
    inputs: Any = None,
    cross: bool = False,
    executor: Any = None,
) -> Any:
    if inputs is not None and not hasattr(model, "named_modules"):
        raise UsageError("inputs: expected none but for a transformers model that is loaded, found some")
    if executor is not None:
        return _together(executor, experiment, model, text_or_ids, options, progress)
    if isinstance(model, str | os.PathLike):
        return Call(experiment, text_or_ids, options).run(checked_path(model, "model"), progress)
    if not hasattr(model, "named_modules"):
        raise UsageError(
            f"model: expected a path, a name or a transformers model, found {type(model).__name__}"
        )
    LiveModel = imported("headgauge._live", "hf").LiveModel

    for name in ("text", "tokens"):
        if text_or_ids is None and isinstance(options.get(name), Mapping):
            text_or_ids, options = options[name], {**options, name: None}
    with LiveModel(model, inputs, experiment, cross) as live:
        if live.alone:
            if text_or_ids is not None or any(options.get(name) is not None for name in ("text", "tokens")):
                raise UsageError(
                    f"{live.name}: expected ids, or inputs= in their place, found both; beside ids, inputs= is for the "
                    "encoder of an encoder-decoder, and a model of several parts (model.vision_model) is measured part "
                    "by part"
                )
            text_or_ids = live.stand_ins()
            if options.get("lengths") is None:
                options = {**options, "lengths": [len(text_or_ids[0])]}
        elif isinstance(text_or_ids, Mapping):
            text_or_ids = live.texts_of(text_or_ids)
            shortest = min(map(len, text_or_ids))
            if live.notices and max(lengths := _numbers(options.get("lengths")), default=0) > shortest:
                live.notices[-1] += f"; lengths end at the shortest, {shortest} tokens"
                options = {**options, "lengths": sorted({min(length, shortest) for length in lengths})}
        if live.swap is not None:
            options = {**options, "normalizer": options.get("normalizer") or live.swap.rule_of_all}
            live.runs_normalizer = options["normalizer"] == live.swap.rule_of_all
        return Call(experiment, text_or_ids, options).run(live, progress)


def _numbers(lengths: Any) -> list[int]:
    """Returns the lengths in any form that an option takes; none if they are automatic or no lengths."""
    given: Any = plain(lengths)
    words = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [given]
    return [int(word) for word in words] if all(str(word).strip().isdigit() for word in words) else []


def _together(
    executor: Any,
    experiment: str,
    model: Any,
    text_or_ids: TextOrIds,
    options: dict[str, Any],
    progress: Progress | None,
) -> Any:
    """The workers of an executor measure shares of the documents."""
    if not isinstance(model, str | os.PathLike):
        raise UsageError("executor: expected a checkpoint that workers can open, found a loaded model")
    call = Call(experiment, text_or_ids, {"threads": 1, **options})
    if call.shard:
        raise UsageError("shard: expected none beside executor=, whose workers measure the shards, found one")
    if call.own:
        raise UsageError(
            f"executor: expected names of {', '.join(call.own)}, found objects, which workers cannot be given"
        )
    packed = {name: list(map(_executor.pack, texts)) for name, texts in call.others.items()}
    task = _executor.Task(
        experiment, checked_path(model), {**call.options, **packed}, list(map(_executor.pack, call.texts))
    )
    with _called(progress) as shown:
        parts = _executor.run(executor, task, _executor.shards(executor, len(call.texts)), shown)
    folder = tempfile.mkdtemp(prefix="headgauge-shards-")
    shards = _executor.unpack(parts, folder)
    try:
        return task.run(out=call.out, force=call.force, shards=shards)
    except Exception as error:
        if not call.out:
            raise
        found = task.run(shards=shards)
        warnings.warn(f"{error}; the results are returned, and save(folder) writes them", stacklevel=3)
        return found
    finally:
        shutil.rmtree(folder)


def require_cross(inputs: Any, options: dict[str, Any]) -> None:
    """What of a scan has a meaning where keys are of another text."""
    if inputs is None:
        raise UsageError("attention: expected inputs= for the encoder beside cross, found none")
    given = options.get("measures")
    if given is None:
        options["measures"] = ["weights", "sensitivity"]
    groups = {
        str(g) for g in (options["measures"].split(",") if isinstance(given, str) else options["measures"])
    }
    others = sorted(groups - {"weights", "sensitivity", "model"})
    others += [name for name in ("pattern", "plan", "examples") if options.get(name) is not None]
    if others:
        raise UnsupportedError(
            f"attention: expected the groups weights, sensitivity and model of attention to another text, found {', '.join(others)}"
        )


def refuse_synthetic(options: dict[str, Any]) -> None:
    """Raises for options of synthetic tokens that were given for a model."""
    if options.get("synthetic") is not None:
        return
    own = declared("simulate").keys() - declared("converge").keys() - {"synthetic"}
    for name in own & {name for name, value in options.items() if value is not None}:
        raise UsageError(f"{name}: expected synthetic=, found a model; leave one of the two out")
