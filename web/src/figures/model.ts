// Everything about the whole model, or about two runs.
import type { Results } from "../data/results";
import { cacheFigure } from "./cache";
import {
  changesFigure, changesNeeds, isDiff, largestChangesFigure, mostChanged,
} from "./changes";
import { costsFigure } from "./costs";
import { criticalFigure, lossFigure } from "./critical";
import { INTERVENTION_NEEDS, interventionFigures } from "./intervention";
import type { Figure } from "./figure";
import { closestPair, CORRELATION_NEEDS, correlationFigure } from "./correlation";
import {
  hardmaxFigure, RATES_NEEDS, ratesFigure, scaleErrorFigures, uniformFigure,
} from "./rates";

export { changesFigure, largestChangesFigure } from "./changes";
export { correlationFigure } from "./correlation";

const NEEDS: readonly string[] = [
  "critical_n", "loss", "cache_bytes_by_layer", "cache_bytes", "cost_seconds",
  "cost_paper_seconds", ...CORRELATION_NEEDS, ...INTERVENTION_NEEDS, ...RATES_NEEDS,
];

export const modelNeeds = (results: Results): string[] =>
  [...new Set([...NEEDS, ...(isDiff(results) ? changesNeeds(results) : [])])].filter((name) =>
    results.has(name),
  );

export function modelFigures(results: Results): Figure[] {
  const pair = closestPair(results);
  const changed = isDiff(results) ? mostChanged(results) : undefined;
  return [
    changed ? changesFigure(results, changed) : undefined,
    changed ? largestChangesFigure(results, changed) : undefined,
    criticalFigure(results),
    lossFigure(results),
    ...interventionFigures(results),
    pair ? correlationFigure(results, ...pair) : undefined,
    ratesFigure(results),
    ...scaleErrorFigures(results),
    uniformFigure(results),
    hardmaxFigure(results),
    cacheFigure(results),
    costsFigure(results),
  ].filter((figure): figure is Figure => figure !== undefined);
}
