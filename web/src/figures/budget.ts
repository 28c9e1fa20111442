// Draws the number of keys that a head's output needs.
import * as Plot from "@observablehq/plot";
import type { Cell, Results } from "../data/results";
import { domainOf } from "./axes";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatShare } from "./format";
import { frame, textWidth } from "./frame";
import { themeOf } from "./theme";

interface Budget {
  row: string;
  sampler: number;
  keys: number;
  title: string;
}

export function budgetFigure(results: Results, cell: Cell, who: string): Figure | undefined {
  const tolerances = results.numbers("tolerance");
  const samplers = results.coord("sampler").map(String);
  const budgets: Budget[] = tolerances.flatMap((tolerance, t) =>
    samplers.map((name, sampler) => {
      const keys = results.value("tokens_for_error", { ...cell, tolerance: t, sampler });
      const row = `${formatShare(tolerance)}, ${name}`;
      return { row, sampler, keys, title: `${row}: ${formatNumber(keys)} keys` };
    }),
  );
  const lengths = results.numbers("length");
  const longest = lengths[lengths.length - 1] ?? NaN;
  const domain = domainOf(budgets.map(({ keys }) => keys), {
    log: true, include: [8, longest], room: 0.08,
  });
  if (!domain || !results.has("tokens_for_error")) return undefined;
  const title = `Keys needed: ${who}`;
  return {
    id: "budget",
    title,
    caption:
      "The fewest keys that keep the head's output within a relative error, by which keys are " +
      "kept: at random, the first and the latest, or those of the largest weights. 8 means 8 or " +
      "fewer; the vertical line is the whole context.",
    columns: ["tolerance", "sampler", "tokens_for_error"],
    rows: tolerances.flatMap((tolerance, t) =>
      samplers.map((name, s) => [
        tolerance,
        name,
        csvValue(results.value("tokens_for_error", { ...cell, tolerance: t, sampler: s })),
      ]),
    ),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const colour = ({ sampler }: Budget) => theme.series[sampler % theme.series.length]!;
      return frame(options, {
        title,
        height: 22 * budgets.length,
        x: { label: "keys kept (log scale)", log: true, domain },
        yLabel: "relative error allowed, and which keys are kept",
        left: 16 + Math.max(...budgets.map(({ row }) => textWidth(row, 11))),
        right: 44,
        options: {
          y: { type: "point", domain: budgets.map(({ row }) => row), padding: 0.6 },
          color: { type: "identity" },
        },
        marks: [
          Plot.axisY({ label: null, tickSize: 0, fontSize: 11, color: theme.text }),
          Plot.ruleX([longest], { stroke: theme.muted, strokeDasharray: "2 3" }),
          Plot.ruleY(budgets, {
            x1: domain[0], x2: "keys", y: "row", stroke: theme.grid, strokeWidth: 2,
          }),
          Plot.dot(budgets, { x: "keys", y: "row", r: 5, fill: colour, title: "title" }),
          Plot.text(budgets, {
            x: "keys", y: "row", text: ({ keys }: Budget) => formatNumber(keys), dx: 10,
            textAnchor: "start", fill: theme.text, stroke: theme.background, strokeWidth: 4,
            fontSize: 11,
          }),
        ],
      });
    },
  };
}
