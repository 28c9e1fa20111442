// Draws the plans of `headgauge plan`: what they cost against what they save, and the keys that each
// head keeps.
import type { Results } from "../data/results";
import { declaredFigures } from "./declared";
import type { Figure } from "./figure";

export const planFigures = (results: Results): Figure[] => declaredFigures(results, "plan");

// Returns a map for each budget.
export const keptKeysFigures = (results: Results): Figure[] =>
  planFigures(results).filter(({ id }) => id.startsWith("plan-kept-keys"));

export const paretoFigures = (results: Results): Figure[] =>
  planFigures(results).filter(({ id }) => id.includes("-against-cache"));
