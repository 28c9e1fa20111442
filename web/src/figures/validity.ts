// Draws a predictor of each head on one text against the change of the loss on the others.
import type { Results } from "../data/results";
import type { Figure } from "./figure";
import {
  csvValue, formatNumber, formatTick, formatWithError, headLabel, plainName, slug,
} from "./format";
import {
  headsOf, interventionsOf, isFlag, prediction, predictorsOf, predictorTitle, predictorUnit, signed,
  strongest, type Pair, type Prediction,
} from "./predictions";
import {
  bentAxis, isWide, scatterFigure, withScale, type ScatterAxis, type ScatterPoint,
} from "./scatter";
import { themeOf } from "./theme";

export interface PredictionOptions {
  text?: number | undefined; // text of the predictor; absent: all texts
  small?: boolean; // one of several figures in a row
}

interface Point {
  layer: number;
  head: number;
  text: number;
  value: number;
  loss: number;
  error: number; // one standard error of the loss
}

export function predictionFigure(
  results: Results,
  pair: Pair,
  { text, small = false }: PredictionOptions = {},
): Figure | undefined {
  const found = prediction(results, pair);
  const predictor = predictorsOf(results)[pair.predictor] ?? "";
  const intervention = interventionsOf(results)[pair.intervention] ?? "";
  const texts = results.coord("text").map(String);
  const flag = isFlag(predictor);
  const measured = measuredPoints(results, pair);
  // Text by text, of those that are asked for.
  const listed = (heads: readonly Point[][]) =>
    texts.flatMap((_, k) => (text === undefined || text === k ? heads.map((points) => points[k]!) : []));
  const { kept, left } = correlated(measured, found);
  const shown = listed(kept);
  const known = shown.map(({ value }) => value).filter(Number.isFinite);
  const none = known.length < shown.length;
  const x = flag ? flagAxis(predictor) : valueAxis(results, predictor, known, none);
  const strips = text === undefined ? texts.length : 1;
  // Repeated colours would not distinguish texts.
  const coloured = text === undefined && texts.length <= themeOf(false).series.length;
  const points = shown.map((point): ScatterPoint => {
    const { layer, head, value, loss, error } = point;
    const ring = !Number.isFinite(value);
    const said = ring ? "none found" : flag ? raised(value) : formatNumber(value);
    return {
      label: `${headLabel(results, layer, head)}, ${texts[point.text]}`,
      x: ring ? beyondLargest(x, known) : flag ? inStrip(results, point, strips) : value,
      y: loss,
      series: coloured ? point.text : 0,
      hollow: ring,
      text: `${said}, ${formatWithError(loss, error)} nats`,
      ...(small ? {} : { yError: error }),
    };
  });
  const correlation = correlationText(found, text);
  const where = text === undefined ? "" : ` on ${texts[text]}`;
  const words = predictorTitle(results, predictor);
  return scatterFigure({
    id: `validity-${slug(predictor)}-under-${slug(intervention)}`,
    title: small
      ? `${intervention}: ${correlation}${found.predicts ? ", predicts" : ""}`
      : `Loss change under ${intervention} against ${words}${where}: ${correlation}, ${kept.length} heads`,
    caption: small
      ? ""
      : captionOf(results, found, { none, left, flag, text, errors: shown.some(({ error }) => Number.isFinite(error)) }),
    columns: ["layer", "head", "text_of_predictor", "predictor_value", "loss_change", "loss_change_stderr"],
    rows: listed(measured).map((point) => [
      results.coord("layer")[point.layer]!, results.coord("head")[point.head]!, texts[point.text]!,
      ...[point.value, point.loss, point.error].map(csvValue),
    ]),
    x,
    y: bentAxis(`loss change on ${othersOf(texts)}`, "nats", shown.map(({ loss }) => loss)),
    points,
    height: small ? 190 : 260,
    lines: [0],
    key: (theme) => [
      ...(coloured && !small && texts.length > 1 ? texts : []).map((name, k) => ({
        label: `${flag ? "flag" : "metric"} on ${shortened(name)}`, colour: theme.series[k]!, kind: "dot" as const,
      })),
      ...(none ? [{ label: "none found, ranks last", colour: theme.muted, kind: "ring" as const }] : []),
    ],
  });
}

// Draws, for each intervention, the best predictor, or the largest correlation if nothing predicts.
export function validityFigures(results: Results): Figure[] {
  return interventionsOf(results).flatMap((_, intervention) => {
    const best = strongest(results, intervention);
    return (best && predictionFigure(results, best)) ?? [];
  });
}

// Returns, for each head and text, the predictor on the text and the mean change of the loss on the
// others; with a single text its own change.
function measuredPoints(results: Results, { predictor, intervention }: Pair): Point[][] {
  const texts = results.coord("text").map((_, text) => text);
  return headsOf(results).map(({ layer, head }) =>
    texts.map((text): Point => {
      const changes = texts
        .filter((other) => other !== text || texts.length === 1)
        .map((other) => results.estimate("validated_loss_change", { layer, head, intervention, text: other }));
      const sum = (values: number[]) => values.reduce((all, value) => all + value, 0);
      return {
        layer, head, text,
        value: results.value("predictor_value", { layer, head, predictor, text }),
        loss: sum(changes.map(({ value }) => value)) / changes.length,
        error: Math.sqrt(sum(changes.map(({ stderr }) => stderr ** 2))) / changes.length,
      };
    }),
  );
}

