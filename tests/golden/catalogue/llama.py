"""The tiny checkpoints of the Llama families: one for every switch of their configs."""

from dataclasses import dataclass

from tests.golden.catalogue.case import TORCH_NAMES, Case, Config, Recipe, table
from tests.golden.catalogue.draw import draw_tensor
from tests.golden.catalogue.files import Tensor

ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "ministral": "MinistralForCausalLM",
    "smollm3": "SmolLM3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "seed_oss": "SeedOssForCausalLM",
}


@dataclass(frozen=True)
class Llama(Case):
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 4
    inner: int = 20
    tied: bool = False
    prefix: bool = True
    buffers: bool = False  # the old rotary_emb.inv_freq of every layer

    @property
    def model_type(self) -> str:
        return self.name.split("-")[0]

    def stored_name(self, name: str) -> str:
        return name if self.prefix else name.removeprefix("model.")

    def fields(self) -> Config:
        config: Config = {
            "architectures": [ARCHITECTURES[self.model_type]],
            "head_dim": self.head_dim,
            "hidden_size": self.width,
            "intermediate_size": self.inner,
            "max_position_embeddings": self.positions,
            "model_type": self.model_type,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "num_key_value_heads": self.kv_heads,
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": self.tied,
            "torch_dtype": TORCH_NAMES[self.dtype],
            "vocab_size": self.vocab,
        }
        if self.model_type.startswith(("gemma", "smollm3")):
            config["pad_token_id"] = 0
        return config

    def recipes(self) -> dict[str, Recipe]:
        family, config = self.model_type, self.config()
        width, inner, sharp = self.width, self.inner, self.sharp
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        norm_mean = 0.0 if family.startswith("gemma") else 1.0
        attention_bias = bool(config.get("attention_bias")) and family != "mistral"
        input_bias = attention_bias or family == "qwen2"
        output_bias = attention_bias
        if family == "seed_oss":
            input_bias = bool(config.get("attention_bias", True))
            output_bias = bool(config.get("attention_out_bias"))
        mlp_bias = bool(config.get("mlp_bias", False))
        linear = {
            "self_attn.q_proj": (queries, width, input_bias),
            "self_attn.k_proj": (keys, width, input_bias),
            "self_attn.v_proj": (keys, width, input_bias),
            "self_attn.o_proj": (width, queries, output_bias),
            "mlp.gate_proj": (inner, width, mlp_bias),
            "mlp.up_proj": (inner, width, mlp_bias),
            "mlp.down_proj": (width, inner, mlp_bias),
        }
        norms = {"input_layernorm": width, "post_attention_layernorm": width}
        if family in ("qwen3", "gemma3_text"):
            norms |= {"self_attn.q_norm": self.head_dim, "self_attn.k_norm": self.head_dim}
        if family in ("gemma2", "gemma3_text"):
            norms |= {"pre_feedforward_layernorm": width, "post_feedforward_layernorm": width}
        recipes: dict[str, Recipe] = {
            "model.embed_tokens.weight": ((self.vocab, width), 0.0, sharp),
        }
        for layer in range(self.layers):
            block = f"model.layers.{layer}."
            for name, (out, into, bias) in linear.items():
                recipes[f"{block}{name}.weight"] = ((out, into), 0.0, sharp)
                if bias:
                    recipes[f"{block}{name}.bias"] = ((out,), 0.0, 256)
            for name, size in norms.items():
                recipes[f"{block}{name}.weight"] = ((size,), norm_mean, 256)
        recipes["model.norm.weight"] = ((width,), norm_mean, 256)
        if not self.tied:
            recipes["lm_head.weight"] = ((self.vocab, width), 0.0, sharp)
        return recipes

    def extras(self) -> dict[str, Tensor]:
        names = (f"model.layers.{layer}.self_attn.rotary_emb.inv_freq" for layer in range(self.layers))
        shape = (self.head_dim // 2,)
        return {name: draw_tensor(self.seed, name, shape, 1.0, 256, "f32") for name in names if self.buffers}


CASES = tuple(Llama(**row) for row in table("llama"))
