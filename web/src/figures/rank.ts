// Shows the rank of one head among all heads.
import * as Plot from "@observablehq/plot";
import { CATALOGUE, type MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import type { Figure } from "./figure";
import { csvValue, formatNumber, metricLabel } from "./format";
import { frame, textWidth } from "./frame";
import { judgedCell } from "./heads";
import { valuesOfHeads } from "./quantity";
import { themeOf } from "./theme";

interface Line {
  name: MetricName;
  label: string;
  values: number[]; // of all heads that have one, the smallest first
  own: number;
  said: string; // "0.25, rank 3 of 36"
  rank: number; // 1: the largest
}

const CAPTION =
  "Each line runs from the smallest to the largest value of any head at the longest length (at N = 20, or the largest " +
  "below); a tick is a head, the dot this one. Rank 1 is the largest value.";

export function rankFigure(results: Results, cell: Cell, who: string): Figure | undefined {
  const lines = [...CATALOGUE.values()].flatMap(({ name, ranked }) => (ranked ? (lineOf(results, name, cell) ?? []) : []));
  if (lines.length === 0) return undefined;
  const title = `Among all heads: ${who}`;
  return {
    id: "rank",
    title,
    caption: CAPTION,
    columns: ["metric", "value", "rank", "heads", "smallest", "largest"],
    rows: lines.map(({ name, own, rank, values }) => [name, csvValue(own), rank, values.length, values[0]!, values.at(-1)!]),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const fits = lines.every(({ label, said }) => textWidth(label) + textWidth(said) + 16 <= options.width - 24);
      const step = fits ? 38 : 54; // the number is below the name
      const drawn = lines.map((line, k) => {
        const [low, high] = [line.values[0]!, line.values.at(-1)!];
        const place = (value: number) => (high > low ? (value - low) / (high - low) : 0.5);
        return { ...line, y: (k + 1) * step - 10, x: place(line.own), ticks: line.values.map(place) };
      });
      type Drawn = (typeof drawn)[number];
      const ticks = drawn.flatMap(({ y, ticks: all }) => all.map((x) => ({ x, y1: y - 5, y2: y + 5 })));
      const words = { y: "y", fill: theme.text, fontSize: 12 };
      return frame(options, {
        title,
        height: step * lines.length,
        left: 12,
        right: 12,
        options: { x: { domain: [0, 1], axis: null }, y: { domain: [step * lines.length, 0], axis: null } },
        marks: [
          Plot.ruleY(drawn, { x1: 0, x2: 1, y: "y", stroke: theme.grid }),
          Plot.ruleX(ticks, { x: "x", y1: "y1", y2: "y2", stroke: theme.muted, strokeOpacity: 0.55 }),
          Plot.dot(drawn, {
            x: "x", y: "y", r: 5, fill: theme.series[1], stroke: theme.background,
            title: ({ label, said }: Drawn) => `${label}: ${said}`,
          }),
          Plot.text(drawn, { ...words, x: () => 0, dy: fits ? -15 : -31, text: "label", textAnchor: "start" }),
          Plot.text(drawn, { ...words, x: () => 1, dy: -15, text: "said", textAnchor: "end" }),
        ],
      });
    },
  };
}

function lineOf(results: Results, name: MetricName, cell: Cell): Line | undefined {
  if (!results.info(name)?.dims.includes("head")) return undefined;
  const at = { ...judgedCell(results, name), ...cell };
  const values = valuesOfHeads(results, name, at).filter((value) => !results.isNone(name, value));
  const own = results.value(name, at);
  if (!values.includes(own) || values.length < 2) return undefined;
  const rank = 1 + values.filter((value) => value > own).length;
  const said = `${formatNumber(own)}, rank ${rank} of ${values.length}`;
  return { name, label: metricLabel(results, name), values, own, said, rank };
}
