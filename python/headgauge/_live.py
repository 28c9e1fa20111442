"""A transformers model as a source of heads."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import torch

from headgauge import _next_tokens
from headgauge._adapters import adapt
from headgauge._attention import (
    PREFIX,
    ModelSwap,
    arguments_of,
    evaluating,
    install,
    is_encoder_decoder,
    is_sharded,
    swaps_within,
)
from headgauge._change import Change
from headgauge._config import any_of
from headgauge._devices import HostCopy
from headgauge._forward_pass import Pass, Run, run_through
from headgauge._gradients import GatedPass
from headgauge._inputs import Inputs, as_tensors, inputs_of, main_input
from headgauge._masks import AttentionInputs, Visibility
from headgauge._source import Changes, Gates, NextTokens, Places, Weigh
from headgauge._texts import MASK, of_batch, split
from headgauge.errors import BadInputError, Error, UnsupportedError, UsageError

PROBED = 2  # tokens of the pass that finds the parts of the model
TAKE_INPUTS = ("scan", "compare")
OTHERS = ("pixel_values", "input_features", "input_values")  # inputs of models that are not text
KINDS = ("embedding", "value", "hidden")


class LiveModel:
    """A transformers model that opens texts; use it in a `with` statement."""

    def __init__(self, model: Any, inputs: Inputs = None, command: str = "scan", cross: bool = False) -> None:
        """`command`: the command that opens the model. `cross`: True to measure the decoder's
        attention to the encoder."""
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "get_input_embeddings"):
            raise UsageError(
                f"model: expected a path, a name or a transformers model, found {type(model).__name__}"
            )
        inputs = as_tensors(model, inputs)
        self.alone = _stand_alone(model, inputs, command)
        """What `inputs` gives is all that the model takes: an image, or a sound, and no ids."""
        whole: Any = model
        self.model = whole
        self.name = type(model).__name__
        self.positions = _positions(whole)
        self.rotates = _rotates(whole)
        self.embedding = None if self.alone else _embedding(whole if inputs is None else whole.get_decoder())
        self.sdpa = False
        self.layers: list[dict[str, Any]] = []
        """The properties of each attention layer; set when a text is opened."""
        self.numbers: tuple[int, ...] = ()
        """The numbers of these layers in the model."""
        self.count = 0
        """The number of layers of the model, including those without attention."""
        self.has_position_bias = self.has_loss = False
        self.cross = cross
        self.swap: ModelSwap | None = None
        """What use() makes of the model, which the measured passes keep."""
        self.runs_normalizer = False
        """Whether that is the normalizer that heads are measured under."""
        self.beside: list[dict[str, list[int]]] = []
        """What else the passes over each text are given with its tokens."""
        self.notices: list[str] = []
        self.undefined: set[tuple[int, int]] | None = None
        """The heads whose scores are not finite, with layers; other numbers take the place of these. None: the first
        such head ends the run."""
        self._inputs, self._command = inputs, command
        self._given, self._whole = False, is_sharded(model)
        self._sources: weakref.WeakSet[LiveSource] = weakref.WeakSet()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> LiveModel:  # noqa: PYI034 - Self is of Python 3.11
        with contextlib.ExitStack() as stack:
            swaps = swaps_within(self.model)
            self.swap = swaps[0] if swaps else None
            if swaps and not (self._command == "scan" and self._is_whole(swaps)):
                raise UnsupportedError(
                    f"{self.name}: expected the model's own attention, or for scan() one normalizer in all heads, found "
                    f"another change under headgauge.use(); restore it, and give it to {self._command}()"
                )
            stack.enter_context(evaluating(self.model))
            self._undo_install = stack.callback(install(self.model))
            self._own = stack.enter_context(contextlib.ExitStack())
            stack.callback(self._close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _is_whole(self, swaps: list[ModelSwap]) -> bool:
        """Returns whether all that is changed is the normalizer of all heads of this very model."""
        return len(swaps) == 1 and swaps[0].model is self.model and swaps[0].rule_of_all is not None

    def _close(self) -> None:
        for source in list(self._sources):
            source.close()

    def texts_of(self, batch: Mapping[str, Any]) -> list[list[int]]:
        """Returns the texts of a batch. Their passes are given what else it has for each token."""
        names, config = arguments_of(self.model), self.model.config.get_text_config()
        causal = (getattr(each, "is_causal", False) for each in self.model.modules())
        packs = getattr(config, "is_causal", True) and any(causal)
        taken = {k: v for k, v in batch.items() if "kwargs" in names or k in (*names, MASK)}
        texts, self.beside = of_batch(taken, self._command in TAKE_INPUTS and self._inputs is None, packs)
        if len(texts) > len(split(batch["input_ids"])):
            self.notices.append(f"the rows of the batch hold {len(texts)} texts, each measured by itself")
        return texts

    def stand_ins(self) -> list[list[int]]:
        """Returns, for each set of inputs given without ids, one placeholder id for each position
        of the model."""
        found = []
        for given in [self._inputs] if isinstance(self._inputs, Mapping) else list(self._inputs or []):
            self._require_known(given)
            with self._takes(given), contextlib.closing(Pass(self._run([], given))) as probe:
                attention = probe.next()
            if attention is None:
                raise self._without_attention()
            found.append([0] * attention.query.shape[2])
        if len({len(ids) for ids in found}) != 1:
            raise BadInputError(
                f"inputs: expected as many positions in each, found {sorted({len(ids) for ids in found})}; give those "
                "of one size at once"
            )
        return found

    @contextlib.contextmanager
    def _takes(self, given: Mapping[str, Any]) -> Iterator[None]:
        """Raises a headgauge error for inputs that the model rejects with an error of its own."""
        try:
            yield
        except (AttributeError, TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, (Error, torch.OutOfMemoryError)):
                raise
            raise self._failed(given, error) from error

    def _failed(self, given: Mapping[str, Any], error: Exception) -> Error:
        """Returns an error that says what is wrong with inputs for which the model raised one."""
        names = ", ".join(given)
        if "input_ids" in arguments_of(self.model) and "input_ids" not in given:
            return UnsupportedError(
                f"{self.name}: expected a model that takes {names} alone, found one that takes token ids too; measure it "
                f"part by part: the one for {names} (such as model.vision_model) with inputs=, the one for texts with ids"
            )
        said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        return BadInputError(
            f"inputs: expected {names} as {self.name}.forward() takes them, found that it fails ({said}); give what the "
            "model's processor makes"
        )

    def _require_known(self, given: Mapping[str, Any]) -> None:
        names = arguments_of(self.model)
        for name in given:
            if name not in names:
                raise UsageError(
                    f"inputs: expected what {self.name}.forward() takes ({', '.join(map(str, names))}), found {name}"
                )

    def open(self, documents: list[list[int]], x: str, answered: list[int] | None = None) -> LiveSource:
        """Returns the model with these documents; the last `answered` tokens of each are the answer of a task
        (0 or no list: it is a text). Raises BadInputError for ids outside its vocabulary."""
        if x not in KINDS:
            raise UnsupportedError(f"x: expected {' or '.join(KINDS)} for a live model, found {x!r}")
        vocabulary = int(any_of(self.model.config.get_text_config(), "vocab_size") or 0)
        for ids in documents:
            if len(ids) < PROBED:
                raise BadInputError(f"ids: expected at least {PROBED} tokens, found {len(ids)}")
            if vocabulary and max(ids) >= vocabulary and not self.alone:
                raise BadInputError(
                    f"ids: expected ids from 0 to {vocabulary - 1}, found {max(ids)}; "
                    "use the model's own tokenizer"
                )
        if self._given and (self._inputs is not None or any(self.beside)):
            raise UnsupportedError(
                f"{self.name}: expected one set of texts, with which the model is given more than ids, found another"
            )
        self._given = True
        inputs = inputs_of(self._inputs, len(documents), self.alone)
        if not self.layers:
            self.layers = self._probe(documents[0], inputs[0])
            self.numbers, self.count = _numbered(self.layers)
        if self._command == "converge" and self.has_position_bias:
            raise UnsupportedError(
                "converge: expected scores of queries and keys alone, found biases by position; scan() measures them"
            )
        if x == "hidden" and any(layer["entered"] == 0 for layer in self.layers):
            raise UnsupportedError(
                f"{self.name}: expected layers in a ModuleList for x='hidden', found none; use x='embedding' or 'value'"
            )
        more = {"embedding": self.embedding, "enters": x == "hidden", "ends_in_hidden": not self.has_loss}
        said, beside = answered or [0] * len(documents), dict(enumerate(self.beside))
        runs = [
            self._run(ids, of_encoder, document=k, beside=beside.get(k, {}), answered=said[k], **more)
            for k, (ids, of_encoder) in enumerate(zip(documents, inputs, strict=True))
        ]
        source = LiveSource(self, runs, x)
        self._sources.add(source)
        return source

    def _run(self, ids: list[int], inputs: Mapping[str, Any] | None, **more: Any) -> Run:
        return Run(
            self.model,
            ids,
            sdpa=self.sdpa,
            inputs=inputs,
            whole=self._whole,
            cross=self.cross,
            alone=self.alone,
            numbers=self.numbers,
            **more,
        )

    def _probe(self, ids: list[int], inputs: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Returns the shape of each layer, from a pass over the first tokens, or over all tokens if
        the model raises for so few."""
        if self.alone:
            with self._takes(inputs or {}):
                return self._probed(ids, inputs)
        try:
            return self._probed(ids[:PROBED], inputs)
        except Error:
            raise
        except Exception:  # noqa: BLE001 - any exception of the model; the longer pass raises it again
            self._require_whole_input()
            return self._probed(ids, inputs)

    def _require_whole_input(self) -> None:
        """Raises UnsupportedError if a model that failed needs more inputs than it was given."""
        missing = [name for name in OTHERS if self._inputs is None and name in arguments_of(self.model)]
        if missing and self.embedding is None:
            raise UnsupportedError(
                f"{self.name}: expected a model that takes token ids alone, found one that takes {missing[0]} too; measure "
                f"its parts: the one for texts (such as model.text_model) with ids, the other with inputs={{{missing[0]!r}: ...}}"
            )

    def _probed(self, ids: list[int], inputs: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        layers = self._layers_of_a_pass(self._run(ids, inputs, enters=True), by_name=True)
        if not layers:
            self._undo_install()  # these models read the name of their attention
            leave = adapt(self.model)
            if leave is not None:
                self._own.callback(leave)
            self.sdpa = leave is None
            layers = self._layers_of_a_pass(self._run(ids, inputs, enters=True))
        if not layers:
            raise self._without_attention()
        if any(shape != layers[0]["shape"] for shape in (layer["shape"] for layer in layers)):
            raise UnsupportedError(
                f"{self.name}: expected layers of one shape, found several kinds; measure "
                "them by headgauge.analyze()"
            )
        return layers

    def _without_attention(self) -> UnsupportedError:
        return UnsupportedError(
            f"{self.name}: expected attention through transformers' AttentionInterface or torch's "
            "scaled_dot_product_attention, found a model that computes its own, or has none; measure it by "
            "headgauge.analyze()"
        )

    def _layers_of_a_pass(self, run: Run, by_name: bool = False) -> list[dict[str, Any]]:
        """`by_name`: returns no layers if the model has its own table of attention functions,
        without ours."""
        probe = Pass(run)
        layers: list[dict[str, Any]] = []
        try:
            while (attention := probe.next()) is not None:
                shape = _shape(attention, self.cross)
                entered = 0 if probe.entered is None else probe.entered.shape[-1]
                own = {"number": attention.layer, "place": probe.place}
                layers.append({"shape": shape, "window": attention.window, "entered": entered, **own})
                self.has_position_bias |= attention.position_bias is not None
            # The logits predict next tokens, not classes.
            head = getattr(self.model, "get_output_embeddings", lambda: None)()
            causal = bool(layers) and layers[0]["shape"]["causal"]
            self.has_loss = head is not None and probe.logits is not None and causal
        except KeyError as error:
            if not by_name or not str(error.args[0]).startswith(PREFIX):
                raise
        finally:
            probe.close()
        return layers


class LiveSource:
    """The heads of a transformers model for some texts."""

    def __init__(self, live: LiveModel, runs: list[Run], x: str) -> None:
        self._live, self._x = live, x
        self._whole = self._runs = runs
        heads = live.layers[0]["shape"]["heads"]
        self._changes: dict[int, list[Change | None]] = (
            {} if live.swap is None else {layer: live.swap.of(layer, heads) for layer in live.numbers}
        )
        self._passes: dict[int, Pass] = {}
        self._depth: dict[int, int] = {}
        self._reference: dict[int, torch.Tensor] = {}
        self._looked_at: list[list[int]] = []

    def look_at(self, queries: list[list[int]]) -> None:
        self._looked_at = queries

    def close(self) -> None:
        self._leave()
        self._reference = {}

    def _leave(self) -> None:
        passes = list(self._passes.values())
        self._passes, self._depth = {}, {}
        for each in passes:
            each.abandon()
        for each in passes:
            each.close()

    def info(self) -> dict[str, Any]:
        live = self._live
        first, config = live.layers[0]["shape"], live.model.config.get_text_config()
        of_layer = dict(zip(live.numbers, live.layers, strict=True))
        windows = [of_layer[k]["window"] if k in of_layer else 0 for k in range(live.count)]
        return {
            **first,
            "name": getattr(config, "name_or_path", "") or live.name,
            "family": str(config.model_type),
            "layers": live.count,
            "without_attention": [k for k in range(live.count) if k not in of_layer],
            "x_dim": self._x_dim(),
            "max_length": live.positions,
            "has_x": self._has_x,
            "has_unrotated": not live.rotates,
            "has_values": not live.cross,
            "has_loss": live.has_loss,
            "runs_normalizer": None if live.swap is None else live.runs_normalizer,
            "has_tokens": not live.cross and not live.alone,
            "documents": [len(run.ids) for run in self._whole],
            "windows": windows,
            "layer_types": ["sliding_attention" if w else "full_attention" for w in windows],
            "notices": self._live.notices,
        }

    @property
    def _has_x(self) -> bool:
        return not self._live.cross and (self._x != "embedding" or self._live.embedding is not None)

    def _x_dim(self) -> int:
        first = self._live.layers[0]
        if self._x == "embedding":
            return 0 if self._live.embedding is None else _width(self._live.embedding)
        return int(first["shape"]["value_dim"] if self._x == "value" else first["entered"])

    def describe(self) -> dict[str, Any]:
        model = {
            "class": self._live.name,
            "dtype": str(self._live.model.dtype).removeprefix("torch."),
            "causal": self._live.layers[0]["shape"]["causal"],
            "attention": "cross" if self._live.cross else "self",
        }
        return {"model": model}

    def _next(self, document: int) -> AttentionInputs | None:
        self._depth[document] = self._depth.get(document, -1) + 1
        attention = self._passes[document].next()
        if attention is not None:
            self._check(attention, self._depth[document])
        return attention

    def _check(self, attention: AttentionInputs, depth: int) -> None:
        """Raises UnsupportedError if the layer's shape differs from the one that info() gave the
        core."""
        layers = self._live.layers
        if depth < len(layers) and _shape(attention, self._live.cross) == layers[depth]["shape"]:
            return
        raise UnsupportedError(
            f"{attention.name}: expected {len(layers)} layers as a text of {PROBED} tokens has them, found "
            f"another layer {self._whole[0].number(depth)}; measure such layers by headgauge.analyze()"
        )

    def layer(self, layer: int, document: int) -> dict[str, Any]:
        depth = self._live.numbers.index(layer)
        if document in self._passes and self._depth.get(document, -1) >= depth:
            self._passes.pop(document).close()
            del self._depth[document]
        if document not in self._passes:
            self._passes[document] = Pass(self._runs[document], self._changes)
        attention = None
        while self._depth.get(document, -1) < depth:
            attention = self._next(document)
        if attention is None:
            raise UnsupportedError(
                f"{self._live.name}: expected {len(self._live.layers)} layers, found {depth}; the number "
                "depends on the text"
            )
        cross, by_value = self._live.cross, self._x == "value"
        if cross:
            attention.require_all_seen()
        visibility = Visibility(causal=False) if cross else attention.visibility
        looked_at = self._looked_at[document] if self._looked_at else None
        queries, keys = HostCopy(attention.query, looked_at), HostCopy(attention.key)
        values = None if cross else HostCopy(attention.value)
        fields = {
            "queries": queries.array(),
            "keys": keys.array(),
            "values": None if values is None else values.array(),
            "x": None if by_value or not self._has_x else self._vectors(document),
            "tokens": self._runs[document].ids,
            # Each layer has its own values and hidden states.
            "x_key": document + 1 + (0 if self._x == "embedding" else (layer + 1) << 16),
            "scale": attention.scale,
            "softcap": attention.softcap,
            "position_bias": attention.position_bias,
            "window": visibility.window,
            "reach": visibility.reach,
            "causal": visibility.causal,
            "cross": cross,
            "sinks": attention.sinks,
            "type": "sliding_attention" if self._live.layers[depth]["window"] else "full_attention",
        }
        undefined = self._live.undefined
        return fields if undefined is None else _finite(fields, layer, undefined)

    def _vectors(self, document: int) -> Any:
        current = self._passes[document]
        vectors = current.entered if self._x == "hidden" else current.vectors
        if vectors is None:
            raise UnsupportedError(
                f"{self._live.name}: expected vectors of tokens in memory for x={self._x!r}, found none; use x='value'"
            )
        return vectors.to("cpu", torch.float32).contiguous().numpy()

    def _finished(self, document: int) -> Pass | None:
        """Returns the finished pass over a document; None: there was none."""
        if document not in self._passes:
            return None
        while self._next(document) is not None:
            pass
        return self._passes[document]

    def token_ids(self, document: int) -> list[int]:
        known = not self._live.cross and not self._live.alone
        return list(self._runs[document].ids) if known else []

    def _said(self, document: int, finished: Any) -> tuple[torch.Tensor, list[int]]:
        assert finished.logits is not None
        run = self._runs[document]
        first = -run.answered - 1 if run.answered else 0  # the first of the rows that predict
        return finished.logits[first:], run.ids[first:]

    def next_tokens(self, document: int) -> NextTokens:
        finished = self._finished(document)
        return NextTokens() if finished is None else self._next_tokens(document, finished)

    def _next_tokens(self, document: int, finished: Any) -> NextTokens:
        reference = self._reference.get(document)
        if not self._live.has_loss:
            if reference is None or finished.hidden is None:
                return NextTokens()
            return NextTokens(output_change=_next_tokens.output_change(finished.hidden, reference))
        logits, ids = self._said(document, finished)
        return NextTokens(
            _next_tokens.losses(logits, ids),
            _next_tokens.right(logits, ids),
            logits[:-1].argmax(dim=1).tolist(),
            [] if reference is None else _next_tokens.divergence(logits, reference),
        )

    def set_reference(self) -> None:
        """Keeps the logits of every token of the texts, or the last hidden states, in memory as the model returns
        them."""
        for document in list(self._passes):
            if self._runs[document].answered:
                continue
            finished = self._finished(document)
            assert finished is not None
            said = finished.logits if self._live.has_loss else finished.hidden
            if said is None:
                raise UnsupportedError(
                    f"{self._live.name}: expected a model that gives its last hidden states, found one that does not"
                )
            self._reference[document] = said

    def try_intervention(self, layer: int, document: int, changes: Changes, places: list[int]) -> NextTokens:
        tried = _by_head([Change(*change) for change in changes], places)
        run = self._runs[document]
        return self._next_tokens(document, run_through(run, {**self._changes, layer: tried}))

    def gradients(
        self, document: int, changes: Changes, choices: list[int], gates: Gates, weigh: Weigh
    ) -> tuple[NextTokens, Gates]:
        run = self._runs[document]
        gated = GatedPass(run, _by_head([Change(*change) for change in changes], choices), gates)
        gated.run_model(differentiates=True)
        logits, ids = self._said(document, gated)
        said = NextTokens(_next_tokens.losses(logits.detach(), ids), _next_tokens.right(logits.detach(), ids))
        return said, gated.gradient(logits, ids, weigh(said.losses))

    def set_context(self, length: int) -> None:
        self.close()
        self._runs = [run.cut(length) for run in self._whole]

    def intervene(self, changes: Changes, places: Places) -> None:
        self._leave()
        made = [Change(*change) for change in changes]
        by_layer = {layer: _by_head(made, of_layer) for layer, of_layer in enumerate(places)}
        self._changes = {layer: of_layer for layer, of_layer in by_layer.items() if any(of_layer)}


def _numbered(layers: list[dict[str, Any]]) -> tuple[tuple[int, ...], int]:
    """Returns the numbers of the attention layers in the model, and the number of all layers. Uses
    the numbers that modules know, else their places in the model's list of layers, else their
    order, if the others are not distinct (modules that are used again)."""
    places = [layer["place"] for layer in layers]
    in_list = [None if place is None else place.number for place in places]
    for numbers in ([layer["number"] for layer in layers], in_list, [*range(len(layers))]):
        known = [number for number in numbers if number is not None and number >= 0]
        if len(known) == len(numbers) and all(a < b for a, b in itertools.pairwise(known)):
            # The list is used if it has these numbers.
            listed = places[0].of if numbers == in_list else 0
            return tuple(known), max(listed, known[-1] + 1)
    raise AssertionError  # their order distinguishes them


def _embedding(model: Any) -> Any:
    """Returns the embedding rows of the tokens; None: the model has no such table."""
    try:
        return model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        return None


def _width(embedding: Any) -> int:
    """Returns the width of its rows; a sharded weight may have another shape."""
    return int(getattr(embedding, "embedding_dim", None) or embedding.weight.shape[1])


def _finite(fields: dict[str, Any], layer: int, undefined: set[tuple[int, int]]) -> dict[str, Any]:
    """Returns the fields with zeros where they or the scores are not finite, and adds the heads of these."""
    of_queries, of_keys = (
        np.linalg.norm(fields[name].astype(np.float64), axis=2).max(axis=1) for name in ("queries", "keys")
    )
    with np.errstate(invalid="ignore"):  # 0 times infinity; the product is at least every score
        largest = of_queries * of_keys.repeat(len(of_queries) // len(of_keys))
    finite = (largest < np.finfo(np.float32).max) & np.isfinite(fields["sinks"] or 0)
    undefined.update((layer, head) for head in np.flatnonzero(~finite).tolist())
    names = [name for name in ("queries", "keys", "x", "sinks") if fields[name] is not None]
    finite_ones = {name: np.nan_to_num(fields[name], posinf=0, neginf=0) for name in names}
    finite_ones["queries"][~finite] = 0
    return fields | finite_ones


def _by_head(changes: list[Change], places: list[int]) -> list[Change | None]:
    return [None if place < 0 else changes[place] for place in places]


def _shape(attention: AttentionInputs, cross: bool) -> dict[str, Any]:
    return {
        "heads": attention.query.shape[1],
        "kv_heads": attention.key.shape[1],
        "head_dim": attention.query.shape[3],
        "value_dim": attention.value.shape[3],
        "element_bytes": attention.key.element_size(),
        "causal": cross or attention.visibility.causal,
    }


def _stand_alone(model: Any, inputs: Inputs, command: str) -> bool:
    """Returns whether the model takes only `inputs`, without ids. Raises UnsupportedError or
    UsageError for inputs that make no sense for the model."""
    both = is_encoder_decoder(model)
    if both and command not in TAKE_INPUTS:
        raise UnsupportedError(
            f"{command}: expected a decoder or an encoder, found both ({type(model).__name__}); give "
            "model.get_encoder(), or use scan() or compare(), which take inputs="
        )
    if both and inputs is None:
        raise UsageError(
            f"{type(model).__name__}: expected inputs= for the encoder of an encoder-decoder, found none; with them "
            "the decoder is measured, and scan(model.get_encoder(), ids) measures the encoder"
        )
    if inputs is None and "input_ids" not in arguments_of(model):
        taken = main_input(model)
        if command not in TAKE_INPUTS:
            raise UnsupportedError(
                f"{command}: expected a model that takes token ids, found one that takes {taken} ({type(model).__name__}); "
                f"use scan() or compare(), which take inputs={{{taken!r}: ...}}"
            )
        raise UsageError(
            f"{type(model).__name__}: expected inputs={{{taken!r}: ...}} for a model that takes no token ids, found none; "
            "give them to scan() in place of ids"
        )
    return inputs is not None and not both


def _rotates(model: Any) -> bool:
    """Returns whether queries and keys are rotated by their positions before they are observed."""
    config = model.config.get_text_config()
    declared = any(any_of(config, name) for name in ("rope_parameters", "rope_theta", "rotary_dim", "rotary"))
    return declared or any("rotary" in type(module).__name__.lower() for module in model.modules())


def _positions(model: Any) -> int:
    """Returns the longest text of the model; 0: unlimited."""
    for module in model.modules():  # RoBERTa's positions begin after the padding index
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, torch.nn.Embedding) and table.padding_idx is not None:
            return int(table.num_embeddings) - int(table.padding_idx) - 1
    config = model.config.get_text_config()
    for name in ("max_target_positions", "max_position_embeddings"):
        if (most := any_of(config, name)) is not None and int(most) > 0:
            return int(most)
    return 0
