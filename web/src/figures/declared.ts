// Draws the figures of a head that the catalogue declares: metrics along a dim.
import { FIGURES, type DeclaredFigure } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { curvesFigure, metricCurve } from "./curves";
import type { Figure } from "./figure";

export const AXES: Readonly<Record<string, { label: string; log: boolean; ticks: boolean }>> = {
  length: { label: "context length L (tokens, log scale)", log: true, ticks: true },
  position: { label: "query position (tokens, log scale)", log: true, ticks: false },
  temperature: { label: "temperature T (log scale)", log: true, ticks: false },
  tokens: { label: "tokens n (log scale)", log: true, ticks: false },
  top_n: { label: "selected keys N (log scale)", log: true, ticks: true },
};

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
  const axis = AXES[along];
  if (!axis || !drawn.some(({ name }) => name === needs)) return undefined;
  const values = results.numbers(along);
  const text = title
    .replace("{top_n}", String(results.numbers("top_n")[n ?? 0] ?? ""))
    .replace("{length}", String(results.coord("length").at(-1) ?? ""));
  return curvesFigure({
    id,
    title: `${text}: ${who}`,
    caption,
    x: {
      column: along, label: axis.label, values, log: axis.log,
      ...(axis.ticks ? { ticks: values } : {}),
    },
    y: { ...y },
    curves: drawn,
  });
}
