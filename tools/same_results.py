#!/usr/bin/env python3
"""Keeps results of every command, and compares two such folders bit by bit.

    tools/same_results.py keep PROGRAM FOLDER --model NAME=CHECKPOINT... --text war_and_peace.txt
    tools/same_results.py compare BEFORE AFTER

`keep` runs the commands of this file for each model, and keeps what they print and write. The models `demo` and
`stories260k` also run plan, validate and reproduce tokens. `compare` names every number, flag, sentence and
verdict that both folders have and that differs, and counts what only the first has. It ends with status 1 if
something differs. Results of schema 2 in BEFORE are compared with those of schema 3 that have other names (NOW).
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SMALL = ("demo", "stories260k")

# Name of a run: its words. M is the model, T a text, O another text, F the folder of all runs.
RUNS = {
    "inspect": "inspect M --json",
    "scan": "scan M --text T",
    "scan-all": "scan M --text T --lengths 64,128 --top-share 0.05",
    "scan-value": "scan M --text T --lengths 128 --x value --measures distance,separability",
    "scan-hidden": "scan M --text T --lengths 128 --x hidden --beyond-sinks true",
    "scan-answers": "scan M --text T --lengths 256 --probe replay keys --cases 4 --measures answers,model,roles",
    "scan-normalizers": "scan M --text T --lengths 128 --normalizer {}",
    "scan-patterns": "scan M --text T --lengths 128 --pattern {}",
    "compare-normalizers": "compare M --text T --lengths 128 --normalizer uniform,sparsemax,ssmax,softmax1 "
    "--confirm O",
    "compare-patterns": "compare M --text T --lengths 256 --pattern sinks:window=60,topk:k=8 --probe replay",
    "compare-layers": "compare M --text T --lengths 128 --pattern window:size=32 --each layer --layers 0-1",
    "converge": "converge M --text T --lengths 128 --replicates 50",
    "limits": "reproduce limits M --text T --lengths 64,128,256",
    "report": "report F/scan --format svg --out F/figures",
    "diff": "diff F/scan-normalizers-ssmax F/scan-normalizers-entmax --json",
    "series": "series F/scan-normalizers-ssmax F/scan-normalizers-entmax --json",
}
SMALL_RUNS = {
    "plan": "plan M --text T --confirm O --lengths 256 --steps 10 --curve 0.5,0.25",
    "plan-allow": "plan M --text T --confirm O --lengths 256 --steps 10 --allow 0.1 --probe keys --cases 4 "
    "--confirm-probe keys --confirm-cases 4",
    "plan-layers": "plan M --text T --confirm O --lengths 128 --steps 10 --whole-layers true --pieces 2",
    "validate": "validate M --text T O --lengths 128 --permutations 99 --resamples 99",
    "tokens": "reproduce tokens M --text T --lengths 128",
    "shard-1": "scan M --text T O --lengths 128 --shard 1/2",
    "shard-2": "scan M --text T O --lengths 128 --shard 2/2",
    "merge": "merge F/shard-1 F/shard-2",
    "task": "task keys --model M --text T --length 256 --cases 4",
}
ALONE = {
    "list-measures": "list measures",
    "atoms": "converge --synthetic atoms --radius 2 --replicates 50",
    "gaussian": "converge --synthetic gaussian --replicates 50",
}
NORMALIZERS = [
    "uniform",
    "softmax:t=0.5",
    "ssmax",
    "logn",
    "logn-qwen:train=64",
    "logn-entropy:train=64",
    "yarn",
    "cosine",
    "adaptive-temperature",
    "softcap",
    "sparsemax",
    "entmax",
    "asentmax",
    "entmax-logn",
    "softmax1",
    "sink",
    "sigmoid",
    "sasoftmax",
    "softpick",
    "topk:k=8",
]
PATTERNS = [
    "window:size=32",
    "sinks:window=28",
    "bigbird:window=8,random=8,global=4",
    "topk:k=8",
    "keydiff:keys=32",
    "tova:keys=32",
    "h2o:keys=32",
]
PRINTS = ("inspect", "report", "diff", "series", "list")
COMPARED = (".json", ".svg", ".jsonl")  # results.json has the numbers of heads.csv
UNSTABLE = ("timings", "tool", "request", "schema")

# Metrics of schema 2 that have another name in schema 3: the metric, its outcome and the part. Those with a
# dim `task` have the outcomes of the tasks, all others that of the text; X_low, X_high and X_p are parts of X.
NOW = {
    "answer_loss": ("loss", "", "values"),
    "answer_loss_change": ("loss_change", "", "values"),
    "critical_p": ("critical_n", "", "p"),
    "critical_ks_p": ("critical_ks_d", "", "p"),
    "prediction_rank_correlation": ("rank_correlation", "text", "values"),
    "prediction_rank_correlation_within": ("rank_correlation_within", "text", "values"),
    "prediction_rank_correlation_by_text": ("rank_correlation_by_text", "", "values"),
    "loss_change_replication": ("replication", "text", "values"),
    "answer_rank_correlation": ("rank_correlation", "answers", "values"),
    "answer_rank_correlation_within": ("rank_correlation_within", "answers", "values"),
    "answer_rank_correlation_by_cases": ("rank_correlation_by_cases", "", "values"),
    "answer_change_replication": ("replication", "answers", "values"),
    "predicts_answers": ("predicts", "answers", "values"),
    "planned_replay_change": ("planned_change", "replay", "values"),
    "planned_answer_change": ("planned_change", "", "values"),
    "plan_replay_difference": ("plan_difference", "replay", "values"),
}
# Metrics of schema 2 that schema 3 names after what lies beyond the sinks; of all weight they are X_with_sinks.
SELECTION = (
    "entropy entropy_normalized effective_tokens participation_ratio max_weight mass_90 attention_distance "
    "separability separability_null separability_excess weight_previous weight_recent weight_distant "
    "weight_duplicate weight_induction"
).split()
KINDS = {"weight_recent": "weight_near", "weight_distant": "weight_far", "weight_duplicate": "weight_copies"}
WITH_SINKS = re.compile(
    f"({'|'.join(sorted(SELECTION, key=len, reverse=True))})(_beyond_sinks)?(_by_position)?(_change)?"
)
FLAGS = {"over_selected": "wide"}
COMPARISONS = ("run", "normalizer", "pattern")
PARTS = ("values", "stderr", "degrees_of_freedom", "rows")


def runs_of(model: str, known: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yields name and words of each run; a run with {} is made for every specification that the program has."""
    for name, words in (RUNS | (SMALL_RUNS if model in SMALL else {})).items():
        if "{}" not in words:
            yield name, words
            continue
        for spec in known[name]:
            yield f"{name}-{spec.split(':')[0]}", words.format(spec)


