// Every quantity of the file: its formula, its meaning, and its source.
import formulas from "virtual:formulas";
import { CATALOGUE, fromFile, type MetricName } from "../catalogue/catalogue";
import type { MetricInfo, Results } from "../data/results";
import { formatAddress } from "./address";
import { dimWords } from "./cells";
import { capital } from "../figures/format";
import { element } from "./element";
import type { Opened, Page, View } from "./page";

export const methods: View = {
  id: "methods",
  title: "Methods",
  has: () => true,
  open: ({ results, address }: Page): Opened => {
    const groups = quantities(results);
    const node = element(
      "div",
      { class: "methods" },
      element("h1", {}, "Methods"),
      element(
        "p",
        {},
        "Every quantity of these results: how it is defined, and by whom. Means are over rows " +
          "(queries); a standard error is that of the mean.",
      ),
      ...[...groups].map(([group, names]) => groupSection(results, group, names)),
    );
    return {
      node,
      update: () => {
        // Makes a formula wider than the page scrollable, also by the keyboard.
        for (const box of node.querySelectorAll<HTMLElement>(".formula")) {
          if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
        }
        if (address.item === "") return;
        requestAnimationFrame(() =>
          document.getElementById(quantityId(quantityOf(results, fromFile(address.item))))?.scrollIntoView(),
        );
      },
    };
  },
};

const quantityId = (name: string) => `quantity-${name}`;

// Returns the name of the quantity behind a metric that is a change, a value by position, or part
// of an experiment.
const quantityOf = (results: Results, name: MetricName) => results.entry(name)?.name ?? name;

// Returns the quantities by group in the order of the catalogue; those that it does not have come
// last.
export function quantities(results: Results): Map<string, MetricName[]> {
  const present = new Set(results.names().map((name) => quantityOf(results, name)));
  const groups = new Map<string, MetricName[]>();
  const add = (group: string, name: MetricName) =>
    groups.set(group, [...(groups.get(group) ?? []), name]);
  for (const { group, name } of CATALOGUE.values()) if (present.delete(name)) add(group, name);
  for (const name of present) add("other quantities of this file", name);
  return groups;
}

function groupSection(results: Results, group: string, names: readonly MetricName[]): HTMLElement {
  const id = `group-${group.replaceAll(" ", "-")}`;
  return element(
    "section",
    { "aria-labelledby": id },
    element("h2", { id }, capital(group)),
    ...names.map((name) => quantity(results, name)),
  );
}

function quantity(results: Results, name: MetricName): HTMLElement {
  const entry = CATALOGUE.get(name);
  const also = results
    .names()
    .filter((other) => other !== name && quantityOf(results, other) === name);
  const info = [name, ...also].map((each) => results.info(each)).find(Boolean);
  return element(
    "article",
    { class: "quantity", id: quantityId(name) },
    element(
      "h3",
      {},
      element(
        "a",
        { href: formatAddress({ view: "overview", item: "", query: { metric: name } }) },
        results.title(name),
      ),
    ),
    entry
      ? element("p", {}, entry.meaning)
      : element("p", { class: "note" }, "This version of the page does not know this quantity."),
    entry ? element("div", { class: "formula" }, mathOf(formulas[name]!)) : null,
    element("p", { class: "note" }, facts(name, info, entry?.source, also)),
  );
}

// The build writes this text, not a results file, so it is the only HTML inserted as such.
function mathOf(mathml: string): Node {
  return document.adoptNode(
    new DOMParser().parseFromString(mathml, "text/html").body.firstElementChild!,
  );
}

function facts(
  name: MetricName,
  info: MetricInfo | undefined,
  source: string | undefined,
  also: readonly string[],
): string {
  const parts = [`${name} in the results file`];
  if (source) parts.push(`source: ${source}`);
  if (info) {
    parts.push(`unit: ${info.unit === "1" ? "none" : info.unit}`);
    parts.push(
      info.dims.length === 0 ? "a single number" : `by ${info.dims.map(dimWords).join(", ")}`,
    );
  }
  if (also.length > 0) parts.push(`also as ${also.join(", ")}`);
  return `${parts.join("; ")}.`;
}
