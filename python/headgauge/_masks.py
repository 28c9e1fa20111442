"""The arguments of an attention call: queries and keys, and which keys a query sees."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch

from headgauge.errors import UnsupportedError

# A mask hides a score if it adds this or less; masks use the smallest number of float16 or less.
HIDDEN = -1e4


@dataclass(frozen=True)
class Visibility:
    """The keys that a query sees."""

    causal: bool = True
    window: int = 0
    """Maximum number of keys, including the query's own; 0: all."""
    reach: int = 0
    """Maximum distance of keys, for a bidirectional model; 0: all."""


def allowed_keys(mask: Any, keys: int, name: str) -> torch.Tensor:
    """Returns (batch, queries, keys): whether a query sees a key. Raises UnsupportedError for a
    mask that does more than hide keys, or has another form."""
    if not isinstance(mask, torch.Tensor) or mask.ndim != 4:
        raise UnsupportedError(
            f"{name}: expected a mask of 4 dimensions, found {type(mask).__name__}; load the model with "
            "attn_implementation='sdpa'"
        )
    given = mask[..., :keys]
    if given.shape[1] > 1 and not bool((given == given[:, :1]).all()):
        raise UnsupportedError(
            f"{name}: expected one mask for all heads, found one for each; measure such "
            "layers by headgauge.analyze()"
        )
    given = given[:, 0]
    if given.dtype == torch.bool:
        return given
    hidden = given <= HIDDEN
    if not bool((hidden | (given == 0)).all()):
        raise UnsupportedError(
            f"{name}: expected a mask that shows keys or hides them, found one that adds to the scores "
            "(biases by position); measure such layers by headgauge.analyze()"
        )
    return ~hidden


