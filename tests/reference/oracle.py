"""Every metric of a scan in float64, as labelled arrays, from documents and settings."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np

from tests.reference.arrays import Array
from tests.reference.assembly import (
    Cells,
    LayerResult,
    PrefixAtLength,
    PrefixMeans,
    assemble,
    loss_by_gap,
    loss_metric,
)
from tests.reference.averages import STAND_FOR, Mean, RowIndex, batch_count, position_edges, row_mean, stack
from tests.reference.catalogue import TWINS
from tests.reference.coverage import (
    OF_QUERIES,
    OVERLAP,
    QUERIES,
    clear_top,
    of_queries,
    partners,
    union_coverage,
    union_independent,
    union_paper,
)
from tests.reference.critical import FAR_APART, HeadRatios
from tests.reference.dispersion import dispersion
from tests.reference.distance import distance_rows
from tests.reference.geometry import Cloud, Points
from tests.reference.kept_keys import kept_rows
from tests.reference.normalizers import make_normalizer
from tests.reference.philox import sphere_points, unit_directions
from tests.reference.rows import RowBlock, concatenate, find_sinks, row_blocks
from tests.reference.sensitivity import jacobian_rows, rows_stood_for, sensitivity_rows, top2_directions
from tests.reference.separability import Draws, separability_rows
from tests.reference.settings import Metric, Settings
from tests.reference.sources import Document
from tests.reference.weights import DOUBT


def row_values(group: str, block: RowBlock) -> dict[str, Array]:
    """What row_values() of the module of the group's name, if there is one, makes of a block."""
    name = f"tests.reference.{group}"
    module = import_module(name) if find_spec(name) else None
    return module.row_values(block) if hasattr(module, "row_values") else {}


@dataclass
class HeadRows:
    """The rows of one head over all documents."""

    values: dict[str, Array]
    chosen: dict[int, tuple[Array, Array]]  # by N: members (R, N), and whether X_i < r
    top: tuple[Array, Array]  # the ten largest weights (R, 10), and whether they count as chosen


