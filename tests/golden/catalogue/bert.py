"""The tiny BERT checkpoints: one for every switch of a config."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.golden.catalogue.case import TORCH_NAMES, Case, Config, Recipe, seed_of
from tests.golden.catalogue.files import Tensor


@dataclass(frozen=True)
class Bert(Case):
    inner: int = 20
    types: int = 2
    prefix: str = ""
    head: str = ""  # "tied" or "own": the masked-LM head, and how its decoder is stored
    old_names: bool = False  # LayerNorm.gamma and LayerNorm.beta
    buffers: bool = False  # position_ids, and a pooler

    @property
    def seed(self) -> int:
        return seed_of("bert " + self.name)

    def fields(self) -> Config:
        return {
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

    def recipes(self) -> dict[str, Recipe]:
        width, inner, sharp = self.width, self.inner, self.sharp
        found: dict[str, Recipe] = {}

        def matrix(name: str, rows: int) -> None:
            found[f"{name}.weight"] = ((rows, width), 0.0, sharp)

        def linear(name: str, rows: int, columns: int) -> None:
            found[f"{name}.weight"] = ((rows, columns), 0.0, sharp)
            found[f"{name}.bias"] = ((rows,), 0.0, 192)

        def norm(name: str) -> None:
            scale, shift = ("gamma", "beta") if self.old_names else ("weight", "bias")
            found[f"{name}.{scale}"] = ((width,), 1.0, 256)
            found[f"{name}.{shift}"] = ((width,), 0.0, 192)

        matrix("embeddings.word_embeddings", self.vocab)
        matrix("embeddings.position_embeddings", self.positions)
        matrix("embeddings.token_type_embeddings", self.types)
        norm("embeddings.LayerNorm")
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}"
            for name in ("query", "key", "value"):
                linear(f"{at}.attention.self.{name}", width, width)
            linear(f"{at}.attention.output.dense", width, width)
            norm(f"{at}.attention.output.LayerNorm")
            linear(f"{at}.intermediate.dense", inner, width)
            linear(f"{at}.output.dense", width, inner)
            norm(f"{at}.output.LayerNorm")
        if self.buffers:
            linear("pooler.dense", width, width)
        found = {self.prefix + name: recipe for name, recipe in found.items()}
        if self.head:
            linear("cls.predictions.transform.dense", width, width)
            norm("cls.predictions.transform.LayerNorm")
            found["cls.predictions.bias"] = ((self.vocab,), 0.0, 192)
        if self.head == "own":
            linear("cls.predictions.decoder", self.vocab, width)
        return found

    def extras(self) -> dict[str, Tensor]:
        if not self.buffers:
            return {}
        ids = np.arange(self.positions, dtype="<i8")[None]
        return {self.prefix + "embeddings.position_ids": Tensor("I64", ids.shape, ids.tobytes)}


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
        tokens=97,
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
