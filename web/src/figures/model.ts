// All figures of the whole model, or of two runs.
import type { Results } from "../data/results";
import { declaredFigures, hasFigures } from "./declared";
import type { Figure } from "./figure";

export const hasModelFigures = (results: Results): boolean => hasFigures(results, "model") || hasFigures(results, "rates");

// What only matters together with another figure comes last.
export const modelFigures = (results: Results): Figure[] =>
  [...declaredFigures(results, "model"), ...declaredFigures(results, "rates")].sort((a, b) => Number(a.aside) - Number(b.aside));
