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
writes tables.md and figure.svg there. Needs the built Python package, numpy, scipy and matplotlib.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sysconfig
import tempfile
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
# Each figure: its metric, the metric that divides it, and whether a scan beyond the sinks measures it.
FIGURES = {
    "separable": ("separability_with_sinks", None, False),
    "separable beyond sinks": ("separability", None, False),
    "excess": ("separability_excess_with_sinks", None, False),
    "excess beyond sinks": ("separability_excess", None, False),
    "distance/expected": ("distance", "expected_distance", False),
    "distance/expected beyond sinks": ("distance", "expected_distance", True),
    "closest N": ("closest_n_head", None, False),
    "closest N beyond sinks": ("closest_n_head", None, True),
    "share of 90 %": ("mass_90_with_sinks", "visible_keys", False),
    "share of 90 % beyond sinks": ("mass_90", "visible_keys", False),
    "sink weight": ("sink_weight", None, False),
    "sinks": ("sink_keys", None, False),
}

WEIGHTS = ("share", "sink")  # figures of the weights alone, the same for all vectors


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


def numbers(results: dict, beyond: bool, windows: list[int]) -> dict:
    """Means over the heads of a kind of layer, by figure and length. `windows`: of a dump, which has none."""
    metrics, coords = results["metrics"], results["coords"]
    local = np.array(windows or coords.get("window", [0] * len(coords["layer"]))) > 0
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

    out: dict = {
        "loss": metrics["loss"]["values"][0] if "loss" in metrics else None,
        "lengths": coords["length"],
    }
    for figure, (name, over, only_beyond) in FIGURES.items():
        if only_beyond != beyond:
            continue
        values = read(name)
        if values is None:
            continue
        below = read(over) if over else None
        values = values if below is None else values / below
        for kind, rows in kinds.items():
            with np.errstate(all="ignore"):
                out[f"{kind}|{figure}"] = np.nanmean(values[rows], axis=(0, 1)).tolist()
    return out


def scan(
    headgauge: str, model: str, out: Path, beyond: bool, *options: str, windows: list[int] | None = None
) -> None:
    if out.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [
            headgauge,
            "scan",
            model,
            *options,
            "--out",
            folder,
            "--quiet",
            "--examples",
            "none",
            "--threads",
            "1",
        ]
        command += ["--top-n", str(SIZE), "--queries", "64", "--beyond-sinks", str(beyond).lower()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = numbers(json.loads((Path(folder) / "results.json").read_text()), beyond, windows or [])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found))


