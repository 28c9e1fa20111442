// Shows which metrics and flags predict the loss under each intervention, and the heads of a pair.
import type { Results } from "../data/results";
import { declaredFigures } from "../figures/declared";
import { pairsOf, type Pair } from "../figures/validity";
import { changed, type Address } from "./address";
import { div, element, note, refill } from "./element";
import { answer } from "./findings";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { keptChoice } from "./selection";
import { tableBox } from "./tables";
import { metricLink } from "./words";

export const validity: View = {
  id: "validity",
  title: "Validity",
  has: (results) => results.has("rank_correlation"),
  open,
};

const TABLES = [
  "changed_heads", "answers_of_changed_heads", "retrieval_heads", "predictors", "flags_as_predictors",
];

// Reads the selection from the address; the rest is that of the best predictor.
export function chosenPair(results: Results, query: Readonly<Record<string, string>>): Pair {
  const usual = pairsOf(results)[0] ?? { predictor: 0, intervention: 0 };
  const chosen = (dim: keyof Pair) => {
    const found = results.coord(dim).indexOf(query[dim] ?? "");
    return found < 0 ? usual[dim] : found;
  };
  return { predictor: chosen("predictor"), intervention: chosen("intervention") };
}

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  await results.need(...results.names());
  const ofText = results.outcome("text") !== undefined;
  // The links keep the rest of the address.
  const tables = tableBox(page, TABLES, () => ({ link: (row) => ofPredictor(page, row[0]![0]) }));
  const plot = div("");
  const node = div(
    "",
    element("h1", {}, `What predicts the loss${ofText ? "" : " of answers"}`),
    answer(results),
    element("p", {}, explained(results), " ", metricLink("rank_correlation")),
    plot,
    tables.node,
  );
  let drawn = "";
  const update = () => {
    tables.update();
    const pair = chosenPair(results, page.address.query);
    const picked = JSON.stringify(pair);
    if (!ofText || picked === drawn) return;
    drawn = picked;
    const [figure] = declaredFigures(results, "validity", pair);
    refill(
      plot,
      div("controls", pairChoice(page, "predictor", "Metric or flag", pair), pairChoice(page, "intervention", "One head gets", pair)),
      figure
        ? div("pictures wide", picture(page, figure, { heading: "h2" }))
        : note("There is nothing to draw: no head has a value and a change of the loss."),
    );
  };
  return { node, update };
}

// Opens the plot of a predictor, or of the first under a change of the heads.
function ofPredictor(page: Page, name: string): Address {
  const of = page.results.coord("predictor").includes(name) ? "predictor" : "intervention";
  return changed(page.address, { [of]: name });
}

const explained = (results: Results): string =>
  "One head at a time is changed. The tables say what that does to the loss, and how well each metric and flag, " +
  "measured on one text, ranks the heads by the loss on the others." +
  (results.coord("text").length < 2 ? " There is one text, so nothing is shown of another." : "");

function pairChoice(page: Page, dim: keyof Pair, label: string, pair: Pair): HTMLElement {
  const names = page.results.coord(dim);
  return keptChoice(page, dim, label, names, names[pair[dim]]);
}
