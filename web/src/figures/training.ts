// Draws heads over steps: of a monitor's records while a model trains, or of a series of checkpoints.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { curvesFigure, metricCurve, type MetricStyle } from "./curves";
import type { Figure } from "./figure";
import { capital, headLabel, metricLabel } from "./format";
import { overHeads } from "./heads";
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

// The band of each layer, and its name.
function bandsOf(layers: readonly (number | string)[]): { band: number; label: string }[] {
  const bandOf = (layer: number) => (layers.length <= COLOURS ? layer : Math.floor((layer * COLOURS) / layers.length));
  return layers.map((_, layer) => {
    const own = layers.filter((__, other) => bandOf(other) === bandOf(layer));
    const label = own.length === 1 ? `layer ${own[0]}` : `layers ${own[0]} to ${own.at(-1)}`;
    return { band: bandOf(layer), label };
  });
}

function figureOf(
  results: Results, name: MetricName, chosen?: { layer: number; head: number },
): Figure | undefined {
  const bands = bandsOf(results.coord("layer"));
  const curves = overHeads(results, name).flatMap(({ layer, head }) => {
    const isChosen = chosen?.layer === layer && chosen.head === head;
    const label = isChosen ? headLabel(results, layer, head) : chosen ? "other heads" : bands[layer]!.label;
    const look: Omit<MetricStyle, "name" | "label"> = isChosen
      ? { colour: 0, style: "line" }
      : { colour: chosen ? "muted" : bands[layer]!.band, style: "thin", faint: true, dots: false };
    return metricCurve(results, STEP, { layer, head }, { name, label, ...look }).map(
      (curve) => {
        const column = `${name}_layer_${results.coord("layer")[layer]}_head_${results.coord("head")[head]}`;
        return { ...curve, name: column, front: isChosen };
      },
    );
  });
  curves.sort((a, b) => Number(a.front) - Number(b.front));
  const log = isLogarithmic(results, name, curves.flatMap(({ values }) => values));
  const { varies, caption } = wordsOf(results);
  return curvesFigure({
    id: `training-${name.replace(/_/g, "-")}`,
    title: `${capital(results.title(name))} ${varies}${chosen ? `: ${headLabel(results, chosen.layer, chosen.head)}` : ""}`,
    caption: chosen ? `${caption} Thin lines are the other heads.` : caption,
    x: { column: STEP, label: STEP, values: results.numbers(STEP) },
    y: { label: withScale(metricLabel(results, name), log), log },
    curves,
  });
}
