"""Reads layer properties from the config of a transformers model; layers may differ (`per_layer_config`)."""

from __future__ import annotations

from typing import Any


def of_layers(config: Any, name: str) -> list[Any]:
    """Returns an attribute of each layer; None for a layer without it. If layers differ, the config
    raises RuntimeError for an attribute that differs; that does not count as absent."""
    count = int(getattr(config, "num_hidden_layers", None) or 0)
    if getattr(config, "is_heterogeneous", False):
        return [getattr(of_layer, name, None) for of_layer in config.per_layer_config]
    return [getattr(config, name, None)] * count


def any_of(config: Any, name: str) -> Any:
    """Returns an attribute that all layers share, or else that of the first layer that has it; None
    if no layer does."""
    if getattr(config, "is_heterogeneous", False) and name in config.per_layer_attributes:
        return next((found for found in of_layers(config, name) if found), None)
    return getattr(config, name, None)
