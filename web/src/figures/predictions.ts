// The results of `headgauge validate` (docs/mathematics.md 7c): how well a metric of a head on one
// text ranks the heads by the change of the loss on the other texts.
import { fromFile } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { plainName } from "./format";

// A predictor and an intervention, as indices.
export interface Pair {
  predictor: number;
  intervention: number;
}

export interface Prediction extends Pair {
  rho: number;
  low: number;
  high: number;
  p: number; // adjusted over all pairs
  byText: number[];
  heads: number; // number of heads whose values are all defined; NaN if the file lacks it
  predicts: boolean;
}

const FLAG = "flag ";

export const isFlag = (predictor: string): boolean => predictor.startsWith(FLAG);

export const predictorsOf = (results: Results): string[] => results.coord("predictor").map(String);

export const interventionsOf = (results: Results): string[] =>
  results.coord("intervention").map(String);

// Returns how well a predictor ranks the heads by the change of the loss of text.
export function prediction(results: Results, pair: Pair): Prediction {
  const { predictor, intervention } = pair;
  const at = { predictor, intervention };
  const there = { ...at, outcome: results.outcome("text") ?? NaN };
  const { value: rho, low, high, p, rows: heads } = results.estimate("rank_correlation", there);
  const byText = results.coord("text").map((_, text) => results.value("rank_correlation_by_text", { ...at, text }));
  return { ...at, rho, low, high, p, byText, heads, predicts: results.value("predicts", there) === 1 };
}

// Returns the best predictor under an intervention, as in the summary; else the one with the
// largest correlation.
export function strongest(results: Results, intervention: number): Prediction | undefined {
  let best: Prediction | undefined;
  predictorsOf(results).forEach((_, predictor) => {
    const found = prediction(results, { predictor, intervention });
    if (Number.isNaN(found.rho)) return;
    const better =
      best === undefined ||
      (found.predicts === best.predicts
        ? Math.abs(found.rho) > Math.abs(best.rho)
        : found.predicts);
    if (better) best = found;
  });
  return best;
}

// Returns the default pair: the best of all best predictors.
export function strongestPair(results: Results): Pair | undefined {
  const best = interventionsOf(results).flatMap((_, k) => strongest(results, k) ?? []);
  best.sort(
    (a, b) => Number(b.predicts) - Number(a.predicts) || Math.abs(b.rho) - Math.abs(a.rho),
  );
  return best[0];
}

// Describes "tokens_for_error sampler=top" in words.
export function predictorTitle(results: Results, name: string): string {
  if (isFlag(name)) return plainName(name);
  const [metric = "", ...rest] = name.split(" ");
  const title = results.title(fromFile(metric));
  if (rest[0] === "under") return [title, ...rest].join(" ");
  return [title, ...rest.map((label) => label.replace("=", " "))].join(", ");
}

export function predictorUnit(results: Results, name: string): string {
  const unit = isFlag(name) ? "1" : (results.entry(fromFile(name.split(" ")[0]!))?.unit ?? "1");
  return unit === "1" ? "" : unit;
}

export const headsOf = (results: Results): { layer: number; head: number }[] =>
  results.coord("layer").flatMap((_, layer) =>
    results.coord("head").map((__, head) => ({ layer, head })),
  );

// Example: "+0.51", as the terminal writes it.
export const signed = (value: number, decimals = 2): string =>
  Number.isFinite(value)
    ? `${value < 0 || Object.is(value, -0) ? "" : "+"}${value.toFixed(decimals)}`
    : "–";
