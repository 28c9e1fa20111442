"""The commands of headgauge as functions."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headgauge import _core, _executor
from headgauge._options import arguments, declared
from headgauge._source import Model
from headgauge._texts import Given, TextOrIds, as_path
from headgauge.errors import BadInputError, Error, UnsupportedError, UsageError
from headgauge.results import Results

Progress = Callable[[str, float, float], None]
TEXTS = ("text", "tokens", "confirm", "fit")
REPRODUCED = ("limits", "tokens")


def _words(command: str, positional: list[str], options: dict[str, Any]) -> tuple[list[str], Given]:
    """What the command line is told, and the texts behind it."""
    given = Given()
    for name in TEXTS:
        if name in declared(command) and options.get(name) is not None:
            given.add(name, options.pop(name))
    if given.texts and given.tokens:
        raise BadInputError(f"{command}: expected texts or token ids, found both; give one kind")
    words = [*command.split(), *map(as_path, positional), *given.words, *arguments(command, options)]
    for word in words:
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            raise BadInputError(f"{word!a}: expected names in UTF-8, found other bytes; rename it")
    return words, given


def _call(
    words: list[str], given: Given, progress: Progress | None = None, model: Model | None = None
) -> tuple[Results | None, str]:
    _, results, printed = _core.run(words, None, model, given.texts, given.tokens, progress)
    return (None if results is None else Results(results)), printed


def _run(
    command: str,
    positional: list[str],
    options: dict[str, Any],
    progress: Progress | None = None,
    model: Model | None = None,
) -> tuple[Results | None, str]:
    return _call(*_words(command, positional, options), progress, model)


def _measured(*call: Any) -> Results:
    results, _ = _run(*call)
    assert results is not None
    return results


def _on_model(
    command: str,
    model: Any,
    text_or_ids: TextOrIds,
    options: dict[str, Any],
    progress: Progress | None,
    inputs: Any = None,
    cross: bool = False,
    executor: Any = None,
) -> Results:
    for name in ("text", "tokens"):
        if text_or_ids is not None and options.get(name) is not None:
            raise TypeError(f"{command.split()[0]}() was given texts twice, as {name} too")
    if inputs is not None and not hasattr(model, "named_modules"):
        raise UsageError("inputs: expected none but for a transformers model that is loaded, found some")
    if model is None and options.get("synthetic") is not None:
        return _measured(command, [], options, progress)
    if text_or_ids is not None:
        options["text"] = text_or_ids
    if executor is not None:
        return _together(executor, command, model, options, progress)
    if isinstance(model, str | os.PathLike):
        return _measured(command, [os.fspath(model)], options, progress)
    if not hasattr(model, "named_modules"):
        raise UsageError(
            f"model: expected a path, a name or a transformers model, found {type(model).__name__}"
        )
    from headgauge._live import LiveModel

    with LiveModel(model, inputs, command, cross) as live:
        if live.alone:
            if any(options.get(name) is not None for name in ("text", "tokens")):
                raise UsageError(
                    f"{live.name}: expected ids, or inputs= in their place, found both; beside ids, inputs= is for the "
                    "encoder of an encoder-decoder, and a model of several parts (model.vision_model) is measured part "
                    "by part"
                )
            options["text"] = live.stand_ins()
            if options.get("lengths") is None:
                options["lengths"] = [len(options["text"][0])]
        return _measured(command, [live.name], options, progress, live)


def _together(
    executor: Any, command: str, model: Any, options: dict[str, Any], progress: Progress | None
) -> Results:
    """The documents, dealt out to the workers of an executor."""
    if not isinstance(model, str | os.PathLike):
        raise UsageError("executor: expected a checkpoint that workers can open, found a loaded model")
    options = dict(options)
    out = options.pop("out", None)
    options.setdefault("threads", 1)
    words, given = _words(command, [os.fspath(model)], options)
    count = _executor.shards(executor, given.documents)
    parts = _executor.run(executor, words, given, count, progress)
    with tempfile.TemporaryDirectory(prefix="headgauge-shards-") as folder:
        joined = ["merge", *_executor.unpack(parts, folder)]
        results, _ = _call([*joined, *([f"--out={os.fspath(out)}"] if out is not None else [])], given)
    assert results is not None
    return results


def merge(folders: Iterable[str | os.PathLike[str]], **options: Any) -> Results:
    """Joins what `headgauge scan --shard I/N` (and compare, converge, validate) left in these folders, their
    --out: bit for bit what one run measures. The model and the texts are where they were. Options of
    `headgauge merge`."""
    return _measured("merge", [os.fspath(folder) for folder in folders], options)


def scan(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    inputs: Any = None,
    attention: str = "self",
    progress: Progress | None = None,
    executor: Any = None,
    **options: Any,
) -> Results:
    """Measures every head of a model on a text, at every context length.

    `model` is the path or the name of a checkpoint, which the C++ forward pass runs, a dump, or a
    transformers PreTrainedModel, which is run as it is. `text_or_ids` is a str (the text itself), a
    path, token ids in one row, a list of such, or what a tokenizer gives: each row of a batch is a text, without
    its padding. A model that takes an image or a sound in place of ids is given `inputs` alone
    ({"pixel_values": ...}), and measured over the whole. Of an encoder-decoder `inputs` is what its encoder gets, as
    forward() takes it ({"input_ids": ...}, {"input_features": ...}), or a list of one for each text; the ids
    are the decoder's, whose self-attention is measured, or with attention="cross" that to the encoder: groups
    weights, sensitivity and model, of rows that see all of the encoder's text. `progress` is called with the stage, what is done
    and the total. The options are those of `headgauge scan` (docs/cli.md), with `_` for `-`: lists
    where the command line takes commas. `executor`, a concurrent.futures executor, a Dask client or the module
    ray, has its workers measure shares of several texts, each with `threads=` of 1 unless it is given: the same
    results, bit for bit (docs/scale.md). The workers need the package, and the checkpoint at the same path.

    Raises UsageError, BadInputError, UnsupportedError, ResourceError (headgauge.errors), TypeError
    for an option that there is not.
    """
    if attention not in ("self", "cross"):
        raise UsageError(f"attention: expected self or cross, found {attention!r}")
    if attention == "cross":
        _require_cross(inputs, options)
    return _on_model("scan", model, text_or_ids, options, progress, inputs, attention == "cross", executor)


def _require_cross(inputs: Any, options: dict[str, Any]) -> None:
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


def compare(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    inputs: Any = None,
    progress: Progress | None = None,
    executor: Any = None,
    **options: Any,
) -> Results:
    """Sets normalizers, patterns or a plan side by side with the model's own attention, the loss
    included. Options of `headgauge compare`; see scan() for the rest."""
    return _on_model("compare", model, text_or_ids, options, progress, inputs, executor=executor)


def converge(
    model: Any = None,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    executor: Any = None,
    **options: Any,
) -> Results:
    """Measures how much context each head needs, or with `synthetic=` and no model how attention over
    random tokens converges. Options of `headgauge converge`; see scan()."""
    return _on_model("converge", model, text_or_ids, options, progress, executor=executor)


def validate(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    executor: Any = None,
    **options: Any,
) -> Results:
    """Tells which metrics predict what a change of a head does to the loss, on at least two texts.
    Options of `headgauge validate`; see scan()."""
    return _on_model("validate", model, text_or_ids, options, progress, executor=executor)


def plan(
    model: Any, text_or_ids: TextOrIds = None, *, progress: Progress | None = None, **options: Any
) -> Results:
    """Searches a change of the attention head by head on texts, and confirms it on those of
    `confirm=`, which had no part in it and are given as texts are to scan(). `Results.plan` holds what
    was found, as plan.json does. Options of `headgauge plan`."""
    with tempfile.TemporaryDirectory(prefix="headgauge-plan-") as folder:
        if options.get("out") is None:
            options["out"] = folder
        results = _on_model("plan", model, text_or_ids, options, progress)
        found = Path(os.fspath(options["out"])) / "plan.json"
        results.plan = json.loads(found.read_text("utf-8")) if found.exists() else None
        return results


def reproduce(
    what: str,
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Results:
    """Measures what a paper claims: `what` is "limits" (paper A) or "tokens" (paper B). The
    report and the figures are written where `out=` says; Results has them too. Options of
    `headgauge reproduce`."""
    if what not in REPRODUCED:
        raise UsageError(f"what: expected one of {', '.join(REPRODUCED)}, found {what!r}")
    with tempfile.TemporaryDirectory(prefix="headgauge-reproduce-") as folder:
        if options.get("out") is None:
            options["out"] = folder
        return _on_model(f"reproduce {what}", model, text_or_ids, options, progress)


def diff(old: Any, new: Any, **options: Any) -> Results:
    """What changed between two results: Results, or paths of results.json or their folders. Options
    of `headgauge diff`."""
    with tempfile.TemporaryDirectory(prefix="headgauge-diff-") as folder:
        paths = []
        for name, results in (("old", old), ("new", new)):
            if isinstance(results, Results):
                results.save(os.path.join(folder, name))
                results = os.path.join(folder, name)
            paths.append(os.fspath(results))
        try:
            return _measured("diff", paths, options)
        except Error as error:  # name what the caller gave
            message = str(error)
            for name in ("old", "new"):
                message = message.replace(os.path.join(folder, name, "results.json"), name)
            raise type(error)(message) from None
