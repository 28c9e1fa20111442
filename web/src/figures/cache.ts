// Draws the key-value cache of every layer, in full and under the heads' budgets.
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import type { Figure } from "./figure";
import { csvValue, formatBytes, formatNumber } from "./format";
import { frame } from "./frame";
import { themeOf } from "./theme";

export function cacheFigure(results: Results): Figure | undefined {
  const kinds = results.coord("cache").map(String);
  const full = kinds.indexOf("full");
  const budget = kinds.indexOf("budget");
  if (!results.has("cache_bytes_by_layer") || full < 0 || budget < 0) return undefined;
  const layers = results.coord("layer").map((label, layer) => ({
    layer: String(label),
    full: results.value("cache_bytes_by_layer", { layer, cache: full }),
    budget: results.value("cache_bytes_by_layer", { layer, cache: budget }),
  }));
  if (!layers.some((layer) => Number.isFinite(layer.full))) return undefined;
  const total = [full, budget].map((cache) => results.value("cache_bytes", { cache }));
  const title = "Key-value cache by layer";
  return {
    id: "cache",
    title,
    caption:
      "Bytes per token of context, in full and with every group of heads kept to its budget at " +
      "5 % error, the first and latest keys kept." +
      (Number.isFinite(total[0]) && Number.isFinite(total[1])
        ? ` In all ${formatBytes(total[1]!)} of ${formatBytes(total[0]!)}.`
        : ""),
    columns: ["layer", "cache_bytes_full", "cache_bytes_budget"],
    rows: layers.map((row) => [row.layer, csvValue(row.full), csvValue(row.budget)]),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const most = Math.max(...layers.map((layer) => layer.full).filter(Number.isFinite));
      const text = (row: (typeof layers)[number]) =>
        `layer ${row.layer}: ${formatNumber(row.budget)} of ${formatNumber(row.full)} bytes`;
      const share = (row: (typeof layers)[number]) =>
        Number.isFinite(row.budget) ? `${formatNumber((100 * row.budget) / row.full, 3)} %` : "";
      return frame(options, {
        title,
        height: Math.max(60, layers.length * 22),
        x: { label: "bytes per token of context", domain: [0, most] },
        yLabel: "layer",
        left: 36,
        right: 52,
        key: [
          { label: "full", colour: theme.undefinedFill, kind: "box" },
          { label: "budget", colour: theme.series[0], kind: "box" },
        ],
        options: { y: { type: "band", domain: layers.map(({ layer }) => layer), padding: 0.2 } },
        marks: [
          Plot.axisY({ label: null, tickSize: 0, fontSize: 11, color: theme.text }),
          Plot.barX(layers, { x: "full", y: "layer", fill: theme.undefinedFill, title: text }),
          Plot.barX(layers, { x: "budget", y: "layer", fill: theme.series[0], title: text }),
          Plot.text(layers, {
            x: "full", y: "layer", text: share, dx: 5, textAnchor: "start", fill: theme.text,
            fontSize: 11,
          }),
        ],
      });
    },
  };
}
