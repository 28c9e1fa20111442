// Draws points with error bars, one for each head, normalizer or scale.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { domainOf, type Axis } from "./axes";
import type { Figure, Spot } from "./figure";
import { formatEstimate, formatNumber, withEnding } from "./format";
import { frame, type KeyEntry } from "./frame";
import { quantile } from "./heads";
import { names, pinnedMarks } from "./labels";
import { themeOf, type Theme } from "./theme";

export interface ScatterPoint {
  label: string;
  head?: string | undefined; // "17.3"
  x: number;
  y: number;
  yError?: number; // one standard error
  interval?: { low: number; high: number }; // of y, in place of the error
  series?: number;
}

export interface ScatterAxis extends Omit<Axis, "domain"> {
  include?: number[];
  domain?: [number, number];
}

export interface ScatterOptions extends Omit<Figure, "draw" | "rows"> {
  rows: Figure["rows"];
  x: ScatterAxis;
  y: ScatterAxis;
  points: ScatterPoint[];
  cloud?: { x: number; y: number }[]; // faint
  named?: boolean; // true to label every point
  joined?: boolean; // true to join the points of a series, the first one's in front
  lines?: readonly number[]; // across, at these values of y
  law?: (x: readonly number[]) => readonly number[]; // a curve across
  key?: (theme: Theme) => KeyEntry[];
}

// The ends of the interval of y, or two standard errors on either side.
const endsOf = ({ y, yError = NaN, interval }: ScatterPoint): { low: number; high: number } =>
  interval ?? { low: y - 2 * yError, high: y + 2 * yError };

export function scatterFigure(given: ScatterOptions): Figure | undefined {
  const { points, cloud = [], named = false, joined = false, lines = [], law, key, x: alongX, y: alongY, ...words } = given;
  const usable = (value: number, log = false) => Number.isFinite(value) && !(log && value <= 0);
  const shown = points.filter(
    ({ x, y }) => usable(x, alongX.log ?? false) && usable(y, alongY.log ?? false),
  );
  const axis = ({ include = [], ...own }: ScatterAxis, values: readonly number[]): Axis | undefined => {
    const domain = own.domain ?? domainOf(values, { log: own.log ?? false, symlog: own.symlog, include, room: 0.06 });
    return domain && { ...own, domain };
  };
  const x = axis(alongX, shown.map((point) => point.x));
  const y = axis(alongY, [
    ...shown.flatMap((point) => [point.y, endsOf(point).low, endsOf(point).high]), ...cloud.map((point) => point.y),
  ]);
  if (!x || !y) return undefined;
  const bars = shown
    .map((point) => ({ ...point, ...endsOf(point) }))
    .map((point) => ({ ...point, low: y.log && point.low < y.domain[0] ? y.domain[0] : point.low }))
    .filter(({ high }) => Number.isFinite(high));
  const isFront = ({ series = 0 }: ScatterPoint) => joined && series === 0;
  const format = x.format ?? formatNumber;
  const described = ({ label, x, y, yError = NaN, interval }: ScatterPoint): string =>
    `${label}: ${format(x)}, ${formatEstimate(y, interval ?? { stderr: yError })}`;
  const spots = shown.map((point): Spot => ({
    x: point.x, y: point.y, title: described(point), line: point.series ?? 0, head: point.head,
  }));
  return {
    ...words,
    spots,
    draw: (options) => {
      const theme = themeOf(options.dark);
      const colour = ({ series = 0 }: ScatterPoint) => theme.series[series % theme.series.length]!;
      const marksOf = (some: (point: ScatterPoint) => boolean, front: boolean) => [
        Plot.ruleX(bars.filter(some), {
          x: "x", y1: "low", y2: "high", stroke: colour, strokeOpacity: front ? 1 : 0.55, clip: true,
          ...(front ? { strokeWidth: 2.5 } : {}),
        }),
        ...(joined
          ? [
              Plot.line(shown.filter(some).sort((a, b) => a.x - b.x), {
                x: "x", y: "y", z: "series", stroke: colour, strokeWidth: front ? 3 : 1.25,
              }),
            ]
          : []),
        Plot.dot(shown.filter(some), {
          x: "x",
          y: "y",
          r: front ? 5.5 : joined ? 3.5 : shown.length > 200 ? 2.5 : 4,
          stroke: colour,
          strokeWidth: 1.5,
          fill: colour,
          fillOpacity: joined ? 1 : 0.75,
          title: described,
        }),
      ];
      return frame(options, {
        title: words.title,
        height: 300,
        x,
        y,
        key: key?.(theme) ?? [],
        options: { color: { type: "identity" } },
        marks: [
          Plot.ruleY(lines.filter((line) => line >= y.domain[0] && line <= y.domain[1]), {
            stroke: theme.muted, strokeDasharray: "2 3",
          }),
          ...(law ? [Plot.line(across(x, law), { stroke: theme.muted, strokeWidth: 2, strokeDasharray: "6 4", clip: true })] : []),
          Plot.dot(cloud, { x: "x", y: "y", r: 2, fill: theme.muted, fillOpacity: 0.45 }),
          ...marksOf((point) => !isFront(point), false),
          ...(joined ? marksOf(isFront, true) : []),
          ...(named ? [names(shown, theme)] : []),
          ...pinnedMarks(spots, options, theme, false),
        ],
      });
    },
  };
}

function across({ log, domain: [low, high] }: Axis, law: (x: readonly number[]) => readonly number[]): [number, number][] {
  const places = Array.from({ length: 81 }, (_, k) =>
    log ? low * (high / low) ** (k / 80) : low + ((high - low) * k) / 80,
  );
  const values = law(places);
  return places.map((place, k) => [place, values[k]!]);
}

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
export function bentAxis(label: string, values: readonly number[]): ScatterAxis {
  const sizes = values.map(Math.abs).filter((size) => Number.isFinite(size) && size > 0);
  sizes.sort((a, b) => a - b);
  const usual = quantile(sizes, 0.5);
  const wide = sizes.length > 0 && sizes[sizes.length - 1]! > 30 * usual;
  const symlog = wide ? Number(usual.toExponential(0)) : undefined;
  return { label: withEnding(label, symlog === undefined ? "" : `logarithmic beyond ±${formatNumber(symlog)}`), symlog };
}
