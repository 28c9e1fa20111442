"""What is measured: a GPT-2 or Llama checkpoint over token ids, or a headgauge.dump/1 file.

Either gives, for each document, the scaled scores of every head and the points x_j.
"""

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.reference.arrays import Array
from tests.reference.geometry import Points, on_unit_sphere
from tests.reference.gpt2 import LayerTrace, Model
from tests.reference.llama import FAMILIES, LlamaModel, cap
from tests.reference.safetensors_io import Tensors, read_file


@dataclass
class Document:
    """One text after the forward pass. `points` of a layer are shared by its heads or per head."""

    length: int
    visible: Array  # (L,) keys that row t sees, at [t-1]
    next_token_loss: Array | None
    layers: list[int]
    heads: int
    positions: int | None = field(default=None, kw_only=True)  # learnt ones: there are no others
    tokens: Array | None = field(default=None, kw_only=True)  # (L,) ids, where they are known
    windows: dict[int, int] = field(default_factory=dict, kw_only=True)  # of layers that have one

    def logits(self, layer: int, head: int, unit_norms: bool = False) -> Array:
        """Scaled scores; the cosines of queries and keys where a normalizer asks for unit norms."""
        raise NotImplementedError

    def points(self, layer: int, head: int) -> Points | None:
        raise NotImplementedError

    def point_width(self, layer: int) -> int:
        raise NotImplementedError

    @property
    def vectors(self) -> Array:
        """(L,) which vector x each position has: its own, unless positions share them."""
        return np.arange(self.length)


@dataclass
class ModelDocument(Document):
    traces: list[LayerTrace]
    scales: list[float]
    embedding: Points | None
    x: str
    unit_sphere: bool
    cap: float = 0.0  # soft-cap of the scores; 0: none

    def logits(self, layer: int, head: int, unit_norms: bool = False) -> Array:
        trace = self.traces[layer]
        q, k = trace.queries[head].astype(np.float64), trace.keys[head].astype(np.float64)
        if unit_norms:
            return cap(np.asarray(on_unit_sphere(q) @ on_unit_sphere(k).T), self.cap)
        return cap(np.asarray(q @ k.T * self.scales[layer]), self.cap)

    def points(self, layer: int, head: int) -> Points | None:
        if self.embedding is not None:
            return self.embedding
        trace = self.traces[layer]
        return Points.of(trace.hidden if self.x == "hidden" else trace.values[head], self.unit_sphere)

    def point_width(self, layer: int) -> int:
        trace = self.traces[layer]
        return int((trace.values if self.x == "value" else trace.hidden).shape[-1])

    @property
    def vectors(self) -> Array:
        """Tokens of one id have one embedding."""
        if self.embedding is None:
            return np.arange(self.length)
        return np.unique(self.embedding.x, axis=0, return_inverse=True)[1].ravel()


def open_model(folder: Path) -> Model | LlamaModel:
    kind = json.loads((folder / "config.json").read_text()).get("model_type")
    if kind not in FAMILIES:
        return Model(folder)
    return LlamaModel(folder)


def model_documents(
    folder: Path,
    texts: list[list[int]],
    longest: int,
    x: str,
    unit_sphere: bool = True,
) -> list[Document]:
    """One pass over the first `longest` ids of each text."""
    model = open_model(folder)
    cap_at, windows = 0.0, []
    if isinstance(model, LlamaModel):
        cap_at = model.config.cap
        windows = [model.config.window(layer) for layer in range(model.config.layers)]
        if any(0 < window < min(longest, max(map(len, texts))) for window in windows):
            raise ValueError("rows that do not begin at the first key are not known here")
    documents: list[Document] = []
    for ids in texts:
        trace = model.forward(ids[:longest])
        count = len(trace.embedding)
        documents.append(
            ModelDocument(
                length=count,
                visible=np.arange(1, count + 1),
                next_token_loss=trace.next_token_loss,
                layers=list(range(model.config.layers)),
                heads=model.config.heads,
                windows={layer: window for layer, window in enumerate(windows) if window},
                traces=trace.layers,
                scales=[model.config.scale(layer) for layer in range(model.config.layers)],
                embedding=Points.of(trace.embedding, unit_sphere) if x == "embedding" else None,
                x=x,
                unit_sphere=unit_sphere,
                cap=cap_at,
                positions=None if isinstance(model, LlamaModel) else model.config.positions,
                tokens=np.asarray(ids[:count]),
            )
        )
    return documents


