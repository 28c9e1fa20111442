// All figures of one head.
import type { Cell, Results } from "../data/results";
import { budgetFigure } from "./budget";
import { curvesFigure, metricCurve, type Curve, type MetricStyle } from "./curves";
import { effectiveTokensFigure, entropyFigure } from "./entropy";
import { errorFigure } from "./error";
import type { Figure } from "./figure";
import { formatNumber, headLabel, metricLabel } from "./format";
import { rankFigure } from "./rank";
import { trainingOfHead } from "./training";

export interface HeadOptions {
  // Index of the normalizer, pattern or run, in results of compare and diff; the original by
  // default.
  normalizer?: number;
  pattern?: number;
  run?: number;
}

export function headFigures(
  results: Results,
  { layer, head }: { layer: number; head: number },
  under: HeadOptions = {},
): Figure[] {
  const chosen = { normalizer: 0, pattern: 0, run: 0, ...under };
  const cell: Cell = { layer, head, ...chosen };
  const labels = (["normalizer", "pattern", "run"] as const)
    .map((dim) => results.coord(dim)[chosen[dim]])
    .filter((label) => label !== undefined);
  const who = [headLabel(results, layer, head), ...labels].join(", ");
  return [
    distanceAgainstLength(results, cell, who),
    distanceAgainstN(results, cell, who),
    separability(results, cell, who),
    sensitivity(results, cell, who),
    entropyFigure(results, cell, who),
    effectiveTokensFigure(results, cell, who),
    errorFigure(results, cell, who),
    budgetFigure(results, cell, who),
    rankFigure(results, cell, who),
    ...trainingOfHead(results, { layer, head }),
  ].filter((figure): figure is Figure => figure !== undefined);
}

function distanceCurves(results: Results, dim: string, cell: Cell): Curve[] {
  const of = (curve: MetricStyle) => metricCurve(results, dim, cell, curve);
  const distance = of({ name: "distance", label: "distance", colour: 0, style: "line" });
  if (distance.length === 0) return [];
  return [
    ...distance,
    ...of({ name: "distance_bound", label: "bound", colour: 1, style: "line" }),
    ...of({
      name: "distance_bound_paper", label: "bound as printed", colour: 1, style: "dashed",
    }),
    ...of({
      name: "expected_distance", label: "expected of random keys (at least)", colour: 2,
      style: "line",
    }),
    ...of({
      name: "expected_distance_context", label: "expected, reading “context”", colour: 3,
      style: "dotted",
    }),
  ];
}

// Returns the set size in the papers' figure, or the nearest one.
export function usualN(results: Results, usual = 5): number {
  const sizes = results.numbers("top_n");
  let best = 0;
  sizes.forEach((size, k) => {
    if (Math.abs(size - usual) < Math.abs(sizes[best]! - usual)) best = k;
  });
  return best;
}

function distanceAgainstLength(results: Results, cell: Cell, who: string): Figure | undefined {
  const top_n = usualN(results);
  const lengths = results.numbers("length");
  return curvesFigure({
    id: "distance-against-length",
    title: `Distance against length at N = ${results.numbers("top_n")[top_n]}: ${who}`,
    caption:
      "How far the keys outside the selected set stay from its sum, beside its bounds and what " +
      "random sets would give; means over queries, bands of ± 2 standard errors. The reading " +
      "“context” is the one that critical N compares with; it bounds nothing.",
    x: {
      column: "length", label: "context length L (tokens, log scale)", values: lengths, log: true,
      ticks: lengths,
    },
    y: { label: "distance (norm of the vectors, log scale)", log: true },
    curves: distanceCurves(results, "length", { ...cell, top_n }),
  });
}

function distanceAgainstN(results: Results, cell: Cell, who: string): Figure | undefined {
  const sizes = results.numbers("top_n");
  return curvesFigure({
    id: "distance-against-n",
    title: `Distance against N at L = ${longest(results)}: ${who}`,
    caption:
      "The same at the longest length against the size N of the selected set. Where distance " +
      "meets the reading “context”, the selected keys alone carry the head's output.",
    x: {
      column: "top_n", label: "selected keys N (log scale)", values: sizes, log: true, ticks: sizes,
    },
    y: { label: "distance (norm of the vectors, log scale)", log: true },
    curves: distanceCurves(results, "top_n", cell),
  });
}

