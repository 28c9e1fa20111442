// Formats numbers and heads as words for the page.
import type { MetricName } from "../catalogue/catalogue";
import type { Flag, Results } from "../data/results";
import { formatNumber } from "../figures/format";
import { formatAddress, headAddress, headName, type Head } from "./address";
import { button, element, type Child } from "./element";

export function shown(value: number | null | undefined, digits = 4): string {
  return value === null || value === undefined || Number.isNaN(value)
    ? "–"
    : formatNumber(value, digits);
}

// Formats a difference.
export const signed = (value: number): string => (value > 0 ? `+${shown(value)}` : shown(value));

// Formats the value of a metric; the value that means "none was found" is shown in words.
export function shownOf(results: Results, metric: MetricName, value: number): string {
  return results.isNone(metric, value) ? "none" : shown(value);
}

// Example: "2.411 nats"; numbers with the unit 1 have no unit.
export function withUnit(value: number, unit: string): string {
  const text = shown(value);
  return unit === "1" || unit === "" || text === "–" ? text : `${text} ${unit}`;
}

// Returns the name of a model or text without the folders of its file; org/name stays.
export const nameOf = (path: string): string =>
  path.split(/[\\/]/).filter((part) => part !== "").slice(/\.\w{2,11}$/.test(path) ? -1 : -2).join("/") || path;

export function headLink(head: Head | string, text?: string): HTMLElement {
  const name = typeof head === "string" ? head : headName(head);
  return element("a", { class: "head-link", href: formatAddress(headAddress(name)) }, text ?? name);
}

// Leads to the metric on the overview, where its definition stands.
export function metricLink(metric: MetricName, text = "Definition", look = ""): HTMLElement {
  const href = formatAddress({ view: "overview", item: "", query: { metric } });
  return element("a", { class: look !== "" && look, href }, text);
}

export const titleLink = (results: Results, metric: MetricName): HTMLElement =>
  metricLink(metric, results.title(metric), "plain");

// Returns the flags of each head, by "layer.head".
export function flagsByHead(results: Results): Map<string, Flag[]> {
  const found = new Map<string, Flag[]>();
  for (const flag of results.header.flags ?? []) {
    found.set(headName(flag), [...(found.get(headName(flag)) ?? []), flag]);
  }
  return found;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}

// Example: 3 652 608, with thin spaces.
export function grouped(n: number): string {
  return Number.isInteger(n) ? String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f") : shown(n);
}

// Marks commands in backticks as code that can be copied, with HEAD replaced by a head of the page.
export function withCommands(text: string, head?: Head): HTMLElement {
  const filled = (command: string) => (head ? command.replace(/\bHEAD\b/g, headName(head)) : command);
  const parts = text.split("`").flatMap((part, k): Child[] => (k % 2 === 1 ? command(filled(part)) : [part]));
  return element("span", {}, ...parts);
}

// An option and its value stay in one line where there is room.
function command(text: string): Node[] {
  const parts = text.split(/ (?=-)/).flatMap((part, k): Child[] => [k > 0 && " ", element("span", {}, part)]);
  const code = element("code", { class: "command" }, ...parts);
  const copy = button("copy", "Copy", () => {
    getSelection()?.selectAllChildren(code);
    copy.textContent = document.execCommand("copy") ? "Copied" : "Selected"; // the clipboard interface is absent from some local pages
  }, { "aria-label": `Copy ${text}` });
  return [code, copy];
}
