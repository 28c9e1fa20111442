// Controls to choose a metric and its shown cell.
import { CATALOGUE, type MetricName } from "../catalogue/catalogue";
import { chosenIndex, comparedDim, dimWords, isByPosition, labelText, otherDims } from "./cells";
import { changed } from "./address";
import { choice, element, type Option } from "./element";
import type { Page } from "./page";
import type { Results } from "../data/results";

// Returns the metrics in the groups of the catalogue; those that it does not have come last.
export function metricOptions(results: Results, names: readonly MetricName[]): (Option & { value: MetricName })[] {
  const place = new Map([...CATALOGUE.keys()].map((name, k) => [name, k]));
  const groups = new Map<string, MetricName[]>();
  const kindOf = (name: MetricName) =>
    results.changed(name) ? ": changes" : isByPosition(results, name) ? " by position" : "";
  const groupOf = (name: MetricName) => {
    const entry = results.entry(name);
    return entry ? `${entry.group}${kindOf(name)}` : "other";
  };
  const rank = (name: MetricName) => place.get(results.entry(name)?.name ?? "") ?? place.size;
  // sort() is stable: metrics that are not in the catalogue keep the file's order.
  for (const name of [...names].sort((a, b) => rank(a) - rank(b))) {
    const group = groupOf(name);
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  const plainFirst = (name: string) =>
    name === "other" ? 3 : name.includes(":") ? 2 : name.includes(" by ") ? 1 : 0;
  return [...groups]
    .sort(([a], [b]) => plainFirst(a) - plainFirst(b))
    .flatMap(([group, members]) =>
      members.map((value) => ({ value, text: results.title(value), group })),
    );
}

export function metricChoice(
  page: Page,
  names: readonly MetricName[],
  chosen: string,
): HTMLElement {
  return choice("choose-metric", "Metric", metricOptions(page.results, names), chosen, (metric) =>
    page.go(changed(page.address, { metric })),
  );
}

// Heads are shown under one normalizer or pattern, or of one run, at a time.
export function comparedChoice(page: Page): HTMLElement | null {
  const dim = comparedDim(page.results);
  return dim === undefined ? null : element("div", { class: "controls" }, dimChoice(page, dim));
}

function dimChoice(page: Page, dim: string, metric?: MetricName): HTMLElement {
  const { results, address } = page;
  const labels = results.coord(dim);
  return choice(
    `choose-${dim}`,
    dimWords(dim),
    labels.map((label) => ({ value: String(label), text: labelText(label) })),
    String(labels[chosenIndex(results, dim, address.query, metric)]),
    (value) => page.go(changed(page.address, { [dim]: value })),
  );
}

// Returns a select for each dim of the metric that has several labels and is not excluded.
export function dimChoices(
  page: Page,
  metric: MetricName,
  without: readonly string[] = [],
): HTMLElement {
  const made = otherDims(page.results, metric)
    .filter((dim) => page.results.coord(dim).length > 1 && !without.includes(dim))
    .map((dim) => dimChoice(page, dim, metric));
  return element("div", { class: "choices" }, ...made);
}
