// A predictor of each head on one text against the change of the loss on the others.
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatTick, formatWithError, headLabel } from "./format";
import { quantile } from "./heads";
import {
  headsOf, interventionsOf, isFlag, prediction, predictorsOf, predictorTitle, predictorUnit, signed,
  strongest, type Pair, type Prediction,
} from "./predictions";
import {
  isWide, scatterFigure, withScale, type ScatterAxis, type ScatterPoint,
} from "./scatter";
import { themeOf } from "./theme";

export interface PredictionOptions {
  text?: number | undefined; // of the predictor; all of them without it
  small?: boolean; // one of several beside each other
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
  const all = measured.filter(asked);
  const { kept, left } = correlated(measured, found);
  const shown = kept.filter(asked);
  const none = new Set(flag ? [] : shown.filter(({ value }) => !Number.isFinite(value)));
  const series = texts.length <= themeOf(false).series.length && text === undefined;
  const words = predictorTitle(results, predictor);
  const unit = predictorUnit(results, predictor);
  const x: ScatterAxis = flag
    ? { label: words, ticks: [0, 1], include: [-0.45, 1.45], format: (at) => (at === 0 ? "not raised" : "raised") }
    : valueAxis(unit ? `${words} (${unit})` : words, shown.map(({ value }) => value));
  const values = shown.map(({ value }) => value).filter(Number.isFinite);
  const beyond = beyondLargest(x, values);
  if (none.size > 0) x.format = (at) => (values.some((value) => value >= at) ? formatTick(at) : "");
  const points = shown.map((point): ScatterPoint => {
    const ring = none.has(point);
    const said = flag ? (point.value === 0 ? "not raised" : "raised") : formatNumber(point.value);
    return {
      label: `${headLabel(results, point.layer, point.head)}, ${texts[point.text]}`,
      x: flag ? inStrip(results, point, text === undefined ? texts.length : 1) : ring ? beyond : point.value,
      y: point.loss,
      series: series ? point.text : 0,
      hollow: ring,
      text: `${ring ? "none found" : said}, ${formatWithError(point.loss, point.error)} nats`,
      ...(small ? {} : { yError: point.error }),
    };
  });
  const other = texts.length < 2 ? "the same text" : texts.length === 2 ? "the other text" : "the other texts";
  const y = bentAxis(`loss change on ${other} (nats)`, shown.map(({ loss }) => loss));
  const rho = text === undefined ? found.rho : (found.byText[text] ?? NaN);
  const interval =
    text === undefined && Number.isFinite(found.low)
      ? ` (${signed(found.low)} to ${signed(found.high)})`
      : "";
  const correlation = Number.isFinite(rho)
    ? `rank correlation ${signed(rho)}${interval}`
    : "no rank correlation";
  const errors = shown.some(({ error }) => Number.isFinite(error));
  const heads = new Set(shown.map(({ layer, head }) => `${layer} ${head}`)).size;
  return scatterFigure({
    id: `validity-${slug(predictor)}-under-${slug(intervention)}`,
    title: small
      ? `${intervention}: ${correlation}${found.predicts ? ", predicts" : ""}`
      : `Loss change under ${intervention} against ${words}` +
        `${text === undefined ? "" : ` on ${texts[text]}`}: ${correlation}, ${heads} heads`,
    caption: small ? "" : captionOf(results, found, { other, none: none.size, left, flag, errors, text }),
    columns: [
      "layer", "head", "text_of_predictor", "predictor_value", "loss_change", "loss_change_stderr",
    ],
    rows: all.map((point) => [
      results.coord("layer")[point.layer]!,
      results.coord("head")[point.head]!,
      texts[point.text]!,
      csvValue(point.value),
      csvValue(point.loss),
      csvValue(point.error),
    ]),
    x,
    y,
    points,
    height: small ? 190 : 320,
    marks: (theme, _, { domain: [low, high] }) =>
      low < 0 && high > 0
        ? [Plot.ruleY([0], { stroke: theme.muted, strokeDasharray: "2 3" })]
        : [],
    key: (theme) => [
      ...(series && !small && texts.length > 1
        ? texts.map((name, k) => ({
            label: `${flag ? "flag" : "metric"} on ${shortened(name)}`,
            colour: theme.series[k]!,
            kind: "dot" as const,
          }))
        : []),
      ...(none.size > 0
        ? [{ label: "none found, ranks last", colour: theme.muted, kind: "ring" as const }]
        : []),
    ],
  });
}

// Of every intervention the best predictor, or the largest correlation where nothing predicts.
export function validityFigures(results: Results): Figure[] {
  return interventionsOf(results).flatMap((_, intervention) => {
    const best = strongest(results, intervention);
    return (best && predictionFigure(results, best)) ?? [];
  });
}

// By text, then head: the predictor on it and the mean change of the loss on the others, or with one
// text its own.
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