const longest = (results: Results): string => {
  const lengths = results.coord("length");
  return String(lengths[lengths.length - 1] ?? "");
};

function separability(results: Results, cell: Cell, who: string): Figure | undefined {
  const sizes = results.numbers("top_n");
  const of = (curve: MetricStyle) =>
    metricCurve(results, "top_n", cell, curve);
  const measured = of({ name: "separability", label: "measured", colour: 0, style: "line" });
  if (measured.length === 0) return undefined;
  return curvesFigure({
    id: "separability",
    title: `Separability against N at L = ${longest(results)}: ${who}`,
    caption:
      "Share of the N selected keys that stand apart from every other key, beside what the same " +
      "weights give when they are dealt out to the keys at random (null): near the null it says " +
      "nothing of which key has which weight. Bands are ± 2 standard errors. The model bounds are " +
      "for random vectors; what lies below 0 is not drawn.",
    x: {
      column: "top_n", label: "selected keys N (log scale)", values: sizes, log: true, ticks: sizes,
    },
    y: { label: "separability (share of the selected keys)", domain: [-0.02, 1.02] },
    curves: [
      ...of({
        name: "separability_model_lower", label: "model bounds (random vectors)", colour: "muted",
        style: "thin", faint: true,
      }),
      ...of({
        name: "separability_model_upper", label: "", colour: "muted", style: "thin", faint: true,
      }),
      ...of({ name: "separability_lower", label: "lower bound", colour: 2, style: "thin" }),
      ...of({
        name: "separability_lower_paper", label: "bounds as printed", colour: 1, style: "dashed",
      }),
      ...of({ name: "separability_upper_paper", label: "", colour: 1, style: "dashed" }),
      ...of({ name: "separability_sphere", label: "random vectors", colour: 4, style: "thin" }),
      ...of({
        name: "separability_null_local", label: "null within 32 neighbours", colour: 3,
        style: "dotted",
      }),
      ...of({ name: "separability_null", label: "null (weights permuted)", colour: 3, style: "line" }),
      ...measured,
    ],
  });
}

function sensitivity(results: Results, cell: Cell, who: string): Figure | undefined {
  const temperatures = results.numbers("temperature");
  const curves: Curve[] = [];
  results.numbers("epsilon").forEach((step, epsilon) => {
    const at = { ...cell, epsilon };
    const text = formatNumber(step);
    const of = (curve: MetricStyle) =>
      metricCurve(results, "temperature", at, curve).map((found) => ({
        ...found,
        name: `${found.name}_epsilon_${text}`,
      }));
    const first = epsilon === 0;
    curves.push(
      ...of({
        name: "sensitivity_bound", label: first ? "bounds" : "", colour: epsilon, style: "thin",
      }),
      ...of({
        name: "sensitivity", label: `g at ε = ${text}`, colour: epsilon, style: "line", dots: true,
      }),
    );
    // The paper's bound does not depend on the step.
    if (first) {
      curves.push(
        ...of({
          name: "sensitivity_bound_paper", label: "bound as printed", colour: "muted",
          style: "dashed",
        }),
      );
    }
  });
  if (!curves.some((curve) => curve.name.startsWith("sensitivity_epsilon"))) return undefined;
  return curvesFigure({
    id: "sensitivity",
    title: `Sensitivity against temperature: ${who}`,
    caption:
      "Change of the weights for a step of size ε in the logits, divided by ε, at the longest " +
      "length; thin lines are the valid bounds min{1/(2T), √2/ε} (or the normalizer's) in the " +
      `colour of their ε, the dashed line the bound as printed. ${metricLabel(results, "sensitivity")} has no unit.`,
    x: {
      column: "temperature", label: "temperature T (log scale)", values: temperatures, log: true,
    },
    y: { label: "sensitivity g (log scale)", log: true },
    curves,
  });
}
