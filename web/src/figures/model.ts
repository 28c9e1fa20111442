// All figures of the whole model, or of two runs.
import type { Results } from "../data/results";
import { changesFigure } from "./changes";
import { declaredFigures, declaredIn } from "./declared";
import type { Figure } from "./figure";
import { isThere } from "./quantity";

export const hasModelFigures = (results: Results): boolean =>
  [...declaredIn("model"), ...declaredIn("rates")].some(({ needs }) => isThere(results, needs)) ||
  changesFigure(results) !== undefined;

export const modelFigures = (results: Results): Figure[] => [
  ...[changesFigure(results)].filter((figure) => figure !== undefined),
  ...declaredFigures(results, "model"),
  ...declaredFigures(results, "rates"),
];