// The points of the heads that the correlation is of: those whose values are all defined. The file
// writes a metric that found none, which ranks last, as undefined; if the correlation is of as many
// heads as have losses, then every undefined value is one of these.
function correlated(
  all: readonly Point[],
  { heads }: Prediction,
): { kept: Point[]; left: number } {
  const withLoss = new Map<string, Point[]>();
  const lost = new Set<string>();
  for (const point of all) {
    const name = `${point.layer} ${point.head}`;
    if (!Number.isFinite(point.loss)) lost.add(name);
    withLoss.set(name, [...(withLoss.get(name) ?? []), point]);
  }
  for (const name of lost) withLoss.delete(name);
  const ranksLast = withLoss.size === heads;
  const whole = [...withLoss.values()].filter(
    (points) => ranksLast || points.every(({ value }) => Number.isFinite(value)),
  );
  const kept = new Set(whole.flat());
  return { kept: all.filter((point) => kept.has(point)), left: withLoss.size - whole.length };
}

interface CaptionParts {
  other: string;
  none: number;
  left: number;
  flag: boolean;
  errors: boolean;
  text: number | undefined;
}

function captionOf(
  results: Results,
  { rho, p, byText, predicts }: Prediction,
  { other, none, left, flag, errors, text }: CaptionParts,
): string {
  const texts = results.coord("text").map(String);
  const what = flag ? "flag" : "metric";
  const where = texts.length > 2 ? `its mean loss change on ${other}` : `its loss change on ${other}`;
  const bars = errors ? ", with a bar of ± 2 standard errors" : "";
  const byTexts = texts.map((name, k) => `${signed(byText[k]!)} with the ${what} on ${shortened(name)}`);
  const verdict = `the ${what} ${predicts ? "predicts" : "is not shown to predict"} the loss.`;
  return [
    text === undefined && texts.length > 1
      ? `One point for each head and text: the ${what} on that text, and ${where}${bars}.`
      : `One point for each head: the ${what} on ${texts[text ?? 0] ?? "the text"}, and ${where}${bars}.`,
    !Number.isFinite(rho)
      ? "There is no rank correlation: fewer than 8 heads have all values, or all values of a text are the same."
      : texts.length < 2
        ? `Spearman's rank correlation over the heads is ${signed(rho)}, its adjusted p ${formatNumber(p, 2)}: ${verdict}`
        : `Spearman's rank correlation over the heads is ${byTexts.join(", ")}; ` +
          `the adjusted p of the mean, ${signed(rho)}, is ${formatNumber(p, 2)}: ${verdict}`,
    flag && "Points of a strip are set apart sideways.",
    none > 0 && "A ring stands beyond the largest value: none was found, which ranks last.",
    left > 0 && `${left} ${left === 1 ? "head has" : "heads have"} an undefined value on some text and no point.`,
    texts.length === 1 && "The metric and the loss are of the same text, so nothing is shown of another.",
  ].filter((sentence): sentence is string => typeof sentence === "string").join(" ");
}

function valueAxis(label: string, values: readonly number[]): ScatterAxis {
  return isWide(values) ? { label: withScale(label, true), log: true } : bentAxis(label, values);
}

// A few heads often change the loss by far more than all others.
function bentAxis(label: string, values: readonly number[]): ScatterAxis {
  const sizes = values.map(Math.abs).filter((size) => Number.isFinite(size) && size > 0);
  sizes.sort((a, b) => a - b);
  const usual = quantile(sizes, 0.5);
  const wide = sizes.length > 0 && sizes[sizes.length - 1]! > 30 * usual;
  if (!wide) return { label };
  const symlog = Number(usual.toExponential(0));
  const scale = `logarithmic beyond ±${formatNumber(symlog)}`;
  return { label: label.endsWith(")") ? `${label.slice(0, -1)}, ${scale})` : `${label} (${scale})`, symlog };
}

// Where the rings stand.
function beyondLargest({ log = false, symlog }: ScatterAxis, values: readonly number[]): number {
  if (values.length === 0) return 0;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (log) return high * (high / low) ** 0.08;
  return symlog === undefined ? high + ((high - low) * 0.08 || Math.abs(high) * 0.1 || 1) : 2 * high + symlog;
}

// Beside the others of its value: a strip for each text, and in it the heads at steps of the golden
// ratio, which lie apart however many they are.
function inStrip(results: Results, { layer, head, text, value }: Point, strips: number): number {
  const width = 0.7 / strips;
  const strip = strips === 1 ? 0 : (text - (strips - 1) / 2) * width;
  const step = ((layer * results.coord("head").length + head) * 0.6180339887498949) % 1;
  return value + strip + (step - 0.5) * width * 0.8;
}

const shortened = (name: string): string => (name.length > 32 ? `…${name.slice(-31)}` : name);

const slug = (name: string): string => name.replace(/[^A-Za-z0-9.]+/g, "-").replace(/^-|-$/g, "");
