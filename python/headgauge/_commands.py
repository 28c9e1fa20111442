"""The analyses of headgauge as functions."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from headgauge import _core, _executor
from headgauge._options import checked, declared
from headgauge._texts import TextOrIds, checked_path, texts_of
from headgauge.errors import BadInputError, UnsupportedError, UsageError
from headgauge.results import Results

Progress = Callable[[str, float, float], None]
TEXTS = ("fit", "confirm")
REPRODUCED = ("limits", "tokens")


class _Call:
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
        self.out = "" if out is None else checked_path(out)
        self.shard = "" if shard is None else str(shard)
        others = {name: options.pop(name) for name in TEXTS if options.get(name) is not None}
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
        return _core.run(
            self.experiment,
            self.options,
            model,
            None,
            self.texts,
            out=self.out,
            shard=self.shard,
            progress=progress,
        )


def _are_paths(items: Any) -> bool:
    if isinstance(items, str | os.PathLike):
        return True
    return isinstance(items, list | tuple) and any(isinstance(item, str | os.PathLike) for item in items)


def _on_model(
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
        return _Call(experiment, text_or_ids, options).run(checked_path(model), progress)
    if not hasattr(model, "named_modules"):
        raise UsageError(
            f"model: expected a path, a name or a transformers model, found {type(model).__name__}"
        )
    from headgauge._live import LiveModel

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
        return _Call(experiment, text_or_ids, options).run(live, progress)


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
    call = _Call(experiment, text_or_ids, {"threads": 1, **options})
    if call.shard:
        raise UsageError("shard: expected none beside executor=, whose workers measure the shards, found one")
    packed = {name: list(map(_executor.pack, texts)) for name, texts in call.others.items()}
    task = _executor.Task(
        experiment, checked_path(model), {**call.options, **packed}, list(map(_executor.pack, call.texts))
    )
    parts = _executor.run(executor, task, _executor.shards(executor, len(call.texts)), progress)
    with tempfile.TemporaryDirectory(prefix="headgauge-shards-") as folder:
        return task.run(out=call.out, shards=_executor.unpack(parts, folder))


def merge(folders: Iterable[str | os.PathLike[str]], *, out: str | os.PathLike[str] | None = None) -> Results:
    """Joins what `headgauge scan --shard I/N` (and compare, converge, validate) left in these folders, their
    --out: bit for bit what one run measures. The model and the texts are where they were."""
    return Results(
        _core.merge(list(map(checked_path, folders)), "" if out is None else checked_path(out), None)
    )


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
    return Results(
        _on_model("scan", model, text_or_ids, options, progress, inputs, attention == "cross", executor)
    )


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
    return Results(_on_model("compare", model, text_or_ids, options, progress, inputs, executor=executor))


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
    _refuse_synthetic(options)
    if options.get("synthetic") is not None:
        if model is not None:
            raise UsageError("converge: expected a model or synthetic=, found both; leave one out")
        return Results(_Call("simulate", text_or_ids, options).run(None, progress))
    return Results(_on_model("converge", model, text_or_ids, options, progress, executor=executor))


def _refuse_synthetic(options: dict[str, Any]) -> None:
    """Raises for options of synthetic tokens that were given for a model."""
    if options.get("synthetic") is not None:
        return
    own = declared("simulate").keys() - declared("converge").keys() - {"synthetic"}
    for name in own & {name for name, value in options.items() if value is not None}:
        raise UsageError(f"{name}: expected synthetic=, found a model; leave one of the two out")


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
    return Results(_on_model("validate", model, text_or_ids, options, progress, executor=executor))


def plan(
    model: Any, text_or_ids: TextOrIds = None, *, progress: Progress | None = None, **options: Any
) -> Results:
    """Searches a change of the attention head by head on texts, and confirms it on those of
    `confirm=`, which had no part in it and are given as texts are to scan(). `Results.plan` holds what
    was found, as plan.json does. Options of `headgauge plan`."""
    found, text = _on_model("plan", model, text_or_ids, options, progress)
    results = Results(found)
    results.plan = json.loads(text)
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
    return Results(_on_model(f"reproduce {what}", model, text_or_ids, options, progress))


def diff(old: Any, new: Any, *, out: str | os.PathLike[str] | None = None, **options: Any) -> Results:
    """What changed between two results: Results, or paths of results.json or their folders. Options
    of `headgauge diff`."""
    given = checked("diff", options)
    pairs = [
        (one._core, name) if isinstance(one, Results) else (Results.load(one)._core, os.fspath(one))
        for name, one in (("old", old), ("new", new))
    ]
    (before, old_name), (after, new_name) = pairs
    results = Results(_core.diff(before, after, old_name, new_name, given))
    if out is not None:
        results.save(out)
    return results
