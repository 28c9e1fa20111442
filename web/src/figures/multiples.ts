// Draws the same curve for all heads, in one small panel for each.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Cell, Results } from "../data/results";
import { domainOf, place, type Axis } from "./axes";
import type { Figure } from "./figure";
import { capital, csvValue, formatTick, metricLabel, plainName } from "./format";
import { frame } from "./frame";
import { cellLabel } from "./map";
import { isLogarithmic, isWide, SMALL_RATIO } from "./scatter";
import { themeOf } from "./theme";

const DIMS = [
  "length", "position", "temperature", "tokens", "top_n", "forecast_length", "tolerance",
] as const;

// Returns the dim along which a metric is drawn: the first of these with several labels.
export function dimOfMultiples(results: Results, name: MetricName): string | undefined {
  const dims = results.info(name)?.dims ?? [];
  const there = DIMS.filter((dim) => dims.includes(dim));
  return there.find((dim) => results.coord(dim).length > 1) ?? there[0];
}

interface Point {
  panel: string;
  x: number; // in units of panels: head + position within the panel
  y: number;
}

export function multiplesFigure(
  results: Results,
  name: MetricName,
  cell: Cell,
  dim = dimOfMultiples(results, name) ?? "length",
): Figure {
  const metric = results.metric(name);
  const byHead = metric?.dims.includes("head") ?? false;
  const layers = results.coord("layer");
  const heads = byHead ? results.coord("head") : [""];
  const places = results.numbers(dim);
  const along = metric?.dims.includes(dim) ?? false;
  const panels = layers.flatMap((_, layer) =>
    heads.map((__, head) => ({
      layer,
      head,
      values: places.map((___, k) =>
        along ? results.value(name, { ...cell, layer, head, [dim]: k }) : NaN,
      ),
    })),
  );
  const where = metric
    ? cellLabel(results, { ...metric, dims: metric.dims.filter((own) => own !== dim) }, cell)
    : "";
  const title = `${capital(metricLabel(results, name))} against ${plainName(dim)} in every head${
    where ? `, ${where}` : ""
  }`;
  return {
    id: `multiples-${name.replace(/_/g, "-")}`,
    title,
    caption:
      "One panel a head, layers downwards and heads across, all with the same axes; a gap is an " +
      "undefined value.",
    columns: [...(byHead ? ["layer", "head"] : ["layer"]), dim, name],
    rows: panels.flatMap(({ layer, head, values }) =>
      values.map((value, k) => [
        layers[layer]!,
        ...(byHead ? [heads[head]!] : []),
        places[k]!,
        csvValue(value),
      ]),
    ),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const shown = panels.map((panel) => ({
        ...panel,
        values: panel.values.map((value) => (results.isNone(name, value) ? NaN : value)),
      }));
      const all = shown.flatMap(({ values }) => values).filter(Number.isFinite);
      const axis = (values: number[], log: boolean): Axis => ({
        label: "", log, domain: domainOf(values, { log, room: 0 }) ?? [0, 1],
      });
      const x = axis(places, isWide(places, 7));
      const y = axis(all, isLogarithmic(results, name, all, SMALL_RATIO));
      const left = 18 + 7 * Math.max(...layers.map((label) => String(label).length));
      const inner = byHead ? options.width - left - 10 : Math.min(240, options.width - left - 10);
      const panelWidth = inner / heads.length;
      const panelHeight = Math.max(15, Math.min(64, panelWidth * 0.75));
      const gap = panelWidth < 20 ? 0.06 : 0.04;
      const points = shown.flatMap(({ layer, head, values }): Point[] =>
        values.map((value, k) => ({
          panel: `${layer} ${head}`,
          x: head + gap + (1 - 2 * gap) * place(x, places[k]!),
          y: layer + 1 - gap - (1 - 2 * gap) * (y.log && value <= 0 ? NaN : place(y, value)),
        })),
      );
      const frames = shown.map(({ layer, head }) => ({
        x1: head + gap / 2,
        x2: head + 1 - gap / 2,
        y1: layer + gap / 2,
        y2: layer + 1 - gap / 2,
        title: `layer ${layers[layer]}${byHead ? `, head ${heads[head]}` : ""}`,
      }));
      const every = Math.max(1, Math.ceil(20 / panelWidth));
      const middles = <T,>(labels: readonly T[], step: number) =>
        labels.map((_, k) => k + 0.5).filter((_, k) => k % step === 0);
      const tick = { fontSize: 11, label: null, tickSize: 0, color: theme.muted };
      const range = ({ domain: [low, high], log }: Axis) =>
        `${formatTick(low)} to ${formatTick(high)}${log ? ", log scale" : ""}`;
      return frame(options, {
        title,
        height: panelHeight * layers.length,
        left,
        right: options.width - left - inner,
        yLabel:
          `layers; in each panel upwards ${metricLabel(results, name)}, ` +
          range({ ...y, domain: [Number(y.domain[0].toPrecision(4)), Number(y.domain[1].toPrecision(4))] }),
        xLabel: `${byHead ? "heads; " : ""}in each panel ${plainName(dim)}, ${range(x)}`,
        options: {
          x: { domain: [0, heads.length] },
          y: { domain: [layers.length, 0] },
        },
        marks: [
          Plot.rect(frames, {
            x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: theme.grid, fillOpacity: 0.45,
            title: "title",
          }),
          Plot.line(points, {
            x: "x", y: "y", z: "panel", stroke: theme.series[0], strokeWidth: 1.5,
          }),
          // A single value gives no line.
          Plot.dot(lonely(points), { x: "x", y: "y", r: 1.5, fill: theme.series[0] }),
          Plot.axisX(middles(heads, every), {
            ...tick, text: (at: number) => String(heads[at - 0.5]),
          }),
          Plot.axisY(middles(layers, 1), {
            ...tick, text: (at: number) => String(layers[at - 0.5]),
          }),
        ],
      });
    },
  };
}

function lonely(points: readonly Point[]): Point[] {
  const defined = (point: Point | undefined, panel: string) =>
    point !== undefined && point.panel === panel && Number.isFinite(point.y);
  return points.filter(
    (point, k) =>
      Number.isFinite(point.y) &&
      !defined(points[k - 1], point.panel) &&
      !defined(points[k + 1], point.panel),
  );
}
