"""The analyses of headgauge as functions. Their options are those of the core: _signatures.py adds them to
signatures and docstrings, and the build writes them into _commands.pyi (tools/python_stubs.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from headgauge import _core
from headgauge._arrays import ArraySource
from headgauge._calls import Call, Progress, on_model, refuse_synthetic, require_cross
from headgauge._options import checked, take_own
from headgauge._signatures import takes
from headgauge._texts import TextOrIds, checked_path, checked_spec, flag, texts_of
from headgauge.errors import UsageError
from headgauge.results import Results

REPRODUCED = ("limits", "tokens")


def merge(
    folders: Iterable[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Results:
    """Joins what `headgauge scan --shard I/N` (and compare, converge, validate) left in these folders, their
    --out: bit for bit what one run measures. The model and the texts are where they were. `force` replaces
    finished results of another request in `out`."""
    if isinstance(folders, str | bytes | os.PathLike) or not isinstance(folders, Iterable):
        raise UsageError(f"folders: expected a list of folders, found {type(folders).__name__}")
    paths = [checked_path(folder, "folders") for folder in folders]
    return Results(_core.merge(paths, "" if out is None else checked_path(out, "out"), None, flag(force)))


@takes("scan")
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
    and the total; progress=True shows them in a line on stderr. `executor`, a concurrent.futures executor, a Dask client or the module
    ray, has its workers measure shares of several texts, each with `threads=` of 1 unless it is given: the same
    results, bit for bit (docs/scale.md). The workers need the package, and the checkpoint at the same path.

    Raises UsageError, BadInputError, UnsupportedError, ResourceError (headgauge.errors), TypeError
    for an option that there is not.
    """
    if not isinstance(attention, str) or attention not in ("self", "cross"):
        raise UsageError(f"attention: expected self or cross, found {attention!r}")
    if attention == "cross":
        require_cross(inputs, options)
    return Results(
        on_model("scan", model, text_or_ids, options, progress, inputs, attention == "cross", executor)
    )


