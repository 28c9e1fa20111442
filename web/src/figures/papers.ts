// The papers' figures, over all heads of the model.
import { EXPERIMENTS, fromFile } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { declaredFigures, declaredIn, hasFigures } from "./declared";
import type { Figure } from "./figure";
import { capital } from "./format";
import { isThere } from "./quantity";

export const hasPaperFigures = (results: Results): boolean =>
  hasFigures(results, "limits") || hasFigures(results, "tokens") ||
  EXPERIMENTS.some(({ name }) => declaredIn(results, "rates").some(({ needs }) => isThere(results, fromFile(`${name}_${needs}`))));

// Draws figures of paper A: Fig. 2 (a, b, c), Fig. 3 and Fig. 4. Uses the original in results of
// compare, the new run in those of diff.
export const limitsFigures = (results: Results): Figure[] =>
  declaredFigures(results, "limits", { normalizer: 0, pattern: 0 });

// Draws figures of paper B: rates and errors of each experiment in a file of `reproduce tokens`,
// and of a model whose heads see random keys.
export function tokensFigures(results: Results): Figure[] {
  const ofExperiments = EXPERIMENTS.flatMap(({ name, title }) => {
    const part = results.part(name);
    return part ? declaredFigures(part, "rates").map((figure) => renamed(figure, `${name}-${figure.id}`, title)) : [];
  });
  return [...ofExperiments, ...declaredFigures(results, "tokens")];
}

// Returns the same drawing with another title, which is part of the drawing.
function renamed(figure: Figure, id: string, words: string): Figure {
  const title = capital(`${words}: ${figure.title.slice(0, 1).toLowerCase()}${figure.title.slice(1)}`);
  return { ...figure, id, title, draw: (options) => figure.draw({ ...options, title }) };
}
