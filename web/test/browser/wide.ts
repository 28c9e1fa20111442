// Results as large as those of a large model, from those of a small one: no test has an hour.
import type { Part } from "../../src/data/results";
import type { MetricJson, ResultsJson } from "./embed";

export function wideResults(small: ResultsJson, layers: number, heads: number): ResultsJson {
  const sizes: Record<string, number> = { layer: layers, head: heads };
  const metrics: Record<string, MetricJson> = {};
  for (const [name, metric] of Object.entries(small.metrics)) {
    metrics[name] = { ...metric };
    for (const [parts, vary] of PARTS) {
      for (const part of parts) {
        if (metric[part] !== undefined) metrics[name]![part] = repeated(metric[part], metric.dims, sizes, vary, 0);
      }
    }
  }
  const count = (n: number) => Array.from({ length: n }, (_, k) => k);
  return {
    ...small,
    model: { ...(small["model"] as object), name: "wide", layers, heads },
    layers_done: layers,
    coords: {
      ...small.coords,
      layer: count(layers),
      head: count(heads),
      kv_head: count(heads),
      layer_type: count(layers).map(() => "full_attention"),
      window: count(layers).map(() => 0),
    },
    metrics,
  };
}

type Vary = (value: number, salt: number) => number;

const PARTS: readonly [readonly (Part | "values" | "degrees_of_freedom")[], Vary][] = [
  [["values", "stderr", "low", "high"], (value, salt) => value * (1 + (salt % 97) / 400)],
  [["degrees_of_freedom", "p", "rows"], (value) => value],
];

// Layers and heads again and again, each a little different.
function repeated(
  nested: unknown,
  dims: readonly string[],
  sizes: Readonly<Record<string, number>>,
  vary: Vary,
  salt: number,
): unknown {
  const [dim, ...rest] = dims;
  if (dim === undefined) {
    return typeof nested === "number" ? vary(nested, salt) : nested;
  }
  const list = nested as unknown[];
  const size = sizes[dim] ?? list.length;
  const next = (k: number) => (sizes[dim] === undefined ? salt : salt * 31 + k + 1);
  return Array.from({ length: size }, (_, k) => repeated(list[k % list.length], rest, sizes, vary, next(k)));
}
