// The results of `headgauge validate` (docs/mathematics.md 7c): how well a metric of a head on one
// text ranks the heads by the change of the loss on the other texts.
import { fromFile } from "../catalogue/catalogue";
import { flatIndex, type Results } from "../data/results";
import { plainName } from "./format";

// A predictor and an intervention, as indices.
export interface Pair {
  predictor: number;
  intervention: number;
}

export interface Prediction extends Pair {
  rho: number;
  low: number;
  high: number;
  p: number; // adjusted over all pairs
  byText: number[];
  heads: number; // number of heads whose values are all defined; NaN if the file lacks it
  predicts: boolean;
}

const FLAG = "flag ";

export const isFlag = (predictor: string): boolean => predictor.startsWith(FLAG);

export const levelOf = ({ header: { settings } }: Results): number =>
  typeof settings["level"] === "number" ? settings["level"] : 0.05;

export const predictorsOf = (results: Results): string[] => results.coord("predictor").map(String);

export const interventionsOf = (results: Results): string[] =>
  results.coord("intervention").map(String);

export function prediction(results: Results, pair: Pair): Prediction {
  const { predictor, intervention } = pair;
  const at = { predictor, intervention };
  const metric = results.metric("prediction_rank_correlation");
  const byText = results.coord("text").map((_, text) =>
    results.value("prediction_rank_correlation_by_text", { ...at, text }),
  );
  return {
    ...at,
    rho: results.value("prediction_rank_correlation", at),
    low: results.value("prediction_rank_correlation_low", at),
    high: results.value("prediction_rank_correlation_high", at),
    p: results.value("prediction_rank_correlation_p", at),
    byText,
    heads: metric?.rows?.[flatIndex(metric, at)] ?? NaN,
    predicts: results.value("predicts", at) === 1,
  };
}

// Returns the predictions of one predictor, by intervention.
export const predictionsOf = (results: Results, predictor: number): Prediction[] =>
  results.coord("intervention").map((_, intervention) =>
    prediction(results, { predictor, intervention }),
  );

// Returns the largest |rho| under any intervention; -1 if there is none.
export const largestRho = (predictions: readonly Pick<Prediction, "rho">[]): number =>
  predictions.reduce((most, { rho }) => (Math.abs(rho) > most ? Math.abs(rho) : most), -1);

export interface PredictorRow {
  predictor: number;
  name: string;
  title: string;
  under: Prediction[]; // by intervention
}

// Returns the predictors in the order of the terminal: metrics that have a correlation, largest
// first, and separately all flags.
export function predictorRows(results: Results): { metrics: PredictorRow[]; flags: PredictorRow[] } {
  const rows = predictorsOf(results).map((name, predictor): PredictorRow => ({
    predictor, name, title: predictorTitle(results, name), under: predictionsOf(results, predictor),
  }));
  const metrics = rows.filter(({ name, under }) => !isFlag(name) && largestRho(under) >= 0);
  return {
    metrics: metrics.sort((a, b) => largestRho(b.under) - largestRho(a.under)), // stable
    flags: rows.filter(({ name }) => isFlag(name)),
  };
}

export interface InterventionRow {
  intervention: number;
  label: string;
  median: number; // of the changes of the loss over heads and texts
  largest: number;
  worse: number; // pairs of head and text whose loss increases significantly; NaN in older files
  better: number;
  replication: number;
  losing: number; // share of the queries that lose keys, a mean over the heads; NaN without a pattern
}

// Returns the effect of each intervention on the loss, as in the terminal's table.
export function interventionRows(results: Results): InterventionRow[] {
  const cells = [...headsOf(results)];
  return interventionsOf(results).map((label, intervention) => {
    const values: number[] = [];
    for (const { layer, head } of cells) {
      results.coord("text").forEach((_, text) => {
        const value = results.value("validated_loss_change", { layer, head, intervention, text });
        if (!Number.isNaN(value)) values.push(value);
      });
    }
    values.sort((a, b) => a - b);
    const losing = cells
      .map(({ layer, head }) => results.value("queries_losing_keys", { layer, head, intervention }))
      .filter((share) => !Number.isNaN(share));
    return {
      intervention,
      label,
      median: values[Math.floor(values.length / 2)] ?? NaN,
      largest: values[values.length - 1] ?? NaN,
      worse: results.value("loss_rises", { intervention }),
      better: results.value("loss_falls", { intervention }),
      replication: results.value("loss_change_replication", { intervention }),
      losing: losing.reduce((sum, share) => sum + share, 0) / losing.length,
    };
  });
}

// Returns the best predictor under an intervention, as in the summary; else the one with the
// largest correlation.
export function strongest(results: Results, intervention: number): Prediction | undefined {
  let best: Prediction | undefined;
  predictorsOf(results).forEach((_, predictor) => {
    const found = prediction(results, { predictor, intervention });
    if (Number.isNaN(found.rho)) return;
    const better =
      best === undefined ||
      (found.predicts === best.predicts
        ? Math.abs(found.rho) > Math.abs(best.rho)
        : found.predicts);
    if (better) best = found;
  });
  return best;
}

// Returns the default pair: the best of all best predictors.
export function strongestPair(results: Results): Pair | undefined {
  const best = interventionsOf(results).flatMap((_, k) => strongest(results, k) ?? []);
  best.sort(
    (a, b) => Number(b.predicts) - Number(a.predicts) || Math.abs(b.rho) - Math.abs(a.rho),
  );
  return best[0];
}

// Describes "tokens_for_error sampler=top" in words.
export function predictorTitle(results: Results, name: string): string {
  if (isFlag(name)) return plainName(name);
  const [metric = "", ...rest] = name.split(" ");
  const title = results.title(fromFile(metric));
  if (rest[0] === "under") return [title, ...rest].join(" ");
  return [title, ...rest.map((label) => label.replace("=", " "))].join(", ");
}

export function predictorUnit(results: Results, name: string): string {
  const unit = isFlag(name) ? "1" : (results.entry(fromFile(name.split(" ")[0]!))?.unit ?? "1");
  return unit === "1" ? "" : unit;
}

export const headsOf = (results: Results): { layer: number; head: number }[] =>
  results.coord("layer").flatMap((_, layer) =>
    results.coord("head").map((__, head) => ({ layer, head })),
  );

// Example: "+0.51", as the terminal writes it.
export const signed = (value: number, decimals = 2): string =>
  Number.isFinite(value)
    ? `${value < 0 || Object.is(value, -0) ? "" : "+"}${value.toFixed(decimals)}`
    : "–";
