// Draws metrics along one coordinate: lines with bands of two standard errors or of an interval,
// bounds and references.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Cell, Part, Results } from "../data/results";
import { domainOf, type Axis } from "./axes";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatWithError } from "./format";
import { frame, type KeyEntry } from "./frame";
import { themeOf, type Theme } from "./theme";

export type Style = "line" | "thin" | "dashed" | "dotted";

export interface Curve {
  name: string; // column of the CSV
  label: string;
  colour: number | "muted"; // number in the theme's series
  style: Style;
  values: readonly number[];
  stderr?: readonly number[] | undefined;
  interval?: { low: readonly number[]; high: readonly number[] } | undefined; // replaces stderr
  dots?: boolean;
  faint?: boolean;
}

// The look of a metric's curve.
export type MetricStyle = Omit<Curve, "name" | "values" | "stderr"> & { name: MetricName };

export interface CurvesOptions {
  id: string;
  title: string;
  caption: string;
  x: {
    column: string;
    label: string;
    values: readonly number[];
    log?: boolean;
    ticks?: readonly number[];
    include?: number[];
  };
  y: { label: string; log?: boolean; domain?: [number, number]; include?: number[] };
  curves: Curve[];
  // Further marks on the same axes.
  marks?: (theme: Theme, x: Axis, y: Axis) => Plot.Markish[];
  key?: (theme: Theme) => KeyEntry[];
  height?: number;
}

// The dims of sizes, which are drawn on a logarithmic axis; `ticks` to mark every label.
export const AXES: Readonly<Record<string, { label: string; ticks?: boolean }>> = {
  length: { label: "context length L (tokens, log scale)", ticks: true },
  position: { label: "query position (tokens, log scale)" },
  temperature: { label: "temperature T (log scale)" },
  tokens: { label: "tokens n (log scale)" },
  top_n: { label: "selected keys N (log scale)", ticks: true },
};

export function sizesAlong(results: Results, dim: string, ticks = AXES[dim]!.ticks): CurvesOptions["x"] {
  const values = results.numbers(dim);
  return { column: dim, label: AXES[dim]!.label, values, log: true, ...(ticks ? { ticks: values } : {}) };
}

export const colourOf = (theme: Theme, colour: number | "muted"): string =>
  colour === "muted" ? theme.muted : theme.series[colour % theme.series.length]!;

// Returns a metric along a dim with the other dims fixed; undefined if the file lacks it or has
// only NaN.
export function along(
  results: Results,
  name: MetricName,
  dim: string,
  cell: Cell,
): Pick<Curve, "values" | "stderr" | "interval"> | undefined {
  const metric = results.metric(name);
  if (!metric?.dims.includes(dim)) return undefined;
  const cells = results.coord(dim).map((_, k) => ({ ...cell, [dim]: k }));
  const values = cells.map((at) => results.value(name, at));
  if (!values.some(Number.isFinite)) return undefined;
  const part = (of: Part) => (metric.parts[of] ? cells.map((at) => results.estimate(name, at)[of]) : undefined);
  const low = part("low");
  const high = part("high");
  return { values, stderr: part("stderr"), interval: low && high ? { low, high } : undefined };
}

export function metricCurve(
  results: Results,
  dim: string,
  cell: Cell,
  curve: MetricStyle,
): Curve[] {
  const found = along(results, curve.name, dim, cell);
  return found ? [{ ...curve, ...found }] : [];
}

// Returns the ends of the band of a curve at one place; NaN if there is none.
function bandAt({ values, stderr, interval }: Curve, k: number): { low: number; high: number } {
  if (interval) return { low: interval.low[k]!, high: interval.high[k]! };
  const error = stderr?.[k] ?? NaN;
  return { low: values[k]! - 2 * error, high: values[k]! + 2 * error };
}

// Returns the CSV data of a curve.
const partsOf = ({ name, values, stderr, interval }: Curve): [string, readonly number[]][] => [
  [name, values],
  ...(stderr ? [[`${name}_stderr`, stderr] as [string, readonly number[]]] : []),
  ...(interval
    ? ([[`${name}_low`, interval.low], [`${name}_high`, interval.high]] as [string, readonly number[]][])
    : []),
];

interface Point {
  x: number;
  y: number;
  low: number;
  high: number;
  title: string;
}

