// Draws how the mean and covariance of the outputs converge with the number of tokens.
import type { Cell, Results } from "../data/results";
import { curvesFigure, metricCurve, sizesAlong, type Curve } from "./curves";
import type { Figure } from "./figure";
import { formatNumber, formatWithError } from "./format";

// Lines of these slopes through the middle of the points; `rates` are minus the slopes.
export function powerLaw(
  tokens: readonly number[],
  errors: readonly number[],
  rate: number,
): number[] | undefined {
  if (!Number.isFinite(rate)) return undefined;
  const logs = errors
    .map((error, k) => Math.log(error) + rate * Math.log(tokens[k]!))
    .filter(Number.isFinite);
  if (logs.length === 0) return undefined;
  const constant = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  return tokens.map((n) => Math.exp(constant - rate * Math.log(n)));
}

export function errorFigure(results: Results, cell: Cell, who: string): Figure | undefined {
  const tokens = results.numbers("tokens");
  const predicted = results.value("rate_predicted", cell);
  const curves: Curve[] = [];
  const add = (what: "mean" | "covariance", colour: number) => {
    const [measured] = metricCurve(results, "tokens", cell, {
      name: `error_${what}`, label: `error of the ${what}`, colour, style: "line",
    });
    if (!measured) return;
    curves.push(measured);
    const rate = results.value(`rate_${what}`, cell);
    const fitted = powerLaw(tokens, measured.values, rate);
    if (fitted) {
      const text = formatWithError(rate, results.stderr(`rate_${what}`, cell), 3);
      curves.push({
        name: `fitted_${what}`, label: `fitted n^-β, β = ${text}`, colour, style: "dotted",
        values: fitted,
      });
    }
    const line = powerLaw(tokens, measured.values, predicted);
    if (line) {
      curves.push({
        name: `predicted_${what}`,
        label: what === "mean" ? `predicted, β = ${formatNumber(predicted, 3)}` : "",
        colour: "muted",
        style: "dashed",
        values: line,
      });
    }
  };
  add("mean", 0);
  add("covariance", 1);
  return curvesFigure({
    id: "error",
    title: `Error against tokens: ${who}`,
    caption:
      "Relative error of the mean and of the covariance of the head's outputs when they come " +
      "from n tokens; bands of ± 2 standard errors over the replicates. Predicted is " +
      "β = 1/(2(1 + H²)) of the head's horizon H, through the middle of the points: the errors " +
      "should fall at least that fast.",
    x: sizesAlong(results, "tokens"),
    y: { label: "relative error (log scale)", log: true },
    curves,
  });
}
