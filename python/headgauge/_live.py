"""Transformers models as a source of heads."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import torch

from headgauge._attention import PREFIX, evaluating, install, is_encoder_decoder, is_swapped
from headgauge._recognised import watch
from headgauge._sight import Seen
from headgauge._texts import TextOrIds, as_ids, split
from headgauge._watch import Pass
from headgauge.errors import BadInputError, UnsupportedError, UsageError

PROBED = 2  # tokens of the pass that tells what the model is made of
KINDS = ("embedding", "value")
Inputs = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


def _floats(tensor: torch.Tensor) -> Any:
    """(1, heads, L, d) as float32 in main memory."""
    return tensor[0].detach().to(device="cpu", dtype=torch.float32).contiguous().numpy()


class LiveSource:
    """The heads of a transformers model on some texts."""

    def __init__(
        self, model: Any, text_or_ids: TextOrIds, options: dict[str, Any], inputs: Inputs = None
    ) -> None:
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "get_input_embeddings"):
            raise UsageError(
                f"model: expected a path, a name or a transformers model, found {type(model).__name__}"
            )
        _require_inputs(model, inputs)
        self.x = options.get("x") or "embedding"
        if self.x not in KINDS:
            raise UnsupportedError(f"x: expected {' or '.join(KINDS)} for a live model, found {self.x!r}")
        self._model: Any = model
        self._passes: dict[int, Pass] = {}
        self._documents, self._totals = _documents(model, text_or_ids, options)
        self._context = max(map(len, self._documents))
        self._inputs = _inputs_of(inputs, len(self._documents))
        self._embedding = _embedding_of(model, inputs)
        self._sdpa = False
        self.has_position_bias = False
        self._depth: dict[int, int] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> LiveSource:  # noqa: PYI034 - Self is of Python 3.11
        with contextlib.ExitStack() as stack:
            if is_swapped(self._model):
                raise UnsupportedError(
                    f"{type(self._model).__name__}: expected the model's own attention, found it under "
                    "headgauge.use(); restore it, and give scan() the rule as normalizer"
                )
            stack.enter_context(evaluating(self._model))
            self._take_back = stack.callback(install(self._model))
            self._own = stack.enter_context(contextlib.ExitStack())
            stack.callback(self._close)
            self._layers = self._probe()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _close(self) -> None:
        passes = list(self._passes.values())
        self._passes, self._depth = {}, {}
        for each in passes:
            each.abandon()
        for each in passes:
            each.close()

    def _probe(self) -> list[dict[str, Any]]:
        """What each layer is made of, from a pass over the first tokens."""
        layers = self._layers_of_a_pass(by_name=True)
        if not layers:
            self._take_back()  # such models ask for the name of their attention
            leave = watch(self._model)
            if leave is not None:
                self._own.callback(leave)
            self._sdpa = leave is None
            layers = self._layers_of_a_pass()
        name = type(self._model).__name__
        if not layers:
            raise UnsupportedError(
                f"{name}: expected attention through transformers' AttentionInterface or torch's "
                "scaled_dot_product_attention, found a model that computes its own; measure it by "
                "headgauge.analyze()"
            )
        if any(shape != layers[0]["shape"] for shape in (layer["shape"] for layer in layers)):
            raise UnsupportedError(
                f"{name}: expected layers of one shape, found several kinds; measure "
                "them by headgauge.analyze()"
            )
        return layers

    def _layers_of_a_pass(self, by_name: bool = False) -> list[dict[str, Any]]:
        """`by_name`: none where the model has a table of attention functions of its own, without ours."""
        probe, layers = self._pass(0, PROBED), []
        try:
            while (seen := probe.next()) is not None:
                shape = _shape(seen)
                layers.append({"shape": shape, "window": seen.window})
                self.has_position_bias |= seen.position_bias is not None
            # Of the tokens that follow, not of classes.
            head, logits = getattr(self._model, "get_output_embeddings", lambda: None)(), probe.logits
            self._has_loss = head is not None and logits is not None and logits.ndim == 3
        except KeyError as error:
            if not by_name or not str(error.args[0]).startswith(PREFIX):
                raise
        finally:
            probe.close()
        return layers

    def _pass(self, document: int, length: int) -> Pass:
        return Pass(self._model, self._documents[document][:length], self._sdpa, self._inputs[document])

    def _check(self, seen: Seen, layer: int) -> None:
        """What is handed to the core is what it was told of."""
        if layer < len(self._layers) and _shape(seen) == self._layers[layer]["shape"]:
            return
        raise UnsupportedError(
            f"{seen.name}: expected {len(self._layers)} layers as a text of {PROBED} tokens has them, found "
            f"another layer {layer}; measure such layers by headgauge.analyze()"
        )

    def info(self) -> dict[str, Any]:
        first, config = self._layers[0]["shape"], self._model.config.get_text_config()
        embedding = self._embedding
        windows = [layer["window"] for layer in self._layers]
        positions = _positions(config)
        return {
            **first,
            "name": getattr(config, "name_or_path", "") or type(self._model).__name__,
            "family": str(config.model_type),
            "layers": len(self._layers),
            "x_dim": first["value_dim"] if self.x == "value" else embedding.weight.shape[1],
            "max_length": positions,
            "bytes": 0,
            "has_x": True,
            "has_values": True,
            "has_loss": self._has_loss and first["causal"],
            "has_tokens": True,
            "documents": [len(ids) for ids in self._documents],
            "windows": windows,
            "layer_types": ["sliding_attention" if w else "full_attention" for w in windows],
            "notices": [],
        }

    def describe(self) -> dict[str, Any]:
        model = {
            "class": type(self._model).__name__,
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "causal": self._layers[0]["shape"]["causal"],
        }
        lengths, count = [len(ids) for ids in self._documents], len(self._documents)
        names = ["ids"] if count == 1 else [f"ids {k + 1}" for k in range(count)]
        text = {"names": names, "sha256": [None] * count, "tokens": lengths, "tokens_total": self._totals}
        return {"model": model, "text": text}

    def _next(self, document: int) -> Seen | None:
        self._depth[document] = self._depth.get(document, -1) + 1
        seen = self._passes[document].next()
        if seen is not None:
            self._check(seen, self._depth[document])
        return seen

    def layer(self, layer: int, document: int) -> dict[str, Any]:
        if document in self._passes and self._depth.get(document, -1) >= layer:
            self._passes.pop(document).close()
            del self._depth[document]
        if document not in self._passes:
            self._passes[document] = self._pass(document, self._context)
        seen = None
        while self._depth.get(document, -1) < layer:
            seen = self._next(document)
        if seen is None:
            raise UnsupportedError(
                f"{type(self._model).__name__}: expected {len(self._layers)} layers, found {layer}; the number "
                "depends on the text"
            )
        length = seen.query.shape[2]
        sight = seen.sight
        return {
            "queries": _floats(seen.query),
            "keys": _floats(seen.key),
            "values": _floats(seen.value),
            "x": None if self.x == "value" else self._vectors(document, length),
            "tokens": self._documents[document][:length],
            "x_key": layer + 1 if self.x == "value" else document + 1,
            "scale": seen.scale,
            "softcap": seen.softcap,
            "position_bias": seen.position_bias,
            "window": sight.window,
            "reach": sight.reach,
            "causal": sight.causal,
            "sinks": seen.sinks,
            "type": "sliding_attention" if self._layers[layer]["window"] else "full_attention",
        }

    def _vectors(self, document: int, length: int) -> Any:
        embedding = self._embedding
        ids = torch.tensor(self._documents[document][:length], device=embedding.weight.device)
        with torch.no_grad():
            return embedding.weight[ids].to("cpu", torch.float32).contiguous().numpy()

    def losses(self, document: int) -> list[float]:
        if document not in self._passes or not self._has_loss:
            return []
        current = self._passes[document]
        while self._next(document) is not None:
            pass
        assert current.logits is not None
        following = torch.tensor(self._documents[document][1 : current.logits.shape[1]])
        losses: list[float] = []
        with torch.no_grad():
            for rows, ids in zip(
                torch.split(current.logits[0, :-1], 256), torch.split(following, 256), strict=True
            ):
                of_rows = torch.nn.functional.cross_entropy(
                    rows.double(), ids.to(rows.device), reduction="none"
                )
                losses += of_rows.tolist()
        return losses

    def set_context(self, length: int) -> None:
        self._close()
        self._context = length

    def intervene(self, changed: bool) -> None:
        self._close()
        if changed:
            raise UnsupportedError(
                "normalizer and pattern: expected none for a live model, which runs as "
                "it is; scan the checkpoint (model.save_pretrained)"
            )


def _shape(seen: Seen) -> dict[str, Any]:
    return {
        "heads": seen.query.shape[1],
        "kv_heads": seen.key.shape[1],
        "head_dim": seen.query.shape[3],
        "value_dim": seen.value.shape[3],
        "element_bytes": seen.key.element_size(),
        "causal": seen.sight.causal,
    }


def _require_inputs(model: Any, inputs: Inputs) -> None:
    both = is_encoder_decoder(model)
    if both and inputs is None:
        raise UsageError(
            f"{type(model).__name__}: expected inputs= for the encoder of an encoder-decoder, found none; with them "
            "the decoder is measured, and scan(model.get_encoder(), ids) measures the encoder"
        )
    if inputs is not None and not both:
        raise UsageError(
            f"{type(model).__name__}: expected no inputs for a model without an encoder beside its decoder, found some"
        )


def _embedding_of(model: Any, inputs: Inputs) -> Any:
    return (model if inputs is None else model.get_decoder()).get_input_embeddings()


def _inputs_of(inputs: Inputs, documents: int) -> list[Mapping[str, Any] | None]:
    """What the encoder gets for each document."""
    if inputs is None:
        return [None] * documents
    found: list[Mapping[str, Any] | None] = [inputs] if isinstance(inputs, Mapping) else list(inputs)
    if len(found) != documents:
        raise BadInputError(f"inputs: expected those of {documents} texts, found {len(found)}")
    for each in found:
        for name, value in (each or {}).items():
            if name.startswith("decoder_"):
                raise BadInputError(
                    f"inputs: expected what the encoder gets, found {name}; give the ids to scan()"
                )
            if isinstance(value, torch.Tensor) and value.ndim > 0 and value.shape[0] != 1:
                raise BadInputError(
                    f"inputs: expected {name} of one text, (1, ...), found {tuple(value.shape)}; give a list of one "
                    "for each text"
                )
    return found


def _positions(config: Any) -> int:
    """The longest text of the model; 0: any."""
    for name in ("max_target_positions", "max_position_embeddings"):
        if getattr(config, name, None):
            return int(getattr(config, name))
    return 0


def _longest(lengths: Any) -> int | None:
    """Of the lengths that are asked for; None: not known here."""
    if isinstance(lengths, str):
        lengths = lengths.split(",")
    try:
        return max(int(float(length)) for length in np.atleast_1d(lengths))
    except (TypeError, ValueError):
        return None


def _documents(
    model: Any, text_or_ids: TextOrIds, options: dict[str, Any]
) -> tuple[list[list[int]], list[int]]:
    """Token ids of each document, cut to the longest length asked for, and how many there were."""
    tokens = options.pop("tokens", None)
    if tokens is not None and text_or_ids is not None:
        raise TypeError("tokens: expected none beside text_or_ids, found both")
    given = tokens if text_or_ids is None else text_or_ids
    if given is None:
        raise UsageError("text_or_ids: expected a text or token ids, found none")
    items = split(given)
    if not items:
        raise BadInputError("text_or_ids: expected a text or token ids, found none")
    most = _longest(options.get("lengths"))
    documents, totals = [], []
    for item in items:
        if isinstance(item, str) or hasattr(item, "__fspath__"):
            raise UsageError(
                "text_or_ids: expected token ids for a live model, found a text; "
                "give tokenizer(text)['input_ids']"
            )
        ids = as_ids(item)
        totals.append(len(ids))
        documents.append(ids[:most])
        if len(documents[-1]) < PROBED:
            raise BadInputError(f"ids: expected at least {PROBED} tokens, found {len(documents[-1])}")
    config = model.config.get_text_config()
    vocabulary = int(getattr(config, "vocab_size", 0) or 0)
    positions = _positions(config)
    for k, ids in enumerate(documents):
        if vocabulary and int(np.max(ids)) >= vocabulary:
            raise BadInputError(
                f"ids: expected ids from 0 to {vocabulary - 1}, found {max(ids)}; "
                "use the model's own tokenizer"
            )
        documents[k] = ids[:positions] if positions else ids
    return documents, totals
