// Two runs compared: what moved, and by more than its standard errors.
import * as Plot from "@observablehq/plot";
import type { Cell, Results } from "../data/results";
import { domainOf } from "./axes";
import type { Figure } from "./figure";
import { capital, csvValue, formatWithError, headLabel, metricLabel } from "./format";
import { frame, textWidth } from "./frame";
import { overHeads } from "./heads";
import { cellLabel } from "./map";
import { isWide, scatterFigure, withScale, type ScatterPoint } from "./scatter";
import { themeOf } from "./theme";

export const isDiff = (results: Results): boolean => results.command === "diff";

// Metrics that people look at first.
const FIRST: readonly string[] = [
  "entropy_normalized", "separability", "sink_weight", "effective_tokens", "distance",
  "entropy_slope", "horizon", "rate_mean",
];

export function changesNeeds(results: Results): string[] {
  return FIRST.flatMap((name) => [name, `${name}_change`]).filter((name) => results.has(name));
}

interface Change {
  label: string;
  layer: number;
  head: number;
  old: number;
  now: number;
  oldError: number;
  nowError: number;
  change: number;
  stderr: number;
}

function changesOf(results: Results, name: string, cell: Cell): Change[] {
  const info = results.info(name);
  if (!info?.dims.includes("run") || !info.dims.includes("head")) return [];
  return overHeads(results, name, { ...cell, run: 0 }).map(({ layer, head, value, stderr }) => {
    const at = { ...cell, layer, head };
    const now = results.value(name, { ...at, run: 1 });
    const has = results.has(`${name}_change`);
    return {
      label: headLabel(results, layer, head),
      layer,
      head,
      old: value,
      now,
      oldError: stderr,
      nowError: results.stderr(name, { ...at, run: 1 }),
      change: has ? results.value(`${name}_change`, at) : now - value,
      stderr: has ? results.stderr(`${name}_change`, at) : NaN,
    };
  });
}

const isReal = ({ change, stderr }: Change) => Math.abs(change) > 2 * stderr;

// Old against new, a point a head.
export function changesFigure(results: Results, name: string, cell: Cell = {}): Figure | undefined {
  const changes = changesOf(results, name, cell);
  if (changes.length === 0) return undefined;
  const [old = "old", now = "new"] = results.coord("run").map(String);
  const values = changes.flatMap((change) => [change.old, change.now]);
  const log = isWide(values);
  const label = metricLabel(results, name);
  return scatterFigure({
    id: `changes-${name.replace(/_/g, "-")}`,
    title: `${capital(label)}: ${now} against ${old}${where(results, name, cell)}`,
    caption:
      "One point a head, bars of ± 2 standard errors; on the dashed line nothing changed. Filled " +
      "points moved by more than two standard errors of the difference.",
    columns: [
      "layer", "head", "old", "old_stderr", "new", "new_stderr", "change", "change_stderr",
    ],
    rows: changes.map((row) => [
      results.coord("layer")[row.layer]!,
      results.coord("head")[row.head]!,
      ...[row.old, row.oldError, row.now, row.nowError, row.change, row.stderr].map(csvValue),
    ]),
    x: { label: withScale(`${old}: ${label}`, log), log, include: values },
    y: { label: withScale(`${now}: ${label}`, log), log, include: values },
    points: changes.map((row): ScatterPoint => ({
      label: row.label, x: row.old, y: row.now, xError: row.oldError, yError: row.nowError,
      series: isReal(row) ? 1 : 0, hollow: !isReal(row),
    })),
    key: (theme) => [
      { label: "changed", colour: theme.series[1], kind: "dot" },
      { label: "within its errors", colour: theme.series[0], kind: "ring" },
    ],
    marks: (theme, x, y) => {
      const ends = [Math.max(x.domain[0], y.domain[0]), Math.min(x.domain[1], y.domain[1])];
      return [
        Plot.line(ends.map((end) => [end, end] as [number, number]), {
          stroke: theme.muted, strokeDasharray: "6 4",
        }),
      ];
    },
  });
}

function where(results: Results, name: string, cell: Cell): string {
  const metric = results.metric(name);
  const label = metric
    ? cellLabel(results, { ...metric, dims: metric.dims.filter((dim) => dim !== "run") }, cell)
    : "";
  return label ? `, ${label}` : "";
}

// The heads that moved most, in standard errors.
export function largestChangesFigure(
  results: Results,
  name: string,
  cell: Cell = {},
  most = 15,
): Figure | undefined {
  const size = ({ change, stderr }: Change) => Math.abs(change) / (stderr > 0 ? stderr : 1e-300);
  const changes = changesOf(results, name, cell)
    .filter(({ change }) => Number.isFinite(change))
    .sort((a, b) => size(b) - size(a))
    .slice(0, most);
  const bars = changes.map((row) => ({
    ...row,
    low: row.change - 2 * row.stderr,
    high: row.change + 2 * row.stderr,
    title: `${row.label}: ${formatWithError(row.change, row.stderr)}`,
  }));
  const domain = domainOf(bars.flatMap(({ low, high, change }) => [low, high, change]), { include: [0] });
  if (!domain) return undefined;
  const label = metricLabel(results, name);
  const title = `Largest changes of ${label}${where(results, name, cell)}`;
  return {
    id: `largest-changes-${name.replace(/_/g, "-")}`,
    title,
    caption:
      "The heads that changed by the most standard errors, new less old, with bars of ± 2 " +
      "standard errors of the difference.",
    columns: ["layer", "head", "change", "change_stderr"],
    rows: changes.map((row) => [
      results.coord("layer")[row.layer]!,
      results.coord("head")[row.head]!,
      csvValue(row.change),
      csvValue(row.stderr),
    ]),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const colour = (row: Change) => (isReal(row) ? theme.series[1] : theme.series[0]);
      return frame(options, {
        title,
        height: Math.max(44, 20 * bars.length),
        x: { label: `change of ${label}`, domain },
        left: 16 + Math.max(...bars.map((bar) => textWidth(bar.label, 11))),
        key: [
          { label: "changed", colour: theme.series[1], kind: "dot" },
          { label: "within its errors", colour: theme.series[0], kind: "dot" },
        ],
        options: {
          y: { type: "point", domain: bars.map((bar) => bar.label), padding: 0.6 },
          color: { type: "identity" },
        },
        marks: [
          Plot.axisY({ label: null, tickSize: 0, fontSize: 11, color: theme.text }),
          Plot.ruleX([0], { stroke: theme.muted, strokeDasharray: "2 3" }),
          Plot.ruleY(bars.filter(({ low }) => Number.isFinite(low)), {
            x1: "low", x2: "high", y: "label", stroke: colour, strokeWidth: 2,
          }),
          Plot.dot(bars, { x: "change", y: "label", r: 4, fill: colour, title: "title" }),
        ],
      });
    },
  };
}

// Of the metrics that people look at first, the one in which the most heads changed.
export function mostChanged(results: Results): string | undefined {
  let best: string | undefined;
  let most = -1;
  for (const name of FIRST) {
    const count = changesOf(results, name, {}).filter(isReal).length;
    if (results.info(name)?.dims.includes("run") && count > most) [best, most] = [name, count];
  }
  return best;
}
