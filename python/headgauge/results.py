"""Results: metrics as labelled arrays, flags and sentences."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headgauge import _core
from headgauge._metric_names import MetricName
from headgauge._texts import checked_path, flag
from headgauge.errors import UnsupportedError, UsageError, imported

if TYPE_CHECKING:
    import pandas
    import xarray

Doubles = npt.NDArray[np.float64]

# Coords that tell something of each label of another, and are no dims.
OF_OTHERS = {"kv_head": "head", "layer_type": "layer", "window": "layer"}
# What stands beside a value: field of Metric, and its name in words.
PARTS = {
    "stderr": "standard error of",
    "degrees_of_freedom": "degrees of freedom of the standard error of",
    "low": "lower end of the 95 % interval of",
    "high": "upper end of the 95 % interval of",
    "p": "p of the test of",
    "rows": "rows behind",
}
SHOWN = {part: words for part, words in PARTS.items() if part != "degrees_of_freedom"}


@functools.cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Title and meaning of every metric (docs/formats.md)."""
    return dict(_core.metrics())


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric: values over named dims, with their standard errors, 95 % intervals, p and numbers of rows where it
    has them.

    The arrays are views of the results, and must not be written. An undefined cell is NaN. float(metric) is the
    value of a metric without dims.
    """

    name: str
    dims: tuple[str, ...]
    coords: dict[str, list[float] | list[str]]
    """The labels along each dim."""
    unit: str
    values: Doubles
    stderr: Doubles | None
    degrees_of_freedom: Doubles | None
    low: Doubles | None
    high: Doubles | None
    p: Doubles | None
    rows: npt.NDArray[np.int64] | None
    none: float | None
    """The value that says that none was found, such as -1."""
    identifier: bool
    """Whether the values number something, such as a head."""
    change_of: str
    """The metric whose change this is; empty for others."""

    @property
    def title(self) -> str:
        return str(catalogue().get(self.name, {}).get("title", self.name))

    @property
    def meaning(self) -> str:
        return str(catalogue().get(self.name, {}).get("meaning", ""))

    def sel(self, **labels: float | str) -> Metric:
        """The cells at one label of some dims, without these dims: sel(outcome="passkey", length=512). Raises
        UsageError for another dim or label."""
        places = {dim: self._place(dim, label) for dim, label in labels.items()}
        cut = tuple(places.get(dim, slice(None)) for dim in self.dims)
        numbers = {part: getattr(self, part) for part in ("values", *PARTS)}
        left = tuple(dim for dim in self.dims if dim not in places)
        fields: dict[str, Any] = {
            part: None if found is None else np.asarray(found[cut]) for part, found in numbers.items()
        }
        fields |= {"dims": left, "coords": {dim: self.coords[dim] for dim in left}}
        return dataclasses.replace(self, **fields)

    def _place(self, dim: str, label: float | str) -> int:
        if dim not in self.dims:
            raise UsageError(
                f"{self.name}: expected labels of {', '.join(self.dims) or 'no dim'}, found one of {dim}"
            )
        labels: list[float | str] = list(self.coords[dim])
        if label not in labels:
            raise UsageError(f"{dim}: expected one of {', '.join(map(label_text, labels))}, found {label}")
        return labels.index(label)

    def __float__(self) -> float:
        return float(self.values)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The values: numpy.asarray(metric)."""
        return np.array(self.values, dtype=dtype, copy=copy)  # type: ignore[arg-type,unused-ignore]


def label_text(label: float | str) -> str:
    return label if isinstance(label, str) else f"{label:.15g}"


