// Draws the figures of a head that the catalogue declares: metrics along a dim.
import { FIGURES, type DeclaredFigure } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { AXES, curvesFigure, metricCurve, sizesAlong } from "./curves";
import type { Figure } from "./figure";

// Returns the index of the set size nearest to `usual`, the one of the papers' figures.
export function usualN(results: Results, usual = 5): number {
  const sizes = results.numbers("top_n");
  let best = 0;
  sizes.forEach((size, k) => {
    if (Math.abs(size - usual) < Math.abs(sizes[best]! - usual)) best = k;
  });
  return best;
}

export const declaredFigures = (results: Results, cell: Cell, who: string): Figure[] =>
  FIGURES.flatMap((declared) => declaredFigure(results, declared, cell, who) ?? []);

function declaredFigure(
  results: Results,
  { id, needs, along, top_n, title, caption, y, curves }: DeclaredFigure,
  cell: Cell,
  who: string,
): Figure | undefined {
  const n = top_n === undefined ? undefined : usualN(results, top_n);
  const at = n === undefined ? cell : { ...cell, top_n: n };
  const drawn = curves.flatMap(({ metric, ...curve }) =>
    metricCurve(results, along, at, { name: metric, ...curve }),
  );
  if (!(along in AXES) || !drawn.some(({ name }) => name === needs)) return undefined;
  const text = title
    .replace("{top_n}", String(results.numbers("top_n")[n ?? 0] ?? ""))
    .replace("{length}", String(results.coord("length").at(-1) ?? ""));
  return curvesFigure({
    id,
    title: `${text}: ${who}`,
    caption,
    x: sizesAlong(results, along),
    y: { ...y },
    curves: drawn,
  });
}
