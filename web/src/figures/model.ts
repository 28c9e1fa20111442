// All figures of the whole model, or of two runs.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { cacheFigure } from "./cache";
import { changesFigure } from "./changes";
import { criticalFigure, lossFigure } from "./critical";
import { interventionFigures } from "./intervention";
import type { Figure } from "./figure";
import { RATES_NEEDS, ratesFigures } from "./rates";

const MODEL_NEEDS: readonly MetricName[] = ["critical_n", "loss", "loss_change", "cache_bytes_by_layer", ...RATES_NEEDS];

export const hasModelFigures = (results: Results): boolean =>
  MODEL_NEEDS.some((name) => results.has(name)) || changesFigure(results) !== undefined;

export function modelFigures(results: Results): Figure[] {
  return [
    changesFigure(results),
    criticalFigure(results),
    lossFigure(results),
    ...interventionFigures(results),
    ...ratesFigures(results),
    cacheFigure(results),
  ].filter((figure) => figure !== undefined);
}