export function curvesFigure(options: CurvesOptions): Figure | undefined {
  const { id, title, caption, x, y, curves } = options;
  const xDomain = domainOf(x.values, { log: x.log ?? false, include: x.include ?? [] });
  const yDomain = y.domain ?? domainOf(curves.flatMap((curve) => spread(curve, y.log ?? false)), {
    log: y.log ?? false,
    include: y.include ?? [],
  });
  if (!xDomain || !yDomain || curves.length === 0) return undefined;
  const xAxis: Axis = {
    label: x.label, log: x.log ?? false, domain: xDomain, ...(x.ticks ? { ticks: x.ticks } : {}),
  };
  const yAxis: Axis = { label: y.label, log: y.log ?? false, domain: yDomain };
  return {
    id,
    title,
    caption,
    columns: [x.column, ...curves.flatMap((curve) => partsOf(curve).map(([name]) => name))],
    rows: x.values.map((value, k) => [
      value,
      ...curves.flatMap((curve) => partsOf(curve).map(([, values]) => csvValue(values[k]!))),
    ]),
    draw: (draw) => {
      const theme = themeOf(draw.dark);
      const named = curves.filter(({ label }) => label !== "");
      const key = [...named.map((curve) => keyOf(curve, theme)), ...(options.key?.(theme) ?? [])];
      return frame(draw, {
        title,
        x: xAxis,
        y: yAxis,
        key: key.length > 1 ? key : [],
        ...(options.height ? { height: options.height } : {}),
        marks: [
          ...curves.flatMap((curve) => curveMarks(curve, x.values, xAxis, yAxis, theme)),
          ...(options.marks?.(theme, xAxis, yAxis) ?? []),
        ],
      });
    },
  };
}

function spread(curve: Curve, log: boolean): number[] {
  return curve.values.flatMap((value, k) => {
    const { low, high } = bandAt(curve, k);
    // On a logarithmic axis, a band that reaches below 0 ends at the axis.
    return [value, high, log && low < value / 4 ? value / 4 : low];
  });
}

const keyOf = (curve: Curve, theme: Theme): KeyEntry => ({
  label: curve.label,
  colour: colourOf(theme, curve.colour),
  kind: curve.style,
});

const DASHES: Partial<Record<Style, string>> = { dashed: "6 4", dotted: "2 3" };

function curveMarks(
  curve: Curve,
  places: readonly number[],
  x: Axis,
  y: Axis,
  theme: Theme,
): Plot.Markish[] {
  const colour = colourOf(theme, curve.colour);
  const points = places.map((place, k): Point => {
    const value = curve.values[k]!;
    const { low, high } = bandAt(curve, k);
    const text = curve.interval
      ? `${formatNumber(value)} (${formatNumber(low)} to ${formatNumber(high)})`
      : formatWithError(value, curve.stderr?.[k] ?? NaN);
    return {
      x: place,
      y: y.log && value <= 0 ? NaN : value,
      low: y.log ? Math.max(low, y.domain[0]) : low,
      high,
      title: `${curve.label}, ${x.label} ${formatNumber(place)}: ${text}`,
    };
  });
  const marks: Plot.Markish[] = [];
  if (points.some(({ low }) => Number.isFinite(low))) {
    marks.push(
      Plot.areaY(points, {
        x: "x", y1: "low", y2: "high", fill: colour, fillOpacity: 0.2, clip: true,
      }),
      // A band needs neighbouring points; a bar does not.
      Plot.ruleX(points.filter(({ low }) => points.length <= 12 && Number.isFinite(low)), {
        x: "x", y1: "low", y2: "high", stroke: colour, strokeOpacity: 0.5, clip: true,
      }),
    );
  }
  marks.push(
    Plot.lineY(points, {
      x: "x",
      y: "y",
      stroke: colour,
      strokeWidth: curve.style === "thin" ? 1.25 : 2,
      strokeOpacity: curve.faint ? 0.6 : 1,
      strokeDasharray: DASHES[curve.style] ?? "none",
      clip: true,
    }),
  );
  const lonely = points.filter(
    ({ y: value }, k) =>
      Number.isFinite(value) &&
      !Number.isFinite(points[k - 1]?.y) &&
      !Number.isFinite(points[k + 1]?.y),
  );
  if (curve.style !== "line") {
    // A single point gives no line, so a short piece of line is drawn, as in the key.
    marks.push(
      Plot.vector(lonely, {
        x: "x",
        y: "y",
        length: 24,
        rotate: 90,
        anchor: "middle",
        shape: { draw: (path, length) => (path.moveTo(0, 0), path.lineTo(0, -length)) },
        stroke: colour,
        strokeWidth: curve.style === "thin" ? 1.25 : 2,
        strokeDasharray: DASHES[curve.style] ?? "none",
        clip: true,
      }),
    );
  }
  if (curve.dots ?? curve.style === "line") {
    marks.push(Plot.dot(points, { x: "x", y: "y", r: 3, fill: colour, title: "title", clip: true }));
  }
  return marks;
}
