#!/usr/bin/env python3
"""What the installed transformers makes of every config of catalogue/configs.py, for
configs.safetensors.

    python3 -m tests.golden.make_config_golden     once under transformers 4.57 and once under 5.24

Each run replaces the figures of its own version: loss and mean entropy of every head, in float64,
or the name of the error that loading or running ends with.
"""

import tempfile
from pathlib import Path

import torch
import transformers

from tests.golden.catalogue.case import Case
from tests.golden.catalogue.configs import CASES
from tests.golden.golden_file import Golden, read_family, write_family
from tests.golden.make_golden import plain


def figures(case: Case, folder: Path) -> Golden:
    case.write(folder)
    torch.manual_seed(1)
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float64, attn_implementation="eager"
        ).eval()
        ids = torch.tensor([case.token_ids()])
        with torch.no_grad():
            out = model(ids, output_attentions=True, use_cache=False)
    except Exception as error:  # noqa: BLE001 - the figure of a config that this version cannot run
        return {"error": type(error).__name__}
    loss = torch.nn.functional.cross_entropy(out.logits[0, :-1].double(), ids[0, 1:])
    entropies = [torch.special.entr(weights[0].double()).sum(-1).mean(-1) for weights in out.attentions]
    return {"loss": loss.item(), "entropy": [each.tolist() for each in entropies]}


def main() -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    version = ".".join(transformers.__version__.split(".")[:2])
    known = read_family("configs")
    cases: dict[str, Golden] = {}
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            found = {version: plain(figures(case, Path(scratch)))}
        cases[case.name] = known.get(case.name, {}) | found
    write_family("configs", cases)


if __name__ == "__main__":
    main()