def run(program: str, words: list[str], folder: Path, name: str) -> None:
    """Runs a command; results go to FOLDER/NAME, what it prints to NAME.txt, and JSON to NAME.json."""
    out = [] if words[0] in PRINTS else ["--out", f"{folder / name}{'.jsonl' if words[0] == 'task' else ''}"]
    done = subprocess.run([program, *words, *out], capture_output=True, text=True, cwd=folder)
    (folder / f"{name}.txt").write_text(f"{shlex.join(words)}\nends with {done.returncode}\n{done.stdout}")
    if "--json" in words:
        (folder / f"{name}.json").write_text(done.stdout)
    if done.returncode:
        print(f"{folder.name} {name}: ends with {done.returncode}: {done.stderr.strip()[-300:]}")


def keep(options: argparse.Namespace) -> None:
    program = str(options.program.resolve())
    novel = options.text.read_text("utf-8")
    options.folder.mkdir(parents=True, exist_ok=True)
    texts = {"T": options.folder.resolve() / "first.txt", "O": options.folder.resolve() / "second.txt"}
    texts["T"].write_text(novel[100_000:106_000], "utf-8")
    texts["O"].write_text(novel[900_000:906_000], "utf-8")
    known = {"scan-normalizers": NORMALIZERS, "scan-patterns": PATTERNS}
    alone = options.folder.resolve() / "alone"
    alone.mkdir(exist_ok=True)
    for name, words in ALONE.items():
        run(program, words.split(), alone, name)
    for given in options.model:
        model, _, checkpoint = given.partition("=")
        folder = options.folder.resolve() / model
        folder.mkdir(exist_ok=True)
        stands_for = {"M": str(Path(checkpoint).resolve()), "F": str(folder)} | {
            k: str(v) for k, v in texts.items()
        }
        for name, words in runs_of(model, known):
            given_words = [stands_for.get(word, word.replace("F/", f"{folder}/")) for word in words.split()]
            run(program, given_words, folder, name)


