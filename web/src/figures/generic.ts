// Draws any metric, including one that this version does not know.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Cell, Results } from "../data/results";
import { domainOf } from "./axes";
import { curvesFigure, metricCurve } from "./curves";
import type { Figure } from "./figure";
import { capital, csvValue, formatNumber, formatWithError, metricLabel, plainName } from "./format";
import { frame, textWidth } from "./frame";
import { cellLabel, mapFigure } from "./map";
import { isLogarithmic, isWide, withScale } from "./scatter";
import { themeOf } from "./theme";

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
    return dotsFigure(results, name, dim, cell, { id, title });
  }
  const places = results.numbers(dim);
  const curves = metricCurve(results, dim, cell, {
    name, label: results.title(name), colour: 0, style: "line",
  });
  const log = isLogarithmic(results, name, curves.flatMap(({ values }) => values));
  const wide = isWide(places);
  return curvesFigure({
    id,
    title,
    caption: CAPTION,
    x: { column: dim, label: withScale(plainName(dim), wide), values: places, log: wide, ticks: places },
    y: { label: withScale(metricLabel(results, name), log), log },
    curves,
  });
}

const CAPTION = "The values of the results file, with ± 2 standard errors where it has them.";

function dotsFigure(
  results: Results,
  name: MetricName,
  dim: string | undefined,
  cell: Cell,
  { id, title }: { id: string; title: string },
): Figure | undefined {
  const labels = dim === undefined ? ["all"] : results.coord(dim).map(String);
  const dots = labels.map((label, k) => {
    const at = dim === undefined ? cell : { ...cell, [dim]: k };
    const value = results.value(name, at);
    const stderr = results.stderr(name, at);
    return {
      label, value, stderr, low: value - 2 * stderr, high: value + 2 * stderr,
      text: formatWithError(value, stderr),
    };
  });
  const domain = domainOf(dots.flatMap(({ value, low, high }) => [value, low, high]), { room: 0.1 });
  if (!domain) return undefined;
  return {
    id,
    title,
    caption: CAPTION,
    columns: [dim ?? "whole", name, `${name}_stderr`],
    rows: dots.map(({ label, value, stderr }) => [label, csvValue(value), csvValue(stderr)]),
    draw: (options) => {
      const theme = themeOf(options.dark);
      return frame(options, {
        title,
        height: 30 * dots.length + 10,
        x: { label: metricLabel(results, name), domain },
        left: 16 + Math.max(...labels.map((label) => textWidth(label, 11))),
        right: 40,
        options: { y: { type: "point", domain: labels, padding: 0.7 } },
        marks: [
          Plot.axisY({ label: null, tickSize: 0, fontSize: 11, color: theme.text }),
          Plot.ruleY(dots.filter(({ low }) => Number.isFinite(low)), {
            x1: "low", x2: "high", y: "label", stroke: theme.series[0], strokeWidth: 2,
          }),
          Plot.dot(dots, { x: "value", y: "label", r: 4, fill: theme.series[0], title: "text" }),
          Plot.text(dots, {
            x: "value", y: "label", dy: -12, text: ({ value }) => formatNumber(value),
            fill: theme.text, fontSize: 11,
          }),
        ],
      });
    },
  };
}
