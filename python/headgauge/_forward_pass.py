"""A forward pass that waits in every layer until the tensors of the layer were processed.

It runs in a thread of its own, so that at most one layer of each document is in memory. Other
passes run without waiting, for the model's final output.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch
from torch.overrides import TorchFunctionMode

from headgauge._attention import Swap, arguments_of, here, last_logits
from headgauge._change import Change
from headgauge._changed_attention import ChangedLayer
from headgauge._masks import AttentionInputs
from headgauge.errors import UnsupportedError

# The changes of the heads of each changed layer.
ChangedLayers: TypeAlias = Mapping[int, Sequence[Change | None]]


class Abandoned(BaseException):
    """Ends a forward pass early. Not an Exception, because a model might catch that."""


class _Sdpa(TorchFunctionMode):
    """Shows the arguments of torch's scaled_dot_product_attention, for models that call it
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
            inputs = AttentionInputs("sdpa", self._model, *tensors, options)
            swap = here.running.observe(inputs)
            if swap is not None:
                own = lambda: (func(*args, **kwargs).transpose(1, 2), None)
                return swap.attention(inputs, own)[0].transpose(1, 2)
        return func(*args, **kwargs)


@dataclass(frozen=True)
class Run:
    """The input of a pass: a document of a model."""

    model: Any
    ids: list[int]
    document: int = 0
    sdpa: bool = False
    """True to watch torch's function instead of the interface of transformers."""
    inputs: Mapping[str, Any] | None = None
    """Inputs of the encoder of an encoder-decoder; the ids are then the decoder's, and only its
    self-attention is measured."""
    cross: bool = False
    """True to measure its attention to the encoder instead of its self-attention."""
    alone: bool = False
    """True if the model takes only `inputs`; `ids` has a placeholder for each position, or is empty
    if their number is unknown."""
    embedding: Any = None
    """The module whose rows are the token embeddings."""
    enters: bool = False
    """True to keep the input of each layer."""
    whole: bool = False
    """True to run every pass to its end."""
    ends_in_hidden: bool = False
    """True to keep the last hidden states, because there are no next-token logits."""
    answered: int = 0
    """The number of last tokens whose logits alone are read; 0: all are."""
    beside: Mapping[str, list[int]] = field(default_factory=dict)
    """What else forward() gets with each token of the document."""
    numbers: tuple[int, ...] = ()
    """Numbers of the attention layers in the model; empty: not known yet."""

    def number(self, depth: int) -> int:
        """Returns the number of the layer whose attention follows that of `depth` others."""
        return self.numbers[depth] if depth < len(self.numbers) else depth

    def cut(self, length: int) -> Run:
        return replace(self, ids=self.ids[:length])

    def given(self) -> dict[str, Any]:
        """Returns the arguments of forward()."""
        given: dict[str, Any] = dict(self.inputs or {})
        if not self.alone:
            device = (
                next(self.model.parameters()).device
                if self.embedding is None
                else self.embedding.weight.device
            )
            ids = {"input_ids" if self.inputs is None else "decoder_input_ids": self.ids}
            for name, values in {**ids, **self.beside}.items():
                given[name] = torch.tensor([values[: len(self.ids)]], device=device)
        names = arguments_of(self.model)
        if "use_cache" in names:
            given["use_cache"] = False
        if self.ends_in_hidden and "output_hidden_states" in names:
            given["output_hidden_states"] = True
        return given | last_logits(self.model, self.answered + 1) if self.answered else given


def _last_hidden(output: Any) -> torch.Tensor | None:
    """Returns the hidden states (L, D) of the first text; None if the model does not return
    them."""
    last = getattr(output, "last_hidden_state", None)
    every = getattr(output, "hidden_states", None)
    last = every[-1] if last is None and every else last
    return None if last is None else last[0]


def _layers_of(model: Any) -> list[Any]:
    """Returns the modules that are in a ModuleList: layers and parts of layers. An attention
    belongs to the one that was entered last."""
    return [each for held in model.modules() if isinstance(held, torch.nn.ModuleList) for each in held]


