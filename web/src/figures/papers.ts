// The papers' figures, over all heads of the model.
import * as Plot from "@observablehq/plot";
import { EXPERIMENTS, fromFile, type MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { criticalFigure } from "./critical";
import { curvesFigure, sizesAlong, type Curve, type MetricStyle } from "./curves";
import type { Figure } from "./figure";
import { capital, csvValue, formatNumber } from "./format";
import { usualN } from "./declared";
import { sensitivityCurves } from "./head";
import { overHeads, quantile } from "./heads";
import { RANDOM_KEYS_NEEDS, randomKeysFigures } from "./random_keys";
import { RATES_NEEDS, ratesFigures } from "./rates";
import { warningFigures } from "./warning";

// The figures of the paper need these.
const LIMITS_NEEDS: readonly MetricName[] = [
  "distance", "critical_n", "margin_at_share", "separability_excess_at_share", "separability_with_sinks",
  "sensitivity_max", "entropy_fall", "separability_fall",
];

export const hasPaperFigures = (results: Results): boolean =>
  [
    ...LIMITS_NEEDS, ...RANDOM_KEYS_NEEDS,
    ...EXPERIMENTS.flatMap(({ name }) => RATES_NEEDS.map((metric) => fromFile(`${name}_${metric}`))),
  ].some((name) => results.has(name));

interface Spread {
  curve: Curve;
  low: number[];
  high: number[];
  shaded: boolean; // false for bounds, whose bands would hide the others
}

// Returns a metric along a dim as its mean over the heads, with the 10 to 90 % range of the heads.
function overHeadsAlong(
  results: Results,
  dim: string,
  cell: Cell,
  curve: MetricStyle,
): Spread[] {
  const metric = results.metric(curve.name);
  if (!metric?.dims.includes(dim) || !metric.dims.includes("head")) return [];
  const columns = results.coord(dim).map((_, k) =>
    overHeads(results, curve.name, { ...cell, [dim]: k })
      .map(({ value }) => value)
      .filter(Number.isFinite)
      .sort((a, b) => a - b),
  );
  if (!columns.some((values) => values.length > 0)) return [];
  const mean = (values: number[]) =>
    values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : NaN;
  return [
    {
      curve: { ...curve, name: `${curve.name}_mean`, values: columns.map(mean) },
      shaded: !results.entry(curve.name)?.bound,
      low: columns.map((values) => quantile(values, 0.1)),
      high: columns.map((values) => quantile(values, 0.9)),
    },
  ];
}

interface SpreadOptions {
  id: string;
  title: string;
  caption: string;
  dim: string;
  y: { label: string; log?: boolean; domain?: [number, number] };
  spreads: Spread[];
  extra?: Curve[];
  marks?: Parameters<typeof curvesFigure>[0]["marks"];
}

function spreadFigure(results: Results, options: SpreadOptions): Figure | undefined {
  const { id, title, caption, dim, spreads, extra = [] } = options;
  if (spreads.length === 0) return undefined;
  const values = results.numbers(dim);
  const figure = curvesFigure({
    id,
    title,
    caption,
    x: sizesAlong(results, dim),
    y: { ...options.y, include: spreads.flatMap(({ low, high }) => [...low, ...high]) },
    curves: [...extra, ...spreads.map(({ curve }) => curve)],
    marks: (theme, x, y) => [
      ...spreads.filter(({ shaded }) => shaded).map(({ curve, low, high }) =>
        Plot.areaY(
          values.map((value, k) => ({ x: value, low: low[k]!, high: high[k]! })),
          {
            x: "x", y1: "low", y2: "high", clip: true, fillOpacity: 0.14,
            fill: curve.colour === "muted" ? theme.muted : theme.series[curve.colour % 6]!,
          },
        ),
      ),
      ...(options.marks?.(theme, x, y) ?? []),
    ],
  });
  return figure && {
    ...figure,
    columns: [
      ...figure.columns,
      ...spreads.flatMap(({ curve }) =>
        ["10", "90"].map((share) => curve.name.replace(/_mean$/, `_quantile_${share}`)),
      ),
    ],
    rows: figure.rows.map((row, k) => [
      ...row,
      ...spreads.flatMap(({ low, high }) => [csvValue(low[k]!), csvValue(high[k]!)]),
    ]),
  };
}

const DISTANCES: readonly MetricStyle[] = [
  { name: "distance", label: "distance", colour: 0, style: "line" },
  { name: "distance_bound", label: "bound", colour: 1, style: "line" },
  { name: "distance_bound_paper", label: "bound as printed", colour: 1, style: "dashed" },
  { name: "expected_distance", label: "expected of random keys", colour: 2, style: "line" },
  { name: "expected_distance_context", label: "expected, reading “context”", colour: 3, style: "dotted" },
];

const SEPARABILITIES: readonly MetricStyle[] = [
  { name: "separability_sphere", label: "random vectors", colour: 4, style: "thin" },
  { name: "separability_null_with_sinks", label: "null (weights permuted)", colour: 3, style: "line" },
  { name: "separability_with_sinks", label: "measured", colour: 0, style: "line" },
];

const SPREAD_WORDS = "Means over the heads; bands hold the middle 80 % of the heads (not drawn for bounds).";
const DISTANCE = "distance (norm of the vectors, log scale)";

// Draws figures of paper A: Fig. 2 (a, b, c), Fig. 3 and Fig. 4. Uses the original in results of
// compare, the new run in those of diff.
export function limitsFigures(results: Results): Figure[] {
  const original: Cell = { normalizer: 0, pattern: 0 };
  const top_n = usualN(results);
  const n = results.coord("top_n")[top_n];
  const lengths = results.coord("length");
  const longest = lengths[lengths.length - 1];
  const spreadsOf = (metrics: readonly MetricStyle[], dim: string, cell = original) =>
    metrics.flatMap((metric) => overHeadsAlong(results, dim, cell, metric));
  return [
    spreadFigure(results, {
      id: "paper-2a",
      title: `Paper A, Fig. 2a: distance against length at N = ${n}`,
      caption: `${SPREAD_WORDS} The paper finds growth in proportion to L, and a bound that is safe but far above.`,
      dim: "length",
      y: { label: DISTANCE, log: true },
      spreads: spreadsOf(DISTANCES, "length", { ...original, top_n }),
    }),
    spreadFigure(results, {
      id: "paper-2b",
      title: `Paper A, Fig. 2b: distance against N at L = ${longest}`,
      caption: `${SPREAD_WORDS} The paper finds diminishing returns beyond N = 20.`,
      dim: "top_n",
      y: { label: DISTANCE, log: true },
      spreads: spreadsOf(DISTANCES, "top_n"),
    }),
    criticalOfPaper(results),
    shareFigure(results, original, {
      id: "paper-corollary-2",
      title: "Paper A, Corollary 2: distance for each key where N grows with L",
      metric: "margin_at_share",
      y: { label: "distance for each key beyond the set (log scale)", log: true },
    }),
    shareFigure(results, original, {
      id: "paper-corollary-2-separability",
      title: "Paper A, Corollary 2: separability above its null where N grows with L",
      metric: "separability_excess_at_share",
      y: { label: "separability less that of permuted weights" },
    }),
    spreadFigure(results, {
      id: "paper-3",
      title: `Paper A, Fig. 3: separability against N at L = ${longest}`,
      caption:
        `${SPREAD_WORDS} The paper finds that it settles between 0.70 and 0.85 (grey); the null ` +
        "is what the same weights give when they are assigned to the keys at random.",
      dim: "top_n",
      y: { label: "separability (share of the selected keys)", domain: [-0.02, 1.02] },
      spreads: spreadsOf(SEPARABILITIES, "top_n"),
      marks: (theme) => [
        Plot.ruleY([0.7, 0.85], { stroke: theme.muted, strokeDasharray: "2 3" }),
      ],
    }),
    sensitivityFigure(results, original),
    ...warningFigures(results),
  ].filter((figure) => figure !== undefined);
}

// Draws a line for each share of the keys against the query's position (for bidirectional models
// against the length).
function shareFigure(
  results: Results,
  cell: Cell,
  options: { id: string; title: string; metric: MetricName; y: SpreadOptions["y"] },
): Figure | undefined {
  const twin = fromFile(`${options.metric}_by_position`);
  const [metric, dim] = results.has(twin)
    ? ([twin, "position"] as const)
    : ([options.metric, "length"] as const);
  if (!results.has(metric)) return undefined;
  const shares = results.numbers("top_share");
  return spreadFigure(results, {
    id: options.id,
    title: options.title,
    caption:
      "Means over the heads of rows in disjoint bins, with N a fixed share of the keys of each row; " +
      "bands hold the middle 80 % of the heads. The paper says that selection collapses there.",
    dim,
    y: options.y,
    spreads: shares.flatMap((share, top_share) =>
      overHeadsAlong(results, dim, { ...cell, top_share }, {
        name: metric, label: `N = ${formatNumber(share)} n`, colour: top_share, style: "line",
      }).map((spread) => ({
        ...spread,
        curve: { ...spread.curve, name: `share_${formatNumber(share)}_mean` },
        shaded: top_share === 0 || top_share === shares.length - 1,
      })),
    ),
  });
}

function criticalOfPaper(results: Results): Figure | undefined {
  const figure = criticalFigure(results);
  return figure && { ...figure, id: "paper-2c", title: "Paper A, Fig. 2c: critical N against length" };
}

function sensitivityFigure(results: Results, cell: Cell): Figure | undefined {
  if (!results.has("sensitivity_max")) return undefined;
  return curvesFigure({
    id: "paper-4",
    title: "Paper A, Fig. 4: the largest sensitivity against temperature",
    caption:
      "The most sensitive head at each temperature T and step ε, beside the valid bound " +
      "min{1/(2T), √2/ε} in the colour of its ε and the bound as printed, min{1/(4T), √2}. The " +
      "paper finds 1/T below T = 0.1 and a fall by two orders above.",
    x: sizesAlong(results, "temperature"),
    y: { label: "largest sensitivity g over the heads (log scale)", log: true },
    curves: sensitivityCurves(results, "sensitivity_max", cell, { ...cell, layer: 0, head: 0 }),
  });
}

// Draws figures of paper B: rates and errors of each experiment in a file of `reproduce tokens`,
// and of a model whose heads see random keys.
export function tokensFigures(results: Results): Figure[] {
  const ofExperiments = EXPERIMENTS.flatMap(({ name, title }) => {
    const part = results.part(name);
    return part ? ratesFigures(part).map((figure) => renamed(figure, `${name}-${figure.id}`, title)) : [];
  });
  return [...ofExperiments, ...randomKeysFigures(results)];
}

// Returns the same drawing with another title, which is part of the drawing.
function renamed(figure: Figure, id: string, words: string): Figure {
  const title = `${words}: ${figure.title.slice(0, 1).toLowerCase()}${figure.title.slice(1)}`;
  return {
    ...figure,
    id,
    title: capital(title),
    draw: (options) => figure.draw({ ...options, title: capital(title) }),
  };
}
