#!/usr/bin/env python3
"""Measures whether paper A's limits move with the first token of a text, as
docs/notes/2026-11-29-design-limits-and-sinks.md lays down.

    tools/limits_and_sinks.py run HEADGAUGE MODEL NAME war_and_peace.txt wikitext-2-raw.test.txt FOLDER [--bos ID]
    tools/limits_and_sinks.py run-long ...
    tools/limits_and_sinks.py run-arm ...
    tools/limits_and_sinks.py judge FOLDER

`run` scans five texts behind each of six first tokens, at 128 to 1024 tokens; `run-long` at 4096, behind two;
`run-arm` exchanges the vector of the first token, or the weights, at 512 tokens (needs torch, transformers and
gguf). Each writes one JSON file a scan to FOLDER; finished ones are kept. `judge` tests what FOLDER holds and
writes limits-and-sinks.md and .svg there. Needs the built Python package and numpy.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

FIRST = {"line": "\n", "space": " ", "The": "The", "stop": ".", "digit": "7", "frequent": None}
LONG_FIRST = ("line", "The")
ARM_FIRST = ("line", "The", "stop", "frequent")
VECTORS = ("embedding", "hidden", "value")
LENGTHS = (128, 256, 512, 1024)
LONG = 4096
ARM = 512
SIZE = 20  # keys of the selected set
# a figure: (the metric, divided by, of a scan beyond the sinks)
FIGURES = {
    "separable": ("separability", None, False),
    "separable beyond sinks": ("separability_beyond_sinks", None, False),
    "excess": ("separability_excess", None, False),
    "excess beyond sinks": ("separability_excess_beyond_sinks", None, False),
    "distance/expected": ("distance", "expected_distance", False),
    "distance/expected beyond sinks": ("distance", "expected_distance", True),
    "critical N": ("closest_n_head", None, False),
    "critical N beyond sinks": ("closest_n_head", None, True),
    "share of 90 %": ("mass_90", "visible_keys", False),
    "share of 90 % beyond sinks": ("mass_90_beyond_sinks", "visible_keys", False),
    "sink weight": ("sink_weight", None, False),
    "sinks": ("sink_keys", None, False),
}


def pieces(tokenizer: object, novel: Path, wiki: Path) -> dict[str, list[int]]:
    """Five texts of 4200 tokens, from fifths of their files."""
    library = Path(sysconfig.get_paths()["stdlib"]) / "argparse.py"
    places = [("novel1", novel, 1), ("novel3", novel, 3), ("wiki2", wiki, 2), ("wiki4", wiki, 4)]
    found = {}
    for name, file, fifth in [*places, ("python1", library, 1)]:
        text = file.read_text("utf-8")
        found[name] = tokenizer.encode(text[len(text) * fifth // 5 :][:30_000])[1 : LONG + 100]  # type: ignore[attr-defined]
    return found


def first_ids(tokenizer: object, text: list[int]) -> dict[str, int]:
    frequent = collections.Counter(text[: max(LENGTHS)]).most_common(1)[0][0]
    return {n: frequent if t is None else tokenizer.encode(t)[-1] for n, t in FIRST.items()}  # type: ignore[attr-defined]


def numbers(results: dict, beyond: bool) -> dict:
    """Means over the heads of a kind of layer, by figure and length."""
    metrics, coords = results["metrics"], results["coords"]
    windows = results["model"].get("windows") or []
    local = np.array([bool(windows[layer]) if windows else False for layer in coords["layer"]])
    kinds = {"all": np.ones(len(local), bool)}
    if local.any():
        kinds = {"window": local, "global": ~local}

    def read(name: str) -> np.ndarray | None:
        if name not in metrics:
            return None
        values = np.array(metrics[name]["values"], dtype=float)
        if metrics[name]["dims"][-1] == "top_n":
            values = values[..., coords["top_n"].index(SIZE)]
        return values

    out: dict = {"loss": metrics["loss"]["values"] if "loss" in metrics else None, "lengths": coords["length"]}
    for figure, (name, over, only_beyond) in FIGURES.items():
        if only_beyond != beyond:
            continue
        values = read(name)
        if values is None:
            continue
        values = np.where(values < 0, np.nan, values) if name == "closest_n_head" else values
        below = read(over) if over else None
        values = values if below is None else values / below
        for kind, rows in kinds.items():
            with np.errstate(all="ignore"):
                out[f"{kind}|{figure}"] = np.nanmean(values[rows], axis=(0, 1)).tolist()
    return out


def scan(headgauge: str, model: str, out: Path, beyond: bool, *options: str) -> None:
    if out.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [headgauge, "scan", model, *options, "--out", folder, "--quiet", "--examples", "none", "--threads", "1"]
        command += ["--top-n", str(SIZE), "--queries", "64", "--beyond-sinks", str(beyond).lower()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = numbers(json.loads((Path(folder) / "results.json").read_text()), beyond)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found))


def run(options: argparse.Namespace, lengths: tuple[int, ...], names: tuple[str, ...], vectors: tuple[str, ...]) -> None:
    from headgauge import _core

    tokenizer = _core.Tokenizer.load(options.model)
    for text, ids in pieces(tokenizer, options.novel, options.wiki).items():
        for name, first in first_ids(tokenizer, ids).items():
            if name not in names:
                continue
            with tempfile.NamedTemporaryFile("w", suffix=".ids") as file:
                begin = [first] if options.bos is None else [options.bos, first]
                file.write(" ".join(map(str, [*begin, *ids][: max(lengths)])))
                file.flush()
                for x in vectors:
                    for beyond in (False, True) if x == "embedding" else (False,):
                        groups = "distance,separability" if beyond else "weights,distance,separability,model"
                        out = options.folder / options.name / f"{text}.{name}.{x}.{max(lengths)}.{int(beyond)}.json"
                        scan(
                            options.headgauge, options.model, out, beyond, "--tokens", file.name, "--measures", groups,
                            "--x", x, "--lengths", ",".join(map(str, lengths)),
                        )


def tensors(model: object, ids: list[int]) -> dict[str, np.ndarray]:
    """Queries, keys and the vectors of every layer."""
    from headgauge._live import LiveModel

    found = {}
    with LiveModel(model) as live:
        for x in ("embedding", "hidden"):
            source = live.open([ids], x)
            source.info()
            for layer in live.numbers:
                fields = source.layer(layer, 0)
                held = {"q": "queries", "k": "keys", "value": "values"} if x == "hidden" else {}
                for name, field in {**held, x: "x"}.items():
                    found[f"layers.{layer}.{name}"] = np.array(fields[field], dtype=np.float32)
    return found


def run_arm(options: argparse.Namespace) -> None:
    """w.v: the weights of a text behind first token w, with the first token's vector (or all vectors) of v."""
    import torch
    from safetensors.numpy import save_file
    from transformers import AutoModelForCausalLM

    from headgauge import _core

    torch.set_num_threads(1)
    tokenizer = _core.Tokenizer.load(options.model)
    file = Path(options.model)
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, attn_implementation="sdpa", dtype=torch.float32
    ).eval()
    layers = model.config.num_hidden_layers
    for text, ids in pieces(tokenizer, options.novel, options.wiki).items():
        made = {n: tensors(model, [first, *ids][:ARM]) for n, first in first_ids(tokenizer, ids).items() if n in ARM_FIRST}
        own = made["line"]
        for name, other in made.items():
            for arm in ("own", "vector", "weights") if name != "line" else ("own",):
                weights, vectors = (other, other) if arm == "own" else (own, own) if arm == "vector" else (other, own)
                for x in VECTORS:
                    dump = {}
                    for layer in range(layers):
                        at = f"layers.{layer}."
                        dump |= {at + "q": weights[at + "q"], at + "k": weights[at + "k"]}
                        vector = vectors[at + x].copy()
                        if arm == "vector":
                            vector[..., 0, :] = other[at + x][..., 0, :]
                        dump[at + ("v" if x == "value" else "x")] = vector
                    out = options.folder / f"{options.name}-arm" / f"{text}.{name}.{x}.{arm}.json"
                    with tempfile.TemporaryDirectory() as folder:
                        path = Path(folder) / "arm.safetensors"
                        metadata = {"format": "headgauge.dump/1", "causal": "true"}
                        save_file({n: np.ascontiguousarray(t) for n, t in dump.items()}, path, metadata=metadata)
                        scan(
                            options.headgauge, str(path), out, False, "--measures", "weights,distance,separability",
                            "--x", x, "--lengths", str(ARM),
                        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    for way in ("run", "run-long", "run-arm"):
        one = ways.add_parser(way)
        for name in ("headgauge", "model", "name"):
            one.add_argument(name)
        for name in ("novel", "wiki", "folder"):
            one.add_argument(name, type=Path)
        one.add_argument("--bos", type=int)
    options = parser.parse_args()
    if options.way == "run":
        run(options, LENGTHS, tuple(FIRST), VECTORS)
    elif options.way == "run-long":
        run(options, (LONG,), LONG_FIRST, ("embedding",))
    else:
        run_arm(options)


if __name__ == "__main__":
    main()
