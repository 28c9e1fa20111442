// Controls to choose a metric and its shown cell.
import { CATALOGUE, type MetricName } from "../catalogue/catalogue";
import { chosenIndex, comparedDim, dimWords, isByPosition, labelText, otherDims } from "./cells";
import { changed } from "./address";
import { choice, element, type Option } from "./element";
import type { Page } from "./page";
import type { Label, Results } from "../data/results";

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

// Returns the metric with this title, or the first with all of these words in its name, title or group.
export const metricLike = (all: readonly Option[], text: string): Option | undefined => {
  const asked = text.trim().toLowerCase();
  const fits = ({ value, text: title, group }: Option) =>
    asked.split(/\s+/).every((word) => `${value} ${title} ${group}`.toLowerCase().includes(word));
  return asked === "" ? undefined : (all.find(({ text: title }) => title.toLowerCase() === asked) ?? all.find(fits));
};

// A field whose list the browser filters; it is empty, so that the list begins with all metrics.
export function metricChoice(page: Page, names: readonly MetricName[], chosen: MetricName): HTMLElement {
  const all = metricOptions(page.results, names);
  const find = element("input", {
    id: "choose-metric", type: "search", list: "metrics", placeholder: page.results.title(chosen),
    onchange: () => {
      const found = metricLike(all, find.value);
      if (found) page.go(changed(page.address, { metric: found.value }));
      else find.setAttribute("aria-invalid", "true");
    },
  });
  return element(
    "label", { class: "choice", for: find.id }, element("span", {}, `Metric: type to find one of ${all.length}`), find,
    element("datalist", { id: "metrics" }, ...all.map(({ text, group = "" }) => element("option", { value: text }, group))),
  );
}

// A choice among words that the address keeps under this name.
export const keptChoice = (page: Page, name: string, label: string, values: readonly Label[], chosen: Label | undefined): HTMLElement =>
  choice(
    `choose-${name}`, label, values.map((value) => ({ value: String(value), text: labelText(value) })), String(chosen),
    (value) => page.go(changed(page.address, { [name]: value })),
  );

// Heads are shown under one normalizer or pattern, or of one run, at a time.
export function comparedChoice(page: Page): HTMLElement | null {
  const dim = comparedDim(page.results);
  return dim === undefined ? null : element("div", { class: "controls" }, dimChoice(page, dim));
}

function dimChoice(page: Page, dim: string, metric?: MetricName): HTMLElement {
  const { results, address } = page;
  const labels = results.coord(dim);
  return keptChoice(page, dim, dimWords(dim), labels, labels[chosenIndex(results, dim, address.query, metric)]);
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
