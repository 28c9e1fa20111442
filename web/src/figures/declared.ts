// Draws the figures that the catalogue declares.
import { FIGURES, type DeclaredFigure, type DeclaredMap } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { curvesOf } from "./declared_curves";
import { rowsOf, scatterOf } from "./declared_points";
import type { Figure } from "./figure";
import { slug } from "./format";
import { overHeads } from "./heads";
import { mapFigure } from "./map";
import { cellAt, isThere, labelsFor, wordsAt, type Labelled, type Words } from "./quantity";

export const declaredIn = (view: DeclaredFigure["view"]): readonly DeclaredFigure[] =>
  FIGURES.filter((figure) => figure.view === view);

// Returns the figures of a view; `who` ends the titles of those of one head.
export const declaredFigures = (
  results: Results, view: DeclaredFigure["view"], cell: Cell = {}, who = "",
): Figure[] => declaredIn(view).flatMap((figure) => declaredFigure(results, figure, cell, who));

function declaredFigure(results: Results, declared: DeclaredFigure, cell: Cell, who: string): Figure[] {
  if (!isThere(results, declared.needs)) return [];
  const several = labelsFor(results, declared.for);
  return several.flatMap((one) => {
    const at = cellAt(results, { ...cell, ...one.cell }, "at" in declared ? declared.at : {});
    if (!at) return [];
    const words = (text: string) => wordsAt(results, text, at);
    const own = {
      id: one.label === "" ? declared.id : `${declared.id}-${slug(one.label)}`,
      title: words(declared.title) + (who === "" ? "" : `: ${who}`),
      caption: words(declared.caption),
    };
    return drawn(results, declared, own, at, several) ?? [];
  });
}

function drawn(
  results: Results, declared: DeclaredFigure, own: Words, cell: Cell, several: Labelled[],
): Figure | undefined {
  switch (declared.kind) {
    case "curves":
    case "spread":
      return curvesOf(results, declared, own, cell);
    case "scatter":
      return scatterOf(results, declared, own, cell);
    case "map":
      return mapOf(results, declared, own, cell, several);
    default:
      return rowsOf(results, declared, own, cell);
  }
}

// The maps of several labels have one colour scale, so that they can be compared.
function mapOf(results: Results, { metric, log = false }: DeclaredMap, own: Words, cell: Cell, several: Labelled[]): Figure {
  const scaled = several.flatMap(({ cell: at }) => overHeads(results, metric, { ...cell, ...at }).map(({ value }) => value));
  return mapFigure(results, metric, cell, { ...own, log, scaled });
}
