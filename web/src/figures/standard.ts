// The figures that a results file has without a chosen head.
import { CATALOGUE } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { declaredFigures } from "./declared";
import type { Figure } from "./figure";
import { headFigures } from "./head";
import { judgedN, overHeads } from "./heads";
import { mapFigure } from "./map";
import { modelFigures } from "./model";
import { limitsFigures, tokensFigures } from "./papers";
import { planFigures } from "./plan";
import { rolesFigure } from "./roles";
import { bestPairs } from "./validity";

// The cell with the original of compare and the N at which heads are judged.
function usualCell(results: Results): Cell {
  const top_n = judgedN(results);
  return { normalizer: 0, pattern: 0, ...(top_n === undefined ? {} : { top_n }) };
}

export function standardFigures(results: Results): Figure[] {
  const maps = [...CATALOGUE.values()].flatMap(({ mapped, name }) => {
    const isOfHeads = results.info(name)?.dims.includes("head") && overHeads(results, name).length > 0;
    const intervention = results.changed(name) ? 1 : 0;
    const cell = { ...usualCell(results), normalizer: intervention, pattern: intervention };
    return mapped && isOfHeads ? [mapFigure(results, name, cell)] : [];
  });
  const roles = rolesFigure(results);
  return [
    ...(roles ? [roles] : []),
    ...maps,
    ...modelFigures(results),
    ...limitsFigures(results),
    ...tokensFigures(results),
    ...bestPairs(results).flatMap((pair) => declaredFigures(results, "validity", pair)),
    ...planFigures(results),
    ...declaredFigures(results, "training"),
    ...extremes(results).flatMap(({ layer, head }) => {
      const suffix = `-layer-${results.coord("layer")[layer]}-head-${results.coord("head")[head]}`;
      return headFigures(results, { layer, head }).map((figure) => ({ ...figure, id: figure.id + suffix }));
    }),
  ];
}

// Returns the most dispersed head and the sharpest one; without entropies, those with the largest
// and the smallest horizon.
function extremes(results: Results): { layer: number; head: number }[] {
  for (const name of ["entropy_normalized", "horizon"] as const) {
    const defined = overHeads(results, name, usualCell(results)).filter(({ value }) => Number.isFinite(value));
    const heads = defined.sort((a, b) => b.value - a.value);
    const [most, least] = [heads[0], heads.at(-1)];
    if (most && least) return heads.length > 1 ? [most, least] : [most];
  }
  return [];
}
