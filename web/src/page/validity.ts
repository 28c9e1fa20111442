// Shows which metrics and flags predict the loss under each intervention, and the heads of a pair.
import type { Results } from "../data/results";
import {
  interventionRows, interventionsOf, isFlag, levelOf, predictorRows, predictorsOf, predictorTitle,
  signed, strongest, strongestPair, type InterventionRow, type Pair, type Prediction,
  type PredictorRow,
} from "../figures/predictions";
import { predictionFigure } from "../figures/validity";
import { changed, formatAddress } from "./address";
import { answerValidity, hasAnswerValidity } from "./answer_validity";
import { choice, element, refill, type Option } from "./element";
import { filterBox, filtered, parseFilter } from "./filter";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { intervalAndP, starred } from "./rank_correlation";
import { numberColumn, orderIn, table, textColumn, type Column } from "./table";
import { count, metricLink, shown } from "./words";

export const validity: View = {
  id: "validity",
  title: "Validity",
  has: (results) => results.has("prediction_rank_correlation") || hasAnswerValidity(results),
  open,
};

export const hasWord = ({ name, title }: PredictorRow, word: string): boolean =>
  `${name} ${title}`.toLowerCase().includes(word);

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
  const answered = hasAnswerValidity(results);
  await results.need(...results.names());
  if (!results.has("prediction_rank_correlation")) return ofAnswersAlone(results);
  const rows = predictorRows(results);
  const all = [...rows.metrics, ...rows.flags];
  const columns = predictionColumns(results);
  const filter = filterBox(page, {
    label: "Filter",
    placeholder: "entropy",
    help:
      "Words of a metric or a flag, and conditions on the correlations under an intervention " +
      `(${interventionsOf(results)[0] ?? ""} > 0.3; also <, <=, >=, =).`,
  });
  const box = element("div", { class: "predictions" });
  const controls = element("div", { class: "controls" });
  const place = element("div");
  const others = element("div");
  const interventions = interventionTable(page);
  const node = element(
    "div",
    {},
    element("h1", {}, "What predicts the loss"),
    element("p", {}, explained(results), " ", metricLink("prediction_rank_correlation")),
    element("div", { class: "interventions" }, interventions),
    answered && answerValidity(results),
    element("h2", { class: "after-table" }, "Rank correlations with the change of the loss"),
    filter.node,
    box,
    element("p", { class: "note" }, legend(results)),
    controls,
    place,
    others,
  );
  let listed = "";
  let drawn = "";
  const update = () => {
    const { query } = page.address;
    const list = JSON.stringify([filter.text(), query["sort"]]);
    if (list !== listed) {
      const { rows: found, problem } = filtered(all, parseFilter(filter.text(), columns), columns, hasWord);
      const [metrics, flags] = [rows.metrics, rows.flags].map((some) => some.filter((row) => found.includes(row)));
      refill(
        box,
        table({
          caption: "Rank correlations with the change of the loss", columns, rows: metrics!,
          below: { title: "Flags", rows: flags! }, ...orderIn(page),
        }),
      );
      filter.say(`${found.length} of ${count(all.length, "metric or flag", "metrics and flags")}`, problem);
      listed = list;
    }
    const pair = chosenPair(results, query);
    mark(node, page, pair);
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

// A run without a text has the losses of answers alone.
const ofAnswersAlone = (results: Results): Opened => ({
  node: element("div", {}, element("h1", {}, "What predicts the loss of answers"), answerValidity(results)),
});

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

function legend(results: Results): string {
  const pairs = results.coord("predictor").length * results.coord("intervention").length;
  const texts = results.coord("text").length;
  return (
    `* predicts: among the discoveries at a false discovery rate of ` +
    `${shown(100 * levelOf(results), 3)} % over all ${pairs} correlations` +
    `${texts < 2 ? "" : `, with one sign on each of the ${texts} texts`}. Each correlation has its ` +
    "95 % interval and adjusted p below it, and opens the plot of its heads. Worse and better: " +
    "the loss is shown to rise or to fall (t test, the same rate over the heads and texts of a row)."
  );
}

function interventionTable(page: Page): HTMLElement {
  const { results } = page;
  return table<InterventionRow>({
    caption: "Interventions",
    columns: [
      textColumn("label", "One head gets", ({ label }) => label),
      numberColumn("median", "Median change", ({ median }) => median, ({ median }) => signed(median, 4), "nats"),
      numberColumn("largest", "Largest", ({ largest }) => largest, ({ largest }) => signed(largest, 4), "nats"),
      numberColumn(
        "worse", "Worse / better", ({ worse }) => worse,
        ({ worse, better }) => (Number.isNaN(worse) ? "–" : `${worse} / ${better}`), "shown to be, heads × texts",
      ),
      numberColumn(
        "replication", "Replicates", ({ replication: of }) => of, ({ replication: of }) => signed(of),
        "rank correlation of two texts",
      ),
      numberColumn(
        "losing", "Losing", ({ losing }) => losing, ({ losing }) => shown(100 * losing, 3), "% of the queries lose keys",
      ),
      {
        id: "best",
        title: "Predicted best by",
        key: () => "",
        show: ({ intervention }) => {
          const best = strongest(results, intervention);
          if (!best?.predicts) return "nothing shown";
          const name = predictorsOf(results)[best.predictor]!;
          return element("span", {}, `${predictorTitle(results, name)} `, pairLink(best, "best"));
        },
      },
    ],
    rows: interventionRows(results),
  });
}

function predictionColumns(results: Results): Column<PredictorRow>[] {
  return [
    textColumn("predictor", "Metric or flag", ({ title }) => title.toLowerCase(), ({ name, title }) =>
      element("span", {}, title, name.replaceAll("_", " ") !== title && element("span", { class: "note" }, name)),
    ),
    ...interventionsOf(results).map((label, k): Column<PredictorRow> => ({
      ...numberColumn(`under-${k}`, label, ({ under }) => Math.abs(under[k]!.rho), ({ under }) => correlationCell(under[k]!)),
      value: ({ under }) => under[k]!.rho,
    })),
  ];
}

function correlationCell(found: Prediction): Node | string {
  return Number.isNaN(found.rho) ? "–" : element("span", {}, pairLink(found, "pair"), intervalAndP(found));
}

// Makes the link to a pair; mark() sets its address.
function pairLink(found: Prediction, kind: string): HTMLElement {
  const { predictor, intervention, predicts } = found;
  return element(
    "a",
    {
      class: predicts ? "pair predicts" : "pair",
      id: `${kind}-${predictor}-${intervention}`,
      "data-predictor": predictor,
      "data-intervention": intervention,
    },
    ...starred(found),
  );
}

// Keeps the other choices in the links, and marks the link of the shown pair.
function mark(node: HTMLElement, page: Page, pair: Pair): void {
  const predictors = predictorsOf(page.results);
  const interventions = interventionsOf(page.results);
  for (const link of node.querySelectorAll<HTMLAnchorElement>("a.pair")) {
    const predictor = Number(link.dataset["predictor"]);
    const intervention = Number(link.dataset["intervention"]);
    link.href = formatAddress(
      changed(page.address, {
        predictor: predictors[predictor],
        intervention: interventions[intervention],
      }),
    );
    if (predictor === pair.predictor && intervention === pair.intervention)
      link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
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
