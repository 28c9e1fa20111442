"""The BERT checkpoints that the golden files are made of: one for every switch of a config."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.golden.catalogue import Tensors, layout_of, seed_of
from tests.golden.random_checkpoint import (
    DTYPES,
    TORCH_NAMES,
    Config,
    Tensor,
    encode,
    integers,
    uniform,
    write_config,
    write_weights,
)


@dataclass(frozen=True)
class Bert:
    """A committed checkpoint. The first six fields are its shape, the rest what is special."""

    name: str
    about: str
    width: int = 12
    heads: int = 2
    layers: int = 2
    vocab: int = 31
    positions: int = 64
    inner: int = 20
    types: int = 2
    dtype: str = "f32"
    changes: Config = field(default_factory=dict)
    drop: tuple[str, ...] = ()  # fields to leave out of config.json
    prefix: str = ""
    head: str = ""  # "tied" or "own": the masked-LM head, and how its decoder is stored
    old_names: bool = False  # LayerNorm.gamma and LayerNorm.beta
    buffers: bool = False  # position_ids, and a pooler
    norm_dtype: str = ""  # dtype of layer norms and biases, if another
    shards: int = 1

    def config(self) -> Config:
        config: Config = {
            "architectures": ["BertForMaskedLM" if self.head else "BertModel"],
            "attention_probs_dropout_prob": 0.1,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "hidden_size": self.width,
            "initializer_range": 0.02,
            "intermediate_size": self.inner,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": self.positions,
            "model_type": "bert",
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "pad_token_id": 0,
            "position_embedding_type": "absolute",
            "torch_dtype": TORCH_NAMES[self.dtype],
            "type_vocab_size": self.types,
            "use_cache": True,
            "vocab_size": self.vocab,
        }
        config.update(self.changes)
        return {key: value for key, value in config.items() if key not in self.drop}


OPTIONAL_FIELDS = (
    "attention_probs_dropout_prob",
    "hidden_act",
    "hidden_dropout_prob",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
    "position_embedding_type",
    "torch_dtype",
    "type_vocab_size",
    "use_cache",
)

CASES: tuple[Bert, ...] = (
    Bert(
        "plain",
        "nothing special; 97 positions, so that blocks of 64 rows end unevenly",
        width=20,
        heads=4,
        vocab=41,
        positions=97,
    ),
    *(
        Bert(
            f"activation-{name.replace('_', '-')}",
            f"hidden_act {name}",
            changes={"hidden_act": name},
        )
        for name in ("gelu_new", "relu", "silu")
    ),
    Bert("epsilon", "layer_norm_eps 0.05", changes={"layer_norm_eps": 0.05}),
    Bert("one-type", "type_vocab_size 1", types=1),
    Bert("five-types", "type_vocab_size 5: token type 0 is taken", types=5),
    Bert("prefix", "a masked-LM head, its decoder tied and not stored", prefix="bert.", head="tied"),
    Bert(
        "untied",
        "a masked-LM head with a decoder of its own",
        prefix="bert.",
        head="own",
        changes={"tie_word_embeddings": False},
    ),
    Bert("old-names", "LayerNorm.gamma and LayerNorm.beta", prefix="bert.", old_names=True),
    Bert("buffers", "position_ids as I64 and a pooler, both to be ignored", buffers=True),
    Bert("defaults", "config.json without any optional field", drop=OPTIONAL_FIELDS),
    Bert("inner-narrow", "intermediate_size 7", inner=7),
    Bert("inner-wide", "intermediate_size 101, not a multiple of anything", inner=101),
    Bert("one-head", "a single head as wide as the model, one layer", heads=1, width=9, layers=1),
    Bert("narrow-heads", "heads one number wide, three layers", heads=8, width=8, layers=3),
    Bert("odd-heads", "heads 7 wide, vocabulary above 64", heads=3, width=21, vocab=67),
    Bert("f16", "F16 weights", dtype="f16"),
    Bert("bf16", "BF16 weights", dtype="bf16"),
    Bert(
        "mixed",
        "matrices F16, biases and layer norms F32, in two shards",
        width=9,
        heads=3,
        dtype="f16",
        norm_dtype="f32",
        shards=2,
    ),
)


def shapes(case: Bert) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and role of every tensor of BertModel, by its name without prefix."""
    d, f = case.width, case.inner
    found: dict[str, tuple[tuple[int, ...], str]] = {
        "embeddings.word_embeddings.weight": ((case.vocab, d), "matrix"),
        "embeddings.position_embeddings.weight": ((case.positions, d), "matrix"),
        "embeddings.token_type_embeddings.weight": ((case.types, d), "matrix"),
    }

    def linear(name: str, rows: int, cols: int) -> None:
        found[f"{name}.weight"] = ((rows, cols), "matrix")
        found[f"{name}.bias"] = ((rows,), "bias")

    def norm(name: str) -> None:
        found[f"{name}.{'gamma' if case.old_names else 'weight'}"] = ((d,), "scale")
        found[f"{name}.{'beta' if case.old_names else 'bias'}"] = ((d,), "bias")

    norm("embeddings.LayerNorm")
    for layer in range(case.layers):
        at = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            linear(f"{at}.attention.self.{name}", d, d)
        linear(f"{at}.attention.output.dense", d, d)
        norm(f"{at}.attention.output.LayerNorm")
        linear(f"{at}.intermediate.dense", f, d)
        linear(f"{at}.output.dense", d, f)
        norm(f"{at}.output.LayerNorm")
    if case.buffers:
        linear("pooler.dense", d, d)
    found = {case.prefix + name: value for name, value in found.items()}
    if case.head:
        linear("cls.predictions.transform.dense", d, d)
        norm("cls.predictions.transform.LayerNorm")
        found["cls.predictions.bias"] = ((case.vocab,), "bias")
    if case.head == "own":
        found["cls.predictions.decoder.weight"] = ((case.vocab, d), "matrix")
        found["cls.predictions.decoder.bias"] = ((case.vocab,), "bias")
    return found


def tensors_of(case: Bert) -> Tensors:
    # Half-width sqrt(4.5 / width) is variance 1.5 / width: scores with a deviation of 1.5.
    sharp = math.isqrt((1024 * 1024 * 9) // (2 * case.width))
    recipes = {"matrix": (0.0, sharp), "bias": (0.0, 192), "scale": (1.0, 256)}
    tensors: Tensors = {}
    for name, (shape, role) in shapes(case).items():
        mean, numerator = recipes[role]
        dtype = case.norm_dtype if role != "matrix" and case.norm_dtype else case.dtype
        values = uniform(seed_of("bert " + case.name), name, math.prod(shape), mean, numerator)
        tensors[name] = Tensor(DTYPES[dtype][0], shape, encode(values, dtype))
    if case.buffers:
        ids = np.arange(case.positions, dtype="<i8")[None]
        tensors[case.prefix + "embeddings.position_ids"] = Tensor("I64", ids.shape, ids.tobytes())
    return tensors


def tokens_of(case: Bert) -> list[int]:
    return integers(seed_of("bert " + case.name), "tokens", case.positions, case.vocab)


def write_bert(folder: Path, case: Bert) -> None:
    tensors = tensors_of(case)
    write_config(folder, case.config())
    write_weights(folder, layout_of(tensors), lambda name: tensors[name].data, case.shards)
