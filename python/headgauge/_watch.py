"""A transformers model's attention, shown while it runs.

A document is a forward pass in a thread of its own, which waits in every layer until what it has
there was looked at: no more than one layer of each document is in memory.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headgauge.errors import UnsupportedError

PREFIX = "headgauge_"


class Abandoned(Exception):
    """Ends a forward pass of which no more is wanted."""


class _Here(threading.local):
    """The pass that runs in this thread."""

    running: Pass | None = None


_here = _Here()
_lock = threading.Lock()  # of configs, which models share


@dataclass(frozen=True)
class Sight:
    """Which keys a query sees."""

    causal: bool = True
    window: int = 0
    """At most so many keys, the query's own included; 0: all."""
    reach: int = 0
    """Of a model that sees both ways: keys at most so far away; 0: all."""


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
        """The keys that a query sees at most, on both sides together; 0: all."""
        window = self.options.get("sliding_window") or getattr(self.module, "sliding_window", None)
        return int(window or 0) if self.causal or not window else 2 * int(window) - 1

    @property
    def causal(self) -> bool:
        said = self.options.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if said is None else said)

    @property
    def sinks(self) -> list[float]:
        """The logits that stand beside the keys', one for each head; none for most models."""
        logits = self.options.get("s_aux")
        if logits is None:
            return []
        return [float(b) for b in logits.detach().float().reshape(-1).cpu()]

    def sight(self) -> Sight:
        """Raises UnsupportedError for a mask of another kind."""
        length = self.query.shape[2]
        if self.mask is None:
            return Sight(self.causal, self.window if 0 < self.window < length else 0)
        name = type(self.module).__name__
        if not isinstance(self.mask, torch.Tensor) or self.mask.ndim != 4:
            raise UnsupportedError(
                f"{name}: expected a mask of 4 dimensions, found {type(self.mask).__name__}; load the "
                "model with attn_implementation='sdpa'"
            )
        mask = self.mask[0, 0, :, :length]
        allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
        if bool(allowed.all()):
            return Sight(causal=False)
        widest = int(allowed.sum(dim=1).max())
        everything = torch.ones_like(allowed)
        if torch.equal(allowed, everything.tril()):
            return Sight()
        if torch.equal(allowed, everything.tril().triu(1 - widest)):
            return Sight(window=widest)
        reach = int(allowed[0].sum()) - 1
        if reach > 0 and torch.equal(allowed, everything.tril(reach).triu(-reach)):
            return Sight(causal=False, reach=reach)
        raise UnsupportedError(
            f"{name}: expected a mask that is full, causal or a sliding window, found another one; "
            "measure such layers by headgauge.analyze()"
        )


def _watched(name: str) -> str:
    """The name of an attention function that shows what it is called with, and computes what the
    one of that name computes."""

    def attention(
        module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, **options: Any
    ) -> Any:
        if _here.running is not None:
            _here.running.take(Seen(module, query, key, value, mask, options))
        return original(name, module)(module, query, key, value, mask, **options)

    watched = f"{PREFIX}of_{name}"
    if watched not in ALL_ATTENTION_FUNCTIONS:
        AttentionInterface.register(watched, attention)
        if name in ALL_MASK_ATTENTION_FUNCTIONS:
            AttentionMaskInterface.register(watched, ALL_MASK_ATTENTION_FUNCTIONS[name])
    return watched


def original(name: str, module: Any) -> Callable[..., Any]:
    if name in ALL_ATTENTION_FUNCTIONS:
        found: Callable[..., Any] = ALL_ATTENTION_FUNCTIONS[name]
        return found
    # Each model has an eager one of its own, beside its attention.
    for ancestor in type(module).__mro__:
        eager = getattr(sys.modules.get(ancestor.__module__), "eager_attention_forward", None)
        if eager is not None:
            return eager  # type: ignore[no-any-return]
    raise UnsupportedError(f"{type(module).__name__}: expected an attention function {name!r}, found none")


def renamed(model: Any, rename: Callable[[str], str]) -> Callable[[], None]:
    """Gives the attention of a model another name; what is returned takes that back."""
    configs = {id(c): c for m in model.modules() if (c := getattr(m, "config", None)) is not None}
    before: list[tuple[Any, str, str]] = []
    with _lock:
        for config in configs.values():
            name = getattr(config, "_attn_implementation", None) or "eager"
            before.append((config, name, rename(name)))
            config._attn_implementation = before[-1][2]

    def restore() -> None:
        with _lock:
            while before:
                config, name, given = before.pop()
                if config._attn_implementation == given:
                    config._attn_implementation = name

    return restore


@contextlib.contextmanager
def watching(model: Any) -> Iterator[None]:
    """Has the model call the watched functions; it is as it was afterwards."""
    restore = renamed(model, lambda name: name if name.startswith(PREFIX + "of_") else _watched(name))
    try:
        yield
    finally:
        restore()


class _Sdpa(TorchFunctionMode):
    """Shows what torch's scaled_dot_product_attention is called with, by models that call it
    themselves."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.scaled_dot_product_attention and _here.running is not None:
            named = dict(
                zip(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args, strict=False)
            )
            named |= kwargs
            options = {"is_causal": named.get("is_causal", False), "scaling": named.get("scale")}
            _here.running.take(
                Seen(
                    self._model, named["query"], named["key"], named["value"], named.get("attn_mask"), options
                )
            )
        return func(*args, **kwargs)


class Pass:
    """A forward pass over one document, one layer at a time."""

    def __init__(self, model: Any, ids: list[int], sdpa: bool = False) -> None:
        """`sdpa`: watches torch's function, not the interface of transformers."""
        self._model, self._ids = model, ids
        self._mode = _Sdpa(model) if sdpa else contextlib.nullcontext()
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
            with torch.inference_mode(), self._mode:
                device = self._model.get_input_embeddings().weight.device
                ids = torch.tensor([self._ids], device=device)
                given: dict[str, Any] = {"input_ids": ids}
                if getattr(self._model, "can_generate", bool)():
                    given["use_cache"] = False
                self.logits = getattr(self._model(**given), "logits", None)
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the scan
            self._error = error
        finally:
            _here.running = None
            self._seen = None
            self._arrived.release()
