"""Transformers models, measured while they run.

An attention function that computes what the model computes, and shows the queries, keys and values
of each layer to a scan. A document is a forward pass in a thread of its own, which waits in every
layer until the scan has measured it: no more than one layer of each document is in memory.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headgauge._texts import TextOrIds, as_ids, split
from headgauge.errors import BadInputError, UnsupportedError, UsageError

PREFIX = "headgauge_"
PROBED = 2  # tokens of the pass that tells what the model is made of
KINDS = ("embedding", "value")


class Abandoned(Exception):
    """Ends a forward pass of which no more is wanted."""


class _Here(threading.local):
    """The pass that runs in this thread."""

    running: Pass | None = None


_here = _Here()
_lock = threading.Lock()  # of configs, which models share


@dataclass
class Seen:
    """What the attention of one layer was called with."""

    module: Any
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: Any
    options: dict[str, Any]

    @property
    def window(self) -> int:
        window = self.options.get("sliding_window") or getattr(self.module, "sliding_window", None)
        return int(window or 0)

    @property
    def causal(self) -> bool:
        said = self.options.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if said is None else said)


def _watched(name: str) -> str:
    """The name of an attention function that shows what it is called with, and computes what the
    one of that name computes."""

    def attention(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                  mask: Any, **options: Any) -> Any:
        if _here.running is not None:
            _here.running.take(Seen(module, query, key, value, mask, options))
        return _original(name, module)(module, query, key, value, mask, **options)

    watched = PREFIX + name
    if watched not in ALL_ATTENTION_FUNCTIONS:
        AttentionInterface.register(watched, attention)
        if name in ALL_MASK_ATTENTION_FUNCTIONS:
            AttentionMaskInterface.register(watched, ALL_MASK_ATTENTION_FUNCTIONS[name])
    return watched


def _original(name: str, module: Any) -> Callable[..., Any]:
    if name in ALL_ATTENTION_FUNCTIONS:
        found: Callable[..., Any] = ALL_ATTENTION_FUNCTIONS[name]
        return found
    import sys

    # Each model has an eager one of its own, beside its attention.
    for ancestor in type(module).__mro__:
        eager = getattr(sys.modules.get(ancestor.__module__), "eager_attention_forward", None)
        if eager is not None:
            return eager  # type: ignore[no-any-return]
    raise UnsupportedError(f"{type(module).__name__}: expected an attention function {name!r}, found none")


@contextlib.contextmanager
def watching(model: Any) -> Iterator[None]:
    """Has the model call the watched functions; it is as it was afterwards."""
    configs = {id(c): c for m in model.modules() if (c := getattr(m, "config", None)) is not None}
    before: list[tuple[Any, str]] = []
    with _lock:
        for config in configs.values():
            name = getattr(config, "_attn_implementation", None) or "eager"
            if not name.startswith(PREFIX):
                before.append((config, name))
                config._attn_implementation = _watched(name)
    try:
        yield
    finally:
        with _lock:
            for config, name in before:
                config._attn_implementation = name


class Pass:
    """A forward pass over one document, one layer at a time."""

    def __init__(self, model: Any, ids: list[int]) -> None:
        self._model, self._ids = model, ids
        self._go, self._arrived = threading.Semaphore(0), threading.Semaphore(0)
        self._seen: Seen | None = None
        self._abandoned = False
        self._error: BaseException | None = None
        self.logits: torch.Tensor | None = None
        self._thread = threading.Thread(target=self._run, name="headgauge", daemon=True)
        self._thread.start()

    def next(self) -> Seen | None:
        """Runs on to the attention of the next layer; None: the pass is at its end."""
        self._seen = None
        self._go.release()
        self._arrived.acquire()
        if self._error is not None:
            raise self._error
        return self._seen

    def close(self) -> None:
        self._abandoned = True
        self._seen = None
        self._go.release()
        self._thread.join()

    def take(self, seen: Seen) -> None:
        """Called by the attention function, in the thread of the pass."""
        self._seen = seen
        self._arrived.release()
        self._go.acquire()
        if self._abandoned:
            raise Abandoned

    def _run(self) -> None:
        self._go.acquire()
        try:
            if self._abandoned:
                return
            _here.running = self
            with torch.inference_mode():
                device = self._model.get_input_embeddings().weight.device
                ids = torch.tensor([self._ids], device=device)
                given: dict[str, Any] = {"input_ids": ids}
                if getattr(self._model, "can_generate", bool)():
                    given["use_cache"] = False
                self.logits = getattr(self._model(**given), "logits", None)
        except Abandoned:
            pass
        except BaseException as error:  # raised in the thread of the scan
            self._error = error
        finally:
            _here.running = None
            self._seen = None
            self._arrived.release()


def _floats(tensor: torch.Tensor) -> Any:
    """(1, heads, L, d) as float32 in main memory."""
    return tensor[0].detach().to(device="cpu", dtype=torch.float32).contiguous().numpy()


def _sees(seen: Seen, length: int) -> tuple[bool, int]:
    """Whether queries see no key after them, and how many they see at most, 0 for all."""
    if seen.mask is None:
        return seen.causal, seen.window if 0 < seen.window < length else 0
    if not isinstance(seen.mask, torch.Tensor) or seen.mask.ndim != 4:
        raise UnsupportedError(f"{type(seen.module).__name__}: expected a mask of 4 dimensions, found "
                               f"{type(seen.mask).__name__}; load the model with attn_implementation='sdpa'")
    mask = seen.mask[0, 0, :, :length]
    allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    if bool(allowed.all()):
        return False, 0
    causal = torch.ones_like(allowed).tril()
    window = int(allowed.sum(dim=1).max())
    if torch.equal(allowed, causal):
        return True, 0
    if torch.equal(allowed, causal.triu(1 - window)):
        return True, window
    raise UnsupportedError(
        f"{type(seen.module).__name__}: expected a mask that is full, causal or a sliding window, found "
        "another one; measure the layers of such models by headgauge.analyze()"
    )


class LiveSource:
    """The heads of a transformers model on some texts."""

    def __init__(self, model: Any, text_or_ids: TextOrIds, options: dict[str, Any]) -> None:
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "get_input_embeddings"):
            raise UsageError(f"model: expected a path, a name or a transformers model, found {type(model).__name__}")
        if getattr(model.config, "is_encoder_decoder", False):
            raise UnsupportedError(f"{type(model).__name__}: expected an encoder or a decoder, found both; "
                                   "measure its layers by headgauge.analyze()")
        self.x = options.get("x") or "embedding"
        if self.x not in KINDS:
            raise UnsupportedError(f"x: expected {' or '.join(KINDS)} for a live model, found {self.x!r}")
        self._model, self._passes = model, {}  # type: tuple[Any, dict[int, Pass]]
        self._documents, self._names = _documents(model, text_or_ids, options)
        self._context = max(map(len, self._documents))
        self._depth: dict[int, int] = {}
        self._training = model.training
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> LiveSource:
        self._model.eval()
        self._stack.enter_context(watching(self._model))
        try:
            self._layers = self._probe()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._close()
        self._stack.close()
        self._model.train(self._training)

    def _close(self) -> None:
        for each in self._passes.values():
            each.close()
        self._passes, self._depth = {}, {}

    def _probe(self) -> list[dict[str, Any]]:
        """What each layer is made of, from a pass over the first tokens."""
        name = type(self._model).__name__
        probe, layers = Pass(self._model, self._documents[0][:PROBED]), []
        try:
            while (seen := probe.next()) is not None:
                if seen.options.get("s_aux") is not None:
                    raise UnsupportedError(f"{name}: expected weights that sum to 1 over the keys, found "
                                           "attention sinks that are parameters of the model")
                layers.append({
                    "heads": seen.query.shape[1], "kv_heads": seen.key.shape[1],
                    "head_dim": seen.query.shape[3], "value_dim": seen.value.shape[3],
                    "element_bytes": seen.key.element_size(), "causal": _sees(seen, PROBED)[0],
                    "window": seen.window,
                })
            self._has_loss = probe.logits is not None and probe.logits.ndim == 3
        finally:
            probe.close()
        if not layers:
            raise UnsupportedError(f"{name}: expected attention through transformers' AttentionInterface, "
                                   "found a model that computes its own; measure it by headgauge.analyze()")
        shapes = {tuple(sorted((k, v) for k, v in layer.items() if k != "window")) for layer in layers}
        if len(shapes) > 1:
            raise UnsupportedError(f"{name}: expected layers of one shape, found several kinds")
        return layers

    def info(self) -> dict[str, Any]:
        first, config = self._layers[0], self._model.config.get_text_config()
        embedding = self._model.get_input_embeddings()
        has_x = self.x == "value" or embedding is not None
        windows = [layer["window"] for layer in self._layers]
        positions = int(getattr(config, "max_position_embeddings", 0) or 0)
        return {
            **{key: first[key] for key in ("heads", "kv_heads", "head_dim", "value_dim", "causal", "element_bytes")},
            "name": getattr(config, "name_or_path", "") or type(self._model).__name__,
            "family": str(config.model_type), "layers": len(self._layers),
            "x_dim": first["value_dim"] if self.x == "value" else embedding.weight.shape[1],
            "max_length": positions, "bytes": 0, "has_x": has_x, "has_values": True,
            "has_loss": self._has_loss and first["causal"], "has_tokens": True,
            "documents": [len(ids) for ids in self._documents], "windows": windows,
            "layer_types": ["sliding_attention" if w else "full_attention" for w in windows],
            "notices": [],
        }

    def describe(self) -> dict[str, Any]:
        model = {"class": type(self._model).__name__, "dtype": str(self._model.dtype).removeprefix("torch."),
                 "causal": self._layers[0]["causal"]}
        lengths = [len(ids) for ids in self._documents]
        return {"model": model, "text": {"names": self._names, "sha256": [None] * len(lengths),
                                         "tokens": lengths, "tokens_total": lengths}}

    def _next(self, document: int) -> Seen | None:
        self._depth[document] = self._depth.get(document, -1) + 1
        return self._passes[document].next()

    def layer(self, layer: int, document: int) -> dict[str, Any]:
        if document in self._passes and self._depth.get(document, -1) >= layer:
            self._passes.pop(document).close()
            del self._depth[document]
        if document not in self._passes:
            self._passes[document] = Pass(self._model, self._documents[document][: self._context])
        seen = None
        while self._depth.get(document, -1) < layer:
            seen = self._next(document)
        assert seen is not None
        length = seen.query.shape[2]
        causal, window = _sees(seen, length)
        return {
            "queries": _floats(seen.query), "keys": _floats(seen.key), "values": _floats(seen.value),
            "x": None if self.x == "value" else self._vectors(document, length),
            "tokens": self._documents[document][:length],
            "x_key": layer + 1 if self.x == "value" else document + 1,
            "scale": _scale(seen), "softcap": float(seen.options.get("softcap") or 0.0),
            "window": window, "causal": causal,
            "type": "sliding_attention" if self._layers[layer]["window"] else "full_attention",
        }

    def _vectors(self, document: int, length: int) -> Any:
        embedding = self._model.get_input_embeddings()
        ids = torch.tensor(self._documents[document][:length], device=embedding.weight.device)
        with torch.inference_mode():
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
        with torch.inference_mode():
            for rows, ids in zip(current.logits[0, :-1].split(256), following.split(256), strict=True):
                of_rows = torch.nn.functional.cross_entropy(
                    rows.double(), ids.to(rows.device), reduction="none")
                losses += of_rows.tolist()
        return losses

    def set_context(self, length: int) -> None:
        self._close()
        self._context = length

    def intervene(self, changed: bool) -> None:
        self._close()
        if changed:
            raise UnsupportedError("normalizer and pattern: expected none for a live model, which runs as "
                                   "it is; scan the checkpoint (model.save_pretrained)")


def _scale(seen: Seen) -> float:
    scaling = seen.options.get("scaling")
    return float(seen.query.shape[3] ** -0.5 if scaling is None else scaling)


def _documents(model: Any, text_or_ids: TextOrIds, options: dict[str, Any]) -> tuple[list[list[int]], list[str]]:
    """Token ids of each document, cut to the longest length asked for."""
    given = options.pop("tokens", None) if text_or_ids is None else text_or_ids
    if given is None:
        raise UsageError("text_or_ids: expected a text or token ids, found none")
    items = split(given)
    if not items:
        raise BadInputError("text_or_ids: expected a text or token ids, found none")
    lengths = options.get("lengths")
    most = max(lengths) if isinstance(lengths, list | tuple) else None
    documents = []
    for item in items:
        if isinstance(item, str) or hasattr(item, "__fspath__"):
            raise UsageError("text_or_ids: expected token ids for a live model, found a text; "
                             "give tokenizer(text)['input_ids']")
        documents.append(as_ids(item)[:most])
        if len(documents[-1]) < PROBED:
            raise BadInputError(f"ids: expected at least {PROBED} tokens, found {len(documents[-1])}")
    config = model.config.get_text_config()
    vocabulary = int(getattr(config, "vocab_size", 0) or 0)
    positions = int(getattr(config, "max_position_embeddings", 0) or 0)
    for k, ids in enumerate(documents):
        if vocabulary and int(np.max(ids)) >= vocabulary:
            raise BadInputError(f"ids: expected ids from 0 to {vocabulary - 1}, found {max(ids)}; "
                                "use the model's own tokenizer")
        documents[k] = ids[:positions] if positions else ids
    names = ["ids" if len(documents) == 1 else f"ids {k + 1}" for k in range(len(documents))]
    return documents, names
