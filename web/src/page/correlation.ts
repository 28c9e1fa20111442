// Rank correlations: a metric of paper A against a metric of paper B, head by head.
import { fromFile, type MetricName } from "../catalogue/catalogue";
import { closestPair, CORRELATION_NEEDS, correlationFigure } from "../figures/correlation";
import type { Results } from "../data/results";
import { changed, formatAddress } from "./address";
import { choice, element, fill } from "./element";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { shown } from "./words";

export const correlation: View = {
  id: "correlation",
  title: "Correlation",
  has: (results) => results.has("rank_correlation"),
  open,
};

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  await results.need(...CORRELATION_NEEDS);
  const capacities = results.coord("capacity_metric").map((name) => fromFile(String(name)));
  const convergences = results.coord("convergence_metric").map((name) => fromFile(String(name)));
  const usual = closestPair(results) ?? [capacities[0] ?? fromFile(""), convergences[0] ?? fromFile("")];
  const controls = element("div", { class: "controls" });
  const place = element("div");
  const pick = (id: string, label: string, names: readonly MetricName[], now: string) =>
    choice(
      `choose-${id}`,
      label,
      names.map((value) => ({ value, text: results.title(value) })),
      now,
      (value) => page.go(changed(page.address, { [id]: value })),
    );
  const update = () => {
    const { query } = page.address;
    const capacity = capacities.find((name) => name === query["capacity"]) ?? usual[0];
    const convergence = convergences.find((name) => name === query["convergence"]) ?? usual[1];
    const focused = document.activeElement?.id;
    fill(
      controls,
      pick("capacity", "Of paper A", capacities, capacity),
      pick("convergence", "Of paper B", convergences, convergence),
    );
    const figure = correlationFigure(results, capacity, convergence);
    fill(
      place,
      figure
        ? picture(page, figure, { heading: "h2" })
        : element(
            "p",
            { class: "note" },
            "These two are not both measured for the heads of this file.",
          ),
    );
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };
  const node = element(
    "div",
    {},
    element("h1", {}, "Rank correlations of the two papers' metrics"),
    element(
      "p",
      {},
      "Whether heads that select poorly need more context: the rank correlation over the " +
        "heads of each pair, with its 95 % interval. Choose a pair to see its heads.",
    ),
    correlations(results, capacities, convergences),
    controls,
    place,
  );
  return { node, update };
}

function correlations(
  results: Results,
  rows: readonly MetricName[],
  columns: readonly MetricName[],
): HTMLElement {
  const cell = (i: number, j: number) => {
    const at = { capacity_metric: i, convergence_metric: j };
    const low = shown(results.value("rank_correlation_low", at), 2);
    const high = shown(results.value("rank_correlation_high", at), 2);
    const href = formatAddress({
      view: "correlation",
      item: "",
      query: { capacity: rows[i]!, convergence: columns[j]! },
    });
    return element(
      "td",
      { class: "number" },
      element("a", { href }, shown(results.value("rank_correlation", at), 2)),
      element("span", { class: "note" }, low === "–" ? "" : ` ${low} to ${high}`),
    );
  };
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rank correlations" },
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, "Rank correlations of the metrics of the two papers"),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col" }, "Rank correlation"),
          ...columns.map((name) =>
            element("th", { scope: "col", class: "number" }, results.title(name)),
          ),
        ),
      ),
      element(
        "tbody",
        {},
        ...rows.map((name, i) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, results.title(name)),
            ...columns.map((_, j) => cell(i, j)),
          ),
        ),
      ),
    ),
  );
}
