"""The tiny BERT checkpoints: one for every switch of a config."""

from dataclasses import dataclass

import numpy as np

from tests.golden.catalogue.case import TORCH_NAMES, Case, Config, Recipe, seed_of, table
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


CASES = tuple(Bert(**row) for row in table("bert"))
