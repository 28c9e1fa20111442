// Draws the run times of the paper's algorithms there and here.
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { domainOf } from "./axes";
import type { Figure } from "./figure";
import { csvValue, formatNumber } from "./format";
import { frame, textWidth } from "./frame";
import { themeOf } from "./theme";

export function costsFigure(results: Results): Figure | undefined {
  if (!results.has("cost_seconds")) return undefined;
  const rows = results.coord("algorithm").map((label, algorithm) => ({
    label: String(label),
    here: results.value("cost_seconds", { algorithm }),
    paper: results.value("cost_paper_seconds", { algorithm }),
  }));
  const domain = domainOf(rows.flatMap(({ here, paper }) => [here, paper]), { log: true, room: 0.1 });
  if (!domain) return undefined;
  const title = "Costs of the paper's algorithms";
  return {
    id: "costs",
    title,
    caption:
      "Seconds of each algorithm as the paper states them (Apple M1 Pro, 10 cores) and as " +
      "measured here; the machines differ.",
    columns: ["algorithm", "cost_seconds", "cost_paper_seconds"],
    rows: rows.map(({ label, here, paper }) => [label, csvValue(here), csvValue(paper)]),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const words = Math.max(...rows.map(({ label }) => textWidth(label, 11)));
      const above = words > options.width * 0.35;
      const dot = (of: "here" | "paper", colour: string, hollow: boolean) =>
        Plot.dot(rows, {
          x: of, y: "label", r: 5, fill: hollow ? theme.background : colour, stroke: colour,
          strokeWidth: 2,
          title: (row: (typeof rows)[number]) => `${row.label}, ${of}: ${formatNumber(row[of])} s`,
        });
      return frame(options, {
        title,
        height: (above ? 44 : 30) * rows.length,
        x: { label: "time (seconds, log scale)", log: true, domain },
        left: above ? 16 : 16 + words,
        key: [
          { label: "measured here", colour: theme.series[0], kind: "dot" },
          { label: "as printed", colour: theme.series[1], kind: "ring" },
        ],
        options: {
          y: { type: "point", domain: rows.map(({ label }) => label), padding: 0.7, axis: null },
        },
        marks: [
          above
            ? Plot.text(rows, {
                x: () => domain[0], y: "label", text: "label", dy: -14, textAnchor: "start",
                fill: theme.text, fontSize: 11,
              })
            : Plot.axisY({ label: null, tickSize: 0, fontSize: 11, color: theme.text }),
          Plot.ruleY(rows.filter(({ here, paper }) => here > 0 && paper > 0), {
            x1: "here", x2: "paper", y: "label", stroke: theme.grid, strokeWidth: 2,
          }),
          dot("here", theme.series[0], false),
          dot("paper", theme.series[1], true),
        ],
      });
    },
  };
}
