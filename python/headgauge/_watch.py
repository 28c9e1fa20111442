"""A forward pass that waits in every layer until what it has there was looked at.

It runs in a thread of its own: no more than one layer of each document is in memory.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import threading
from collections.abc import Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from headgauge._attention import here
from headgauge._sight import Seen
from headgauge.errors import UnsupportedError


class Abandoned(BaseException):
    """Ends a forward pass of which no more is wanted. No Exception, which a model might catch."""


class _Sdpa(TorchFunctionMode):
    """Shows what torch's scaled_dot_product_attention is called with, by models that call it
    themselves."""

    NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.scaled_dot_product_attention and here.running is not None:
            named = dict(zip(self.NAMES, args, strict=False)) | kwargs
            options = {"is_causal": named.get("is_causal", False), "scaling": named.get("scale")}
            tensors = (named["query"], named["key"], named["value"], named.get("attn_mask"))
            here.running.take(Seen("sdpa", self._model, *tensors, options))
        return func(*args, **kwargs)


class Pass:
    """A forward pass over one document, one layer at a time."""

    def __init__(
        self, model: Any, ids: list[int], sdpa: bool = False, inputs: Mapping[str, Any] | None = None
    ) -> None:
        """`sdpa`: watches torch's function, not the interface of transformers. `inputs`: what the encoder of
        an encoder-decoder gets; the ids are then the decoder's, whose self-attention alone is shown."""
        self._model, self._ids, self._inputs = model, ids, inputs
        self._decoder = None if inputs is None else set(model.get_decoder().modules())
        self._mode = _Sdpa(model) if sdpa else contextlib.nullcontext()
        self._go, self._arrived = threading.Semaphore(0), threading.Semaphore(0)
        self._seen: Seen | None = None
        self._abandoned = self._ended = False
        self._inside = 0
        self._error: BaseException | None = None
        self.logits: torch.Tensor | None = None
        # What the caller's thread has set holds in the other one, too.
        self._context = contextvars.copy_context()
        self._thread_state = _thread_state()
        self._thread = threading.Thread(target=self._context.run, args=(self._run,), daemon=True)
        self._thread.start()

    def next(self) -> Seen | None:
        """Runs on to the attention of the next layer; None: the pass is at its end."""
        if not self._ended:
            self._seen = None
            self._go.release()
            self._arrived.acquire()
        if self._error is not None:
            raise self._error
        return self._seen

    def abandon(self) -> None:
        """No more is wanted of it; close() waits for its end."""
        self._abandoned = True
        self._seen = None
        self._go.release()

    def close(self) -> None:
        self.abandon()
        self._thread.join()

    def take(self, seen: Seen) -> None:
        """Called by the attention function, in the thread of the pass."""
        if self._abandoned:
            raise Abandoned
        if self._inside > 1:
            return  # the model is used within itself, by a hook
        if self._decoder is not None and not (seen.module in self._decoder and seen.causal):
            return
        length = len(self._ids)
        shape = (seen.query.shape[0], seen.query.shape[2], seen.key.shape[2], seen.value.shape[2])
        if shape != (1, length, length, length):
            raise UnsupportedError(
                f"{seen.name}: expected queries, keys and values of {length} tokens, found {shape[1:]} in a "
                f"batch of {shape[0]}; measure such layers by headgauge.analyze()"
            )
        self._seen = seen
        self._arrived.release()
        self._go.acquire()
        if self._abandoned:
            raise Abandoned

    def _enter(self) -> None:
        if here.running is self:
            self._inside += 1

    def _leave(self) -> None:
        if here.running is self:
            self._inside -= 1

    def _run(self) -> None:
        self._go.acquire()
        try:
            if self._abandoned:
                return
            here.running = self
            with contextlib.ExitStack() as stack:
                for state in self._thread_state:
                    stack.enter_context(state)
                stack.enter_context(torch.no_grad())
                stack.enter_context(self._mode)
                stack.callback(self._model.register_forward_pre_hook(lambda *_: self._enter()).remove)
                stack.callback(
                    self._model.register_forward_hook(lambda *_: self._leave(), always_call=True).remove
                )
                self.logits = getattr(self._model(**self._given()), "logits", None)
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the scan
            self._error = error
        finally:
            here.running = None
            self._seen = None
            self._ended = True
            self._arrived.release()

    def _given(self) -> dict[str, Any]:
        device = self._model.get_input_embeddings().weight.device
        ids = torch.tensor([self._ids], device=device)
        given: dict[str, Any] = (
            {"input_ids": ids} if self._inputs is None else {**self._inputs, "decoder_input_ids": ids}
        )
        if "use_cache" in inspect.signature(self._model.forward).parameters:
            given["use_cache"] = False
        return given


def _thread_state() -> list[contextlib.AbstractContextManager[Any]]:
    """What torch keeps for each thread, as it is in this one."""
    kinds = ["cpu"]
    state: list[contextlib.AbstractContextManager[Any]] = []
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        kinds.append("cuda")
        state += [
            torch.cuda.device(torch.cuda.current_device()),
            torch.cuda.stream(torch.cuda.current_stream()),
        ]
    for kind in kinds:
        if torch.is_autocast_enabled(kind):
            state.append(torch.autocast(kind, torch.get_autocast_dtype(kind)))
    return state
