// Reads what a declared figure names: places along dims, values, and words with values in them.
import { declaration, fromFile, type DeclaredAt, type DeclaredAxis, type DeclaredValues, type MetricName } from "../catalogue/catalogue";
import { usualPlace, type Cell, type Estimate, type Label, type Part, type Results } from "../data/results";
import type { Figure } from "./figure";
import { formatEstimate, formatNumber, formatShare, withEnding, withScale } from "./format";
import { judgedN, overHeads } from "./heads";

// Returns the index of the number nearest to this one.
export function nearest(labels: readonly number[], usual: number): number {
  let best = 0;
  labels.forEach((label, k) => {
    if (Math.abs(label - usual) < Math.abs(labels[best]! - usual)) best = k;
  });
  return best;
}

// Returns the cell with these labels; undefined if the file lacks one of them.
export function cellAt(results: Results, cell: Cell, at: DeclaredAt = {}): Cell | undefined {
  const found: Record<string, number> = { ...cell };
  for (const [dim, label] of Object.entries(at)) {
    const labels = results.coord(dim);
    if (labels.length === 0) continue;
    const place =
      label === "first" ? 0
      : label === "judged" ? (judgedN(results) ?? usualPlace(dim, labels))
      : typeof label === "number" || typeof labels[0] === "number" ? nearest(labels.map(Number), Number(label))
      : dim === "outcome" ? (results.outcome(label) ?? -1) // no task of that name
      : labels.indexOf(label);
    if (place < 0) return undefined;
    found[dim] = place;
  }
  return found;
}

// Says which keys a pattern keeps, as the tables do.
export const patternWords = (results: Results, name: string): string => results.header.pattern_words?.[name] ?? name;

// The interventions of `compare`, or the old and new run of `diff`; a single unnamed one for other
// files.
export function variants(results: Results, name: MetricName): { dim: string; labels: string[] } {
  const dims = results.info(name)?.dims ?? [];
  const dim = ["normalizer", "pattern", "run"].find((own) => dims.includes(own));
  return dim ? { dim, labels: results.coord(dim).map(String) } : { dim: "", labels: [""] };
}

export const mean = (values: readonly number[]): number =>
  values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : NaN;

// Returns the finite values of the heads, the smallest first.
export const valuesOfHeads = (results: Results, name: MetricName, cell: Cell): number[] =>
  overHeads(results, name, cell)
    .map(({ value }) => value)
    .filter(Number.isFinite)
    .sort((a, b) => a - b);

const NOTHING: Estimate = { value: NaN, stderr: NaN, low: NaN, high: NaN, p: NaN, rows: NaN };

export function valueAt(
  results: Results, { metric, minus, over, others, at, original, like = {} }: DeclaredValues, cell: Cell,
): Estimate {
  const alike = Object.entries(like).map(([dim, labels]) => {
    const label = String(results.coord(dim)[cell[dim] ?? 0]);
    return [dim, labels[label] ?? label] as const;
  });
  const own = cellAt(results, cell, { ...at, ...Object.fromEntries(alike) });
  if (!own) return NOTHING;
  if (over) return { ...NOTHING, value: mean(valuesOfHeads(results, metric, own)) };
  if (others) return meanOfOthers(results, metric, others, own);
  const found = results.estimate(metric, own);
  if (minus) return { ...NOTHING, value: found.value - results.value(minus, own) };
  const isOriginal = cell[variants(results, metric).dim] === 0;
  return original !== undefined && isOriginal && Number.isNaN(found.value) ? { ...found, value: original } : found;
}

// Returns the mean over the other labels of the dim; a single label gives its own value.
function meanOfOthers(results: Results, metric: MetricName, dim: string, cell: Cell): Estimate {
  const labels = results.coord(dim);
  const found = labels.flatMap((_, k) =>
    k === cell[dim] && labels.length > 1 ? [] : results.estimate(metric, { ...cell, [dim]: k }),
  );
  const stderr = Math.hypot(...found.map((one) => one.stderr)) / found.length;
  return { ...NOTHING, value: mean(found.map(({ value }) => value)), stderr };
}

// Returns whether nothing but a dim that everyone knows the label of (the longest length, text) is
// left open; a metric with others would be drawn at a label that nobody chose.
export const isFixed = (results: Results, name: MetricName, fixed: readonly string[]): boolean =>
  (results.info(name)?.dims ?? []).every((dim) => ["length", "outcome", ...fixed].includes(dim));

export const labelWords = (dim: string, label: Label | undefined): string =>
  typeof label !== "number" ? String(label ?? "") : dim === "tolerance" ? formatShare(label) : formatNumber(label);

// Fills in braces the label of a dim, the value of a metric with its error or interval, its .percent, .p or .rows. A
// part in [ ] vanishes where a place in it has no value; {?any NAME} has one if the file has the metric.
export const wordsAt = (results: Results, words: string, cell: Cell): string =>
  words.replace(/\[([^\]]*)\]|[^[]+/g, (text, optional?: string) => {
    let lacks = false;
    const said = (optional ?? text).replace(/\{(\?any )?(\w+)(?:\.(\w+))?\}/g, (whole, any: string | undefined, name: string, part?: Part | "percent") => {
      const labels = results.coord(name);
      if (labels.length > 0) return labelWords(name, labels[cell[name] ?? usualPlace(name, labels)]);
      const metric = fromFile(name);
      if (!results.has(metric) && !declaration(metric)) return whole;
      const found = results.estimate(metric, cell);
      lacks ||= any ? !results.has(metric) : [found.value, found[part && part !== "percent" ? part : "value"]].some(Number.isNaN);
      return any ? "" : part === "percent" ? formatShare(found.value, 2) : part ? formatNumber(found[part], 2) : formatEstimate(found.value, found, 3);
    });
    return optional !== undefined && lacks ? "" : said;
  });

// Returns the label of an axis: its words, its unit or that of its metric, and the scale.
export const axisLabel = (
  results: Results, { label, unit, log = false }: DeclaredAxis, metric: MetricName, cell: Cell = {},
): string => withScale(withEnding(wordsAt(results, label, cell), unit ?? results.info(metric)?.unit), log);

export interface Labelled {
  label: string;
  cell: Cell;
}

// The labels of a dim; one without a name for no dim.
export function labelsFor(results: Results, dim: string | undefined): Labelled[] {
  if (dim === undefined) return [{ label: "", cell: {} }];
  if (dim === "tasks") return results.tasks().map(({ name, outcome }) => ({ label: name, cell: { outcome } }));
  return results.coord(dim).map((label, k) => ({ label: labelWords(dim, label), cell: { [dim]: k } }));
}

export const isThere = (results: Results, name: MetricName): boolean =>
  results.has(name) || results.has(fromFile(`${name}_by_position`));

export type Words = Pick<Figure, "id" | "title" | "caption">;

export const lineOf = (results: Results, line: number | string): number =>
  typeof line === "number" ? line : Number(results.coord(line).at(-1) ?? NaN);
