// Shows which metrics and flags predict the loss under each intervention, and the heads of a pair.
import type { Results } from "../data/results";
import {
  interventionsOf, isFlag, predictorsOf, predictorTitle, strongestPair, type Pair,
} from "../figures/predictions";
import { predictionFigure } from "../figures/validity";
import { changed, formatAddress, type Address } from "./address";
import { choice, element, refill, type Option } from "./element";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { viewTables } from "./tables";
import { metricLink } from "./words";

export const validity: View = {
  id: "validity",
  title: "Validity",
  has: (results) => results.has("rank_correlation"),
  open,
};

// Reads the selection from the address; ignores a name that the file lacks.
export function chosenPair(results: Results, query: Readonly<Record<string, string>>): Pair {
  const usual = strongestPair(results) ?? { predictor: 0, intervention: 0 };
  const at = (names: readonly string[], name: string | undefined, otherwise: number) => {
    const found = name === undefined ? -1 : names.indexOf(name);
    return found < 0 ? otherwise : found;
  };
  return {
    predictor: at(predictorsOf(results), query["predictor"], usual.predictor),
    intervention: at(interventionsOf(results), query["intervention"], usual.intervention),
  };
}

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  await results.need(...results.names());
  const ofText = results.outcome("text") !== undefined;
  const tables = element("div");
  const controls = element("div", { class: "controls" });
  const place = element("div");
  const others = element("div");
  const node = element(
    "div",
    {},
    element("h1", {}, `What predicts the loss${ofText ? "" : " of answers"}`),
    element("p", {}, explained(results), " ", metricLink("rank_correlation")),
    controls,
    place,
    others,
    tables,
  );
  let listed = "";
  let drawn = "";
  const update = () => {
    const asked = formatAddress(page.address);
    if (asked !== listed) {
      listed = asked; // the links keep the rest of the address
      refill(tables, ...viewTables(page, TABLES, { link: (row) => ofPredictor(page, row[0]![0]) }));
    }
    if (!ofText) return;
    const { query } = page.address;
    const pair = chosenPair(results, query);
    const text = chosenText(results, query["text"]);
    const picked = JSON.stringify([pair, text]);
    if (picked === drawn) return;
    drawn = picked;
    refill(controls, ...choices(page, pair, text));
    refill(place, scatter(page, pair, text));
    refill(others, ...underOthers(page, pair, text));
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

const chosenText = (results: Results, name: string | undefined): number | undefined => {
  const found = name === undefined ? -1 : results.coord("text").map(String).indexOf(name);
  return found < 0 ? undefined : found;
};

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
  const go = (name: string) => (value: string) =>
    page.go(changed(page.address, { [name]: value === "" ? undefined : value }));
  const predictors = predictorsOf(results);
  const interventions = interventionsOf(results);
  const texts = results.coord("text").map(String);
  const options: Option[] = predictors.map((value) => ({
    value,
    text: predictorTitle(results, value),
    group: isFlag(value) ? "flags" : "metrics",
  }));
  const plain = (value: string): Option => ({ value, text: value });
  return [
    choice("choose-predictor", "Metric or flag", options, predictors[pair.predictor] ?? "", go("predictor")),
    choice(
      "choose-intervention", "One head gets", interventions.map(plain),
      interventions[pair.intervention] ?? "", go("intervention"),
    ),
    ...(texts.length > 1
      ? [
          choice(
            "choose-text", "Measured on",
            [{ value: "", text: "each text" }, ...texts.map(plain)],
            text === undefined ? "" : texts[text]!, go("text"),
          ),
        ]
      : []),
  ];
}

function scatter(page: Page, pair: Pair, text: number | undefined): HTMLElement {
  const figure = predictionFigure(page.results, pair, { text });
  return figure
    ? element("div", { class: "pictures wide" }, picture(page, figure, { heading: "h2" }))
    : element(
        "p",
        { class: "note" },
        "There is nothing to draw: no head has a value and a change of the loss on every text.",
      );
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
  const name = predictorTitle(results, predictorsOf(results)[pair.predictor] ?? "");
  return [
    element("h2", {}, `${name.slice(0, 1).toUpperCase()}${name.slice(1)} under the other interventions`),
    element("div", { class: "pictures small" }, ...figures.map((figure) => picture(page, figure))),
  ];
}