def beyond_the_sinks(name: str) -> str:
    """The name in schema 3 of a metric of what a head selects."""
    found = WITH_SINKS.fullmatch(name)
    if found is None:
        return name
    base, beyond, *ends = found.groups("")
    return KINDS.get(base, base) + ("" if beyond else "_with_sinks") + "".join(ends)


def leaves(value: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Yields place and value of every number and text; metrics, flags and claims by their names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            keys = ("metric", "cell") if "metric" in item else ("name", "text", "layer", "head", "length")
            own = " ".join(str(item[key]) for key in keys if key in item)
            own += "".join(f" {item['labels'].get(dim, '')}" for dim in COMPARISONS if "labels" in item)
            yield from leaves({k: v for k, v in item.items()}, f"{place}[{own or index}]")
    else:
        yield place, json.dumps(value)


class Renamed:
    """Results of schema 2 and of schema 3, brought to the same names."""

    def __init__(self, old: dict, new: dict) -> None:
        self.old, self.new = old, new
        self.outcomes = new["coords"].get("outcome", [])
        self.first_task = len(self.outcomes) - len(old["coords"].get("task", []))

    def stands(self, name: str) -> tuple[str, str, str]:
        base, _, part = name.rpartition("_")
        if name in NOW or part not in ("low", "high", "p") or base not in self.old["metrics"]:
            return NOW.get(name, (beyond_the_sinks(name), "text", "values"))
        return *self.stands(base)[:2], part

    def index(self, name: str, labels: dict[str, int]) -> dict[str, int]:
        """Adds the outcome, and the last length, to an index along dims of schema 2."""
        outcome = self.stands(name)[1]
        at = labels["task"] + self.first_task if "task" in labels else None
        if at is None and outcome in self.outcomes:
            at = self.outcomes.index(outcome)
        last = len(self.new["coords"].get("length", [])) - 1
        return {"length": last} | ({} if at is None else {"outcome": at}) | labels

    def cells(self, name: str, nested: object, dims: list[str], labels: dict[str, int]) -> object:
        """The cells of schema 3 in the nested lists of schema 2."""
        if len(labels) < len(self.old["metrics"][name]["dims"]):
            dim = self.old["metrics"][name]["dims"][len(labels)]
            size = range(len(self.old["coords"][dim]))
            return [self.cells(name, nested, dims, labels | {dim: k}) for k in size]
        at = self.index(name, labels)
        for dim in dims:
            place = self.place(dim, at[dim])
            if place is None:
                return None  # of a predictor that is gone
            nested = nested[place]  # type: ignore[index]
        return nested

    def place(self, dim: str, place: int) -> int | None:
        """The place of a label of schema 2 along a dim; None for a flag that is gone."""
        if dim != "predictor":
            return place
        name, *rest = self.old["coords"][dim][place].split(" ", 1)
        label = " ".join((beyond_the_sinks(name), *(FLAGS.get(word, word) for word in rest)))
        new = self.new["coords"][dim]
        return new.index(label) if label in new else None

    def coords(self) -> dict:
        coords = self.new["coords"]
        return coords | ({"task": self.outcomes[self.first_task :]} if "task" in self.old["coords"] else {})

    def metrics(self) -> dict:
        """Those of the new results, under the old names."""
        found = {}
        for name, metric in self.old["metrics"].items():
            base, _, own = self.stands(name)
            if base not in self.new["metrics"]:
                continue
            now = self.new["metrics"][base]
            dims = ["task" if dim == "outcome" and "task" in metric["dims"] else dim for dim in now["dims"]]
            found[name] = {key: value for key, value in now.items() if key not in PARTS}
            found[name]["dims"] = [d for d in dims if d in metric["dims"] or d not in ("outcome", "length")]
            if own == "p":
                del found[name]["unit"]
            if "change_of" in metric and self.stands(metric["change_of"])[0] == now.get("change_of"):
                found[name]["change_of"] = metric["change_of"]
            for part in metric.keys() & set(PARTS):
                of_now = own if part == "values" else part
                if of_now in now:
                    found[name][part] = self.cells(name, now[of_now], now["dims"], {})
        return found

    def source(self, item: object) -> object:
        """Facts and changes of the old results, under the new names."""
        if isinstance(item, list):
            return [self.source(each) for each in item]
        if not isinstance(item, dict):
            return item
        key = "metric" if "metric" in item else "name"
        metric, cell = self.old["metrics"].get(item.get(key)), item.get("cell", [])
        dims = [] if metric is None else metric["dims"]
        if key == "metric":
            dims = [dim for dim in dims if dim not in COMPARISONS]
        is_source = key == "metric" or item.get("kind") in ("cell", "standard_error")
        if metric is None or not is_source or len(dims) != len(cell):
            return {k: self.source(v) for k, v in item.items()}
        base, _, part = self.stands(item[key])
        if key == "metric" and part != "values":
            return item  # the change of a p, which is none now
        at = self.index(item[key], dict(zip(dims, cell, strict=True)))
        now = [at[dim] for dim in self.new["metrics"].get(base, {"dims": []})["dims"] if dim in at]
        moved = {"kind": part} if part != "values" else {}
        return item | {key: base} | moved | ({"cell": now} if now else {})


def differences(before: Path, after: Path, roots: tuple[Path, Path]) -> tuple[list[str], int]:
    """Returns what differs among what both files have, and how much only `before` has."""
    texts = [
        path.read_text("utf-8").replace(str(root), "")
        for path, root in zip((before, after), roots, strict=True)
    ]
    if before.suffix == ".json":
        old, new = (json.loads(text) for text in texts)
        if old.get("schema") == "headgauge.results/2" and new.get("schema") == "headgauge.results/3":
            renamed = Renamed(old, new)
            new = new | {"metrics": renamed.metrics(), "coords": renamed.coords()}
            old = {k: v if k == "metrics" else renamed.source(v) for k, v in old.items()}
        old, new = (dict(leaves({k: v for k, v in x.items() if k not in UNSTABLE})) for x in (old, new))
        both = [place for place in old if place in new]
        changed = [place for place in both if old[place] != new[place]]
        return [f"{place}: {old[place][:90]} -> {new[place][:90]}" for place in changed], len(old) - len(both)
    return [] if texts[0] == texts[1] else ["the text differs"], 0


def compare(options: argparse.Namespace) -> int:
    found, missing, files, gone = 0, 0, 0, []
    for before in sorted(path for path in options.before.rglob("*") if path.suffix in COMPARED):
        name = before.relative_to(options.before)
        after = options.after / name
        if not after.exists():
            gone.append(str(name))
            continue
        changed, absent = differences(before, after, (options.before.resolve(), options.after.resolve()))
        files, missing, found = files + 1, missing + absent, found + len(changed)
        for line in changed[: options.show]:
            print(f"{name}: {line}")
    print(
        f"{files} files: {found} values differ; {missing} are in the first folder alone, and {len(gone)} files: {gone}"
    )
    return int(found > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    keeps = commands.add_parser("keep")
    keeps.add_argument("program", type=Path)
    keeps.add_argument("folder", type=Path)
    keeps.add_argument("--model", action="append", required=True, metavar="NAME=CHECKPOINT")
    keeps.add_argument("--text", type=Path, required=True)
    compares = commands.add_parser("compare")
    compares.add_argument("before", type=Path)
    compares.add_argument("after", type=Path)
    compares.add_argument("--show", type=int, default=10, help="differences shown of each file")
    options = parser.parse_args()
    sys.exit(keep(options) if options.command == "keep" else compare(options))


if __name__ == "__main__":
    main()
