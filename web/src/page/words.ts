// Numbers and heads as words on the page.
import type { Flag, Results } from "../data/results";
import { formatNumber } from "../figures/format";
import { formatAddress, headAddress, headName, type Head } from "./address";
import { element } from "./element";

export function shown(value: number | null | undefined, digits = 4): string {
  return value === null || value === undefined || Number.isNaN(value)
    ? "–"
    : formatNumber(value, digits);
}

// The value of a metric; one that says that none was found is no number.
export function shownOf(results: Results, metric: string, value: number): string {
  return results.isNone(metric, value) ? "none" : shown(value);
}

// "2.411 nats"; numbers of the unit 1 stand alone.
export function withUnit(value: number, unit: string): string {
  const text = shown(value);
  return unit === "1" || unit === "" || text === "–" ? text : `${text} ${unit}`;
}

export function headLink(head: Head | string, text?: string): HTMLElement {
  const name = typeof head === "string" ? head : headName(head);
  return element("a", { class: "head-link", href: formatAddress(headAddress(name)) }, text ?? name);
}

// The names of the flags of each head, by "layer.head".
export function flagsByHead(results: Results): Map<string, Flag[]> {
  const found = new Map<string, Flag[]>();
  for (const flag of results.header.flags ?? []) {
    const name = headName(flag);
    const list = found.get(name);
    if (list) list.push(flag);
    else found.set(name, [flag]);
  }
  return found;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}

// 3 652 608, with thin spaces.
export function grouped(n: number): string {
  return Number.isInteger(n) ? String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f") : shown(n);
}

// Words with commands in backticks: MODEL, TEXT and HEAD are those of the results, as far as they say.
export function withCommands(results: Results, text: string, head?: Head): HTMLElement {
  const { model, settings } = results.header;
  const listed = (name: string): string[] => {
    const files = settings?.[name];
    return Array.isArray(files) ? files.map(String) : [];
  };
  const given = ["text", "tokens"].filter((name) => listed(name).length > 0);
  const files = given.map((name) => `--${name} ${listed(name).map(quotedForShell).join(" ")}`);
  const known: Record<string, string | undefined> = {
    MODEL: quotedForShell(model.name),
    TEXT: files[0] ?? "--text FILE",
    HEAD: head && headName(head),
  };
  const filled = (command: string) =>
    command.replace(/\b(MODEL|TEXT|HEAD)\b/g, (word) => known[word] ?? word);
  return element(
    "span",
    {},
    ...text.split("`").map((part, k) => (k % 2 === 1 ? element("code", {}, filled(part)) : part)),
  );
}

const quotedForShell = (word: string): string =>
  /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
