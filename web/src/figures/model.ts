// All figures of the whole model, or of two runs.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { cacheFigure } from "./cache";
import { changesFigure, largestChangesFigure } from "./changes";
import { criticalFigure, lossFigure } from "./critical";
import { INTERVENTION_NEEDS, interventionFigures } from "./intervention";
import type { Figure } from "./figure";
import {
  hardmaxFigure, RATES_NEEDS, ratesFigure, scaleErrorFigures, uniformFigure,
} from "./rates";

const NEEDS: readonly MetricName[] = [
  "critical_n", "closest_n", "closest_n_low", "closest_n_high", "critical_n_paper", "loss", "cache_bytes_by_layer", "cache_bytes",
  ...INTERVENTION_NEEDS, ...RATES_NEEDS,
];

export const hasModelFigures = (results: Results): boolean =>
  NEEDS.some((name) => results.has(name)) || (results.header.changes ?? []).length > 0;

export function modelFigures(results: Results): Figure[] {
  return [
    changesFigure(results),
    largestChangesFigure(results),
    criticalFigure(results),
    lossFigure(results),
    ...interventionFigures(results),
    ratesFigure(results),
    ...scaleErrorFigures(results),
    uniformFigure(results),
    hardmaxFigure(results),
    cacheFigure(results),
  ].filter((figure): figure is Figure => figure !== undefined);
}
