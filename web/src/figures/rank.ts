// Shows the rank of one head among all heads.
import * as Plot from "@observablehq/plot";
import { CATALOGUE, type MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import type { Figure } from "./figure";
import { csvValue, formatNumber, metricLabel } from "./format";
import { frame, textWidth } from "./frame";
import { judgedCell } from "./heads";
import { themeOf } from "./theme";

interface Line {
  name: string;
  label: string;
  values: number[]; // of all heads that have one
  own: number;
  rank: number; // 1: the largest
}

export function rankFigure(results: Results, cell: Cell, who: string): Figure | undefined {
  const lines = [...CATALOGUE.values()].flatMap(({ name, ranked }) => {
    const line = ranked ? lineOf(results, name, cell) : undefined;
    return line ? [line] : [];
  });
  if (lines.length === 0) return undefined;
  const title = `Among all heads: ${who}`;
  const place = (line: Line, value: number) => {
    const low = Math.min(...line.values);
    const high = Math.max(...line.values);
    return high > low ? (value - low) / (high - low) : 0.5;
  };
  return {
    id: "rank",
    title,
    caption:
      "Each line runs from the smallest to the largest value of any head at the longest length " +
      "(at N = 20, or the largest below); a tick is a head, the dot this one. Rank 1 is the largest value.",
    columns: ["metric", "value", "rank", "heads", "smallest", "largest"],
    rows: lines.map(({ name, own, rank, values }) => [
      name, csvValue(own), rank, values.length, Math.min(...values), Math.max(...values),
    ]),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const fits = lines.every(
        (line) => textWidth(line.label) + textWidth(said(line)) + 16 <= options.width - 24,
      );
      const step = fits ? 38 : 54; // the number is below the name
      const y = (k: number) => (k + 1) * step - 10;
      const ticks = lines.flatMap((line, k) =>
        line.values.map((value) => ({ x: place(line, value), y1: y(k) - 5, y2: y(k) + 5 })),
      );
      const owns = lines.map((line, k) => ({
        x: place(line, line.own),
        y: y(k),
        text: said(line),
        label: line.label,
      }));
      return frame(options, {
        title,
        height: step * lines.length,
        left: 12,
        right: 12,
        options: {
          x: { domain: [0, 1], axis: null },
          y: { domain: [step * lines.length, 0], axis: null },
        },
        marks: [
          Plot.ruleY(owns, { x1: 0, x2: 1, y: "y", stroke: theme.grid }),
          Plot.ruleX(ticks, { x: "x", y1: "y1", y2: "y2", stroke: theme.muted, strokeOpacity: 0.55 }),
          Plot.dot(owns, {
            x: "x", y: "y", r: 5, fill: theme.series[1], stroke: theme.background,
            title: (d: { label: string; text: string }) => `${d.label}: ${d.text}`,
          }),
          Plot.text(owns, {
            x: () => 0, y: "y", dy: fits ? -15 : -31, text: "label", textAnchor: "start", fill: theme.text,
            fontSize: 12,
          }),
          Plot.text(owns, {
            x: () => 1, y: "y", dy: -15, text: "text", textAnchor: "end", fill: theme.text, fontSize: 12,
          }),
        ],
      });
    },
  };
}

const said = ({ own, rank, values }: Line): string => `${formatNumber(own)}, rank ${rank} of ${values.length}`;

function lineOf(results: Results, name: MetricName, cell: Cell): Line | undefined {
  const metric = results.metric(name);
  if (!metric?.dims.includes("layer") || !metric.dims.includes("head")) return undefined;
  const at = { ...judgedCell(results, name), ...cell };
  const values: number[] = [];
  results.coord("layer").forEach((_, layer) =>
    results.coord("head").forEach((__, head) => {
      const value = results.value(name, { ...at, layer, head });
      if (Number.isFinite(value) && !results.isNone(name, value)) values.push(value);
    }),
  );
  const own = results.value(name, at);
  if (!values.includes(own) || values.length < 2) return undefined;
  return {
    name,
    label: metricLabel(results, name),
    values,
    own,
    rank: 1 + values.filter((value) => value > own).length,
  };
}