class Metrics(Mapping[str, Metric]):
    """The metrics by name, in their order."""

    def __init__(self, core: _core.Results) -> None:
        self._core = core
        self._names = core.names()
        self._coords = core.coords()

    def __getitem__(self, name: MetricName | str) -> Metric:
        if name not in self._names:
            raise KeyError(f"no metric {name}{_core.metric_hint(str(name), self._names)}")
        fields = self._core.metric(name)
        fields["dims"] = tuple(fields["dims"])
        fields["coords"] = {dim: self._coords[dim] for dim in fields["dims"]}
        if fields["rows"] is not None:  # of 64 bits under another name, which zarr does not know
            fields["rows"] = fields["rows"].view(np.int64)
        return Metric(name, **fields)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Results:
    """What a command measured. `results["entropy"]` is a Metric."""

    def __init__(self, core: _core.Results) -> None:
        self._core = core
        if not isinstance(core, _core.Results):
            raise TypeError(f"core: expected what load() reads, found {type(core).__name__}")
        self._read: list[str] = []
        self.metrics: Metrics = Metrics(core)
        self.coords: dict[str, list[float] | list[str]] = core.coords()
        self.plan: dict[str, Any] | None = None
        """Of headgauge.plan(): what plan.json holds."""
        self.exceeded: list[str] = []
        """A sentence for each limit that diff(limits=...) found exceeded; the files of save() have none."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Results:
        """Reads results.json, or the folder that holds it. Raises BadInputError."""
        file = Path(checked_path(path))
        read = os.fspath(file / "results.json" if file.is_dir() else file)
        results = cls(_core.read_results(read))
        results._read = [read]
        return results

    def __reduce__(self) -> tuple[Any, ...]:
        """As the text of results.json, every number as it is: for other processes."""
        return _of_text, (self._core.text(), self.plan, self.exceeded)

    @functools.cached_property
    def document(self) -> dict[str, Any]:
        """All of it, as results.json has it (docs/formats.md)."""
        parsed: dict[str, Any] = json.loads(self._core.text())
        return parsed

    def save(self, folder: str | os.PathLike[str], *, force: bool = True) -> None:
        """Writes results.json, and heads.csv where there are heads, into a folder, which is made if
        need be. Raises ResourceError, and UsageError without `force` if finished results of another request are there;
        the old files stay then."""
        self._core.save(checked_path(folder, "folder"), flag(force))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes one HTML page with everything in it, which opens offline."""
        _core.require_unread(checked_path(path), self._read)
        self._core.report(checked_path(path))

    def figures(self) -> dict[str, str]:
        """The standard figures as SVG, by name."""
        return dict(self._core.figures())

    @property
    def command(self) -> str:
        return self._core.command

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.document["settings"])

    @property
    def flags(self) -> list[dict[str, Any]]:
        """What is worth attention about single heads: name, layer, head, length, value, threshold."""
        return list(self.document["flags"])

    @property
    def notices(self) -> list[str]:
        """What a reader of the numbers must know."""
        return self._core.notices()

    def summary(self) -> str:
        """What was found, a sentence a line."""
        return "\n".join(self._core.summary())

    def __getitem__(self, name: MetricName | str) -> Metric:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.metrics)

    def __contains__(self, name: object) -> bool:
        return name in self.metrics

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(labels)}" for name, labels in self.coords.items())
        return f"<headgauge.Results of {self.command}: {len(self.metrics)} metrics ({sizes})>"

    def _repr_html_(self) -> str:
        from headgauge._html import page

        return page(self)

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset with a variable for each metric (attrs: unit, long_name, description) and, where
        it has them, NAME_stderr, NAME_low, NAME_high, NAME_p and NAME_rows. A coordinate for each dim. Needs xarray."""
        xarray = imported("xarray", "plot")
        variables: dict[str, Any] = {}
        for name, metric in self.metrics.items():
            attrs = {"units": metric.unit, "long_name": metric.title, "description": metric.meaning}
            if metric.none is not None:
                attrs["none"] = str(metric.none)
            variables[name] = (metric.dims, metric.values, attrs)
            for part, words in SHOWN.items():
                numbers = getattr(metric, part)
                if numbers is not None:
                    unit = "1" if part in ("p", "rows") else metric.unit
                    of = {"units": unit, "long_name": f"{words} {name}"}
                    variables[f"{name}_{part}"] = (metric.dims, numbers, of)
        attrs = {
            "command": self.command,
            "settings": json.dumps(self.document["settings"]),
            "model": json.dumps(self.document["model"]),
            "title": repr(self)[1:-1],
        }
        coords: dict[str, Any] = {}
        for name, values in self.coords.items():
            other = OF_OTHERS.get(name, name)
            along = other if len(values) == len(self.coords.get(other, [])) else name
            coords[name] = (along, _labels(values))
        return xarray.Dataset(variables, coords=coords, attrs=attrs)

    def to_dataframe(self, *, long: bool | None = None) -> pandas.DataFrame:
        """What heads.csv has (docs/formats.md): a row for each layer, head and length or step, and each run,
        normalizer, pattern or plan where there are any. A metric without the dim length stands at the longest, and
        one with outcomes has that of text. Metrics of other dims have no column there: a warning counts them,
        unless long=False says that they are not wanted.

        long=True: every value of every metric is a row: columns metric, a column for each dim (empty where the
        metric lacks it), value, stderr, low, high, p, rows. Needs pandas."""
        if long:
            return self._long()
        pandas = imported("pandas", "plot")
        if not all(dim in self.coords for dim in ("layer", "head")):
            raise UnsupportedError(
                f"results of {self.command} have no heads; use to_dataframe(long=True) or to_xarray()"
            )
        table = self._core.table()
        dims, left_out = table["rows"], table["left_out"]
        index = pandas.MultiIndex.from_product(
            [_labels(self.coords[dim]) for dim in dims if dim in self.coords],
            names=[dim for dim in dims if dim in self.coords],
        )
        if left_out and long is None:
            warnings.warn(
                f"{len(left_out)} of {len(self.metrics)} metrics have other dims and are not in this table "
                f"({', '.join(left_out[:3])}, ...); to_dataframe(long=True) has them, long=False says nothing",
                stacklevel=2,
            )
        return pandas.DataFrame(table["columns"], index=index)

    def _long(self) -> pandas.DataFrame:
        pandas = imported("pandas", "plot")
        dims = list(dict.fromkeys(dim for metric in self.metrics.values() for dim in metric.dims))
        tables = []
        for name, metric in self.metrics.items():
            size = metric.values.size
            places = np.indices(metric.values.shape).reshape(len(metric.dims), size)
            columns: dict[str, Any] = {"metric": [name] * size}
            for dim in dims:
                labels = _labels(self.coords[dim])
                known = labels[places[metric.dims.index(dim)]] if dim in metric.dims else None
                kind = {"i": "Int64", "f": "float64"}.get(labels.dtype.kind, "object")
                columns[dim] = pandas.Series(known, index=range(size), dtype=kind)
            for column in ("value", *SHOWN):
                numbers = metric.values if column == "value" else getattr(metric, column)
                kind = "Int64" if column == "rows" else "float64"
                flat = None if numbers is None else numbers.ravel()
                columns[column] = pandas.Series(flat, index=range(size), dtype=kind)
            tables.append(pandas.DataFrame(columns))
        return pandas.concat(tables, ignore_index=True)


def _of_text(text: str, plan: dict[str, Any] | None, exceeded: list[str]) -> Results:
    results = Results(_core.parse_results(text, "results"))
    results.plan, results.exceeded = plan, exceeded
    return results


def _labels(values: list[float] | list[str]) -> npt.NDArray[Any]:
    """Labels, as whole numbers where all are."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.size and bool((array == np.round(array)).all()):
        return array.astype(np.int64)
    return array