// Returns the heads that the correlation uses: those whose values are all defined. The file stores
// "none found", which ranks last, as undefined. If the correlation uses as many heads as have
// losses, every undefined value means "none found".
function correlated(all: readonly Point[][], { heads }: Prediction): { kept: Point[][]; left: number } {
  const judged = all.filter((points) => points.every(({ loss }) => Number.isFinite(loss)));
  const ranksLast = judged.length === heads;
  const kept = judged.filter((points) => ranksLast || points.every(({ value }) => Number.isFinite(value)));
  return { kept, left: judged.length - kept.length };
}

const othersOf = (texts: readonly string[]): string =>
  texts.length < 2 ? "the same text" : texts.length === 2 ? "the other text" : "the other texts";

// Describes the correlation over all texts with its interval, or of one text.
function correlationText({ rho, low, high, byText }: Prediction, text: number | undefined): string {
  const value = text === undefined ? rho : (byText[text] ?? NaN);
  if (!Number.isFinite(value)) return "no rank correlation";
  const interval =
    text === undefined && Number.isFinite(low) ? ` (${signed(low)} to ${signed(high)})` : "";
  return `rank correlation ${signed(value)}${interval}`;
}

function captionOf(
  results: Results,
  { rho, p, byText, predicts }: Prediction,
  { none, left, flag, errors, text }: { none: boolean; left: number; flag: boolean; errors: boolean; text: number | undefined },
): string {
  const texts = results.coord("text").map(String);
  const what = flag ? "flag" : "metric";
  const all = text === undefined && texts.length > 1;
  const byTexts = texts.map((name, k) => `${signed(byText[k]!)} with the ${what} on ${shortened(name)}`);
  const mean = texts.length < 2 ? signed(rho) : `${byTexts.join(", ")}; in the mean ${signed(rho)}`;
  return [
    `One point for each head${all ? " and text" : ""}: the ${what} on ` +
      `${all ? "that text" : (texts[text ?? 0] ?? "the text")}, and the head's ${texts.length > 2 ? "mean " : ""}loss ` +
      `change on ${othersOf(texts)}${errors ? ", with a bar of ± 2 standard errors" : ""}.`,
    Number.isFinite(rho)
      ? `Spearman's rank correlation over the heads is ${mean}, its adjusted p ${formatNumber(p, 2)}: ` +
        `the ${what} ${predicts ? "predicts" : "is not shown to predict"} the loss.`
      : "There is no rank correlation: fewer than 8 heads have all values, or all values of a text are the same.",
    flag && "Points of a strip are set apart sideways.",
    none && "A ring stands beyond the largest value: none was found, which ranks last.",
    left > 0 && `${left} ${left === 1 ? "head has" : "heads have"} an undefined value on some text and no point.`,
    texts.length === 1 && "The metric and the loss are of the same text, so nothing is shown of another.",
  ].filter(Boolean).join(" ");
}

const raised = (value: number): string => (value === 0 ? "not raised" : "raised");

const flagAxis = (predictor: string): ScatterAxis => ({
  label: plainName(predictor), ticks: [0, 1], include: [-0.45, 1.45], format: raised,
});

// Makes the axis of the values, without numbers where the rings for "none found" are, beyond the
// values.
function valueAxis(
  results: Results,
  predictor: string,
  known: readonly number[],
  rings: boolean,
): ScatterAxis {
  const label = predictorTitle(results, predictor);
  const unit = predictorUnit(results, predictor);
  const axis: ScatterAxis = isWide(known)
    ? { label: withScale(unit ? `${label} (${unit})` : label, true), log: true }
    : bentAxis(label, unit, known);
  const within = (at: number) => known.some((value) => value >= at);
  return rings ? { ...axis, format: (at) => (within(at) ? formatTick(at) : "") } : axis;
}

function beyondLargest({ log = false, symlog }: ScatterAxis, known: readonly number[]): number {
  if (known.length === 0) return 0;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  if (log) return high * (high / low) ** 0.08;
  if (symlog !== undefined) return 2 * high + symlog;
  return high + ((high - low) * 0.08 || Math.abs(high) * 0.1 || 1);
}

// Moves points with the same value apart: each text has a strip, in which heads are at steps of the
// golden ratio, which never coincide.
function inStrip(results: Results, { layer, head, text, value }: Point, strips: number): number {
  const width = 0.7 / strips;
  const strip = strips === 1 ? 0 : (text - (strips - 1) / 2) * width;
  const step = ((layer * results.coord("head").length + head) * 0.6180339887498949) % 1;
  return value + strip + (step - 0.5) * width * 0.8;
}

const shortened = (name: string): string => (name.length > 32 ? `…${name.slice(-31)}` : name);