@dataclass(frozen=True)
class Place:
    """The place of a layer in the list of layers."""

    number: int
    of: int


def _places_of(model: Any) -> dict[Any, Place]:
    """Returns the places of the modules in the outermost lists."""
    lists = {name: held for name, held in model.named_modules() if isinstance(held, torch.nn.ModuleList)}
    outermost = [
        held for name, held in lists.items() if not any(name.startswith(f"{other}.") for other in lists)
    ]
    return {each: Place(k, len(held)) for held in outermost for k, each in enumerate(held)}


def places_within(model: Any) -> dict[Any, Place | None]:
    """Returns the places of all modules that are part of a layer in the outermost lists; None if
    several layers share the module."""
    found: dict[Any, Place | None] = {}
    for layer, place in _places_of(model).items():
        for module in layer.modules():
            found[module] = None if module in found else place
    return found


class LayerCounter:
    """Counts the layers of a pass, and provides the changes of their heads."""

    def __init__(self, run: Run, changes: ChangedLayers) -> None:
        self._run, self._changes = run, changes
        of_decoder = run.inputs is not None and not run.alone
        self._decoder = set(run.model.get_decoder().modules()) if of_decoder else None
        self._mode = _Sdpa(run.model) if run.sdpa else contextlib.nullcontext()
        self._depth, self._inside = -1, 0
        self.vectors: torch.Tensor | None = None
        """(L, width): the embeddings of the tokens, taken while the weights are available."""
        self.entered: torch.Tensor | None = None
        """(L, width): the input of the layer that the pass is in; None: not known."""
        self.place: Place | None = None
        """The place of the layer that the pass is in; None: not known."""
        self._places = _places_of(run.model) if run.enters and not run.numbers else {}
        self.logits: torch.Tensor | None = None
        """(L or the tokens of the answer and one before, vocabulary), after the pass has ended."""
        self.hidden: torch.Tensor | None = None

    def observe(self, inputs: AttentionInputs) -> Swap | None:
        """Returns the swap for the layer; the attention function calls it in the thread of the
        pass."""
        if self._inside > 1:
            return None  # a hook calls the model within the model
        wanted = self._decoder is None or (
            inputs.module in self._decoder and inputs.causal != self._run.cross
        )
        if not wanted:
            return None
        self._depth += 1
        return self.swap(self._run.number(self._depth))

    def swap(self, layer: int) -> Swap | None:
        """Returns what computes the attention of the layer; None: the model."""
        changes = self._changes.get(layer)
        return ChangedLayer(changes, layer, self._run.document) if changes else None

    def _embed(self, module: Any, args: tuple[Any, ...]) -> None:
        """Called before the embedding, when the weights of a sharded model are available."""
        weight = getattr(module, "weight", None)
        if here.running is not self or self.vectors is not None or weight is None or weight.ndim != 2:
            return
        if not weight.is_meta and not hasattr(weight, "full_tensor"):
            self.vectors = weight.detach()[torch.tensor(self._run.ids, device=weight.device)]

    def _enter_layer(self, layer: Any, args: tuple[Any, ...], given: dict[str, Any]) -> None:
        if here.running is self:
            self.place = self._places.get(layer, self.place)
        stream = given.get("hidden_states", args[0] if args else None)
        if here.running is not self or not isinstance(stream, torch.Tensor):
            return
        if stream.is_floating_point() and stream.ndim == 3 and stream.shape[:2] == (1, len(self._run.ids)):
            self.entered = stream.detach()[0]

    def _enter(self) -> None:
        if here.running is self:
            self._inside += 1

    def _leave(self) -> None:
        if here.running is self:
            self._inside -= 1

    def run_model(self, differentiates: bool = False) -> None:
        """Runs the whole pass; `here` refers to it meanwhile."""
        before, here.running = here.running, self
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.set_grad_enabled(differentiates))
                stack.enter_context(self._mode)
                model = self._run.model
                stack.callback(model.register_forward_pre_hook(lambda *_: self._enter()).remove)
                leave = model.register_forward_hook(lambda *_: self._leave(), always_call=True)
                stack.callback(leave.remove)
                if self._run.embedding is not None:
                    stack.callback(self._run.embedding.register_forward_pre_hook(self._embed).remove)
                for layer in _layers_of(self._run.model) if self._run.enters else []:
                    stack.callback(
                        layer.register_forward_pre_hook(self._enter_layer, with_kwargs=True).remove
                    )
                output = model(**self._run.given())
        finally:
            here.running = before
        logits = getattr(output, "logits", None)
        self.logits = logits[0] if isinstance(logits, torch.Tensor) and logits.ndim == 3 else None
        self.hidden = _last_hidden(output) if self._run.ends_in_hidden else None


