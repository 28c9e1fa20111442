// Draws points with error bars, one for each head, normalizer or scale.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { domainOf, type Axis } from "./axes";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatWithError } from "./format";
import { frame, type KeyEntry } from "./frame";
import { quantile } from "./heads";
import { names } from "./labels";
import { themeOf, type Theme } from "./theme";

export interface ScatterPoint {
  label: string;
  x: number;
  y: number;
  xError?: number; // one standard error
  yError?: number;
  series?: number;
  hollow?: boolean; // true if the place is not the value: "none found"
  text?: string; // description that replaces the coordinates
}

export interface ScatterAxis extends Omit<Axis, "domain"> {
  include?: number[];
}

export interface ScatterOptions extends Omit<Figure, "draw" | "rows"> {
  rows?: Figure["rows"]; // absent: label, x, y and, if there is a fourth column, the error of y
  x: ScatterAxis;
  y: ScatterAxis;
  points: ScatterPoint[];
  named?: boolean; // true to label every point
  marks?: (theme: Theme, x: Axis, y: Axis) => Plot.Markish[];
  key?: (theme: Theme) => KeyEntry[];
  height?: number;
}

export function scatterFigure(given: ScatterOptions): Figure | undefined {
  const { points, named = false, marks, key, height = 300, ...words } = given;
  const { id, title, caption, columns } = words;
  const rows = words.rows ?? points.map(({ label, x: a, y: b, yError = NaN }) =>
    [label, ...[a, b, yError].map(csvValue)].slice(0, columns.length));
  const usable = (value: number, log = false) => Number.isFinite(value) && !(log && value <= 0);
  const shown = points.filter(
    ({ x, y }) => usable(x, words.x.log ?? false) && usable(y, words.y.log ?? false),
  );
  const axis = (
    { include = [], ...own }: ScatterAxis,
    value: (point: ScatterPoint) => number,
    error: (point: ScatterPoint) => number,
  ): Axis | undefined => {
    const domain = domainOf(
      shown.flatMap((point) => [
        value(point), value(point) - 2 * error(point), value(point) + 2 * error(point),
      ]),
      { log: own.log ?? false, symlog: own.symlog, include, room: 0.06 },
    );
    return domain && { ...own, domain };
  };
  const x = axis(words.x, (point) => point.x, (point) => point.xError ?? NaN);
  const y = axis(words.y, (point) => point.y, (point) => point.yError ?? NaN);
  if (!x || !y) return undefined;
  const bars = shown.map((point) => ({
    ...point,
    x1: clamp(point.x - 2 * (point.xError ?? NaN), x),
    x2: point.x + 2 * (point.xError ?? NaN),
    y1: clamp(point.y - 2 * (point.yError ?? NaN), y),
    y2: point.y + 2 * (point.yError ?? NaN),
  }));
  return {
    id,
    title,
    caption,
    columns,
    rows,
    draw: (options) => {
      const theme = themeOf(options.dark);
      const colour = ({ series = 0 }: ScatterPoint) => theme.series[series % theme.series.length]!;
      return frame(options, {
        title,
        height,
        x,
        y,
        key: key?.(theme) ?? [],
        options: { color: { type: "identity" } },
        marks: [
          ...(marks?.(theme, x, y) ?? []),
          Plot.ruleX(bars.filter(({ y2 }) => Number.isFinite(y2)), {
            x: "x", y1: "y1", y2: "y2", stroke: colour, strokeOpacity: 0.55, clip: true,
          }),
          Plot.ruleY(bars.filter(({ x2 }) => Number.isFinite(x2)), {
            y: "y", x1: "x1", x2: "x2", stroke: colour, strokeOpacity: 0.55, clip: true,
          }),
          Plot.dot(shown, {
            x: "x",
            y: "y",
            r: shown.length > 200 ? 2.5 : 4,
            stroke: colour,
            strokeWidth: 1.5,
            fill: (point: ScatterPoint) => (point.hollow ? theme.background : colour(point)),
            fillOpacity: 0.75,
            title: ({ label: name, x: a, y: b, xError = NaN, yError = NaN, text }: ScatterPoint) =>
              `${name}: ${text ?? `${formatWithError(a, xError)}, ${formatWithError(b, yError)}`}`,
          }),
          ...(named ? [names(shown, theme)] : []),
        ],
      });
    },
  };
}

const clamp = (value: number, { log = false, domain }: Axis): number =>
  log && value < domain[0] ? domain[0] : value;

export const isWide = (values: readonly number[], ratio = 30): boolean => {
  const { low, high } = values.reduce(
    ({ low, high }, value) =>
      Number.isFinite(value) ? { low: Math.min(low, value), high: Math.max(high, value) } : { low, high },
    { low: Infinity, high: -Infinity },
  );
  return low > 0 && high / low > ratio;
};

// Returns whether a metric with these values is drawn on a logarithmic scale; the drawing must say
// so.
export const isLogarithmic = (
  results: Results, name: MetricName, values: readonly number[], ratio?: number,
): boolean => !results.isLinear(name) && isWide(values, ratio);

// Makes an axis for values, such as changes of the loss, of which a few are far larger than all
// others.
export function bentAxis(label: string, unit: string, values: readonly number[]): ScatterAxis {
  const sizes = values.map(Math.abs).filter((size) => Number.isFinite(size) && size > 0);
  sizes.sort((a, b) => a - b);
  const usual = quantile(sizes, 0.5);
  const wide = sizes.length > 0 && sizes[sizes.length - 1]! > 30 * usual;
  const symlog = wide ? Number(usual.toExponential(0)) : undefined;
  const scale = symlog === undefined ? "" : `logarithmic beyond ±${formatNumber(symlog)}`;
  const words = [unit, scale].filter((part) => part !== "").join(", ");
  return { label: words === "" ? label : `${label} (${words})`, symlog };
}

export const withScale = (label: string, log: boolean): string =>
  log ? (label.endsWith(")") ? `${label.slice(0, -1)}, log scale)` : `${label} (log scale)`) : label;

export const pairText = (low: number, high: number): string =>
  Number.isFinite(low) ? ` (${formatNumber(low, 2)} to ${formatNumber(high, 2)})` : "";
