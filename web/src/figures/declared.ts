// Draws the figures that the catalogue declares.
import { FIGURES, type DeclaredFigure, type DeclaredMap, type MetricName } from "../catalogue/catalogue";
import type { Cell, Change, Results } from "../data/results";
import { curvesOf } from "./declared_curves";
import { rowsOf, scatterOf } from "./declared_points";
import type { Figure } from "./figure";
import { capital, slug } from "./format";
import { overHeads } from "./heads";
import { cellLabel, mapFigure } from "./map";
import { cellAt, isThere, labelsFor, wordsAt, type Labelled, type Words } from "./quantity";

export const declaredIn = (results: Results, view: DeclaredFigure["view"]): readonly DeclaredFigure[] =>
  FIGURES.filter((figure) => figure.view === view).flatMap((figure) => forMetrics(results, figure));

export const hasFigures = (results: Results, view: DeclaredFigure["view"]): boolean =>
  declaredIn(results, view).some(({ needs }) => isThere(results, needs));

// Returns the figure for each metric that takes the place of {metric}.
function forMetrics(results: Results, declared: DeclaredFigure): DeclaredFigure[] {
  if (declared.any === undefined) return [declared];
  const at = declared.any === "run" ? firstChange(results)?.labels : declared.at;
  const place = cellLabel(results, { dims: Object.keys(at ?? {}) }, cellAt(results, {}, at) ?? {});
  return metricsAlong(results, declared.any).map((metric) => {
    const label = results.title(metric);
    const words: Record<string, string> = { metric, title: capital(label), label, place: place && ` at ${place}` };
    const written = JSON.stringify({ ...declared, at }).replace(/\{(metric|title|label|place)\}/g, (_, word: string) =>
      JSON.stringify(words[word]).slice(1, -1));
    return JSON.parse(written) as DeclaredFigure;
  });
}

const firstChange = (results: Results): Change | undefined =>
  results.header.changes?.find(({ labels }) => labels["head"] !== undefined);

function metricsAlong(results: Results, dim: string): MetricName[] {
  const changed = firstChange(results)?.metric;
  const isDrawn = (name: MetricName) =>
    ["layer", "head", dim].every((own) => results.info(name)!.dims.includes(own)) && (dim !== "run" || name === changed);
  return results.coord(dim).length < 2 ? [] : results.names().filter(isDrawn);
}

// Returns the figures of a view; `who` ends the titles of those of one head.
export const declaredFigures = (
  results: Results, view: DeclaredFigure["view"], cell: Cell = {}, who = "",
): Figure[] => declaredIn(results, view).flatMap((figure) => declaredFigure(results, figure, cell, who));

function declaredFigure(results: Results, declared: DeclaredFigure, cell: Cell, who: string): Figure[] {
  if (!isThere(results, declared.needs)) return [];
  const several = labelsFor(results, declared.for);
  return several.flatMap((one) => {
    const at = cellAt(results, { ...cell, ...one.cell }, declared.at);
    if (!at) return [];
    const words = (text: string) => wordsAt(results, text, at);
    const own = {
      id: slug(`${words(declared.id)}-${one.label}`),
      title: words(declared.title) + (who === "" ? "" : `: ${who}`),
      caption: words(declared.caption),
    };
    const figure = drawn(results, declared, own, at, several);
    return figure ? [{ ...figure, aside: declared.aside ?? false }] : [];
  });
}

function drawn(
  results: Results, declared: DeclaredFigure, own: Words, cell: Cell, several: Labelled[],
): Figure | undefined {
  switch (declared.kind) {
    case "curves":
    case "spread":
      return curvesOf(results, declared, own, cell);
    case "scatter":
      return scatterOf(results, declared, own, cell);
    case "map":
      return mapOf(results, declared, own, cell, several);
    default:
      return rowsOf(results, declared, own, cell);
  }
}

// The maps of several labels have one colour scale, so that they can be compared.
function mapOf(results: Results, { metric, log = false }: DeclaredMap, own: Words, cell: Cell, several: Labelled[]): Figure {
  const scaled = several.flatMap(({ cell: at }) => overHeads(results, metric, { ...cell, ...at }).map(({ value }) => value));
  return mapFigure(results, metric, cell, { ...own, log, scaled });
}