@takes("compare")
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
    included. See scan() for what is not an option."""
    return Results(on_model("compare", model, text_or_ids, options, progress, inputs, executor=executor))


@takes("converge", "simulate")
def converge(
    model: Any = None,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    executor: Any = None,
    **options: Any,
) -> Results:
    """Measures how much context each head needs, or with `synthetic=` and no model how attention over
    random tokens converges. See scan() for what is not an option."""
    refuse_synthetic(options)
    if options.get("synthetic") is not None:
        if model is not None:
            raise UsageError("converge: expected a model or synthetic=, found both; leave one out")
        return Results(Call("simulate", text_or_ids, options).run(None, progress))
    return Results(on_model("converge", model, text_or_ids, options, progress, executor=executor))


@takes("validate")
def validate(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    executor: Any = None,
    **options: Any,
) -> Results:
    """Tells which metrics predict what a change of a head does to the loss, on at least two texts.
    See scan() for what is not an option."""
    return Results(on_model("validate", model, text_or_ids, options, progress, executor=executor))


@takes("plan")
def plan(
    model: Any, text_or_ids: TextOrIds = None, *, progress: Progress | None = None, **options: Any
) -> Results:
    """Searches a change of the attention head by head on texts, and confirms it on those of
    `confirm=`, which had no part in it and are given as texts are to scan(). `Results.plan` holds what
    was found, as plan.json does."""
    found, text = on_model("plan", model, text_or_ids, options, progress)
    results = Results(found)
    results.plan = json.loads(text)
    return results


@takes("reproduce limits", "reproduce tokens")
def reproduce(
    what: str,
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Results:
    """Measures what a paper claims: `what` is "limits" (paper A) or "tokens" (paper B). The
    report and the figures are written where `out=` says; Results has them too."""
    if not isinstance(what, str) or what not in REPRODUCED:
        raise UsageError(f"what: expected one of {', '.join(REPRODUCED)}, found {what!r}")
    return Results(on_model(f"reproduce {what}", model, text_or_ids, options, progress))


@takes("task", without=("force",), shared=False)
def task(
    name: str,
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    text: TextOrIds = None,
    **options: Any,
) -> None:
    """Writes cases of a retrieval task (docs/tasks.md) in the tokens of a model to the file `out`, one case a
    line. `name` is copy, passkey, keys, replay or repeats; `model` is the path or the
    name of a checkpoint; `text` is what facts are hidden in, given as texts are to scan().

    Raises UsageError, BadInputError, UnsupportedError, ResourceError (headgauge.errors), TypeError
    for an option that there is not.
    """
    given = checked("task", options)
    if text is not None:
        given["text"] = texts_of(text)
    path = checked_path(out, "out")
    _core.write_task(checked_spec(name, "name"), checked_path(model, "model"), path, given)


def _loaded(one: Any, name: str, read: list[str]) -> _core.Results:
    if not isinstance(one, Results | str | os.PathLike):
        raise UsageError(f"{name}: expected Results or a path, found {type(one).__name__}")
    found = one if isinstance(one, Results) else Results.load(one)
    read += found._read
    return found._core


def _side(given: Any, name: str, read: list[str]) -> tuple[list[_core.Results], str]:
    """One side of a diff: one or several results, with the name that messages give them. Adds what is read."""
    if isinstance(given, str | os.PathLike):
        path = checked_path(given, name)
        read.append(path)
        return [_core.read_results(file) for file in _core.results_files(path)], path
    if isinstance(given, Iterable) and not isinstance(given, Results):
        return [_loaded(one, f"{name} {number}", read) for number, one in enumerate(given, 1)], name
    return [_loaded(given, name, read)], name


def _saved(results: Results, out: Any, force: bool, read: list[str]) -> Results:
    if out is not None:
        _core.require_unread_results(checked_path(out, "out"), read)
        results.save(out, force=force)
    return results


@takes("diff", shared=False)
def diff(old: Any, new: Any, *, out: str | os.PathLike[str] | None = None, **options: Any) -> Results:
    """Returns what changed between two results: Results, or paths of results.json or their folders. Four
    results or more on each side, as a list or in the folders of a folder, are compared text by text
    (docs/diff.md). `Results.exceeded` has a sentence for each limit of limits= that a change exceeds."""
    force = flag(options.pop("force", False))
    given = checked("diff", options)
    read: list[str] = []
    before, old_name = _side(old, "old", read)
    after, new_name = _side(new, "new", read)
    core, exceeded = _core.diff(before, after, old_name, new_name, given)
    results = Results(core)
    results.exceeded = exceeded
    return _saved(results, out, force, [*read, given.get("limits", "")])


@takes("series", shared=False)
def series(results: Iterable[Any], *, out: str | os.PathLike[str] | None = None, **options: Any) -> Results:
    """Joins the results of several checkpoints of one model along the dimension `step`: a list of
    Results, or of paths of results.json or their folders. The steps of a list of Results are 1, 2, 3 ...
    unless `steps=` gives them; those of paths are the numbers in which the paths differ. Adds for each
    metric and head the change from the first step to the last with its test, the slope, and the step
    of half the change. Raises UsageError for steps that do not fit, BadInputError for results of
    other heads, another length or another judged N."""
    force = flag(options.pop("force", False))
    given = checked("series", options)
    if isinstance(results, Results | str | os.PathLike) or not isinstance(results, Iterable):
        raise UsageError(f"results: expected a list of Results or paths, found {type(results).__name__}")
    read: list[str] = []
    steps = [_side(one, f"results {number}", read) for number, one in enumerate(results, 1)]
    joined = Results(_core.series([runs for runs, _ in steps], [name for _, name in steps], given))
    return _saved(joined, out, force, read)


@takes("scan", without=("x", "plan"), shared=False)
def analyze(
    q: Any,
    k: Any,
    v: Any = None,
    x: Any = None,
    *,
    causal: bool = True,
    window: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    position_bias: Any = None,
    copy: bool | None = None,
    **options: Any,
) -> Results:
    """Measures the attention of queries and keys.

    `q`: (length, d), (heads, length, d) or (batch, heads, length, d); `k` likewise, with as many
    heads or a divisor of them (grouped heads); `v` with any dimension of its own; `x`: the vectors
    that distances are measured between, (length, w) or (batch, length, w). Each row of a batch is a
    document. numpy arrays, torch tensors, anything of DLPack or the array interface; float32 that is
    contiguous and in main memory is not copied, and with copy=False nothing else is taken.

    `window`: keys that a query sees, its own included, 0 for all; `scale`: of the scores, by default
    1 / sqrt(d); `softcap` c > 0: logits become c tanh(l / c);
    `position_bias` (heads, 2 length - 1), or that of one head for all: what is added to the logit of key j
    for query i stands at length - 1 + j - i (ALiBi, T5). Logits are natural; see
    docs/mathematics.md section 2.

    Raises BadInputError for shapes that do not fit, numbers that are not finite, and what cannot be
    taken without a copy; and what scan() raises.
    """
    source = ArraySource(
        q,
        k,
        v,
        x,
        causal=causal,
        window=window,
        scale=scale,
        softcap=softcap,
        position_bias=position_bias,
        copy=copy,
    )
    out = "" if options.get("out") is None else checked_path(options["out"], "out")
    options.pop("out", None)
    force = flag(options.pop("force", False))
    own = take_own(options)
    given = checked("scan", options, "analyze")
    return Results(_core.run("scan", given, None, source, [], out=out, force=force, own=own))
