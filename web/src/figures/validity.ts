// Draws a predictor of each head on one text against the change of the loss on the others.
import * as Plot from "@observablehq/plot";
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
  const asked = (point: Point) => text === undefined || point.text === text;
  const { kept, left } = correlated(measured, found);
  const shown = kept.filter(asked);
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
  const heads = new Set(shown.map(({ layer, head }) => `${layer} ${head}`)).size;
  const where = text === undefined ? "" : ` on ${texts[text]}`;
  const words = predictorTitle(results, predictor);
  return scatterFigure({
    id: `validity-${slug(predictor)}-under-${slug(intervention)}`,
    title: small
      ? `${intervention}: ${correlation}${found.predicts ? ", predicts" : ""}`
      : `Loss change under ${intervention} against ${words}${where}: ${correlation}, ${heads} heads`,
    caption: small
      ? ""
      : captionOf(results, found, {
          none, left, flag, text, errors: shown.some(({ error }) => Number.isFinite(error)),
        }),
    columns: [
      "layer", "head", "text_of_predictor", "predictor_value", "loss_change", "loss_change_stderr",
    ],
    rows: measured.filter(asked).map((point) => [
      results.coord("layer")[point.layer]!,
      results.coord("head")[point.head]!,
      texts[point.text]!,
      csvValue(point.value),
      csvValue(point.loss),
      csvValue(point.error),
    ]),
    x,
    y: bentAxis(`loss change on ${othersOf(texts)}`, "nats", shown.map(({ loss }) => loss)),
    points,
    height: small ? 190 : 260,
    marks: (theme, _, { domain: [low, high] }) =>
      low < 0 && high > 0
        ? [Plot.ruleY([0], { stroke: theme.muted, strokeDasharray: "2 3" })]
        : [],
    key: (theme) => [
      ...(coloured && !small && texts.length > 1
        ? texts.map((name, k) => ({
            label: `${flag ? "flag" : "metric"} on ${shortened(name)}`,
            colour: theme.series[k]!,
            kind: "dot" as const,
          }))
        : []),
      ...(none
        ? [{ label: "none found, ranks last", colour: theme.muted, kind: "ring" as const }]
        : []),
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

// Returns points by text, then head: the predictor on the text and the mean change of the loss on
// the others; with a single text its own change.
function measuredPoints(results: Results, { predictor, intervention }: Pair): Point[] {
  const texts = results.coord("text").map((_, text) => text);
  return texts.flatMap((text) =>
    headsOf(results).map(({ layer, head }): Point => {
      const others = texts.filter((other) => other !== text || texts.length === 1);
      const sum = (of: (cell: Record<string, number>) => number) =>
        others.reduce((all, other) => all + of({ layer, head, intervention, text: other }), 0);
      return {
        layer,
        head,
        text,
        value: results.value("predictor_value", { layer, head, predictor, text }),
        loss: sum((cell) => results.value("validated_loss_change", cell)) / others.length,
        error:
          Math.sqrt(sum((cell) => results.stderr("validated_loss_change", cell) ** 2)) /
          others.length,
      };
    }),
  );
}

// Returns the points that the correlation uses: heads whose values are all defined. The file stores
// "none found", which ranks last, as undefined. If the correlation uses as many heads as have
// losses, every undefined value means "none found".
function correlated(
  all: readonly Point[],
  { heads }: Prediction,
): { kept: Point[]; left: number } {
  const byHead = new Map<string, Point[]>();
  const lost = new Set<string>();
  for (const point of all) {
    const name = `${point.layer} ${point.head}`;
    if (!Number.isFinite(point.loss)) lost.add(name);
    byHead.set(name, [...(byHead.get(name) ?? []), point]);
  }
  for (const name of lost) byHead.delete(name);
  const ranksLast = byHead.size === heads;
  const whole = [...byHead.values()].filter(
    (points) => ranksLast || points.every(({ value }) => Number.isFinite(value)),
  );
  const kept = new Set(whole.flat());
  return { kept: all.filter((point) => kept.has(point)), left: byHead.size - whole.length };
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

interface CaptionParts {
  none: boolean;
  left: number;
  flag: boolean;
  errors: boolean;
  text: number | undefined;
}

function captionOf(
  results: Results,
  { rho, p, byText, predicts }: Prediction,
  { none, left, flag, errors, text }: CaptionParts,
): string {
  const texts = results.coord("text").map(String);
  const what = flag ? "flag" : "metric";
  const all = text === undefined && texts.length > 1;
  const verdict = `the ${what} ${predicts ? "predicts" : "is not shown to predict"} the loss.`;
  const byTexts = texts.map((name, k) => `${signed(byText[k]!)} with the ${what} on ${shortened(name)}`);
  const sentences: (string | false)[] = [
    `One point for each head${all ? " and text" : ""}: ` +
      `the ${what} on ${all ? "that text" : (texts[text ?? 0] ?? "the text")}, ` +
      `and the head's ${texts.length > 2 ? "mean " : ""}loss change on ${othersOf(texts)}` +
      `${errors ? ", with a bar of ± 2 standard errors" : ""}.`,
    !Number.isFinite(rho)
      ? "There is no rank correlation: fewer than 8 heads have all values, or all values of a text " +
        "are the same."
      : texts.length < 2
        ? `Spearman's rank correlation over the heads is ${signed(rho)}, ` +
          `its adjusted p ${formatNumber(p, 2)}: ${verdict}`
        : `Spearman's rank correlation over the heads is ${byTexts.join(", ")}; ` +
          `the adjusted p of the mean, ${signed(rho)}, is ${formatNumber(p, 2)}: ${verdict}`,
    flag && "Points of a strip are set apart sideways.",
    none && "A ring stands beyond the largest value: none was found, which ranks last.",
    left > 0 &&
      `${left} ${left === 1 ? "head has" : "heads have"} an undefined value on some text and no point.`,
    texts.length === 1 &&
      "The metric and the loss are of the same text, so nothing is shown of another.",
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
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
