// Draws how the entropy of a head grows with the text.
import * as Plot from "@observablehq/plot";
import type { Cell, Results } from "../data/results";
import { along, curvesFigure, sizesAlong } from "./curves";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatWithError } from "./format";

interface Growth {
  dim: "position" | "length";
  suffix: "" | "_by_position";
  values: number[]; // query positions that represent the bins, or lengths
  keys: number[]; // number of keys that a query there sees
}

// Uses the bins of query position or, if every query sees the whole text, the lengths
// (docs/mathematics.md 7b).
function growth(results: Results, cell: Cell): Growth | undefined {
  const lengths = results.numbers("length");
  const last = lengths[lengths.length - 1] ?? NaN;
  const window = Number(results.coord("window")[cell["layer"] ?? 0] ?? 0) || Infinity;
  const seen = results.value("visible_keys", cell);
  const sees_all = seen > 0.75 * last;
  if (!sees_all && results.has("entropy_with_sinks_by_position")) {
    const ends = results.numbers("position");
    const values = ends.map((end, k) => ((ends[k - 1] ?? 0) + 1 + end) / 2);
    return {
      dim: "position",
      suffix: "_by_position",
      values,
      keys: values.map((value) => Math.min(value, window)),
    };
  }
  if (lengths.length === 0) return undefined;
  return { dim: "length", suffix: "", values: lengths, keys: lengths };
}

const SLOPE_COLOUR = 1;

export function entropyFigure(results: Results, cell: Cell, who: string): Figure | undefined {
  const along_ = growth(results, cell);
  if (!along_) return undefined;
  const { dim, suffix, values, keys } = along_;
  const name = `entropy${suffix}` as const;
  const found = along(results, name, dim, cell);
  if (!found) return undefined;
  const slope = results.value("entropy_slope", cell);
  const error = results.stderr("entropy_slope", cell);
  const fitted = slopeLine(values, keys, found.values, slope);
  return curvesFigure({
    id: "entropy",
    title: `Entropy against ${dim === "length" ? "length" : "position"}: ${who}`,
    caption:
      `Entropy of the weights by ${dim === "length" ? "context length" : "query position"} beside its ceiling log n; bands of ± 2 standard ` +
      "errors. The fitted slope is its growth per unit of log n over the last four octaves: 1 " +
      "spreads over all new keys, 0 keeps selecting.",
    x: { ...sizesAlong(results, dim, false), values },
    y: { label: "entropy (nats)", include: [0] },
    curves: [
      {
        name: "log_n", label: "ceiling log n", colour: "muted", style: "thin",
        values: keys.map(Math.log),
      },
      { name, label: "entropy", colour: 0, style: "line", ...found },
      ...(fitted
        ? [
            {
              name: "fitted_slope",
              label: `slope ${formatWithError(slope, error, 3)}`,
              colour: SLOPE_COLOUR,
              style: "dotted" as const,
              values: fitted,
            },
          ]
        : []),
    ],
  });
}

// The line goes through the last point, over the four octaves of the slope.
function slopeLine(
  values: readonly number[],
  keys: readonly number[],
  measured: readonly number[],
  slope: number,
): number[] | undefined {
  if (!Number.isFinite(slope)) return undefined;
  let last = measured.length - 1;
  while (last > 0 && !Number.isFinite(measured[last])) last -= 1;
  const start = Math.log(values[last]!) - Math.log(8) - 0.2;
  return values.map((value, k) =>
    k <= last && Math.log(value) >= start
      ? measured[last]! + slope * Math.log(keys[k]! / keys[last]!)
      : NaN,
  );
}

export function effectiveTokensFigure(
  results: Results,
  cell: Cell,
  who: string,
): Figure | undefined {
  const along_ = growth(results, cell);
  if (!along_ || !results.has("effective_tokens_forecast")) return undefined;
  const { dim, suffix, values, keys } = along_;
  const name = `effective_tokens_with_sinks${suffix}` as const;
  const found = along(results, name, dim, cell);
  if (!found) return undefined;
  // A forecast at F is for the queries F/2 < t <= F, or for a pass over F tokens. There is none
  // beyond the positions that the model was trained on.
  const lengths = results.numbers("forecast_length");
  const points = lengths
    .map((length, k) => {
      const at = { ...cell, forecast_length: k };
      const { value, low, high } = results.estimate("effective_tokens_forecast", at);
      return {
        place: dim === "length" ? length : 0.75 * length,
        length,
        value,
        low,
        high,
        title:
          `forecast for ${length} tokens: ${formatNumber(value)} keys` +
          (Number.isFinite(low) ? `, 95 % interval ${formatNumber(low)} to ${formatNumber(high)}` : ""),
      };
    })
    .filter(({ value }) => Number.isFinite(value));
  const foreseen = points.length > 0;
  const figure = curvesFigure({
    id: "effective-tokens",
    title: `Effective tokens${foreseen ? " and their forecast" : ""}: ${who}`,
    caption:
      `exp(entropy) by ${dim === "length" ? "context length" : "query position"}, beside the number of keys; bands of ± 2 standard errors.` +
      (foreseen
        ? " Rings are forecasts for longer texts, their bars 95 % prediction intervals."
        : ""),
    x: { ...sizesAlong(results, dim, false), values, include: points.map(({ place }) => place) },
    y: {
      label: "effective tokens (keys, log scale)",
      log: true,
      include: points.flatMap(({ value, low, high }) => [value, low, high]),
    },
    curves: [
      { name: "keys", label: "number of keys", colour: "muted", style: "thin", values: keys },
      { name, label: "effective tokens", colour: 0, style: "line", ...found },
    ],
    key: (theme) =>
      foreseen ? [{ label: "forecast", colour: theme.series[1], kind: "ring" }] : [],
    marks: (theme) => [
      Plot.ruleX(points.filter(({ low }) => Number.isFinite(low)), {
        x: "place", y1: "low", y2: "high", stroke: theme.series[1], strokeWidth: 2,
      }),
      Plot.dot(points, {
        x: "place", y: "value", r: 4, fill: theme.background, stroke: theme.series[1],
        strokeWidth: 2, title: "title",
      }),
      Plot.text(points, {
        x: "place", y: "value", text: ({ value }) => formatNumber(value, 3), dy: -12, dx: -6,
        textAnchor: "end", fill: theme.text, stroke: theme.background, strokeWidth: 3, fontSize: 11,
      }),
    ],
  });
  if (!figure || !foreseen) return figure;
  const { columns, rows } = figure;
  return {
    ...figure,
    columns: [
      ...columns, "forecast_length", "effective_tokens_forecast", "forecast_low", "forecast_high",
    ],
    rows: [
      ...rows.map((row) => [...row, null, null, null, null]),
      ...points.map(({ place, length, value, low, high }) => [
        place,
        ...columns.slice(1).map(() => null),
        length,
        csvValue(value),
        csvValue(low),
        csvValue(high),
      ]),
    ],
  };
}
