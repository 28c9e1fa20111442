// Draws metrics along one coordinate: lines with bands of two standard errors or of an interval,
// bounds and references.
import type { DeclaredAxis, MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Cell, Part, Results } from "../data/results";
import { domainOf, type Axis } from "./axes";
import type { Figure, Spot } from "./figure";
import { csvValue, formatEstimate, formatNumber, plainName } from "./format";
import { DASHES, frame, type KeyEntry } from "./frame";
import { pinnedMarks } from "./labels";
import { themeOf, type Theme } from "./theme";

export type Style = "line" | "thin" | "dashed" | "dotted" | "ring";

export interface Curve {
  name: string; // column of the CSV
  label: string; // in the key once; empty: not in it
  colour: number | "muted"; // number in the theme's series
  style: Style;
  values: readonly number[];
  stderr?: readonly number[] | undefined;
  interval?: { low: readonly number[]; high: readonly number[] } | undefined; // replaces stderr
  dots?: boolean;
  faint?: boolean;
  head?: string | undefined; // "17.3", if it is of one of several heads
  own?: { dim: string; labels: readonly number[]; places: readonly number[] } | undefined; // not along the figure's dim
  written?: readonly number[] | undefined; // the values of the CSV, if others are drawn
  heads?: { low: readonly number[]; high: readonly number[]; shaded: boolean } | undefined; // 10 to 90 % of them
}

export interface CurvesOptions extends Pick<Figure, "id" | "title" | "caption"> {
  x: {
    column: string;
    label: string;
    values: readonly number[];
    log?: boolean;
    ticks?: readonly number[];
  };
  y: DeclaredAxis;
  curves: Curve[];
  lines?: readonly number[]; // across, at these values
}

// The dims along which figures are drawn; `ticks` to mark every label.
export const AXES: Readonly<Record<string, { label: string; ticks?: boolean; linear?: boolean }>> = {
  length: { label: "context length L (tokens, log scale)", ticks: true },
  position: { label: "query position (tokens, log scale)" },
  all_heads_random: { label: "random keys n (log scale)", ticks: true },
  step: { label: "step", linear: true },
  temperature: { label: "temperature T (log scale)" },
  tokens: { label: "tokens n (log scale)" },
  top_n: { label: "selected keys N (log scale)", ticks: true },
};

export function sizesAlong(results: Results, dim: string, ticks = AXES[dim]!.ticks): CurvesOptions["x"] {
  const values = results.numbers(dim);
  const { label, linear = false } = AXES[dim]!;
  return { column: dim, label, values, log: !linear, ...(ticks ? { ticks: values } : {}) };
}

export const colourOf = (theme: Theme, colour: number | "muted"): string =>
  colour === "muted" ? theme.muted : theme.series[colour % theme.series.length]!;

