"""headgauge's attention function, and how models are made to call it.

While a scan or a swap needs it, the configs of a model name this function. It shows its arguments
to the pass that runs in the same thread, calls the swap of the module if there is one, and
otherwise the function that the model was loaded with. Names and modes are counted, so that several
scans and swaps of a model, or of models that share a config, may begin and end in any order.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headgauge._masks import AttentionInputs
from headgauge.errors import UnsupportedError

PREFIX = "headgauge_of_"
EAGER = "eager_attention_forward"  # ending of the name of a model's eager function


class Swap(Protocol):
    """Computes the attention of a module instead of the model's own function."""

    def attention(self, inputs: AttentionInputs, own: Callable[[], Any]) -> Any: ...


class ModelSwap(Swap, Protocol):
    """Changes the attention of a whole model."""

    @property
    def model(self) -> Any: ...

    @property
    def rule_of_all(self) -> Any:
        """The normalizer, if it and nothing else is changed, in all heads."""
        ...

    def of(self, layer: int, heads: int) -> list[Any]:
        """Returns the change of each query head of a layer."""
        ...


class Observer(Protocol):
    """Inspects the arguments of an attention call."""

    def observe(self, inputs: AttentionInputs) -> Swap | None:
        """Returns the replacement for the module's computation; None: no replacement."""
        ...


class _Here(threading.local):
    running: Observer | None = None


here = _Here()
_lock = threading.RLock()
_users: dict[int, tuple[Any, str | None, int]] = {}  # per config: its own name, number of users
_modes: dict[int, tuple[Any, dict[Any, bool], int]] = {}  # per model: its modules' training flags
_swaps: weakref.WeakKeyDictionary[Any, list[ModelSwap]] = weakref.WeakKeyDictionary()


@torch.compiler.disable  # type: ignore[untyped-decorator,unused-ignore]
def attend(inputs: AttentionInputs, own: Callable[[], Any]) -> Any:
    """Returns the output of a module's attention: from a swap, else its own."""
    if here.running is not None:  # a swap that began during a measured pass does not apply to it
        swap = here.running.observe(inputs)
    else:
        swaps = _swaps.get(inputs.module)
        swap = swaps[-1] if swaps else None
    return own() if swap is None else swap.attention(inputs, own)


def original(name: str, module: Any) -> Callable[..., Any]:
    """Returns the attention function of that name for a module of a model."""
    if name in ALL_ATTENTION_FUNCTIONS:
        found: Callable[..., Any] = ALL_ATTENTION_FUNCTIONS[name]
        return found
    # Each model has its own eager function, in the module that defines its attention.
    for ancestor in type(module).__mro__:
        space = vars(sys.modules.get(ancestor.__module__, object))
        forward = vars(ancestor).get("forward")
        code = getattr(forward and inspect.unwrap(forward), "__code__", None)
        for eager in (*getattr(code, "co_names", ()), EAGER):
            if eager.endswith(EAGER) and eager in space:
                return space[eager]  # type: ignore[no-any-return]
    raise UnsupportedError(f"{type(module).__name__}: expected an attention function {name!r}, found none")


def _ours(name: str) -> str:
    """Returns the name of our function that replaces the named one."""

    def attention(
        module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *mask: Any, **options: Any
    ) -> Any:
        def own() -> Any:  # called with the same arguments: the mask may be passed by name or missing
            return original(name, module)(module, query, key, value, *mask, **options)

        said = mask[0] if mask else options.get("attention_mask")
        return attend(AttentionInputs(name, module, query, key, value, said, options), own)

    ours = PREFIX + name
    if ours not in ALL_ATTENTION_FUNCTIONS:
        AttentionInterface.register(ours, attention)
        if name in ALL_MASK_ATTENTION_FUNCTIONS:
            AttentionMaskInterface.register(ours, ALL_MASK_ATTENTION_FUNCTIONS[name])
    return ours


def _configs(model: Any) -> list[Any]:
    found = {id(c): c for m in model.modules() if (c := getattr(m, "config", None)) is not None}
    return [config for config in found.values() if hasattr(config, "_attn_implementation_internal")]


def install(model: Any) -> Callable[[], None]:
    """Makes the model call our function; the returned function undoes this, once."""
    configs = _configs(model)
    with _lock:
        for config in configs:
            _, name, count = _users.get(id(config), (config, config._attn_implementation_internal, 0))
            _users[id(config)] = (config, name, count + 1)
            # The property would also change the nested configs.
            config._attn_implementation_internal = _ours(name or "eager")

    def undo() -> None:
        with _lock:
            while configs:
                config = configs.pop()
                _, name, count = _users.pop(id(config))
                if count > 1:
                    _users[id(config)] = (config, name, count - 1)
                elif str(config._attn_implementation_internal).startswith(PREFIX):
                    config._attn_implementation_internal = name

    return undo


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Puts the model in evaluation mode, and restores the mode of every part at the end."""
    with _lock:
        flags = {module: module.training for module in model.modules()}
        _, flags, count = _modes.get(id(model), (model, flags, 0))
        _modes[id(model)] = (model, flags, count + 1)
        model.eval()
    try:
        yield
    finally:
        with _lock:
            _, flags, count = _modes.pop(id(model))
            if count > 1:
                _modes[id(model)] = (model, flags, count - 1)
            else:
                for module, training in flags.items():
                    module.training = training


def add_swap(model: Any, swap: ModelSwap) -> None:
    """Makes `swap` replace the attention of the model; if several do, the last one applies."""
    with _lock:
        for module in model.modules():
            _swaps.setdefault(module, []).append(swap)


def remove_swap(model: Any, swap: Swap) -> None:
    with _lock:
        for module in model.modules():
            swaps = [other for other in _swaps.pop(module, []) if other is not swap]
            if swaps:
                _swaps[module] = swaps


def is_last_swap(model: Any, swap: Swap) -> bool:
    with _lock:
        return swap in _swaps.get(model, [])[-1:]


def unwrapped(model: Any) -> Any:
    """Returns the model inside torch.compile and DistributedDataParallel."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ in ("DistributedDataParallel", "DataParallel"):
            inner = model.module
        if inner is None:
            return model
        model = inner


def arguments_of(model: Any) -> Any:
    """Returns the argument names of forward(), also if FullyShardedDataParallel wraps the model."""
    model = unwrapped(model)
    inner = model.module if type(model).__name__ == "FullyShardedDataParallel" else model
    return inspect.signature(inner.forward).parameters


def last_logits(model: Any, count: int) -> dict[str, int]:
    """Returns the argument with which forward() computes the logits of the last tokens alone, if it has one."""
    return {"logits_to_keep": count} if "logits_to_keep" in arguments_of(model) else {}


def is_sharded(model: Any) -> bool:
    """Returns whether each process has only part of the weights, so that all must run the same
    passes."""
    return any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules()) or any(
        hasattr(weight, "full_tensor") for weight in model.parameters()
    )


def is_encoder_decoder(model: Any) -> bool:
    """Returns whether it is an encoder-decoder, not one of the two parts alone."""
    return "decoder_input_ids" in arguments_of(model)


def swaps_within(model: Any) -> list[ModelSwap]:
    """Returns the swaps that apply to the model or to parts of it."""
    with _lock:
        return list(dict.fromkeys(_swaps[module][-1] for module in model.modules() if module in _swaps))
