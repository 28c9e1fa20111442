"""Reads layer properties from the config of a transformers model; layers may differ (`per_layer_config`)."""

from __future__ import annotations

from typing import Any


def of_layers(config: Any, name: str) -> list[Any]:
    """An attribute of each layer; None where there is none. A config of layers that differ raises RuntimeError
    where it is asked for what differs, and nothing here takes that for an attribute that is absent."""
    count = int(getattr(config, "num_hidden_layers", None) or 0)
    if getattr(config, "is_heterogeneous", False):
        return [getattr(of_layer, name, None) for of_layer in config.per_layer_config]
    return [getattr(config, name, None)] * count


def any_of(config: Any, name: str) -> Any:
    """Returns an attribute that all layers share, or the first layer's that has one; None: there is none."""
    if getattr(config, "is_heterogeneous", False) and name in config.per_layer_attributes:
        return next((found for found in of_layers(config, name) if found), None)
    return getattr(config, name, None)