@dataclass
class DumpDocument(Document):
    tensors: Tensors
    scale: float | None
    x: str
    unit_sphere: bool

    def _tensor(self, layer: int, name: str) -> Array | None:
        return self.tensors.get(f"layers.{layer}.{name}")

    def _of_head(self, stored: Array, head: int) -> Array:
        """Grouped heads: that of kv head h // group."""
        return np.asarray(stored[head // (self.heads // len(stored)), : self.length])

    def logits(self, layer: int, head: int, unit_norms: bool = False) -> Array:
        scores = self._tensor(layer, "scores")
        if scores is not None:
            assert not unit_norms, "scores alone have no norms of queries and keys"
            return np.asarray(scores[head, : self.length, : self.length])
        q, k = self._tensor(layer, "q"), self._tensor(layer, "k")
        assert q is not None and k is not None
        if unit_norms:
            queries, keys = q[head, : self.length], self._of_head(k, head)
            return np.asarray(on_unit_sphere(queries) @ on_unit_sphere(keys).T)
        scale = self.scale if self.scale is not None else 1.0 / math.sqrt(q.shape[-1])
        return np.asarray(q[head, : self.length] @ self._of_head(k, head).T * scale)

    def _stored_points(self, layer: int) -> Array | None:
        if self.x == "value":
            return self._tensor(layer, "v")
        own = self._tensor(layer, "x")
        return own if own is not None else self.tensors.get("x")

    def points(self, layer: int, head: int) -> Points | None:
        stored = self._stored_points(layer)
        if stored is None:
            return None
        x = self._of_head(stored, head) if self.x == "value" else stored[: self.length]
        return Points.of(x, self.unit_sphere)

    @property
    def vectors(self) -> Array:
        """Vectors of a dump are one where they are equal; those of the first layer stand for all."""
        stored = None if self.x == "value" else self._stored_points(self.layers[0])
        if stored is None:
            return np.arange(self.length)
        return np.unique(stored[: self.length], axis=0, return_inverse=True)[1].ravel()

    def point_width(self, layer: int) -> int:
        stored = self._stored_points(layer)
        return 0 if stored is None else int(stored.shape[-1])


def dump_document(path: Path, longest: int, x: str, unit_sphere: bool = True) -> Document:
    """A dump as one document; rows of a dump that is not causal see all its keys."""
    tensors, metadata = read_file(path)
    if metadata.get("format") != "headgauge.dump/1":
        raise ValueError(f"{path}: format {metadata.get('format')!r}, not headgauge.dump/1")
    found = [re.fullmatch(r"layers\.(\d+)\.(q|scores)", name) for name in tensors]
    layers = sorted({int(match.group(1)) for match in found if match})
    sample = tensors.get(f"layers.{layers[0]}.scores", tensors.get(f"layers.{layers[0]}.q"))
    assert sample is not None
    heads, length = sample.shape[0], min(sample.shape[1], longest)
    causal = metadata.get("causal", "true") == "true"
    if not causal and length < sample.shape[1]:
        raise ValueError("a dump that is not causal is checked at its own length only")
    visible = np.arange(1, length + 1) if causal else np.full(length, length)
    scale = float(metadata["scale"]) if "scale" in metadata else None
    return DumpDocument(length, visible, None, layers, heads, tensors, scale, x, unit_sphere)
