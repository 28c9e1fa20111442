// Shows which metrics and flags predict the loss under each intervention, and the heads of a pair.
import type { Results } from "../data/results";
import {
  interventionsOf, isFlag, predictorsOf, predictorTitle, strongestPair, type Pair,
} from "../figures/predictions";
import { capital } from "../figures/format";
import { predictionFigure } from "../figures/validity";
import { changed, type Address } from "./address";
import { choice, div, element, note, refill, type Option } from "./element";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { tableBox } from "./tables";
import { metricLink } from "./words";

export const validity: View = {
  id: "validity",
  title: "Validity",
  has: (results) => results.has("rank_correlation"),
  open,
};

// Returns the place of a name; undefined for one that the file lacks.
const placeOf = (names: readonly string[], name: string | undefined): number | undefined => {
  const found = names.indexOf(name ?? "");
  return found < 0 ? undefined : found;
};

// Reads the selection from the address.
export function chosenPair(results: Results, query: Readonly<Record<string, string>>): Pair {
  const usual = strongestPair(results) ?? { predictor: 0, intervention: 0 };
  return {
    predictor: placeOf(predictorsOf(results), query["predictor"]) ?? usual.predictor,
    intervention: placeOf(interventionsOf(results), query["intervention"]) ?? usual.intervention,
  };
}

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  await results.need(...results.names());
  const ofText = results.outcome("text") !== undefined;
  // The links keep the rest of the address.
  const tables = tableBox(page, TABLES, () => ({ link: (row) => ofPredictor(page, row[0]![0]) }));
  const plots = div("");
  const node = div(
    "",
    element("h1", {}, `What predicts the loss${ofText ? "" : " of answers"}`),
    element("p", {}, explained(results), " ", metricLink("rank_correlation")),
    plots,
    tables.node,
  );
  let drawn = "";
  const update = () => {
    tables.update();
    if (!ofText) return;
    const { query } = page.address;
    const pair = chosenPair(results, query);
    const text = placeOf(results.coord("text").map(String), query["text"]);
    const picked = JSON.stringify([pair, text]);
    if (picked === drawn) return;
    drawn = picked;
    refill(plots, div("controls", ...choices(page, pair, text)), scatter(page, pair, text), ...underOthers(page, pair, text));
  };
  return { node, update };
}

const TABLES = [
  "changed_heads", "answers_of_changed_heads", "retrieval_heads", "predictors", "flags_as_predictors",
];

// Opens the plot of a predictor, or of the first under a change of the heads.
function ofPredictor(page: Page, name: string): Address {
  const of = page.results.coord("predictor").includes(name) ? "predictor" : "intervention";
  return changed(page.address, { [of]: name });
}

function explained(results: Results): string {
  const texts = results.coord("text").length;
  return (
    "One head at a time is changed. The tables say what that does to the loss, and how well each " +
    "metric and flag ranks the heads by it" +
    (texts < 2
      ? ". There is one text, so metrics and losses are of the same text, and nothing is shown of another."
      : `: the metric is measured on one of ${texts} texts, the loss on the other${texts > 2 ? "s" : ""}.`)
  );
}

function choices(page: Page, pair: Pair, text: number | undefined): HTMLElement[] {
  const { results } = page;
  const asked = (name: string, label: string, options: readonly Option[], chosen: string | undefined) =>
    choice(`choose-${name}`, label, options, chosen ?? "", (value) =>
      page.go(changed(page.address, { [name]: value === "" ? undefined : value })));
  const predictors = predictorsOf(results);
  const interventions = interventionsOf(results);
  const texts = results.coord("text").map(String);
  const plain = (value: string): Option => ({ value, text: value });
  const named = (value: string): Option => ({
    value, text: predictorTitle(results, value), group: isFlag(value) ? "flags" : "metrics",
  });
  const onText = [{ value: "", text: "each text" }, ...texts.map(plain)];
  return [
    asked("predictor", "Metric or flag", predictors.map(named), predictors[pair.predictor]),
    asked("intervention", "One head gets", interventions.map(plain), interventions[pair.intervention]),
    ...(texts.length > 1 ? [asked("text", "Measured on", onText, texts[text ?? -1])] : []),
  ];
}

function scatter(page: Page, pair: Pair, text: number | undefined): HTMLElement {
  const figure = predictionFigure(page.results, pair, { text });
  return figure
    ? div("pictures wide", picture(page, figure, { heading: "h2" }))
    : note("There is nothing to draw: no head has a value and a change of the loss on every text.");
}

// Draws the same predictor under the other interventions, as small figures.
function underOthers(page: Page, pair: Pair, text: number | undefined): HTMLElement[] {
  const { results } = page;
  const figures = interventionsOf(results).flatMap((_, intervention) =>
    intervention === pair.intervention
      ? []
      : (predictionFigure(results, { ...pair, intervention }, { text, small: true }) ?? []),
  );
  if (figures.length === 0) return [];
  const name = capital(predictorTitle(results, predictorsOf(results)[pair.predictor] ?? ""));
  return [
    element("h2", {}, `${name} under the other interventions`),
    div("pictures small", ...figures.map((figure) => picture(page, figure))),
  ];
}
