"""Adapters for modules that compute attention without transformers' AttentionInterface.

GPT-Neo (and GPT-J and CodeGen before transformers 5.24) have a method `_attn`, which takes queries,
keys and values and returns what the attention function of the interface would. Bloom and MPT
compute everything in one method: headgauge computes their queries and keys once more before it is
called.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import Any

import torch

from headgauge._attention import attend, here
from headgauge._masks import AttentionInputs
from headgauge.errors import UnsupportedError

_lock = threading.RLock()
_installed: dict[
    int, tuple[Any, Callable[[], None], int]
] = {}  # per module: the function that undoes it, and the number of users

METHODS = ("GPTNeoSelfAttention", "GPTJAttention", "CodeGenAttention")


def _scale(module: Any) -> float:
    divisor = getattr(module, "scale_attn", None)
    return 1.0 if divisor is None else 1.0 / float(divisor)  # GPT-Neo does not scale


def _local(module: Any) -> int:
    """Returns the window that GPT-Neo's modules add to the mask themselves, in every other layer; 0
    if none."""
    own = getattr(module, "bias", None)
    if not isinstance(own, torch.Tensor) or own.ndim != 4:
        return 0
    widest = int(own[0, 0, -1].sum())
    return 0 if widest == own.shape[-1] else widest


class _Method:
    """Replaces `_attn` of a module."""

    def __init__(self, module: Any) -> None:
        self._module, self._own = module, module._attn
        self._scale, self._local = _scale(module), _local(module)

    def __call__(self, query: Any, key: Any, value: Any, mask: Any = None, *more: Any) -> Any:
        options = {
            "scaling": self._scale,
            "is_causal": True,
            "sliding_window": self._local,
            "local_window": self._local,
            "dropout": self._module.attn_dropout.p,
        }
        inputs = AttentionInputs("own", self._module, query, key, value, mask, options)

        def as_interface() -> Any:
            output, weights = self._own(query, key, value, mask, *more)
            return output.transpose(1, 2), weights

        output, weights = attend(inputs, as_interface)
        return output.transpose(1, 2), weights

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy of the module has its own method and is not affected."""
        copied = memo.get(id(self._module))
        return self if copied is None else types.MethodType(type(copied)._attn, copied)


def _adapt_method(module: Any) -> Callable[[], None]:
    module._attn = _Method(module)

    def leave() -> None:
        del module._attn

    return leave


def _bloom(module: Any, given: dict[str, Any]) -> AttentionInputs:
    query, key, value = module._reshape(module.query_key_value(given["hidden_states"]))
    alibi = given["alibi"]  # (batch * heads, 1, keys): depends on the key only
    bias = module.beta * alibi.reshape(query.shape[0], module.num_heads, 1, -1).float()
    options = {"scaling": module.inv_norm_factor, "position_bias": bias, "is_causal": True}
    return AttentionInputs("own", module, query, key, value, given.get("attention_mask"), options)


def _mpt(module: Any, given: dict[str, Any]) -> AttentionInputs:
    mixed = module.Wqkv(given["hidden_states"])
    if module.clip_qkv:
        mixed = mixed.clamp(min=-module.clip_qkv, max=module.clip_qkv)
    batch, length = mixed.shape[:2]
    shape = (batch, length, module.n_heads, module.head_dim)
    query, key, value = (part.reshape(shape).transpose(1, 2) for part in mixed.chunk(3, dim=2))
    bias = given.get("position_bias")
    bias = None if bias is None else bias[None, :, -length:, -length:].float()
    hidden = given.get("attention_mask")
    mask = ~hidden if isinstance(hidden, torch.Tensor) and hidden.dtype == torch.bool else None
    options = {"scaling": module.softmax_scale, "position_bias": bias, "is_causal": True}
    return AttentionInputs("own", module, query, key, value, mask, options)


COMPUTED = {"BloomAttention": _bloom, "MptAttention": _mpt}


def _adapt_module(module: Any, made: Callable[[Any, dict[str, Any]], AttentionInputs]) -> Callable[[], None]:
    names = ("hidden_states", "residual", "alibi") if made is _bloom else ("hidden_states", "position_bias")

    def before(_: Any, args: tuple[Any, ...], given: dict[str, Any]) -> None:
        if here.running is None:
            return
        if here.running.observe(made(module, {**dict(zip(names, args, strict=False)), **given})) is not None:
            raise UnsupportedError(
                f"{type(module).__name__}: expected attention through transformers' AttentionInterface, found a "
                "module that computes its own, which cannot be changed"
            )

    handle = module.register_forward_pre_hook(before, with_kwargs=True)
    return handle.remove  # type: ignore[no-any-return]


def _has_adapter(module: Any) -> bool:
    """Returns False for modules of GPT-J or CodeGen that use the interface: they have no
    `_attn`."""
    name = type(module).__name__
    return name in COMPUTED or (name in METHODS and hasattr(module, "_attn"))


def adapt(model: Any) -> Callable[[], None] | None:
    """Makes the modules that have an adapter pass their attention to attend(); the returned
    function undoes this. Returns None if the model has none of these modules."""
    modules = [module for module in model.modules() if _has_adapter(module)]
    if not modules:
        return None
    with _lock:
        for module in modules:
            _, leave, count = _installed.get(id(module), (module, None, 0))
            if leave is None:
                made = COMPUTED.get(type(module).__name__)
                leave = _adapt_method(module) if made is None else _adapt_module(module, made)
            _installed[id(module)] = (module, leave, count + 1)

    def undo() -> None:
        with _lock:
            while modules:
                module = modules.pop()
                _, leave, count = _installed.pop(id(module))
                if count > 1:
                    _installed[id(module)] = (module, leave, count - 1)
                else:
                    leave()

    return undo
