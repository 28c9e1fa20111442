// Draws the cost to the model's predictions if heads see random keys: all heads at once, and one
// head at a time.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { curvesFigure, type Curve } from "./curves";
import type { Figure } from "./figure";
import { headLabel } from "./format";
import { overHeads } from "./heads";
import { scatterFigure } from "./scatter";

export const RANDOM_KEYS_NEEDS: readonly MetricName[] = ["all_heads_kl", "model_error_constant"];

export function randomKeysFigures(results: Results): Figure[] {
  return [allHeads(results), eachHead(results)].filter((figure) => figure !== undefined);
}

// Uses the rows of the second half of the context, as the claims do; the results have means over
// all rows up to each length.
function allHeads(results: Results): Figure | undefined {
  if (!results.has("all_heads_kl")) return undefined;
  const numbers = results.numbers("all_heads_random");
  const lengths = results.numbers("all_heads_length");
  const last = lengths.length - 1;
  const sum = (window: number, random: number, length: number) =>
    lengths[length]! *
    results.value("all_heads_kl", {
      all_heads_window: window, all_heads_random: random, all_heads_length: length,
    });
  const curves = results.numbers("all_heads_window").map((window, k): Curve => ({
    name: `kl_window_${window}`,
    label: window === 1 ? "own key" : `window of ${window}`,
    colour: k,
    style: "line",
    values: numbers.map((_, n) => (sum(k, n, last) - sum(k, n, 0)) / (lengths[last]! - lengths[0]!)),
  }));
  const start = curves[0]?.values[0];
  if (start === undefined) return undefined;
  return curvesFigure({
    id: "all-heads-random-keys",
    title: "Divergence of the predictions where every head sees n random keys",
    caption:
      "Each head sees its own key or a window, and n random keys beside it; means over the rows of " +
      "the second half of the context. The dashed line falls as 1/n: so fast would errors of 1/√n " +
      "in the heads.",
    x: {
      column: "random", label: "random keys n (log scale)", values: numbers, log: true,
      ticks: numbers,
    },
    y: { label: "KL divergence (nats, log scale)", log: true },
    curves: [
      ...curves,
      {
        name: "one_over_n", label: "1/n", colour: "muted", style: "dashed", dots: false,
        values: numbers.map((n) => (start * numbers[0]!) / n),
      },
    ],
  });
}

function eachHead(results: Results): Figure | undefined {
  if (!results.has("model_error_constant")) return undefined;
  const heads = overHeads(results, "each_head_kl").map(({ layer, head, value, stderr }) => ({
    label: headLabel(results, layer, head),
    x: results.value("model_error_constant", { layer, head }),
    y: value,
    yError: stderr,
  }));
  return scatterFigure({
    id: "each-head-error-constant",
    title: "Divergence of the predictions where one head sees 32 random keys",
    caption:
      "A point a head, with bars of ± 2 standard errors over the text, against the constant of the " +
      "error of its output.",
    columns: ["head", "error_constant", "kl", "kl_stderr"],
    x: { label: "error constant of the head (log scale)", log: true },
    y: { label: "KL divergence (nats, log scale)", log: true },
    points: heads,
  });
}
