// All figures of one head.
import type { Cell, Results } from "../data/results";
import { budgetFigure } from "./budget";
import { curvesFigure, metricCurve, sizesAlong, type Curve, type MetricStyle } from "./curves";
import { declaredFigures } from "./declared";
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
    ...declaredFigures(results, cell, who),
    sensitivity(results, cell, who),
    entropyFigure(results, cell, who),
    effectiveTokensFigure(results, cell, who),
    errorFigure(results, cell, who),
    budgetFigure(results, cell, who),
    rankFigure(results, cell, who),
    ...trainingOfHead(results, { layer, head }),
  ].filter((figure) => figure !== undefined);
}

// Returns the curves of each step, in its colour, with their bounds.
export function sensitivityCurves(
  results: Results, name: "sensitivity" | "sensitivity_max", cell: Cell, bounds = cell,
): Curve[] {
  return results.numbers("epsilon").flatMap((step, epsilon) => {
    const text = formatNumber(step);
    const of = (at: Cell, curve: MetricStyle) =>
      metricCurve(results, "temperature", { ...at, epsilon }, curve).map((found) => ({
        ...found, name: `${found.name}_epsilon_${text}`,
      }));
    const first = epsilon === 0;
    return [
      ...of(bounds, { name: "sensitivity_bound", label: first ? "bounds" : "", colour: epsilon, style: "thin" }),
      ...of(cell, { name, label: `g at ε = ${text}`, colour: epsilon, style: "line" }),
      // The paper's bound does not depend on the step.
      ...(first
        ? of(bounds, { name: "sensitivity_bound_paper", label: "bound as printed", colour: "muted", style: "dashed" })
        : []),
    ];
  });
}

function sensitivity(results: Results, cell: Cell, who: string): Figure | undefined {
  const curves = sensitivityCurves(results, "sensitivity", cell);
  if (!curves.some((curve) => curve.name.startsWith("sensitivity_epsilon"))) return undefined;
  return curvesFigure({
    id: "sensitivity",
    title: `Sensitivity against temperature: ${who}`,
    caption:
      "Change of the weights for a step of size ε in the logits, divided by ε, at the longest " +
      "length; thin lines are the valid bounds min{1/(2T), √2/ε} (or the normalizer's) in the " +
      `colour of their ε, the dashed line the bound as printed. ${metricLabel(results, "sensitivity")} has no unit.`,
    x: sizesAlong(results, "temperature"),
    y: { label: "sensitivity g (log scale)", log: true },
    curves,
  });
}
