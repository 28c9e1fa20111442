"""Writes a live model's queries, keys and values to a file that the command line reads."""

from __future__ import annotations

import os
from typing import Any

from headgauge import _core
from headgauge._texts import TextOrIds, as_ids, checked_path, split
from headgauge.errors import BadInputError, ResourceError, UnsupportedError


def dump(
    model: Any, ids: TextOrIds, path: str | os.PathLike[str], *, lengths: list[int] | None = None
) -> None:
    """Runs a transformers model on the token ids of one text and writes a dump file
    (docs/formats.md, "Dump files"): queries, keys and values of every attention layer as float32,
    and the embeddings as x. An existing file is replaced after everything is written. `lengths`:
    the text is cut to the longest of them.

    Raises what scan() raises for such a model; BadInputError for more than one text;
    UnsupportedError for layers that a dump cannot describe (a window shorter than the text, a
    soft-cap, sinks, a scale other than the default); ResourceError if the file cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    from headgauge._live import LiveModel

    _core.require_unread(checked_path(path), [str(getattr(model, "name_or_path", ""))])
    texts = split(ids)
    if len(texts) != 1:
        raise BadInputError(f"ids: expected those of one text, found {len(texts)}; write a file of each")
    text = as_ids(texts[0])[: max(as_ids(lengths, "lengths")) if lengths is not None else None]
    tensors: dict[str, Any] = {}
    with LiveModel(model) as live:
        source = live.open([text[: live.positions or None]], "embedding")
        info = source.info()
        scale = None
        for layer in live.numbers:
            fields = source.layer(layer, 0)
            held = {name: fields[name] for name in ("window", "reach", "softcap", "sinks") if fields[name]}
            if fields["position_bias"] is not None:
                held["biases"] = "by position"
            if scale is not None and fields["scale"] != scale:
                held["scale"] = fields["scale"]
            if held:
                raise UnsupportedError(
                    f"layer {layer}: expected attention that queries, keys and one scale give, found "
                    + ", ".join(f"{name} {value}" for name, value in held.items())
                    + "; scan the model itself"
                )
            scale = fields["scale"]
            for letter, name in (("q", "queries"), ("k", "keys"), ("v", "values")):
                tensors[f"layers.{layer}.{letter}"] = fields[name]
            tensors["x"] = fields["x"]
    metadata = {"format": "headgauge.dump/1", "causal": str(info["causal"]).lower(), "scale": repr(scale)}
    if info["without_attention"]:
        metadata["without_attention"] = ",".join(map(str, info["without_attention"]))
    partial = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        save_file(tensors, partial, metadata=metadata)
        os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        raise ResourceError(
            f"{os.fspath(path)}: expected a file that can be written, found: {error}; choose another path"
        ) from error
    finally:
        if os.path.exists(partial):
            os.remove(partial)
