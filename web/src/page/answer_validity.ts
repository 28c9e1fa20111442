// Shows which heads lose answers when they alone are changed, and which metrics and flags rank the
// heads by that loss: the part of `headgauge validate --tasks` (docs/mathematics.md 7c).
import type { Results } from "../data/results";
import {
  headsOf, interventionsOf, isFlag, largestRho, predictorsOf, predictorTitle, signed, type Prediction,
} from "../figures/predictions";
import { element, section } from "./element";
import { intervalAndP, starred } from "./rank_correlation";
import { numberColumn, table, textColumn } from "./table";
import { count, headLink } from "./words";

const ROWS_SHOWN = 12;

export const hasAnswerValidity = (results: Results): boolean => results.has("answer_rank_correlation");

export interface RetrievalHead {
  name: string; // "3.5"
  place: number;
  intervention: string;
  change: number; // of the loss of the answers, nats, the mean over the groups of cases
}

// Returns the heads that are shown to lose answers, those that lose most first.
export function retrievalHeads(results: Results): RetrievalHead[] {
  const cases = results.coord("cases").map((_, k) => k);
  const heads = headsOf(results);
  const found = interventionsOf(results).flatMap((label, intervention) =>
    heads.flatMap(({ layer, head }, place): RetrievalHead[] => {
      const at = { layer, head, intervention };
      if (results.value("retrieval_head", at) !== 1) return [];
      const changes = cases.map((k) => results.value("validated_answer_change", { ...at, cases: k }));
      const change = changes.reduce((sum, value) => sum + value, 0) / changes.length;
      const name = `${results.coord("layer")[layer]}.${results.coord("head")[head]}`;
      return [{ name, place, intervention: label, change }];
    }),
  );
  return found.sort((a, b) => b.change - a.change);
}

export interface AnswerPredictor {
  title: string;
  under: Pick<Prediction, "rho" | "low" | "high" | "p" | "predicts">[]; // by intervention
}

// Returns the predictors that have a correlation, the largest under any intervention first, metrics
// before flags.
export function answerPredictors(results: Results): AnswerPredictor[] {
  const rows = predictorsOf(results).map((name, predictor) => ({
    flag: isFlag(name),
    title: predictorTitle(results, name),
    under: interventionsOf(results).map((_, intervention) => {
      const at = { predictor, intervention };
      return {
        rho: results.value("answer_rank_correlation", at),
        low: results.value("answer_rank_correlation_low", at),
        high: results.value("answer_rank_correlation_high", at),
        p: results.value("answer_rank_correlation_p", at),
        predicts: results.value("predicts_answers", at) === 1,
      };
    }),
  }));
  return rows
    .filter(({ under }) => largestRho(under) >= 0)
    .sort((a, b) => Number(a.flag) - Number(b.flag) || largestRho(b.under) - largestRho(a.under));
}

export function answerValidity(results: Results): HTMLElement {
  const heads = retrievalHeads(results);
  const losing = new Set(heads.map(({ place }) => place)).size;
  const predictors = answerPredictors(results);
  const doesPredict = ({ under }: AnswerPredictor): boolean => under.some(({ predicts }) => predicts);
  const predicting = predictors.filter(doesPredict).length;
  const listed = predictors.filter((row, k) => k < ROWS_SHOWN || doesPredict(row));
  return section(
    "answer-validity",
    "What loses answers",
    element(
      "p",
      {},
      heads.length === 0
        ? "No head is shown to lose answers of the tasks when it alone is changed."
        : `${count(losing, "head is", "heads are")} shown to lose answers of the tasks, each changed alone.`,
      predicting === 0
        ? " No metric and no flag is shown to predict that loss."
        : ` ${count(predicting, "metric or flag predicts", "metrics and flags predict")} that loss.`,
    ),
    heads.length > 0 && headTable(heads.slice(0, ROWS_SHOWN), interventionsOf(results).length > 1),
    heads.length > ROWS_SHOWN && element("p", { class: "note" }, `The first ${ROWS_SHOWN} of ${heads.length} rows.`),
    listed.length > 0 && predictorTable(results, listed),
    listed.length < predictors.length &&
      element("p", { class: "note" }, `${listed.length} of ${predictors.length} metrics and flags: the largest, and all that predict.`),
  );
}

const headTable = (heads: readonly RetrievalHead[], several: boolean): HTMLElement =>
  table<RetrievalHead>({
    caption: "Heads that lose answers",
    columns: [
      { id: "head", title: "Head", key: ({ place }) => place, show: ({ name }) => headLink(name) },
      ...(several ? [textColumn<RetrievalHead>("gets", "It gets", ({ intervention }) => intervention)] : []),
      numberColumn(
        "change", "Loss of the answers", ({ change }) => change, ({ change }) => signed(change, 3),
        "change in nats, each token",
      ),
    ],
    rows: heads,
  });

const predictorTable = (results: Results, rows: readonly AnswerPredictor[]): HTMLElement =>
  table<AnswerPredictor>({
    caption: "Rank correlations with the change of the loss of answers",
    columns: [
      textColumn("predictor", "Metric or flag", ({ title }) => title),
      ...interventionsOf(results).map((label, k) =>
        numberColumn<AnswerPredictor>(`answers-under-${k}`, label, ({ under }) => Math.abs(under[k]!.rho), ({ under }) =>
          Number.isNaN(under[k]!.rho) ? "–" : element("span", {}, ...starred(under[k]!), intervalAndP(under[k]!)),
        ),
      ),
    ],
    rows,
  });