class Oracle:
    def __init__(self, documents: list[Document], settings: Settings) -> None:
        self.documents = documents
        self.settings = settings
        self.index = RowIndex.of(
            [np.arange(1, d.length + 1) for d in documents], [d.length for d in documents]
        )
        self.edges = position_edges(settings.lengths)
        self.normalizer = make_normalizer(settings.normalizer)
        self.spheres: dict[int, Cloud] = {}

    def _sphere(self, width: int) -> Cloud:
        """Random points in place of those of a text."""
        if width not in self.spheres:
            points = sphere_points(self.settings.seed, width, self.settings.longest)
            self.spheres[width] = Cloud.on_sphere(points)
        return self.spheres[width]

    def _wants(self, group: str) -> bool:
        return group in self.settings.groups

    def document_rows(
        self, number: int, layer: int, head: int, points: Points | None
    ) -> tuple[dict[str, Array], list[dict[int, tuple[Array, Array]]], list[tuple[Array, Array]]]:
        """Row values of one head in one document, its sets and its top ten."""
        document, s = self.documents[number], self.settings
        needs_sets = self._wants("separability") or self._wants("coverage")
        sphere = self._sphere(document.point_width(layer)) if points and needs_sets else None
        draws = Draws(s.seed, layer, head, number)
        parts, chosen, tops = [], [], []
        logits = document.logits(layer, head, self.normalizer.unit_norms)
        tokens = document.tokens
        used = max((length for length in s.lengths if length <= document.length), default=0)
        sinks = np.zeros(document.length, bool)
        sinks[:used] = find_sinks(logits, document.visible, self.normalizer, used)
        blocks = row_blocks(logits, document.visible, s.depth, self.normalizer, tokens, sinks, used)
        for block in blocks:
            part: dict[str, Array] = {}
            tops.append(clear_top(block))
            for group in s.groups:
                part |= row_values(group, block)
            if self._wants("logits"):
                part["largest_logit_spread"] = np.where(block.t <= used, part["max_logit"], np.nan)
            if self._wants("sensitivity"):
                part |= jacobian_rows(block)
                v = unit_directions(s.seed, layer, head, number, block.t - 1, block.n)
                rows = rows_stood_for(block, self.edges, s.seed, layer, head, number)
                part["sensitivity" + STAND_FOR] = rows
                grid = s.temperatures, s.epsilons
                part["sensitivity"] = sensitivity_rows(block, v, *grid, rows > 0)
                steepest = sensitivity_rows(block, top2_directions(block), [1.0], [1e-3], rows > 0)
                part["sensitivity_top2"] = steepest[:, 0, 0]
            if points is not None and self._wants("distance"):
                part |= distance_rows(block, points, s.top_n, s.depth)
            if points is not None and sphere is not None:
                found, sets = separability_rows(block, points.cloud, sphere, s.top_n, draws)
                part |= found
                chosen.append(sets)
                if self._wants("separability"):
                    part |= kept_rows(block, points.cloud, s.top_n, draws, document.vectors)
            parts.append(part)
        return concatenate(parts), chosen, tops

    def head_rows(self, layer: int, head: int, shared: list[Points | None] | None) -> HeadRows:
        values, blocks, tops = [], [], []
        for number, document in enumerate(self.documents):
            points = shared[number] if shared is not None else document.points(layer, head)
            rows, chosen, top = self.document_rows(number, layer, head, points)
            values.append(rows)
            blocks += chosen
            tops += top
        joined = {
            size: (np.concatenate([b[size][0] for b in blocks]), np.concatenate([b[size][1] for b in blocks]))
            for size in (self.settings.top_n if blocks else [])
        }
        top = np.concatenate([t[0] for t in tops]), np.concatenate([t[1] for t in tops])
        return HeadRows(concatenate(values), joined, top)

    def by_length(
        self, values: Array, lengths: list[int] | None = None, stand_for: Array | None = None
    ) -> Mean:
        """Means over rows t <= L, one entry for each length."""
        wanted = self.settings.lengths if lengths is None else lengths
        index = self.index
        cells = [row_mean(values, index, index.up_to(length), stand_for) for length in wanted]
        return stack(cells)

    def by_position(self, values: Array) -> Mean:
        lower = [0, *self.edges[:-1]]
        chosen = [self.index.between(a, b) for a, b in zip(lower, self.edges, strict=True)]
        return stack([row_mean(values, self.index, rows) for rows in chosen])

    def head_cells(self, rows: HeadRows, layer: int = 0) -> tuple[Cells, PrefixMeans]:
        """The means of a head, and what critical N needs: means for every N, and the head's own."""
        s, cells = self.settings, {}
        prefixes: PrefixMeans = []
        for name, values in rows.values.items():
            if name in ("sensitivity", "sensitivity_top2"):
                longest = self.by_length(values, [s.longest], rows.values["sensitivity" + STAND_FOR])
                cells[name] = Mean(longest.value[0], longest.stderr[0], longest.rows[0])
            elif not name.endswith(("_prefixes", "_spread", DOUBT, STAND_FOR)):
                doubt = rows.values.get(name + DOUBT)
                cells[name] = self.by_length(values, None, rows.values.get(name + STAND_FOR))
                if doubt is not None:
                    cells[name].doubt = self.by_length(doubt).value
                if name in TWINS:
                    cells[TWINS[name]] = self.by_position(values)
                    if doubt is not None:
                        cells[TWINS[name]].doubt = self.by_position(doubt).value
        if self._wants("logits"):
            largest = np.nanmax(rows.values["largest_logit_spread"])
            cells["largest_logit"] = Mean(np.asarray(largest), np.asarray(np.nan), np.asarray(0))
        if self._wants("dispersion"):
            cells |= self.dispersion_cells(rows, layer)
        if "distance_prefixes" in rows.values:
            distance, context = rows.values["distance_prefixes"], rows.values["context_prefixes"]
            prefixes = [self.head_ratios(distance, context, length) for length in s.lengths]
        return cells, prefixes

    def head_ratios(self, distance: Array, context: Array, length: int) -> PrefixAtLength:
        """Means and log ratio for every N; its error is that of the mean of its linear part."""
        reach = max(min(length - 1, self.settings.critical_max), 0)
        chosen = self.index.up_to(length)
        of_distance = row_mean(distance[:, :reach], self.index, chosen)
        of_context = row_mean(context[:, :reach], self.index, chosen)
        with np.errstate(divide="ignore", invalid="ignore"):
            linear = distance[:, :reach] / of_distance.value - context[:, :reach] / of_context.value
            ratio = np.log(of_distance.value / of_context.value)
        error = row_mean(linear, self.index, chosen).stderr
        error = np.where(np.abs(ratio) < FAR_APART, error, 0.0)
        freedom = batch_count(distance[:, :reach], self.index, chosen) - 1.0
        ratios = HeadRatios(np.clip(ratio, -FAR_APART, FAR_APART), error, freedom)
        return PrefixAtLength(of_distance.value, of_context.value, ratios)

    def dispersion_cells(self, rows: HeadRows, layer: int) -> Cells:
        visible = np.concatenate([d.visible for d in self.documents])
        found = dispersion(
            rows.values["entropy_spread"],
            rows.values["max_weight_spread"],
            visible,
            self.index,
            self.edges,
            self.documents[0].positions,
            self.documents[0].windows.get(layer, 0),
        )

        none = np.full(found.forecast.shape[0], np.nan)

        def cell(value: Any, stderr: Any, doubt: Any = None) -> Mean:
            return Mean(np.asarray(value), np.asarray(stderr), np.zeros(np.shape(value)), doubt)

        return {
            "entropy_slope_with_sinks": cell(*found.entropy),
            "max_weight_slope_with_sinks": cell(*found.max_weight),
            **{
                f"effective_tokens_forecast_with_sinks{end}": cell(found.forecast[:, k], none)
                for k, end in enumerate(("", " low", " high"))
            },
            "forecast_coverage": cell(found.holds, np.nan, np.asarray(float(found.doubtful))),
        }

    def layer_cells(self, layer: int) -> LayerResult:
        """All of one layer: the cells and prefixes of its heads, and its coverage."""
        heads = [h for n, h in self.settings.heads if n == layer]
        shared = None
        if self.settings.x != "value":
            shared = [document.points(layer, 0) for document in self.documents]
        found = {head: self.head_rows(layer, head, shared) for head in heads}
        cells, prefixes = {}, {}
        for head, rows in found.items():
            cells[head], prefixes[head] = self.head_cells(rows, layer)
        together: Cells = {}
        if self._wants("coverage") and all(rows.chosen for rows in found.values()):
            together = self.coverage_cells(list(found.values()), list(cells.values()))
            self.add_partners(found, cells)
            self.add_queries(found, cells)
        return cells, prefixes, together

    def add_partners(self, found: dict[int, HeadRows], cells: dict[int, Cells]) -> None:
        """top_overlap and its partner, at the longest length, into the cells of the heads."""
        visible = np.concatenate([d.visible for d in self.documents])
        rows = self.index.up_to(self.settings.longest) & (visible > OVERLAP)
        tops = [rows_of.top for rows_of in found.values()]
        none, zero = np.asarray(np.nan), np.asarray(0)
        for head, partner in zip(found, partners(tops, list(found), rows), strict=True):
            cells[head]["top_overlap"] = Mean(np.asarray(partner.overlap), none, zero)
            doubt = np.asarray(partner.doubt)
            cells[head]["top_overlap_partner"] = Mean(np.asarray(partner.head), none, zero, doubt)

    def add_queries(self, found: dict[int, HeadRows], cells: dict[int, Cells]) -> None:
        """OF_QUERIES by N, means over the documents, into the cells of the heads."""
        visible = np.concatenate([d.visible for d in self.documents])
        for head, rows in found.items():
            by_size = []
            for size in self.settings.top_n:
                of_documents = []
                for number, document in enumerate(self.documents):
                    used = max((n for n in self.settings.lengths if n <= document.length), default=0)
                    own = (self.index.document == number) & (self.index.t <= used) & (visible > size)
                    last = np.flatnonzero(own)[-QUERIES:]
                    if len(last) > 1:
                        members = rows.chosen[size][0][last]
                        of_documents.append(of_queries(members, self.index.t[last], visible[last]))
                by_size.append(np.mean(of_documents, axis=0) if of_documents else np.full(4, np.nan))
            for place, name in enumerate(OF_QUERIES):
                values = np.array([of_size[place] for of_size in by_size])
                cells[head][name] = Mean(values, np.full_like(values, np.nan), np.zeros(len(values)))

    def coverage_cells(self, rows: list[HeadRows], cells: list[Cells]) -> Cells:
        s = self.settings
        width = max(d.length for d in self.documents)
        visible = np.concatenate([d.visible for d in self.documents])
        share = np.stack([c["separability_with_sinks"].value for c in cells])  # (heads, length, top_n)
        union, independent = [], []
        for place, size in enumerate(s.top_n):
            members = [r.chosen[size][0] for r in rows]
            distinct = [r.chosen[size][1] for r in rows]
            covered = union_coverage(members, distinct, width)
            union.append(np.where(visible > size, covered, np.nan))
            alone = [self.independent_rows(rows, members, place, length) for length in s.lengths]
            cells_of_size = [
                row_mean(np.where(visible > size, values, np.nan), self.index, self.index.up_to(to))
                for to, values in zip(s.lengths, alone, strict=True)
            ]
            independent.append(stack(cells_of_size))
        by_size = Mean(
            np.stack([mean.value for mean in independent], axis=1),
            np.stack([mean.stderr for mean in independent], axis=1),
            np.stack([mean.rows for mean in independent], axis=1),
        )
        paper = np.full((len(s.lengths), len(s.top_n)), np.nan)
        for step, place in np.argwhere(by_size.rows > 0):
            paper[step, place] = union_paper(share[:, step, place])
        return {
            "union_coverage": self.by_length(np.stack(union, axis=1)),
            "union_coverage_independent": by_size,
            "union_coverage_paper": Mean(paper, np.full_like(paper, np.nan), by_size.rows),
        }

    def independent_rows(self, rows: list[HeadRows], members: list[Array], place: int, length: int) -> Array:
        """What heads would cover that are independent given the text of a row."""
        values = np.full(len(self.index.t), np.nan)
        for number, document in enumerate(self.documents):
            here = self.index.document == number
            up_to = here & self.index.up_to(length)
            p = [row_mean(r.values["separability_with_sinks"], self.index, up_to).value[place] for r in rows]
            if not np.isnan(p).any():
                own = [chosen[here] for chosen in members]
                values[here] = union_independent(own, np.asarray(p), document.length)
        return values

    def run(self, jobs: int = 1) -> dict[str, Metric]:
        """All metrics; `jobs` processes share the layers."""
        layers = sorted({layer for layer, _ in self.settings.heads})
        for width in {self.documents[0].point_width(layer) for layer in layers} - {0}:
            self._sphere(width)  # drawn once, before there are processes
        if jobs > 1:
            with ProcessPoolExecutor(jobs, get_context("fork"), initializer=_adopt, initargs=(self,)) as pool:
                results = list(pool.map(_layer, layers))
        else:
            results = [self.layer_cells(layer) for layer in layers]
        found = dict(zip(layers, results, strict=True))
        return assemble(found, self.settings, self.steepest()) | self.loss()

    def steepest(self) -> float:
        """The largest sup ||J|| of the rows scanned."""
        places = {
            (int(n), t)
            for document in self.documents
            for t, n in enumerate(document.visible[: self.settings.longest], 1)
        }
        return max(self.normalizer.steepest(n, t) for n, t in places)

    def loss(self) -> dict[str, Metric]:
        losses = [d.next_token_loss for d in self.documents if d.next_token_loss is not None]
        if not self._wants("model") or not losses:
            return {}
        found = {"loss": loss_metric(losses, self.index, self.settings.lengths)}
        tokens = [d.tokens for d in self.documents if d.tokens is not None]
        if len(tokens) == len(losses):
            found["loss_by_gap"] = loss_by_gap(losses, tokens)
        return found


_current: Oracle | None = None


def _adopt(oracle: Oracle) -> None:
    global _current
    _current = oracle


def _layer(layer: int) -> LayerResult:
    assert _current is not None
    return _current.layer_cells(layer)