@dataclass
class AttentionInputs:
    """The arguments of one layer's attention, called through a function named `implementation`."""

    implementation: str
    module: Any
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: Any
    options: dict[str, Any]

    @property
    def name(self) -> str:
        return type(self.module).__name__

    @property
    def window(self) -> int:
        """Returns the maximum number of keys that a query sees, on both sides together; 0: all."""
        window = self._called_with("sliding_window") or 0  # None or 0 in the call: the layer sees all keys
        return int(window) if self.causal or not window else 2 * int(window) - 1

    def _called_with(self, name: str) -> Any:
        """Returns the argument of the call, also if it is None; without one, the attribute of the
        module."""
        return self.options[name] if name in self.options else getattr(self.module, name, None)

    @property
    def causal(self) -> bool:
        """Returns whether queries see no later keys. is_causal=False in the call counts only
        without a mask and for several queries, because SDPA gets it with every mask and for a
        single query. An eager function uses only its mask."""
        if self.implementation == "eager" and self.mask is None:
            return False
        said = self.options.get("is_causal")
        if said or (said is not None and self.mask is None and self.query.shape[2] > 1):
            return bool(said)
        return bool(getattr(self.module, "is_causal", True))

    @property
    def scale(self) -> float:
        """Returns the factor for the products of queries and keys."""
        scaling = self.options.get("scaling")
        if scaling is not None:
            return float(scaling)
        scale = float(self.query.shape[3] ** -0.5)
        if self.implementation != "eager":
            return scale
        # GPT-2's own function takes its scale from the module.
        if not getattr(self.module, "scale_attn_weights", True):
            scale = 1.0
        if getattr(self.module, "scale_attn_by_inverse_layer_idx", False):
            scale /= self.module.layer_idx + 1
        return scale

    @property
    def softcap(self) -> float:
        """Returns c > 0 if scores become c tanh(score / c), else 0. SDPA ignores the argument."""
        return 0.0 if self.implementation == "sdpa" else float(self.options.get("softcap") or 0.0)

    @property
    def sinks(self) -> list[float]:
        """Returns the additional logits next to those of the keys, one per head; most models have none."""
        logits = self.options.get("s_aux")
        if self.implementation == "sdpa":
            return []
        if self.options.get("sinks") is not None:
            raise UnsupportedError(
                f"{self.name}: expected one sink for each head, found one for each query; measure such layers by "
                "headgauge.analyze()"
            )
        if logits is None:
            return []
        return [float(b) for b in logits.detach().float().reshape(-1).cpu()]

    @property
    def layer(self) -> int | None:
        """Returns the layer number of the module; None: it has none."""
        number = getattr(self.module, "layer_idx", getattr(self.module, "layer_id", None))
        return None if number is None or int(number) < 0 else int(number)

    def allowed(self, keys: int) -> torch.Tensor:
        """Returns (batch, queries, keys): whether each of the last queries sees each key, by the
        mask and by the window that a module adds to it."""
        allowed = allowed_keys(self.mask, keys, self.name)
        local = self.options.get("local_window")
        if not local:
            return allowed
        place = torch.arange(keys, device=allowed.device)
        near: torch.Tensor = place > place[keys - self.query.shape[2] :, None] - local
        return allowed & near

    @functools.cached_property
    def position_bias(self) -> Any:
        """Returns the bias (heads, 2 L - 1) in float32, with that of key j for query i at L - 1 + j
        - i; None if there is none. A bias that depends on the key alone and is linear in it becomes
        one by distance: the two differ by a constant in each row, which softmax ignores. Raises
        UnsupportedError for other biases."""
        given = self.options.get("position_bias")
        if given is None or not bool(given.any()):
            return None
        bias = given[0].detach().float().cpu()
        length = bias.shape[-1]
        if bias.shape[1] == 1 and length > 1:
            step = bias[:, 0, 1:] - bias[:, 0, :-1]
            slope = (bias[:, 0, -1:] - bias[:, 0, :1]) / (length - 1)
            alike = torch.allclose(step, slope.expand_as(step), rtol=1e-3, atol=1e-6)
            found = slope * torch.arange(1 - length, length)
        else:
            alike = bias.shape[1] == length and torch.equal(bias[:, 1:, 1:], bias[:, :-1, :-1])
            found = torch.cat([bias[:, 1:, 0].flip(-1), bias[:, 0]], dim=1)
        if not alike:
            raise UnsupportedError(
                f"{self.name}: expected biases that depend on the distance of query and key, found others; "
                "measure such layers by headgauge.analyze()"
            )
        return found.contiguous().numpy()

    def require_all_seen(self) -> None:
        """Raises UnsupportedError if a query of cross-attention does not see the whole encoder."""
        if self.mask is not None and not bool(self.allowed(self.key.shape[2]).all()):
            raise UnsupportedError(
                f"{self.name}: expected queries that see all of the encoder's text, found a mask that hides some; give "
                "texts one by one, without padding"
            )

    @functools.cached_property
    def visibility(self) -> Visibility:
        """Returns the visible keys of the first text of a batch. Raises UnsupportedError for other
        kinds of masks."""
        length = self.query.shape[2]
        if self.mask is None:
            return Visibility(self.causal, self.window if self.causal and 0 < self.window < length else 0)
        allowed = self.allowed(length)[0]
        if bool(allowed.all()):
            return Visibility(causal=False)
        widest = int(allowed.sum(dim=1).max())
        everything = torch.ones_like(allowed)
        if torch.equal(allowed, everything.tril()):
            return Visibility()
        if torch.equal(allowed, everything.tril().triu(1 - widest)):
            return Visibility(window=widest)
        reach = int(allowed[0].sum()) - 1
        if reach > 0 and torch.equal(allowed, everything.tril(reach).triu(-reach)):
            return Visibility(causal=False, reach=reach)
        raise UnsupportedError(
            f"{self.name}: expected a mask that is full, causal or a sliding window, found another one; "
            "measure such layers by headgauge.analyze()"
        )


def visible_keys(inputs: AttentionInputs, keys: int) -> torch.Tensor:
    """Returns (batch, 1, queries, keys), or 1 for the batch: whether each of the last queries sees
    each of the keys so far. Raises UnsupportedError for a mask that does more than hide keys."""
    if inputs.mask is not None:
        return inputs.allowed(keys)[:, None]
    place = torch.arange(keys, device=inputs.query.device)
    query = place[keys - inputs.query.shape[2] :, None]
    if not inputs.causal:
        return torch.ones_like(query == place)[None, None]
    window = int(inputs.options.get("sliding_window") or 0)
    visible = place <= query
    return (visible & (place > query - window) if window else visible)[None, None]