def run_through(run: Run, changes: ChangedLayers) -> LayerCounter:
    """Runs a pass without waiting in the layers."""
    counter = LayerCounter(run, changes)
    counter.run_model()
    return counter


class Pass(LayerCounter):
    """A forward pass over one document, one layer at a time."""

    def __init__(self, run: Run, changes: ChangedLayers | None = None) -> None:
        super().__init__(run, changes or {})
        self._go, self._arrived = threading.Semaphore(0), threading.Semaphore(0)
        self._attention: AttentionInputs | None = None
        self._abandoned = self._ended = False
        self._error: BaseException | None = None
        # Context variables of the caller's thread apply in the other thread, too.
        self._context = contextvars.copy_context()
        self._thread_state = _thread_state()
        # next() starts the thread: then somebody holds the pass and will close it.
        self._thread = threading.Thread(target=self._context.run, args=(self._run_thread,), daemon=True)

    def next(self) -> AttentionInputs | None:
        """Continues to the attention of the next layer; None if the pass has ended."""
        if not self._ended:
            self._attention = None
            if self._thread.ident is None:
                self._thread.start()
            self._go.release()
            self._arrived.acquire()
        if self._error is not None:
            raise self._error
        return self._attention

    def abandon(self) -> None:
        """Ends the pass early; close() waits for its end."""
        self._abandoned = True
        self._attention = None
        self._go.release()

    @property
    def _ends_early(self) -> bool:
        return self._abandoned and not self._run.whole

    def close(self) -> None:
        self.abandon()
        if self._thread.ident is not None:
            self._thread.join()

    def observe(self, inputs: AttentionInputs) -> Swap | None:
        if self._ends_early:
            raise Abandoned
        depth = self._depth
        swap = super().observe(inputs)
        if self._depth == depth or self._abandoned:
            return swap
        length = len(self._run.ids) or inputs.query.shape[2]
        keys = inputs.key.shape[2] if self._run.cross else length
        shape = (inputs.query.shape[0], inputs.query.shape[2], inputs.key.shape[2], inputs.value.shape[2])
        if self._run.alone and self._depth == 0 and shape[0] == 1 and length < shape[1]:
            raise UnsupportedError(
                f"{inputs.name}: expected the whole of what inputs= gives, {shape[1]} positions, found a length of {length}; "
                "leave lengths= out"
            )
        if shape != (1, length, keys, keys):
            raise UnsupportedError(
                f"{inputs.name}: expected queries, keys and values of {length} tokens, found {shape[1:]} in a "
                f"batch of {shape[0]}; measure such layers by headgauge.analyze()"
            )
        self._attention = inputs
        self._arrived.release()
        self._go.acquire()
        if self._ends_early:
            raise Abandoned
        return swap

    def _run_thread(self) -> None:
        self._go.acquire()
        try:
            if self._ends_early:
                return
            with contextlib.ExitStack() as stack:
                for state in self._thread_state:
                    stack.enter_context(state)
                self.run_model()
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the scan
            self._error = error
        finally:
            self._attention = None
            self._ended = True
            self._arrived.release()


def _thread_state() -> list[contextlib.AbstractContextManager[Any]]:
    """Returns contexts that give another thread the per-thread settings of torch in this one."""
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
