// Draws heads over steps: of a monitor's records while a model trains, or of a series of checkpoints.
import type { MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { colourOf, curvesFigure, metricCurve, type MetricStyle } from "./curves";
import type { Figure } from "./figure";
import { capital, headLabel, metricLabel } from "./format";
import { isLogarithmic, withScale } from "./scatter";

const STEP = "step";
// How figures speak of the steps of a monitor's records, and of a series of checkpoints.
const WORDS = {
  monitor: {
    varies: "while the model trains",
    caption:
      "A line is a head, a point of it a record: one text of the batch at that step, so that what goes " +
      "up and down from record to record may be the texts'.",
  },
  series: {
    varies: "over the steps",
    caption:
      "A line is a head, a point of it the result of one checkpoint. Bands are two standard errors.",
  },
};
const wordsOf = (results: Results) => WORDS[results.command === "series" ? "series" : "monitor"];

// Returns the heading of all figures.
export const trainingHeading = (results: Results): string => `Every head ${wordsOf(results).varies}`;

// Returns the metrics of heads that were recorded at several steps.
export const trainingNeeds = (results: Results): MetricName[] =>
  results.coord(STEP).length < 2
    ? []
    : results.names().filter((name) => {
        const dims = results.info(name)?.dims ?? [];
        return ["layer", "head", STEP].every((dim) => dims.includes(dim));
      });

// Draws every head of the model, one figure for each metric.
export const trainingFigures = (results: Results): Figure[] =>
  trainingNeeds(results).flatMap((name) => figureOf(results, name) ?? []);

// Draws one head in front of the others.
export const trainingOfHead = (results: Results, chosen: { layer: number; head: number }): Figure[] =>
  trainingNeeds(results).flatMap((name) => figureOf(results, name, chosen) ?? []);

// Six colours are available; with more layers neighbouring layers share one.
const COLOURS = 6;
const bandOf = (layer: number, layers: number): number =>
  layers <= COLOURS ? layer : Math.floor((layer * COLOURS) / layers);

function bands(layers: readonly (number | string)[]): string[] {
  const count = Math.min(layers.length, COLOURS);
  return Array.from({ length: count }, (_, band) => {
    const own = layers.filter((__, layer) => bandOf(layer, layers.length) === band);
    return own.length === 1 ? `layer ${own[0]}` : `layers ${own[0]} to ${own[own.length - 1]}`;
  });
}

function figureOf(
  results: Results,
  name: MetricName,
  chosen?: { layer: number; head: number },
): Figure | undefined {
  const layers = results.coord("layer");
  const curveOf = (cell: Cell, style: Omit<MetricStyle, "name">) =>
    metricCurve(results, STEP, cell, { name, ...style }).map((curve) => ({
      ...curve,
      name: `${name}_layer_${layers[cell["layer"]!]}_head_${results.coord("head")[cell["head"]!]}`,
    }));
  const others = layers.flatMap((_, layer) =>
    results.coord("head").flatMap((__, head) =>
      chosen?.layer === layer && chosen.head === head
        ? []
        : curveOf({ layer, head }, {
            label: "", colour: chosen ? "muted" : bandOf(layer, layers.length), style: "thin", faint: true, dots: false,
          }),
    ),
  );
  const own = chosen
    ? curveOf(chosen, { label: headLabel(results, chosen.layer, chosen.head), colour: 0, style: "line" })
    : [];
  const curves = [...others, ...own];
  const log = isLogarithmic(results, name, curves.flatMap(({ values }) => values));
  const { varies, caption } = wordsOf(results);
  const who = chosen ? `: ${headLabel(results, chosen.layer, chosen.head)}` : "";
  return curvesFigure({
    id: `training-${name.replace(/_/g, "-")}`,
    title: `${capital(results.title(name))} ${varies}${who}`,
    caption: chosen ? `${caption} Thin lines are the other heads.` : caption,
    x: { column: STEP, label: STEP, values: results.numbers(STEP) },
    y: { label: withScale(metricLabel(results, name), log), log },
    curves,
    key: (theme) =>
      chosen
        ? [{ label: "other heads", colour: colourOf(theme, "muted"), kind: "thin" as const }]
        : bands(layers).map((label, band) => ({
            label, colour: colourOf(theme, band), kind: "thin" as const,
          })),
  });
}
