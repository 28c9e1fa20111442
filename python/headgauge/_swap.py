"""A live model under another normalizer, a pattern or a plan, forward and backward."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple

import torch

from headgauge import _held_attention
from headgauge._adapters import adapt
from headgauge._attention import (
    add_swap,
    here,
    install,
    is_encoder_decoder,
    is_last_swap,
    remove_swap,
    unwrapped,
)
from headgauge._cache import PrunedLayer, can_prune, whole_bytes, with_pruned_layers
from headgauge._change import Change, Changes
from headgauge._changed_attention import Attention
from headgauge._forward_pass import places_within
from headgauge._held_heads import updated
from headgauge._masks import AttentionInputs
from headgauge._own import Pattern
from headgauge.errors import UnsupportedError, UsageError

cache_names = ("cache", "past_key_values")
"""The name of the key-value cache argument of forward(): since transformers 5.24, and before."""


class CacheBytes(NamedTuple):
    """Bytes of a key-value cache."""

    held: int
    whole: int
    """Bytes of the model's own cache after the same tokens: its layers with a window hold that alone."""


class use:
    """Makes a transformers model attend with another normalizer or pattern, from now on or within
    `with`.

    `rule`: a normalizer ("ssmax", "entmax:alpha=1.5", ...; docs/normalizers.md, or a
    headgauge.Normalizer), or a plan: the path of a plan.json, its contents, or the Results of
    plan(). `pattern`: "window:size=64", ... (docs/patterns.md, or a headgauge.Pattern), with or
    without a normalizer. `heads`: pairs (layer, head), or "1.3"; by default all.

    Works forward and backward: gradients are products with the exact Jacobian. Works with padding
    and with a key-value cache. If heads need only their first and last keys (`window`, `sinks`) or
    the sum of their values (`uniform`), the cache of generate() or of a forward pass holds no more
    than that; cache_bytes gives its size. restore() restores the model. If several of these objects
    change one model, the last one created that is still active applies, in whatever order they end.

    Heads that need only first and last keys, all keys or a mean run by PyTorch's kernels, in the
    model's own type, if all query heads of a key-value head do. Otherwise scores are computed in
    float32 or better, weights of normalizers in float64 on the CPU and in the type of the scores on
    a GPU, and all weights of a layer are in memory at once: for measuring, tuning and trying, not
    for speed.

    `record_past`: for assisted generation, with this model as the one that drafts or that verifies.
    The cache drops nothing until transformers (5.24 or later) takes the tokens back that were not
    accepted.

    Raises UsageError for an unknown rule, pattern or head; from the model's first forward pass also
    for heads of layers without attention (hybrid models). Raises BadInputError for a plan of
    another model. Raises UnsupportedError for sinks; from the model's first forward pass also for a
    model that computes its own attention, and for heads= or a plan if layers share their attention
    module.
    """

    def __init__(
        self,
        model: Any,
        rule: Any = None,
        heads: str | Iterable[str | tuple[int, int]] | None = None,
        *,
        pattern: str | Pattern | None = None,
        record_past: bool = False,
    ) -> None:
        if isinstance(model, torch.nn.Module):
            model = unwrapped(model)
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
            raise UsageError(f"model: expected a transformers model, found {type(model).__name__}")
        if is_encoder_decoder(model):
            raise UnsupportedError(
                f"{type(model).__name__}: expected a decoder or an encoder, found both; change model.get_encoder()"
            )
        self._changes = Changes(model, rule, heads, pattern)
        self._called = False
        self._attended: set[int | None] = set()
        self._kinds_that_attend: set[type] = set()
        self._places = places_within(model) if self._changes.by_layer else {}
        self._listed = True
        """True if every layer that attended has the number of its index in the model's list of layers."""
        self._last: int | None = None
        """The last layer that attended in the forward pass; -1: none yet; None: no pass is running."""
        self._layers: list[PrunedLayer] = []
        self._cache_bytes: CacheBytes | None = None
        self._past = 0
        self._keeping = False
        """Whether every attention of the current forward pass has a layer of the cache."""
        self._records = record_past
        # False: all weights are in memory, and nothing is computed by the code of an exported folder.
        self._by_kernels = True
        self._model = model
        self._parameters = [*inspect.signature(model.forward).parameters]
        known = [name for name in cache_names if name in self._parameters]
        self._cache_name = [*known, cache_names[-1]][0]
        self._keeps = bool(known) and can_prune(model)  # an encoder has no cache, even if its config says so
        self._undo = [install(model), *filter(None, [adapt(model)])]
        add_swap(model, self)
        self._hooks: list[Any] = [
            model.register_forward_pre_hook(
                lambda module, args, given: self._begin(module, args, given), with_kwargs=True
            ),
            model.register_forward_hook(lambda module, *_: self._end(module)),
        ]

    def restore(self) -> None:
        """Restores the model; a second call does nothing."""
        if self._hooks:
            self._cache_bytes = self.cache_bytes
            self._layers = []
            for hook in self._hooks:
                hook.remove()
            self._hooks.clear()
            remove_swap(self._model, self)
            for undo in self._undo:
                undo()

    def __enter__(self) -> use:  # noqa: PYI034 - Self is of Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    @property
    def model(self) -> Any:
        return self._model

    @property
    def rule_of_all(self) -> Any:
        """The normalizer, if it and nothing else is changed, in all heads."""
        return self._changes.rule_of_all

    def of(self, layer: int, heads: int) -> list[Change | None]:
        return self._changes.of(layer, heads)

    @property
    def is_active(self) -> bool:
        return bool(self._hooks)

    @property
    def cache_bytes(self) -> CacheBytes | None:
        """Returns the measured size of the model's last key-value cache; None: it made none."""
        if not self._layers:
            return self._cache_bytes
        tokens = max(layer.token_count for layer in self._layers)
        held = sum(layer.nbytes for layer in self._layers)
        return CacheBytes(held, whole_bytes(self._model.config, self._layers, tokens))

    def _counts(self, module: Any) -> bool:
        """Returns whether this swap applies: not to a copy of the model, not if a later swap is
        active, and not in a measured pass that began before it."""
        return module is self._model and here.running is None and is_last_swap(module, self)

    def _begin(self, module: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
        """Makes a key-value cache that is empty or does not exist yet hold only what is needed."""
        if not self._counts(module):
            return None
        updated.layer, self._last = None, -1  # may be set if the last forward pass failed
        name = next((name for name in cache_names if name in given), self._cache_name)
        if name in self._parameters[: len(args)]:
            args, given = (), {**dict(zip(self._parameters, args, strict=False)), **given}
        past = given.get(name)
        wanted = given.get("use_cache")
        if wanted is None:
            wanted = getattr(module.config, "use_cache", False) and not module.training
        self._past = 0 if past is None else _tokens_in(past)
        layers = getattr(past, "layers", None)
        if self._past > 0 or (past is None and not wanted):
            own = [layer for layer in layers or [] if isinstance(layer, PrunedLayer)]
            self._keeping = bool(own)
            if own and own[0].owner is self:
                self._layers = own
            return args, given
        self._keeping = self._keeps and (past is None or layers is not None)
        if not self._keeping:
            return args, given
        if past is not None and getattr(module, "_cache", None) is past:
            del module._cache  # transformers 4 would reuse it in the next generation
        past, self._layers = with_pruned_layers(past, self, self._changes.layers, self._records)
        return args, {**given, name: past}

    def _end(self, module: Any) -> None:
        if not self._counts(module):
            return
        updated.layer, self._keeping, self._past, self._last = None, False, 0, None
        self.require_attention()
        self._changes.require_in(self._attended, self._left_out() if module.training else ())

    def _left_out(self) -> set[int]:
        """Returns the layers that training may have skipped (layer dropout): all except those in
        the model's list whose modules are of other types than those that attended."""
        numbers = {place.number for place in self._places.values() if place is not None}
        alike = {
            place.number
            for module, place in self._places.items()
            if place is not None and type(module) in self._kinds_that_attend
        }
        return set(range(self._changes.layers)) - (numbers - alike if self._listed else set())

    def require_attention(self) -> None:
        """Raises UnsupportedError if the model ran without an attention that this object changed."""
        if not self._called:
            raise UnsupportedError(
                f"{type(self._model).__name__}: expected attention through transformers' AttentionInterface, "
                "found a model that computes its own, which use() cannot change; measure it by scan() or headgauge.analyze()"
            )

    def attention(self, inputs: AttentionInputs, own: Callable[[], Any]) -> Any:
        """Computes the attention of a module of the model; our attention function calls it."""
        self._called = True
        kept = updated.take()
        if kept is not None and (not isinstance(kept, PrunedLayer) or kept.owner is not self):
            raise UnsupportedError(
                "use: expected a key-value cache of this attention, found one of another use()"
            )
        if kept is None and self._keeping:
            raise UnsupportedError(
                f"{inputs.name}: expected each layer's own keys in the key-value cache, found a layer without; "
                "generate with use_cache=False"
            )
        count = inputs.query.shape[1]
        layer = self._layer_of(inputs)
        self._attended.add(layer)
        changes = self._changes.of(layer, count)
        if kept is None and not any(changes):
            return own()
        output = _held_attention.attend(inputs, changes, kept, self._past) if self._by_kernels else None
        if output is None:
            output = Attention(inputs, own, kept, layer, self._past).attend(changes)
        return output, None

    def _layer_of(self, inputs: AttentionInputs) -> int | None:
        """Returns its number, as scan() numbers layers; None: it is unknown and not needed."""
        if not self._changes.by_layer:
            return inputs.layer
        place = self._places.get(inputs.module)
        layer = inputs.layer if inputs.layer is not None or place is None else place.number
        if layer is None or (self._last is not None and layer <= self._last):
            raise UnsupportedError(
                f"{inputs.name}: expected a module for each layer, found one that is used again or stands in no list of "
                "layers, so that its heads cannot be told apart; change all heads"
            )
        self._kinds_that_attend.add(type(inputs.module))
        self._listed &= place is not None and place.number == layer
        self._last = None if self._last is None else layer
        return layer


def _tokens_in(past: Any) -> int:
    """Returns the number of tokens that a key-value cache has seen; layers without attention report
    nothing, or 0."""
    layers = getattr(past, "layers", None)
    if layers is None:
        return int(past.get_seq_length())
    counts = [layer.get_seq_length() for layer in layers if hasattr(layer, "get_seq_length")]
    return max(map(int, counts), default=0)
