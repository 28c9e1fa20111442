// Chooses the shown cell of a metric: from the address, else a default.
import type { MetricName } from "../catalogue/catalogue";
import { flatIndex, type Cell, type Label, type Results } from "../data/results";
import { formatNumber } from "../figures/format";
import type { Head } from "./address";

// The default labels: the paper's N, the temperature of normal models, and so on. Other dims use
// the last label: the longest length.
const PREFERRED: Readonly<Record<string, Label>> = {
  run: "new",
  outcome: "text",
  top_n: 20,
  temperature: 1,
  epsilon: 0.001,
  tolerance: 0.05,
  sampler: "top",
  cache: "budget",
};

// The requested plan is listed before those of the curve.
const FIRST: ReadonlySet<string> = new Set(["budget", "method"]);

// The intervention of a compare, not the original, which is listed first.
const CHANGED: ReadonlySet<string> = new Set(["normalizer", "pattern"]);

// Returns the dim along which the heads of two runs, or of the model and its interventions, are
// compared.
export function comparedDim(results: Results): string | undefined {
  return [...CHANGED, "run"].find((dim) => results.coord(dim).length > 1);
}

// Returns the part of the query that concerns that dim.
export function comparedQuery(results: Results, query: Readonly<Record<string, string>>): Record<string, string> {
  const dim = comparedDim(results);
  return dim === undefined ? {} : { [dim]: query[dim] ?? "" };
}

// Returns whether the metric is of answers alone, and so undefined at the outcome "text".
function isOfAnswers(results: Results, metric: MetricName): boolean {
  const { group, name } = results.entry(metric) ?? {};
  return group === "answers" || name === "planned_answers_kept";
}

export function defaultIndex(results: Results, dim: string, metric?: MetricName): number {
  const labels = results.coord(dim);
  if (dim === "outcome" && metric !== undefined && isOfAnswers(results, metric)) return labels.length - 1;
  if (CHANGED.has(dim)) return labels[0] === "original" && labels.length > 1 ? 1 : 0;
  if (FIRST.has(dim)) return 0;
  const preferred = PREFERRED[dim];
  const found = preferred === undefined ? -1 : labels.indexOf(preferred);
  return found >= 0 ? found : labels.length - 1;
}

// Returns the index that a query such as length=1024 names, or the default.
export function chosenIndex(
  results: Results,
  dim: string,
  query: Readonly<Record<string, string>>,
  metric?: MetricName,
): number {
  const wanted = query[dim];
  const found = wanted === undefined ? -1 : results.coord(dim).map(String).indexOf(wanted);
  return found >= 0 ? found : defaultIndex(results, dim, metric);
}

// Returns the dims of a metric other than layer and head.
export function otherDims(results: Results, metric: MetricName): string[] {
  return (results.info(metric)?.dims ?? []).filter((dim) => dim !== "layer" && dim !== "head");
}

export function chosenCell(
  results: Results,
  metric: MetricName,
  query: Readonly<Record<string, string>> = {},
): Cell {
  const cell: Record<string, number> = {};
  for (const dim of otherDims(results, metric)) cell[dim] = chosenIndex(results, dim, query, metric);
  return cell;
}

export function isPerHead(results: Results, metric: MetricName): boolean {
  const dims = results.info(metric)?.dims ?? [];
  return dims.includes("layer") && dims.includes("head");
}

export const isByPosition = (results: Results, metric: MetricName): boolean =>
  results.info(metric)?.dims.includes("position") === true;

// Returns all heads of the file, layer by layer.
export function allHeads(results: Results): Head[] {
  const heads = results.numbers("head");
  return results.numbers("layer").flatMap((layer) => heads.map((head) => ({ layer, head })));
}

export function headCell(results: Results, { layer, head }: Head): Cell {
  return {
    layer: results.numbers("layer").indexOf(layer),
    head: results.numbers("head").indexOf(head),
  };
}

// Returns the number of rows behind a value; NaN if the file does not have it.
export function rowsBehind(results: Results, metric: MetricName, cell: Cell): number {
  const found = results.metric(metric);
  return found?.parts.rows ? (found.parts.rows[flatIndex(found, cell)] ?? NaN) : NaN;
}

const DIM_WORDS: Readonly<Record<string, string>> = {
  length: "length L",
  top_n: "set size N",
  position: "up to position",
  temperature: "temperature T",
  epsilon: "step ε",
  forecast_length: "forecast length",
  normalizer: "normalizer",
  kv_head: "key-value head",
};

export function dimWords(dim: string): string {
  return DIM_WORDS[dim] ?? dim.replaceAll("_", " ");
}

// Formats a label: 0.012589254117941675 is a step of a grid, which three digits identify.
export function labelText(label: Label | undefined): string {
  const text = String(label ?? "");
  return typeof label === "number" && text.length > 6 ? formatNumber(label, 3) : text;
}
