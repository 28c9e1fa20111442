"""Checks a results.json against docs/results.schema.json and docs/formats.md.

Other tests import it: `validate(path)` raises InvalidResults with every fault it found.
"""

import json
from functools import cache
from itertools import chain
from pathlib import Path

import jsonschema

from tests.places import ROOT
from tests.reference.catalogue import EXPERIMENTS, METRICS, base_name

SCHEMA = ROOT / "docs/results.schema.json"
# The schema lets readers meet keys that they do not know; headgauge itself writes no others.
CELL_KEYS = ("values", "stderr", "degrees_of_freedom", "low", "high", "p", "rows")
METRIC_KEYS = {"dims", "unit", "none", "identifier", "change_of", *CELL_KEYS}
# bool is an int to Python, and 1.0 a whole number to JSON Schema
NUMBER_OR_NULL, WHOLE = {int, float, type(None)}, {int}
MOST_FAULTS = 10


class InvalidResults(AssertionError):
    pass


def validate(path: str | Path) -> dict:
    """The parsed file; InvalidResults if it breaks the format in any way."""
    return validate_text(Path(path).read_text(encoding="utf-8"), str(path))


def validate_text(text: str, path: str) -> dict:
    """The same for a text that is no file, such as what `scan --json` prints."""
    document = json.loads(text, parse_constant=_refuse)
    faults = list(faults_of(document))
    if faults:
        more = len(faults) - MOST_FAULTS
        shown = faults[:MOST_FAULTS] + ([f"and {more} more"] if more > 0 else [])
        raise InvalidResults(f"{path}:\n  " + "\n  ".join(shown))
    return document


def faults_of(document: dict):
    """Every fault of a parsed file, as text."""
    validator = _validator()
    errors = list(validator.iter_errors(_thinned(document)))
    for error in errors:
        where = ".".join(str(part) for part in error.absolute_path) or "the document"
        yield f"{where}: {error.message[:200]}"
    if errors:
        return  # what follows relies on the schema
    for key in document.keys() - validator.schema["properties"].keys():
        yield f"{key}: not in the schema"
    for name, metric in document["metrics"].items():
        yield from _metric_faults(name, metric, document["coords"])
        yield from _declaration_faults(name, metric)
    yield from _flag_faults(document)


@cache
def _validator():
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _thinned(document):
    """The document with one cell a metric: the validator takes seconds for 100,000 of them, and
    _metric_faults looks at every one."""
    if not isinstance(document, dict) or not isinstance(document.get("metrics"), dict):
        return document

    def first(cells):
        return [first(cells[0])] if isinstance(cells, list) and cells else cells

    def thin(metric):
        if not isinstance(metric, dict):
            return metric
        return {key: first(part) if key in CELL_KEYS else part for key, part in metric.items()}

    return {**document, "metrics": {n: thin(m) for n, m in document["metrics"].items()}}


def _metric_faults(name: str, metric: dict, coords: dict):
    for key in metric.keys() - METRIC_KEYS:
        yield f"{name}.{key}: not in the schema"
    missing = [dim for dim in metric["dims"] if dim not in coords]
    if missing:
        yield f"{name}.dims: no coords {missing}"
        return
    if "head" in metric["dims"] and metric["dims"][:2] != ["layer", "head"]:
        yield f"{name}.dims: layer and head come first, found {metric['dims']}"
    sizes = [len(coords[dim]) for dim in metric["dims"]]
    flat = {}
    for key in metric.keys() & set(CELL_KEYS):
        cells = flat[key] = _cells(metric[key], sizes)
        if cells is None:
            yield f"{name}.{key}: not nested lists of sizes {sizes}"
            return
        types = WHOLE if key == "rows" else NUMBER_OR_NULL
        if not set(map(type, cells)) <= types:
            odd = next(cell for cell in cells if type(cell) not in types)
            yield f"{name}.{key}: a cell is {odd!r}"
            return
    if min(flat.get("rows", []), default=0) < 0:
        yield f"{name}.rows: negative"
    rows = flat.get("rows", [])
    if 0 in rows and any(n == 0 and v is not None for v, n in zip(flat["values"], rows)):
        yield f"{name}: a value of no row"
    if min(filter(None, flat.get("stderr", [])), default=0) < 0:
        yield f"{name}.stderr: negative"
    if ("low" in flat) != ("high" in flat):
        yield f"{name}: one end of an interval"
    for low, high in zip(flat.get("low", []), flat.get("high", [])):
        if (low is None) != (high is None) or (low is not None and low > high):
            yield f"{name}: an interval from {low} to {high}"
            break
    if any(p is not None and not 0 <= p <= 1 for p in flat.get("p", [])):
        yield f"{name}.p: no probability"


def _declaration_faults(name: str, metric: dict):
    """A metric, or the one that it is a form of, is declared in catalogue/, with its unit, and with an
    interval and a p if it has them."""
    plain = name
    if plain not in METRICS and "change_of" in metric:
        plain = metric["change_of"]
    plain = base_name(plain)
    for experiment in EXPERIMENTS:
        plain = plain.removeprefix(f"{experiment}_")
    declared = METRICS.get(plain)
    if declared is None:
        yield f"{name}: not in the catalogue"
    elif metric["unit"] != declared["unit"]:
        yield f"{name}: the unit is {metric['unit']!r}, declared is {declared['unit']!r}"
    elif name == plain and metric.get("none") != declared.get("none"):
        yield f"{name}: none is {metric.get('none')!r}, declared is {declared.get('none')!r}"
    elif name == plain:
        for key, says in (("low", "interval"), ("p", "test")):
            if key in metric and says not in declared:
                yield f"{name}: {key} is there, and no {says} is declared"
            # A diff gives no interval to the change of a loss, which a comparison does.
            if key not in metric and says in declared and "change_of" not in metric:
                yield f"{name}: {key} is absent, and the {says} is declared"


def _flag_faults(document: dict):
    coords = document["coords"]
    longest = coords["length"][-1] if "length" in coords else document["settings"].get("length")
    for flag in document["flags"]:
        if flag["layer"] not in coords["layer"] or flag["head"] not in coords["head"]:
            yield f"flags: {flag['name']} of a head that is not there"
        if flag["length"] != longest:
            yield f"flags: {flag['name']} not at the longest length"


def _cells(nested, sizes: list[int]) -> list | None:
    """The cells in their order; None if they are not in nested lists of these sizes."""
    cells = [nested]
    for size in sizes:
        if not all(type(part) is list and len(part) == size for part in cells):
            return None
        cells = list(chain.from_iterable(cells))
    return None if list in map(type, cells) else cells


def _refuse(constant: str):
    raise InvalidResults(f"{constant} is not JSON: an undefined value is null")
