// The pairs of a predictor and an intervention in results of `headgauge validate` (docs/mathematics.md 7c).
import type { Results } from "../data/results";

// A predictor and an intervention, as indices.
export type Pair = Readonly<Record<"predictor" | "intervention", number>>;

// Returns the pairs that have a correlation: first those that predict, each with the largest first.
export function pairsOf(results: Results): Pair[] {
  const all = results.coord("predictor").flatMap((_, predictor) =>
    results.coord("intervention").map((__, intervention) => ({ predictor, intervention })));
  const size = (pair: Pair) => Math.abs(results.value("rank_correlation", pair));
  const predicts = (pair: Pair) => (results.value("predicts", pair) === 1 ? 1 : 0);
  return all
    .filter((pair) => Number.isFinite(size(pair)))
    .sort((a, b) => predicts(b) - predicts(a) || size(b) - size(a));
}

// Returns the first pair of each intervention.
export const bestPairs = (results: Results): Pair[] =>
  pairsOf(results).filter(({ intervention }, k, all) => all.findIndex((pair) => pair.intervention === intervention) === k);
