"""Measures the heads of a model while it trains."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import transformers
from torch import distributed

from headgauge._attention import arguments_of, unwrapped
from headgauge._calls import Call
from headgauge._live import LiveModel
from headgauge._metric_names import MetricName
from headgauge._texts import checked_path, checked_spec, whole
from headgauge.errors import BadInputError, ResourceError, UnsupportedError, UsageError
from headgauge.results import Results

MEASURES = ("weights", "logits", "separability", "sensitivity")
KEPT: tuple[MetricName, ...] = (
    "entropy_with_sinks", "entropy_normalized_with_sinks", "effective_tokens_with_sinks", "max_weight_with_sinks", "sink_weight", "logit_range",
    "largest_logit", "mean_logit", "log_sum_exp", "separability_excess_with_sinks", "jacobian_spectral",
)  # fmt: skip
SCHEMA = "headgauge.monitor/2"
BEGIN = json.dumps({"schema": SCHEMA})[:-1].encode()  # of the line of every record
SHORTEST = 32  # minimum number of tokens of a measured text
# Errors that end no training.
OF_BATCH = (BadInputError, ResourceError, UnsupportedError, torch.OutOfMemoryError)

Values = npt.NDArray[np.float64]
Records = dict[int, dict[str, Values]]  # the metrics, by step
T = TypeVar("T")


class Drift:
    """Detects when a head begins to do what training should prevent.

    A condition must hold in two consecutive records; the first of them is reported as its
    beginning. The thresholds are conventions, not tests: a warning says where to look.
    """

    def __init__(
        self, name: str, metric: MetricName, holds: Callable[[Values, Values], Any], text: str
    ) -> None:
        self.name: str = name
        self.metric: MetricName = metric
        self._holds, self._text = holds, text
        self._first: Values | None = None
        self._since: npt.NDArray[np.int64] | None = None
        self._said: set[tuple[int, int]] = set()

    def look(self, step: int, values: Values) -> list[str]:
        if self._first is None or self._since is None:
            self._first, self._since = values.copy(), np.full(values.shape, -1)
        self._first = np.where(np.isnan(self._first), values, self._first)
        with np.errstate(invalid="ignore"):
            holds = np.asarray(self._holds(values, self._first))
        lines = []
        for layer, head in map(tuple, np.argwhere(holds & (self._since >= 0)).tolist()):
            if (layer, head) not in self._said:
                self._said.add((layer, head))
                lines.append(
                    f"step {self._since[layer, head]}: {self.name} began in head {layer}.{head}: {self._text}, "
                    f"now {values[layer, head]:.3g}, at first {self._first[layer, head]:.3g}"
                )
        self._since = np.where(holds, np.where(self._since < 0, step, self._since), -1)
        return lines


def drifts() -> list[Drift]:
    return [
        Drift("entropy collapse", "entropy_normalized_with_sinks", lambda now, first: (now < 0.05) & (now < first / 2),
              "entropy below 0.05 of its maximum"),
        Drift("dispersion", "entropy_normalized_with_sinks", lambda now, first: (now > 0.95) & (first < 0.9),
              "entropy above 0.95 of its maximum"),
        Drift("logit growth", "logit_range", lambda now, first: (now > 50) & (now > 2 * first),
              "scores that spread over more than 50"),
        Drift("large logits", "largest_logit", lambda now, first: now > 100,
              "a score above 100, where QK-clip acts"),
    ]  # fmt: skip


class Monitor:
    """Measures a model that is being trained, on rows of its own batches.

    Call step() after each optimizer step. Every `every` steps it measures the first text of the
    last batch, with `queries` sampled rows in each octave of position: a forward pass without
    gradients in evaluation mode, after which the model and the random state are as before. Metrics
    per head: entropy, effective tokens and largest weight (sinks included), weight on sinks, range of the logits,
    largest logit, mean logit, log-sum-exp, separability above its null (sinks included), spectral norm of the
    Jacobian (docs/formats.md).

    `path`: a JSON Lines file to which each record is appended, or a folder, for its monitor.jsonl. A training that is
    resumed goes on from the records of earlier steps: warnings compare with the first of them. A file that holds
    something else, or records of another model, stays as it is: records go to NAME-2.jsonl, and a warning says so.
    `writer`: a SummaryWriter of
    TensorBoard, or an object with the same add_scalar, add_histogram and add_image. `warn`: called
    with a sentence for each problem that begins; by default warnings.warn.

    Under torch.compile the uncompiled module is measured. Under DistributedDataParallel,
    fully_shard() and FullyShardedDataParallel every process calls step() and measures a text of its
    own; records are means over the processes, of the largest logit the largest value, and the first
    process writes them.

    A step whose text cannot be measured is skipped and counted. A head whose scores are not finite is NaN in the
    record (null in the file), and a warning names it. Raises UsageError for a model that scan() does not take.
    """

    def __init__(
        self, model: Any, *, every: int = 100, queries: int = 64, path: str | os.PathLike[str] | None = None,
        writer: Any = None, measures: Sequence[str] = MEASURES, warn: Callable[[str], Any] | None = None,
    ) -> None:  # fmt: skip
        self.every: int = whole(every, "every")
        self.queries: int = whole(queries, "queries")
        self.measures: list[str] = [checked_spec(name, "measures") for name in measures]
        self.records: list[dict[str, Any]] = []
        self.skipped: int = 0
        """Steps that were to be measured, and had no text that can be; the first warning of a kind says why."""
        self._model = unwrapped(model)
        LiveModel(self._model)  # raises now what would end the training later
        self._names = list(arguments_of(self._model))
        self._warn = warn if warn is not None else (lambda text: warnings.warn(text, stacklevel=4))
        self._said: set[str | int] = set()  # kinds of reasons, and layers with scores that are not finite
        self._writer, self._drifts, self._steps = writer, drifts(), 0
        self._batch: dict[str, Any] = {}
        self._began, self._spent = time.perf_counter(), 0.0
        self._first = not distributed.is_initialized() or distributed.get_rank() == 0
        self._file: Any = None
        self._path: Path | None = None
        """The file whose records are not yet known."""
        if path is not None and self._first:
            self._path = Path(checked_path(path))
            if self._path.is_dir():
                self._path /= "monitor.jsonl"
            if self._path.exists() and not self._path.is_file():  # a pipe would wait for a reader
                raise UsageError(f"path: expected a file or a folder, found another ({self._path})")
            try:
                self._file = self._path.open("a", encoding="utf-8")
            except OSError as error:
                raise ResourceError(f"path: expected a file to write to, found: {error}") from error
        # The hook is on the object that is called: for a compiled module this is outside of the
        # compiled code. It is a function, which copies of the model share: a method would be copied
        # with its files.
        self._hook = model.register_forward_pre_hook(
            lambda module, args, given: self._see(module, args, given), with_kwargs=True
        )

    def _see(self, module: Any, args: tuple[Any, ...], given: dict[str, Any]) -> None:
        # module.training does not decide: Lightning keeps a model in the mode in which it was
        # loaded.
        if not torch.is_grad_enabled():
            return
        batch = (dict(zip(self._names, args, strict=False)) | given).items()
        empty = {k for k, v in batch if hasattr(v, "get_seq_length") and v.get_seq_length() == 0}  # caches
        # Larger tensors are refused by name or shape: they need not stay in memory.
        self._batch = {k: v.shape if getattr(v, "ndim", 0) > 2 else v for k, v in batch if k not in empty}

    @property
    def share(self) -> float:
        """Returns the share of the time since the beginning that was spent measuring."""
        return self._spent / max(time.perf_counter() - self._began, 1e-9)

    def step(self, step: int | None = None) -> dict[str, Any] | None:
        """Counts a step; `step` is its number, by default one more than the last. Returns the
        record if this step was measured."""
        self._steps = self._steps + 1 if step is None else step
        if self._steps % self.every != 0:
            return None
        began = time.perf_counter()
        try:
            return self._measure(began)
        except OF_BATCH as error:
            self._skip(str(error))
            return None
        finally:
            self._spent += time.perf_counter() - began

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        kind = reason.split(":")[0]
        if kind not in self._said and self._first:
            self._warn(f"step {self._steps}: nothing was measured, for {reason}; see Monitor.skipped")
        self._said.add(kind)

    def _text(self, live: LiveModel) -> list[int]:
        """Returns the first text of the last batch; no step measures a batch twice."""
        batch, self._batch = self._batch, {}
        if batch.get("input_ids") is None:
            raise BadInputError("no forward pass with gradients had token ids (input_ids) since the last one")
        first = {k: v[:1] if isinstance(v, torch.Tensor) and v.ndim > 1 else v for k, v in batch.items()}
        ids = live.texts_of(first)[0][: live.positions or None]
        if len(ids) < SHORTEST:
            raise BadInputError(f"a text has fewer than {SHORTEST} tokens")
        return ids

    def _of_text(self, live: LiveModel, ids: list[int]) -> tuple[dict[str, Values], set[tuple[int, int]]]:
        """Returns the metrics of a text, and the heads whose scores are not finite, which are NaN in them."""
        live.undefined = set()
        options = {"lengths": [len(ids)], "queries": self.queries, "measures": self.measures}
        with live:
            rule = live.swap and live.swap.rule_of_all
            results = Results(Call("scan", ids, {**options, "normalizer": rule}).run(live))
        own: dict[str, Values] = {name: _of_heads(results, name) for name in KEPT if name in results.metrics}
        for values, head in itertools.product(own.values(), live.undefined):
            values[head] = np.nan
        return own, live.undefined

    def _measure(self, began: float) -> dict[str, Any]:
        live = LiveModel(self._model)
        ids = _of_processes(lambda: self._text(live))[0]
        of_all = _of_processes(lambda: self._of_text(live, ids))[1]
        metrics = {k: _joined(k, np.stack([own[k] for own, _ in of_all])) for k in of_all[0][0]}
        family = str(getattr(self._model.config, "model_type", "unknown"))
        if self._path is not None:
            with self._filing():
                self._go_on(self._path, family, metrics)
            self._path = None
        said = self._look(self._steps, metrics)
        lost = {place for _, undefined in of_all for place in undefined if place[0] not in self._said}
        layers = sorted({layer for layer, _ in lost})
        self._said.update(layers)
        if layers:  # the layers after a broken one follow it
            heads = ", ".join(str(head) for layer, head in sorted(lost) if layer == layers[0])
            later = f", nor are those of {len(layers) - 1} later layers" if layers[1:] else ""
            place = f"step {self._steps}: layer {layers[0]}, heads {heads}"
            said.append(f"{place}: scores are not finite numbers{later}")
        record = {
            "schema": SCHEMA,
            "model": getattr(self._model.config, "name_or_path", "") or type(self._model).__name__,
            "family": family,
            "step": self._steps,
            "tokens": len(ids),
            "seconds": time.perf_counter() - began,
            "metrics": {name: _plain(values) for name, values in metrics.items()},
            "warnings": said,
        }
        self.records.append(record)
        if self._first:
            self._write(record, metrics)
        return record

    def _look(self, step: int, metrics: dict[str, Any]) -> list[str]:
        return [
            line
            for drift in self._drifts if drift.metric in metrics
            for line in drift.look(step, np.array(metrics[drift.metric], dtype=np.float64))
        ]  # fmt: skip

    def _go_on(self, wanted: Path, family: str, metrics: dict[str, Values]) -> None:
        """Looks at the records of earlier steps. Begins a file beside one that holds something else."""
        path, number, shapes = wanted, 1, {values.shape for values in metrics.values()}
        while (earlier := _own_records(path, family, shapes)) is None:
            number += 1
            path = wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
        if path != wanted:
            self._warn(f"{wanted}: expected records of this model, found others; records go to {path}")
            self._file.close()
            self._file = path.open("a", encoding="utf-8")
        for step in sorted(step for step in earlier if step < self._steps):
            self._look(step, earlier[step])

    @contextlib.contextmanager
    def _filing(self) -> Iterator[None]:
        """Has the training go on if the file takes no records."""
        try:
            yield
        except OSError as error:
            self._warn(f"step {self._steps}: records are no longer written, for {error}; see Monitor.records")
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _write(self, record: dict[str, Any], metrics: dict[str, Values]) -> None:
        with self._filing():
            if self._file is not None:
                self._file.write(json.dumps(record) + "\n")
                self._file.flush()
        for name, values in metrics.items():
            known = values[np.isfinite(values)]
            if self._writer is None or not known.size:
                continue
            low, high = float(known.min()), float(known.max())
            self._writer.add_scalar(f"headgauge/{name}", float(known.mean()), self._steps)
            # TensorBoard shows only the first kind of data of a name, so histograms have names of
            # their own.
            self._writer.add_histogram(f"headgauge_heads/{name}", known, self._steps)
            image = np.nan_to_num(np.asarray((values - low) / ((high - low) or 1.0), dtype=np.float32))
            self._writer.add_image(f"headgauge_map/{name}", image, self._steps, dataformats="HW")
        for line in record["warnings"]:
            self._warn(line)

    def close(self) -> None:
        """Removes the hook from the model and closes the file."""
        self._hook.remove()
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Monitor:  # noqa: PYI034 - Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class HeadgaugeCallback(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
    """A Monitor for transformers.Trainer: Trainer(..., callbacks=[HeadgaugeCallback(every=100)]).

    Takes the options of Monitor except the model; `monitor` exists once training has begun.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.monitor: Monitor | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self.monitor = Monitor(model, **self._options)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.monitor is not None:
            self.monitor.step(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.monitor is not None:
            self.monitor.close()


def _of_heads(results: Results, name: str) -> Values:
    """Returns (layers of the model, heads) at the one length and the middle label of further dims;
    NaN for layers without attention."""
    metric = results[name]
    values: Values = metric.values
    if "length" in metric.dims:
        values = np.asarray(np.take(values, -1, axis=metric.dims.index("length")))
    while values.ndim > 2:
        values = values[..., values.shape[-1] // 2]
    of_layers = np.full((results.document["model"]["layers"], values.shape[1]), np.nan)
    of_layers[np.asarray(results.coords["layer"], dtype=int)] = values
    return of_layers


def _of_processes(make: Callable[[], T]) -> tuple[T, list[T]]:
    """Returns what this process makes, and what each does; if one of them cannot, raises its error in all. Objects can
    be gathered by every backend: NCCL takes no tensors of the CPU."""
    try:
        value: Any = make()
    except OF_BATCH as error:
        value = error
    values = [value]
    if distributed.is_initialized():
        values *= distributed.get_world_size()
        distributed.all_gather_object(values, value)
    if errors := [each for each in values if isinstance(each, Exception)]:
        raise errors[0]
    return value, values


def _joined(name: str, values: Values) -> Values:
    """Returns the mean over the processes, (processes, layers, heads), of numbers that are known; the
    largest of what is itself a largest value."""
    known = np.isfinite(values)
    if name == "largest_logit":
        joined = np.where(known, values, -np.inf).max(axis=0)
    else:
        joined = np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known.any(axis=0), joined, np.nan)


def _own_records(path: Path, family: str, shapes: set[tuple[int, ...]]) -> Records | None:
    """Returns the metrics of the records in a file, by step; of two records of one step the later. None: it holds
    something else, or records of another model. Leaves out damaged lines. A record that follows on the last line could
    not be read: cuts this line off if it is an incomplete record, as when a training was killed, and else ends it."""
    if not path.is_file():  # a pipe is not read
        return None if path.is_dir() else {}
    text = path.read_bytes()
    records: Records = {}
    for record in map(_parsed, text.splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, OverflowError):
            if record["schema"] == SCHEMA:
                step, own = int(record["step"]), record.get("family", family) == family
                metrics = {name: np.array(rows, dtype=np.float64) for name, rows in record["metrics"].items()}
                if not own or any(values.shape not in shapes for values in metrics.values()):
                    return None
                records[step] = metrics
    last = text[text.rfind(b"\n") + 1 :]
    torn = _parsed(last) is None and (last.startswith(BEGIN) or (records and BEGIN.startswith(last)))
    if text.strip() and not records and not torn:
        return None
    if torn:
        os.truncate(path, len(text) - len(last))
    elif last:
        with path.open("ab") as file:
            file.write(b"\n")
    return records


def _parsed(line: bytes) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(line)
    return None


def _plain(values: Values) -> list[list[float | None]]:
    return [[float(v) if math.isfinite(v) else None for v in row] for row in values]
