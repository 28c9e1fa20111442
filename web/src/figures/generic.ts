// Draws any metric, including one that this version does not know.
import type { MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { along, curvesFigure } from "./curves";
import type { Figure } from "./figure";
import { capital, metricLabel, plainName, withScale } from "./format";
import { cellLabel, mapFigure } from "./map";
import { dotsFigure } from "./rows";
import { isLogarithmic, isWide } from "./scatter";

// Returns the dim along which a metric is drawn that has no map.
export function drawnDim(results: Results, name: MetricName): string | undefined {
  const dims = results.info(name)?.dims ?? [];
  const several = dims.filter((dim) => results.coord(dim).length > 1);
  const named = several.find((dim) => dim !== "outcome") ?? several[0];
  return several.find((dim) => isNumbers(results, dim)) ?? named ?? dims[0];
}

const isNumbers = (results: Results, dim: string): boolean =>
  results.coord(dim).every((label) => typeof label === "number");

// Draws a map over layers; otherwise a curve along the first numeric coordinate with several
// labels, or a dot per name.
export function genericFigure(results: Results, name: MetricName, cell: Cell = {}): Figure | undefined {
  const metric = results.metric(name);
  if (!metric) return undefined;
  if (metric.dims.includes("layer")) return mapFigure(results, name, cell);
  const dim = drawnDim(results, name);
  const rest = cellLabel(results, { ...metric, dims: metric.dims.filter((own) => own !== dim) }, cell);
  const title = `${capital(metricLabel(results, name))}${dim ? ` against ${plainName(dim)}` : ""}${
    rest ? `, ${rest}` : ""
  }`;
  const id = `metric-${name.replace(/_/g, "-")}`;
  if (dim === undefined || !isNumbers(results, dim)) {
    const labels = dim === undefined ? ["all"] : results.coord(dim);
    return dotsFigure({
      id,
      title,
      caption: CAPTION,
      columns: [dim ?? "whole", name],
      made: labels.map((label, k) => ({
        labels: [label],
        name: String(label),
        colour: 0,
        values: [results.estimate(name, dim === undefined ? cell : { ...cell, [dim]: k })],
      })),
      x: { label: metricLabel(results, name), log: false, include: [], lines: [] },
      rowLabel: "",
      key: [],
    });
  }
  const places = results.numbers(dim);
  const found = along(results, name, dim, cell);
  if (!found) return undefined;
  const log = isLogarithmic(results, name, found.values);
  const wide = isWide(places);
  return curvesFigure({
    id,
    title,
    caption: CAPTION,
    x: { column: dim, label: withScale(plainName(dim), wide), values: places, log: wide, ticks: places },
    y: { label: withScale(metricLabel(results, name), log), log },
    curves: [{ name, label: results.title(name), colour: 0, style: "line", ...found }],
  });
}

const CAPTION = "The values of the results file, with ± 2 standard errors where it has them.";
