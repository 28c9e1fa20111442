#!/usr/bin/env python3
"""Writes the tables of docs/ that follow from what headgauge declares, between their markers.

    tools/docs.py [--check] [HEADGAUGE]     the program to ask; default build/release/headgauge

A table begins after a line `<!-- tools/docs.py NAME -->` and ends before `<!-- end NAME -->`.
--check writes nothing and ends with status 1 where a table is stale.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MARKED = re.compile(r"(<!-- tools/docs\.py (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def table(titles: list[str], rows: list[list[str]]) -> str:
    cells = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def declared(title: str, listed: list[dict[str, Any]]) -> str:
    """What each normalizer or pattern does, the parameters that it takes with their defaults, and its source."""
    rows = []
    for entry in listed:
        spec = ":".join(part for part in (entry["name"], entry["parameters"]) if part)
        accepts = "; ".join(f"`{parameter['key']}`: {parameter['takes']}" for parameter in entry["accepts"])
        row = [f"**{spec}**", entry["formula"], accepts, entry["source"]]
        rows.append([cell.replace("|", r"\|") for cell in row])
    return table([title, "", "takes", "source"], rows)


PARTS = {"interval": "`low`, `high`", "test": "`p`"}


def former_names() -> str:
    """The names of schema 2 that are gone, and where their values are now."""
    groups = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "catalogue").glob("*.json"))
    ]
    rows = [
        [
            ", ".join(f"`{name}`" for name in metric["formerly"]),
            f"`{metric['name']}`",
            ", ".join(metric["dims"]),
        ]
        for group in groups
        for metric in group["metrics"]
        if "formerly" in metric
    ]
    return table(["before", "now", "dims"], rows)


def metrics(command: str) -> str:
    """The metrics that a command writes, beside those of the commands that it begins with."""
    implied = {"row_mean": ["layer", "head", "length"], "row_longest": ["layer", "head"]}
    rows = []
    for path in sorted((ROOT / "catalogue").glob("*.json")):
        group = json.loads(path.read_text(encoding="utf-8"))
        name = group["group"]
        if command == "scan" and group.get("needs") == "intervention":
            name += " (with `--normalizer` or `--pattern`)"
        for metric in group["metrics"]:
            written = metric.get("command", group["command"])
            if metric["kind"] == "hidden" or written != command:
                continue
            dims = implied.get(metric["kind"], []) + metric["dims"]
            meaning = metric["meaning"].replace("|", "\\|")
            if "none" in metric:
                meaning += f" {metric['none']} where there is none."
            for part in ("interval", "test"):
                if part in metric:
                    meaning += f" {PARTS[part]}: {metric[part]}.".replace("|", "\\|")
            row = [f"`{metric['name']}`", ", ".join(dims) or "none", metric["unit"], meaning]
            rows.append([name, *row])
            name = ""
    return table(["group", "metric", "dims", "unit", "meaning"], rows)


COMMANDS = ("scan", "compare", "converge", "cache", "validate", "plan", "merge", "report", "diff", "series", "reproduce limits", "reproduce tokens",
            "task", "inspect", "list measures")  # fmt: skip
Options = list[dict[str, str]]


def option_rows(options: Options) -> list[list[str]]:
    rows = []
    for option in options:
        form = option["form"].replace("|", r"\|")
        text = ". ".join(part for part in (option["help"], option["details"]) if part)
        rows.append([f"`--{option['name']}{' ' if form else ''}{form}`", text.replace("|", r"\|")])
    return rows


def options_of(command: str, listed: Options) -> str:
    """A table for every group of the command's own options, then those that it has of scan."""
    same = ("name", "form", "help", "details")
    of_scan = [[o[k] for k in same] for o in listed if o["command"] == "scan"]
    groups: dict[str, Options] = {}
    shared: dict[str, Options] = {}
    for option in listed:
        if option["command"] != command:
            continue
        as_in_scan = command != "scan" and [option[k] for k in same] in of_scan
        of_group = shared if as_in_scan else groups
        of_group.setdefault(option["group"] or "option", []).append(option)
    parts = [table([group, ""], option_rows(some)) for group, some in groups.items()]
    if shared:
        names = [[g, ", ".join(f"`--{o['name']}`" for o in some)] for g, some in shared.items()]
        parts.append(table(["as for [scan](scan.md#options)", ""], names))
    return "\n".join(parts)


def claims(paper: str) -> str:
    """What each claim says, how it is read and how it is tested, with the thresholds in place."""
    items = []
    for claim in json.loads((ROOT / f"claims/{paper}.json").read_text(encoding="utf-8"))["claims"]:
        owner = {"paper": ", a theorem", "headgauge": ", a theorem of headgauge"}.get(
            claim.get("theorem"), ""
        )
        values = {name: f"{value:g}" for name, value in claim.get("thresholds", {}).items()}
        test = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], claim["test"])
        text = f"**{claim['name']}** ({claim['figure']}{owner}): {claim['statement']} {claim['reading']} *Test*: {test}"
        text = re.sub(r"\b(\w+_\w+)\b(?!\*\*)", r"`\1`", text)
        items.append(textwrap.fill(text, 100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False,
                                   break_long_words=False))  # fmt: skip
    return "\n".join(items) + "\n"


def tables(program: Path) -> dict[str, Callable[[], str]]:
    def listed(*command: str) -> Any:
        done = subprocess.run([program, *command], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def options(command: str) -> Callable[[], str]:
        return lambda: options_of(command, listed("options"))

    return {
        "normalizers": lambda: declared("normalizer", listed("list", "normalizers", "--json")),
        "patterns": lambda: declared("pattern", listed("list", "patterns", "--json")),
        "former_names": former_names,
        "metrics_of_scan": lambda: metrics("scan"),
        "metrics_of_compare": lambda: metrics("compare"),
        "metrics_of_converge": lambda: metrics("converge"),
        "metrics_of_synthetic": lambda: metrics("converge --synthetic"),
        "metrics_of_validate": lambda: metrics("validate"),
        "metrics_of_plan": lambda: metrics("plan"),
        "metrics_of_series": lambda: metrics("series"),
        "claims_of_limits": lambda: claims("limits"),
        "claims_of_tokens": lambda: claims("tokens"),
        "metrics_of_limits": lambda: metrics("reproduce limits"),
        **{f"options_of_{name.replace(' ', '_')}": options(name) for name in COMMANDS},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where one is stale")
    parser.add_argument("headgauge", type=Path, nargs="?", default=ROOT / "build/release/headgauge")
    options = parser.parse_args()
    made = tables(options.headgauge)
    stale = []
    for page in sorted(DOCS.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = MARKED.sub(lambda found: found[1] + made[found[2]]() + found[3], before)
        if after == before:
            continue
        stale.append(page.name)
        if not options.check:
            page.write_text(after, encoding="utf-8")
    if options.check and stale:
        print(f"stale: {', '.join(stale)}; run tools/docs.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
