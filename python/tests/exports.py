"""Folders that `headgauge plan --export` writes for transformers, of small random models."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from commands import BINARY
from needs_torch import TorchTest, torch, transformers

VOCABULARY = 41
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
         "initializer_range": 0.2}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": SIZES,
    "Qwen2": SIZES,
    "Mistral": {**SIZES, "sliding_window": 24},
    # The first layer has a window, the second none.
    "Gemma3": {**SIZES, "head_dim": 16, "sliding_window": 24, "eos_token_id": None, "pad_token_id": None,
               "tie_word_embeddings": False, "layer_types": ["sliding_attention", "full_attention"]},
    "GPT2": {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 512,
             "initializer_range": 0.2},
}  # fmt: skip
# Each layer has, for every key-value head, what the plan says and what config.json says.
KINDS = [[("sinks:sinks=2,window=6", [2, 6]), ("", None)], [("uniform", "mean"), ("window:size=9", [0, 9])]]
WINDOWED = [KINDS[0], [("sinks:sinks=3,window=5", [3, 5]), ("window:size=9", [0, 9])]]


def made(family: str) -> Any:
    torch.manual_seed(5)
    config_class = "Gemma3TextConfig" if family == "Gemma3" else f"{family}Config"
    config = getattr(transformers, config_class)(**FAMILIES[family])
    name = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
    return getattr(transformers, name)(config).eval()


def kinds_of(family: str) -> Any:
    kinds = WINDOWED if family == "Mistral" else KINDS
    return [2 * of_layer for of_layer in kinds] if family == "GPT2" else kinds


def written(folder: Path, model: Any, entries: Any, form: str, more: dict[str, str] | None = None) -> Path:
    """The folder that the program writes for a plan with such entries, by layer and key-value head. `more`:
    further files of the model."""
    transformers.logging.disable_progress_bar()
    model.save_pretrained(folder / "model")
    for name, content in (more or {}).items():
        (folder / "model" / name).write_text(content)
    heads = [
        {"layer": layer, "kv_head": head, **entry}
        for layer, of_layer in enumerate(entries)
        for head, entry in enumerate(of_layer)
        if entry
    ]
    sizes = {"layers": len(entries), "heads": model.config.num_attention_heads, "kv_heads": len(entries[0])}
    plan = {"schema": "headgauge.plan/1", "model": sizes, "context": 96, "heads": heads}
    (folder / "plan.json").write_text(json.dumps(plan))
    call = [BINARY, "plan", folder / "model", "--plan", folder / "plan.json", "--export", form]
    subprocess.run([*call, "--out", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return folder / form


def exported(folder: Path, family: str, model: Any, more: dict[str, str] | None = None) -> Path:
    """The folder for a plan of the kinds of the family."""

    def entry(said: str) -> dict[str, str]:
        return {"normalizer" if said == "uniform" else "pattern": said} if said else {}

    entries = [[entry(said) for said, _ in of_layer] for of_layer in kinds_of(family)]
    return written(folder, model, entries, "hf", more)


def exported_layers(folder: Path, model: Any, windows: list[int]) -> Path:
    """The same for windows of whole layers; 0: none."""
    entries = [{"pattern": f"window:size={window}"} if window else {} for window in windows]
    return written(folder, model, [model.config.num_key_value_heads * [e] for e in entries], "hf-layers")


def by_hand(kinds: Any) -> Any:
    """Attention with a mask for each head, whole."""

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **_: Any) -> Any:
        shared, length = query.shape[1] // key.shape[1], query.shape[2]
        at, to = torch.arange(length)[:, None], torch.arange(length)
        of_model = getattr(module.config, "sliding_window", None)
        own = getattr(module, "sliding_window", of_model) or length
        outputs = []
        for head in range(query.shape[1]):
            kind = kinds[module.layer_idx][head // shared][1]
            seen = (to <= at) & (to > at - own)
            scores = query[0, head] @ key[0, head // shared].T * scaling
            if kind == "mean":
                scores = scores * 0
            elif kind:
                seen = seen & ((to < kind[0]) | (to > at - kind[1]))
            weights = torch.softmax(scores.masked_fill(~seen, -1e30), dim=-1)
            outputs.append(weights @ value[0, head // shared])
        return torch.stack(outputs)[None].transpose(1, 2), None

    return attend


class Exported(TorchTest):
    folders: ClassVar[dict[str, Path]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        for family in FAMILIES:
            folder = Path(cls.scratch.name) / family
            folder.mkdir()
            cls.folders[family] = exported(folder, family, made(family))

    def ids(self, length: int) -> Any:
        return torch.randint(0, VOCABULARY, (1, length), generator=torch.Generator().manual_seed(3))
