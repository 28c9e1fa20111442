// The figures that a results file has by itself, without anyone choosing a head.
import type { Results } from "../data/results";
import type { Figure } from "./figure";
import { headFigures } from "./head";

export function standardFigures(results: Results): Figure[] {
  return headFigures(results, { layer: 0, head: 0 });
}
