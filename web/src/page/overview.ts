// The first view: the settings, the findings, and a map of any metric.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { declaredFigures } from "../figures/declared";
import { drawnDim, genericFigure } from "../figures/generic";
import { mapFigure } from "../figures/map";
import { rolesFigure } from "../figures/roles";
import { formatAddress } from "./address";
import { chosenCell, comparedDim, isPerHead } from "./cells";
import { div, element, list, note, refill, section, type Child } from "./element";
import { answer, findings } from "./findings";
import { flagsOfModel } from "./flags";
import { tokenLosses } from "./token_losses";
import type { Opened, Page, View } from "./page";
import { failure, message, picture } from "./picture";
import { dimChoices, metricChoice } from "./selection";
import { tableBox } from "./tables";
import { count, grouped, nameOf } from "./words";

// The default metric is the first of these that the file has; in comparisons it is a change.
const FIRST_CHANGES: readonly MetricName[] = ["loss_change", "output_change", "entropy_normalized_change"];
const FIRST_METRICS: readonly MetricName[] = [
  "entropy_normalized",
  "entropy",
  "horizon",
  "output_change",
  "loss",
  "error_mean",
];

const TABLES = ["changes", "changes_of_heads", "changes_of_layers", "answers", "answers_changed"];

export const overview: View = {
  id: "overview",
  title: "Overview",
  has: () => true,
  open,
};

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  const losses = await results.gather(() => declaredFigures(results, "overview"));
  const roles = rolesFigure(results);
  const tokens = div("");
  const map = element("section", { class: "explore", "aria-labelledby": "explore" });
  const leading = [...new Set(results.tables.filter(({ lead }) => lead).map(({ name }) => name))];
  const answers = tableBox(page, leading);
  const tables = tableBox(page, TABLES.filter((name) => !leading.includes(name)));
  let now: string | undefined;
  let listed: string | undefined;
  const values = (...content: Child[]) => redraw(map, element("h2", { id: "explore" }, "Values"), ...content);
  const update = async () => {
    answers.update();
    tables.update();
    const { tokens: byToken = "", under = "" } = page.address.query;
    if (listed !== byToken + under) redraw(tokens, await tokenLosses(page));
    listed = byToken + under;
    const metric = chosenMetric(page);
    if (metric === undefined) return values(note("This file holds no metrics."));
    const asked = formatAddress(page.address);
    const leads = now === undefined && page.address.query["metric"] !== undefined; // a link to this metric
    now = asked;
    try {
      const made = await results.gather(() => explorer(page, metric));
      if (now === asked) redraw(map, ...made);
      if (leads) map.scrollIntoView();
    } catch (error) {
      const said = failure(`${results.title(metric)} cannot be shown: ${message(error)}`);
      values(metricChoice(page, results.names(), metric), said);
    }
  };
  const node = div(
    "overview",
    about(results),
    answer(results, answers.node),
    div(
      "found", tables.node, ...losses.map((figure) => picture(page, figure, { heading: "h2" })), findings(results), tokens,
      notices(results), results.coord("head").length > 0 && flagsOfModel(results),
    ),
    div("", roles && picture(page, roles, { heading: "h2" }), map),
  );
  return { node, update };
}

function chosenMetric({ results, address }: Page): MetricName | undefined {
  const asked = results.names().find((name) => name === address.query["metric"]);
  if (asked !== undefined) return asked;
  const first = comparedDim(results) === undefined ? undefined : FIRST_CHANGES.find((name) => isPerHead(results, name));
  return first ?? FIRST_METRICS.find((name) => results.has(name)) ?? results.names()[0];
}

// Replaces the content without a jump while a figure is drawn.
function redraw(box: HTMLElement, ...children: Child[]): void {
  box.style.minHeight = `${box.offsetHeight}px`;
  refill(box, ...children);
  requestAnimationFrame(() => (box.style.minHeight = ""));
}

function explorer(page: Page, metric: MetricName): Child[] {
  const { results, address } = page;
  const cell = chosenCell(results, metric, address.query);
  const entry = results.entry(metric);
  const perHead = isPerHead(results, metric);
  const line = results.info(metric)?.dims.includes("layer") ? undefined : drawnDim(results, metric);
  const figure = perHead ? mapFigure(results, metric, cell) : genericFigure(results, metric, cell);
  return [
    element("h2", { id: "explore" }, perHead ? "Layer × head map" : "Values"),
    div(
      "controls",
      metricChoice(page, results.names(), metric),
      dimChoices(page, metric, line === undefined ? [] : [line]),
    ),
    entry &&
      element("p", { class: "note definition" }, `${entry.meaning} `, element("code", {}, entry.formula), ` Source: ${entry.source}.`),
    figure ? picture(page, figure) : note("It has no defined value."),
  ];
}

export function about(results: Results): HTMLElement {
  const { model, text } = results.header;
  const parameters = model["parameters"];
  const texts = (text.names ?? []).map((name, k) => {
    const tokens = text.tokens?.[k];
    return tokens === undefined ? nameOf(name) : `${nameOf(name)} (${count(tokens, "token")})`;
  });
  const facts = [
    String(model.family),
    results.coord("layer").length > 0 && `${count(model.layers, "layer")} × ${count(model.heads, "head")}`,
    windowsOf(results),
    typeof parameters === "number" && `${grouped(parameters)} parameters`,
    texts.length > 0 && `${texts.length === 1 ? "text" : "texts"} ${few(texts).join(", ")}`,
  ];
  return element(
    "section",
    { class: "about", "aria-label": "What was measured" },
    element("h1", {}, nameOf(model.name)),
    element("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
  );
}

// Example: "windows of 512 keys in all layers but 5, 11, 17"; undefined if all heads see all keys.
export function windowsOf(results: Results): string | undefined {
  const windows = results.coord("window").map(Number);
  const within = windows.filter((window) => window > 0);
  if (within.length === 0) return undefined;
  const others = results.coord("layer").filter((_, layer) => windows[layer] === 0);
  const where =
    others.length > 12 ? `${within.length} of ${windows.length} layers`
    : others.length > 0 ? `all layers but ${others.join(", ")}`
    : "all layers";
  return `windows of ${Math.max(...within)} keys in ${where}`;
}

export function notices(results: Results): HTMLElement | null {
  const said = results.header.notices ?? [];
  return said.length === 0 ? null : section("notices", "To know when reading the numbers", list("", said));
}

const few = (texts: readonly string[]): string[] =>
  texts.length > 4 ? [...texts.slice(0, 3), `and ${texts.length - 3} more`] : [...texts];
