// Values over the layers and heads of a file.
import type { MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";

export interface HeadValue {
  layer: number; // index, not label
  head: number;
  value: number;
  stderr: number;
}

// Returns values in row-major order: the heads of the first layer first. A metric without heads has
// one value for each layer.
export function overHeads(results: Results, name: MetricName, cell: Cell = {}): HeadValue[] {
  const metric = results.metric(name);
  if (!metric?.dims.includes("layer")) return [];
  const heads = metric.dims.includes("head") ? results.coord("head").length : 1;
  return results.coord("layer").flatMap((_, layer) =>
    Array.from({ length: heads }, (__, head) => ({
      layer,
      head,
      value: results.value(name, { ...cell, layer, head }),
      stderr: results.stderr(name, { ...cell, layer, head }),
    })),
  );
}

// The N at which heads are judged: 20, else the largest from 2 up to 20.
export function judgedN(results: Results): number | undefined {
  const sizes = results.numbers("top_n");
  let best: number | undefined;
  sizes.forEach((size, k) => {
    if (size >= 2 && size <= 20 && (best === undefined || size > sizes[best]!)) best = k;
  });
  return best;
}

export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return NaN;
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const next = sorted[low + 1] ?? sorted[low]!;
  return sorted[low]! + (at - low) * (next - sorted[low]!);
}
