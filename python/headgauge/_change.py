"""The replacement for the attention of each head: a normalizer and a pattern, or a plan."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from headgauge import _core
from headgauge._config import of_layers
from headgauge._options import pairs
from headgauge._own import Normalizer, Pattern, Rule, Selector
from headgauge._texts import checked_spec, unmasked
from headgauge.errors import BadInputError, UnsupportedError, UsageError
from headgauge.results import Results


class Change:
    """The normalizer of a head and the pattern that selects its keys; None: the model's own."""

    def __init__(self, rule: _core.Rule | None, selector: _core.Pattern | Selector | None) -> None:
        self.rule, self.selector = rule, selector

    @functools.cached_property
    def first_and_last(self) -> tuple[int, int] | None:
        """Number of first and last keys that a query of a causal head sees; None: it sees others, too."""
        return None if self.selector is None else self.selector.first_and_last

    @property
    def is_mean(self) -> bool:
        """Returns whether the output is the mean of all values, which a decoder keeps as a sum."""
        return self.selector is None and self.rule is not None and self.rule.name == "uniform"


class Changes:
    """The changes of a model's heads; a head without one keeps the model's attention."""

    def __init__(
        self, model: Any, rule: Any, heads: str | Iterable[Any] | None, pattern: str | Pattern | None
    ) -> None:
        config = model.config.get_text_config()
        counts = [int(count) for count in of_layers(config, "num_attention_heads") if count]
        if not counts:
            raise UnsupportedError(
                f"{type(model).__name__}: expected a config that says num_hidden_layers and num_attention_heads, found "
                f"a {type(config).__name__} without; change a part of the model that has them"
            )
        self.layers, self.heads = int(config.num_hidden_layers), max(counts)
        self._by_head: dict[tuple[int, int], Change] = {}
        self._everywhere: Change | None = None
        self.rule_of_all: str | Normalizer | None = None
        """The normalizer, if it and nothing else is changed, in all heads."""
        text = _plan_text(rule)
        if text is not None:
            if heads is not None or pattern is not None:
                raise UsageError(
                    "use: expected a plan alone, which names its heads, found heads or a pattern too"
                )
            self._take_plan(*text, config)
            return
        if not (rule is None or isinstance(rule, str | Normalizer)) or not (rule or pattern):
            raise UsageError(
                f"use: expected a normalizer, a pattern or a plan (a path, a dict or Results), found {rule!r}"
            )
        if not (pattern is None or isinstance(pattern, str | Pattern)):
            raise UsageError(f"use: expected a pattern by name or a headgauge.Pattern, found {pattern!r}")
        change = _made(rule or "", pattern or "")
        if heads is None:
            self._everywhere = change
            self.rule_of_all = None if pattern else rule
        else:
            self._by_head = dict.fromkeys(_checked(heads, self.layers, self.heads), change)

    def _take_plan(self, text: str, name: str, config: Any) -> None:
        by_layer = _core.plan_texts(text, name)
        counts = {
            self.heads if count is None else int(count) for count in of_layers(config, "num_key_value_heads")
        }
        if len(counts) > 1:
            raise UnsupportedError(
                f"{name}: expected a model whose layers have as many key-value heads each, found {sorted(counts)}; "
                "a plan names heads by layers that are alike, so change them by heads="
            )
        (key_heads,) = counts
        found = (len(by_layer), len(by_layer[0]) if by_layer else 0)
        if found != (self.layers, key_heads):
            raise BadInputError(
                f"{name}: expected a plan for {self.layers} layers of {key_heads} key-value heads, found "
                f"one for {found[0]} of {found[1]}; make one for this model with headgauge plan"
            )
        shared = self.heads // key_heads
        made = functools.cache(_made)
        for layer, of_heads in enumerate(by_layer):
            for k, (pattern, normalizer) in enumerate(of_heads):
                if pattern or normalizer:
                    change = made(normalizer, pattern)
                    for head in range(k * shared, (k + 1) * shared):
                        self._by_head[layer, head] = change

    @property
    def by_layer(self) -> bool:
        """Returns whether the layer of a head matters: patterns that draw do so for each head, and
        a pattern of the caller may read the layer."""
        if self._everywhere is None:
            return True
        selector = self._everywhere.selector
        return isinstance(selector, Selector) or (selector is not None and selector.name == "bigbird")

    def require_in(self, layers: set[int | None], others: Collection[int] = ()) -> None:
        """Raises UsageError for a head whose layer is neither in `layers` nor in `others`."""
        for layer, head in sorted(self._by_head):
            if layer not in layers and layer not in others:
                those = ", ".join(map(str, sorted(k for k in layers if k is not None)))
                raise UsageError(
                    f"heads: expected heads of layers with attention ({those}), found ({layer}, {head})"
                )

    def of(self, layer: int | None, heads: int) -> list[Change | None]:
        """Returns the change of each query head of a layer."""
        if self._everywhere is not None:
            return [self._everywhere] * heads
        assert layer is not None
        return [self._by_head.get((layer, head)) for head in range(heads)]


def _made(normalizer: str | Normalizer, pattern: str | Pattern) -> Change:
    """Raises UsageError for an unknown normalizer or pattern."""
    for spec, name in ((normalizer, "rule"), (pattern, "pattern")):
        if isinstance(spec, str):
            checked_spec(spec, name)
    rule: Any = None
    if normalizer:
        rule = Rule(normalizer) if isinstance(normalizer, Normalizer) else _core.Rule(normalizer)
    selector: Any = None
    if pattern:
        selector = Selector(pattern) if isinstance(pattern, Pattern) else _core.Pattern(pattern)
    return Change(rule, selector)


def _plan_text(rule: Any) -> tuple[str, str] | None:
    """Returns the content of plan.json, and its name in errors; None if `rule` is not a plan."""
    if isinstance(rule, Results):
        if rule.plan is None:
            raise UsageError("use: expected the Results of plan(), found others, which hold no plan")
        return json.dumps(rule.plan), "plan"
    if isinstance(rule, dict):
        try:
            return json.dumps(rule), "plan"
        except (TypeError, ValueError) as error:
            raise UsageError(f"rule: expected a plan of JSON values, found another ({error})") from None
    if isinstance(rule, os.PathLike) or (isinstance(rule, str) and rule.endswith(".json")):
        path = os.fspath(rule)
        try:
            return Path(path).read_text("utf-8"), path
        except (OSError, UnicodeDecodeError) as error:
            raise BadInputError(f"{path}: expected a plan file, found: {error}") from error
    return None


def _checked(heads: str | Iterable[Any], layers: int, count: int) -> set[tuple[int, int]]:
    unmasked(heads, "heads")
    found = set(pairs(heads))
    for layer, head in found:
        if not (0 <= layer < layers and 0 <= head < count):
            raise UsageError(
                f"heads: expected layers 0 to {layers - 1} and heads 0 to {count - 1}, found ({layer}, {head})"
            )
    return found