// Returns a metric along a dim with the other dims fixed; undefined if the file lacks it or has
// only NaN.
export function along(
  results: Results, name: MetricName, dim: string, cell: Cell,
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

// Returns the ends of the band of a curve at one place; NaN if there is none.
function bandAt({ values, stderr, interval }: Curve, k: number): { low: number; high: number } {
  if (interval) return { low: interval.low[k]!, high: interval.high[k]! };
  const error = stderr?.[k] ?? NaN;
  return { low: values[k]! - 2 * error, high: values[k]! + 2 * error };
}

// Returns the CSV data of a curve.
const partsOf = ({ name, values, written, stderr, interval, heads }: Curve): [string, readonly number[]][] => {
  const parts: [string, readonly number[] | undefined][] = [
    [name, written ?? values],
    [`${name}_stderr`, stderr],
    [`${name}_low`, interval?.low],
    [`${name}_high`, interval?.high],
    [name.replace(/(_mean)?$/, "_quantile_10"), heads?.low],
    [name.replace(/(_mean)?$/, "_quantile_90"), heads?.high],
  ];
  return parts.filter((part): part is [string, readonly number[]] => part[1] !== undefined);
};

// Returns the columns and rows of a CSV: rows along the figure's dim, then those of curves with a
// dim of their own.
function csvOf(column: string, places: readonly number[], curves: readonly Curve[]): Pick<Figure, "columns" | "rows"> {
  const valuesAt = (some: readonly Curve[], k: number) =>
    Object.fromEntries(some.flatMap(partsOf).map(([name, values]) => [name, csvValue(values[k]!)]));
  const along = curves.filter(({ own }) => !own);
  const others = curves.filter(({ own }) => own);
  const rows: Record<string, number | null>[] = [
    ...places.map((place, k) => ({ [column]: place, ...valuesAt(along, k) })),
    ...others.flatMap((curve) =>
      curve.own!.places.map((place, k) => ({
        [column]: place, [curve.own!.dim]: curve.own!.labels[k]!, ...valuesAt([curve], k),
      })),
    ),
  ];
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return { columns, rows: rows.map((row) => columns.map((name) => row[name] ?? null)) };
}

interface Point {
  x: number;
  y: number;
  low: number;
  high: number;
  title: string;
}

export function curvesFigure(options: CurvesOptions): Figure | undefined {
  const { x, y, curves, lines = [], ...words } = options;
  const include = curves.flatMap(({ own }) => own?.places ?? []);
  const xDomain = domainOf(x.values, { log: x.log ?? false, include });
  const yDomain = y.domain ?? domainOf(curves.flatMap((curve) => spread(curve, y.log ?? false)), {
    log: y.log ?? false,
    include: y.include ?? [],
  });
  if (!xDomain || !yDomain || curves.length === 0) return undefined;
  const xAxis: Axis = {
    label: x.label, log: x.log ?? false, domain: xDomain, ...(x.ticks ? { ticks: x.ticks } : {}),
  };
  const yAxis: Axis = { label: y.label, log: y.log ?? false, domain: yDomain };
  const spots = curves.flatMap((curve, line) =>
    pointsOf(curve, x.values, xAxis, yAxis).map(({ x, y, title }): Spot => ({ x, y, title, line, head: curve.head })),
  );
  return {
    ...words,
    ...csvOf(x.column, x.values, curves),
    spots,
    draw: (draw) => {
      const theme = themeOf(draw.dark);
      const isFirst = ({ label }: Curve, k: number) => curves.findIndex((other) => other.label === label) === k;
      const key = curves.filter((curve, k) => curve.label !== "" && isFirst(curve, k)).map((curve) => keyOf(curve, theme));
      const rings = curves.filter(({ style }) => style === "ring");
      return frame(draw, {
        title: words.title,
        x: xAxis,
        y: yAxis,
        key: key.length > 1 ? key : [],
        marks: [
          ...curves.flatMap((curve) => curveMarks(curve, x.values, xAxis, yAxis, theme, rings.indexOf(curve))),
          ...curves.flatMap((curve) => rangeOfHeads(curve, x.values, theme)),
          Plot.ruleY(lines, { stroke: theme.muted, strokeDasharray: "2 3" }),
          ...pinnedMarks(spots, draw, theme, true),
        ],
      });
    },
  };
}

function spread(curve: Curve, log: boolean): number[] {
  return curve.values.flatMap((value, k) => {
    const { low, high } = bandAt(curve, k);
    // On a logarithmic axis, a band that reaches below 0 ends at the axis.
    return [value, high, log && low < value / 4 ? value / 4 : low, curve.heads?.low[k] ?? NaN, curve.heads?.high[k] ?? NaN];
  });
}

const keyOf = (curve: Curve, theme: Theme): KeyEntry => ({
  label: curve.label,
  colour: colourOf(theme, curve.colour),
  kind: curve.style,
});

// Bands of bounds would hide the others.
function rangeOfHeads({ heads, colour }: Curve, places: readonly number[], theme: Theme): Plot.Markish[] {
  if (!heads?.shaded) return [];
  const points = places.map((x, k) => ({ x, low: heads.low[k]!, high: heads.high[k]! }));
  return [
    Plot.areaY(points, { x: "x", y1: "low", y2: "high", clip: true, fillOpacity: 0.14, fill: colourOf(theme, colour) }),
  ];
}

function pointsOf(curve: Curve, along: readonly number[], x: Axis, y: Axis): Point[] {
  const who = curve.head === undefined ? curve.label : `head ${curve.head}`;
  return (curve.own?.places ?? along).map((place, k): Point => {
    const value = curve.values[k]!;
    const { low, high } = bandAt(curve, k);
    const text = formatEstimate(value, curve.interval ? { low, high } : { stderr: curve.stderr?.[k] ?? NaN });
    const where = curve.own ? plainName(curve.own.dim) : x.label.replace(/ \(.*/, "");
    return {
      x: place,
      y: y.log && value <= 0 ? NaN : value,
      low: y.log ? Math.max(low, y.domain[0]) : low,
      high,
      title: `${who && `${who}, `}${where} ${formatNumber(curve.own?.labels[k] ?? place)}: ${text}`,
    };
  });
}

// `ring` is the place of the curve among those of rings.
function curveMarks(
  curve: Curve, along: readonly number[], x: Axis, y: Axis, theme: Theme, ring: number,
): Plot.Markish[] {
  const colour = colourOf(theme, curve.colour);
  const points = pointsOf(curve, along, x, y);
  if (curve.style === "ring") return ringMarks(points, colour, theme, ring);
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
  const stroke = {
    x: "x", y: "y", stroke: colour, strokeWidth: curve.style === "thin" ? 1.25 : 2,
    strokeDasharray: DASHES[curve.style] ?? "none", clip: true,
  };
  marks.push(Plot.lineY(points, { ...stroke, strokeOpacity: curve.faint ? 0.6 : 1 }));
  if (curve.style !== "line") {
    // A single point gives no line, so a short piece of line is drawn, as in the key.
    const isDefined = (k: number) => Number.isFinite(points[k]?.y);
    const lonely = points.filter((_, k) => isDefined(k) && !isDefined(k - 1) && !isDefined(k + 1));
    const shape: Plot.VectorShapeImplementation = {
      draw: (path, length) => (path.moveTo(0, 0), path.lineTo(0, -length)),
    };
    marks.push(Plot.vector(lonely, { ...stroke, length: 24, rotate: 90, anchor: "middle", shape }));
  }
  if (curve.dots ?? curve.style === "line") {
    marks.push(Plot.dot(points, { x: "x", y: "y", r: 3, fill: colour, title: "title", clip: true }));
  }
  return marks;
}

// Rings that may be in one place differ in size.
const ringMarks = (points: readonly Point[], colour: string, theme: Theme, ring: number): Plot.Markish[] => {
  const measured = points.filter(({ low }) => Number.isFinite(low));
  return [
    Plot.ruleX(measured, { x: "x", y1: "low", y2: "high", stroke: colour, strokeWidth: 2 }),
    Plot.dot(points, {
      x: "x", y: "y", r: 4 + 2 * ring, fill: measured.length > 0 ? theme.background : "none", stroke: colour,
      strokeWidth: 1.5, title: "title",
    }),
    Plot.text(measured, {
      x: "x", y: "y", text: ({ y }: Point) => formatNumber(y, 3), dy: -12, dx: -6, textAnchor: "end",
      fill: theme.text, stroke: theme.background, strokeWidth: 3, fontSize: 11,
    }),
  ];
};