def run(
    options: argparse.Namespace, lengths: tuple[int, ...], names: tuple[str, ...], vectors: tuple[str, ...]
) -> None:
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
                        out = (
                            options.folder
                            / options.name
                            / f"{text}.{name}.{x}.{max(lengths)}.{int(beyond)}.json"
                        )
                        scan(
                            options.headgauge,
                            options.model,
                            out,
                            beyond,
                            "--tokens",
                            file.name,
                            "--measures",
                            groups,
                            "--x",
                            x,
                            "--lengths",
                            ",".join(map(str, lengths)),
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
    """Exchanges the first token's vector and keeps the weights, or the other way round.

    The texts begin with a line break, or with the token --bos of models whose sink it is.
    """
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
    windows = [int(kind == "sliding_attention") for kind in getattr(model.config, "layer_types", None) or []]
    for text, ids in pieces(tokenizer, options.novel, options.wiki).items():
        firsts = {n: first for n, first in first_ids(tokenizer, ids).items() if n in ARM_FIRST}
        if options.bos is not None:
            firsts = {"bos": options.bos, **firsts}
        made = {n: tensors(model, [first, *ids][:ARM]) for n, first in firsts.items()}
        base = next(iter(made))
        own = made[base]
        for name, other in made.items():
            for arm in ("own", "vector", "weights") if name != base else ("own",):
                weights, vectors = (
                    (other, other) if arm == "own" else (own, own) if arm == "vector" else (other, own)
                )
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
                        save_file(
                            {n: np.ascontiguousarray(t) for n, t in dump.items()}, path, metadata=metadata
                        )
                        scan(
                            options.headgauge,
                            str(path),
                            out,
                            False,
                            "--measures",
                            "weights,distance,separability",
                            "--x",
                            x,
                            "--lengths",
                            str(ARM),
                            windows=windows,
                        )


def read_scans(folder: Path) -> dict[tuple[str, int, str], dict[str, dict[str, float]]]:
    """(vectors, length, kind|figure, or loss) to text to first token to the figure."""
    found: dict = collections.defaultdict(lambda: collections.defaultdict(dict))
    for file in sorted(folder.glob("*.json")):
        text, first, x, *_ = file.name.split(".")
        one = json.loads(file.read_text())
        for name, values in one.items():
            if name == "lengths" or values is None:
                continue
            for length, value in zip(one["lengths"], values, strict=True):
                found[x, length, name][text][first] = value
    return found


def table(cell: dict[str, dict[str, float]]) -> tuple[list[str], np.ndarray]:
    """The first tokens of a cell, and texts x first tokens."""
    firsts = [name for name in FIRST if all(name in row for row in cell.values())]
    return firsts, np.array([[row[name] for name in firsts] for row in cell.values()])


def within(differences: np.ndarray, margin: float) -> bool:
    """Two one-sided t tests of 5 % over the texts."""
    from scipy import stats

    half = stats.t.ppf(0.95, len(differences) - 1) * differences.std(ddof=1) / len(differences) ** 0.5
    return bool(abs(differences.mean()) + half < margin)


def f_test(values: np.ndarray) -> float:
    """p of first tokens within texts, two-way, without interaction."""
    from scipy import stats

    texts, firsts = values.shape
    means = values.mean(0)
    rest = values - values.mean(1, keepdims=True) - means + values.mean()
    freedom = (texts - 1) * (firsts - 1)
    between = texts * ((means - values.mean()) ** 2).sum() / (firsts - 1)
    if between == 0:
        return 1.0
    return float(stats.f.sf(between / ((rest**2).sum() / freedom), firsts - 1, freedom))


def margin_of(figure: str) -> tuple[float, bool]:
    """The smallest effect that counts, and whether it is one of logarithms."""
    ratio = figure.startswith(("distance", "closest"))
    return (float(np.log(1.1)), True) if ratio else (0.02, False)


def judge_cells(folder: Path, names: list[str]) -> list[dict]:
    from scipy import stats

    cells = []
    for model in names:
        scans = read_scans(folder / model)
        for (x, length, name), cell in scans.items():
            kind, _, figure = name.partition("|")
            if figure not in FIGURES or (figure.startswith(WEIGHTS) and x != VECTORS[0]):
                continue
            firsts, values = table(cell)
            if (
                len(firsts) < 2
                or len(values) < 2
                or not np.isfinite(values).all()
                or (values == values[0, 0]).all()
            ):
                continue
            margin, logs = margin_of(figure)
            scaled = np.log(values) if logs else values
            loss = table(scans[x, length, "loss"])[1]
            pairs = [(i, j) for i in range(len(firsts)) for j in range(i)]
            same_loss = [within(loss[:, i] - loss[:, j], 0.02) for i, j in pairs]
            moves = [abs((scaled[:, i] - scaled[:, j]).mean()) for i, j in pairs]
            means = scaled.mean(0)
            cells.append(
                {
                    "model": model, "kind": kind, "x": x, "length": length, "figure": figure,
                    "least": float(values.mean(0).min()), "most": float(values.mean(0).max()),
                    "range": float(means.max() - means.min()), "margin": margin, "p": f_test(scaled),
                    "equal": sum(within(scaled[:, i] - scaled[:, j], margin) for i, j in pairs), "pairs": len(pairs),
                    "same_loss": sum(same_loss),
                    "range_at_same_loss": max((m for m, s in zip(moves, same_loss, strict=True) if s), default=np.nan),
                }
            )  # fmt: skip
    judged = [cell for cell in cells if not cell["figure"].startswith("sink")]
    for cell, q in zip(judged, stats.false_discovery_control([c["p"] for c in judged]), strict=True):
        cell["q"] = float(q)
        cell["moves"] = q <= 0.05 and cell["range"] > cell["margin"]
    return cells


def fieller(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """95 % interval of mean(above)/mean(below); infinite where mean(below) is not shown to differ from 0."""
    from scipy import stats

    n = len(above)
    t2 = stats.t.ppf(0.975, n - 1) ** 2 / n
    cov = np.cov(above, below)
    a = below.mean() ** 2 - t2 * cov[1, 1]
    b = above.mean() * below.mean() - t2 * cov[0, 1]
    c = above.mean() ** 2 - t2 * cov[0, 0]
    if a <= 0:
        return -np.inf, np.inf
    root = np.sqrt(max(b * b - a * c, 0.0))
    return float((b - root) / a), float((b + root) / a)


def judge_arm(folder: Path) -> list[dict]:
    found: dict = collections.defaultdict(lambda: collections.defaultdict(dict))
    for file in sorted(folder.glob("*.json")):
        text, first, x, arm, _ = file.name.split(".")
        for name, values in json.loads(file.read_text()).items():
            if "|" in name and "sink" not in name.partition("|")[2]:
                found[x, name][first, arm][text] = values[0]
    rows = []
    for (x, name), runs in found.items():
        texts = sorted(set.intersection(*(set(run) for run in runs.values())))
        value = {key: np.array([run[t] for t in texts]) for key, run in runs.items()}
        base = "bos" if ("bos", "own") in value else "line"
        for first in ARM_FIRST:
            if len(texts) < 3 or (first, "weights") not in value:
                continue
            own, vector, weights = (
                value[first, arm] - value[base, "own"] for arm in ("own", "vector", "weights")
            )
            rows.append(
                {
                    "kind": name.partition("|")[0], "figure": name.partition("|")[2], "x": x, "first": first,
                    "own": float(own.mean()), "vector": float(vector.mean()), "weights": float(weights.mean()),
                    "vector_ratio": fieller(vector, own), "weights_ratio": fieller(weights, own), "texts": len(texts),
                }
            )  # fmt: skip
    return rows


def judge(folder: Path) -> None:
    names = sorted(
        (p.name for p in folder.iterdir() if p.is_dir() and not p.name.endswith("-arm")), reverse=True
    )
    cells = judge_cells(folder, names)
    lines = [
        "| model | layers | x | L | figure | means over first tokens | F test, q | pairs equal | pairs of equal loss | range there |"
    ]
    lines.append("|" + "---|" * 10)
    for c in cells:
        q = f"{c['q']:.2g}{' **moves**' if c['moves'] else ''}" if "q" in c else ""
        lines.append(
            f"| {c['model']} | {c['kind']} | {c['x']} | {c['length']} | {c['figure']} | {c['least']:.3f} to {c['most']:.3f} "
            f"| {q} | {c['equal']} of {c['pairs']} | {c['same_loss']} | {c['range_at_same_loss']:.3f} |"
        )
    lines += [
        "",
        "| model | layers | x | first token | figure | move | by the vector | by the weights | share of the vector | of the weights |",
    ]
    lines.append("|" + "---|" * 10)
    for path in sorted(folder.glob("*-arm")):
        for r in judge_arm(path):
            shares = " | ".join(
                f"{low:.2f} to {high:.2f}" for low, high in (r["vector_ratio"], r["weights_ratio"])
            )
            lines.append(
                f"| {path.name} | {r['kind']} | {r['x']} | {r['first']} | {r['figure']} | {r['own']:+.3f} | {r['vector']:+.3f} "
                f"| {r['weights']:+.3f} | {shares} |"
            )
    (folder / "tables.md").write_text("\n".join(lines) + "\n")
    draw(folder, names)


def draw(folder: Path, names: list[str]) -> None:
    """Separable keys at 1024 tokens, x = embedding, behind each first token: a line a text."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "headgauge", "svg.fonttype": "none", "font.size": 8}
    from matplotlib import pyplot

    panels = []
    for model in names:
        scans = read_scans(folder / model)
        kinds = sorted({name.partition("|")[0] for _, _, name in scans if "|" in name})
        panels += [(model, kind, scans) for kind in kinds]
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(2.1 * len(panels), 2.8), sharey=True, layout="constrained", squeeze=False
    )
    axes = axes[0]
    for axis, (model, kind, scans) in zip(axes, panels, strict=True):
        for name, colour, label in (
            ("separable", "#b5442e", "all keys"),
            ("separable beyond sinks", "#2e6db5", "beyond the sinks"),
        ):
            firsts, values = table(scans["embedding", max(LENGTHS), f"{kind}|{name}"])
            for i, row in enumerate(values):
                axis.plot(
                    range(len(firsts)),
                    row,
                    "o-",
                    color=colour,
                    ms=3,
                    lw=0.8,
                    alpha=0.7,
                    label=label if i == 0 else None,
                )
            axis.set_xticks(range(len(firsts)), firsts, rotation=60)
        axis.set_title(f"{model}, {kind}", fontsize=8)
    axes[0].set_ylabel(f"share of {SIZE} keys that is separable")
    axes[0].legend(fontsize=7)
    figure.savefig(folder / "figure.svg", metadata={"Date": None})


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
    ways.add_parser("judge").add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.way == "judge":
        judge(options.folder)
    elif options.way == "run":
        run(options, LENGTHS, tuple(FIRST), VECTORS)
    elif options.way == "run-long":
        run(options, (LONG,), LONG_FIRST, ("embedding",))
    else:
        run_arm(options)


if __name__ == "__main__":
    main()
