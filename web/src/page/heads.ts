// All heads in one table: sorted by any column, filtered by name or flag, with a choice of columns.
import { CATALOGUE, fromFile, type MetricName } from "../catalogue/catalogue";
import type { Cell, Flag, Results } from "../data/results";
import { changed, headName, parseHead, type Address, type Head } from "./address";
import {
  allHeads, chosenCell, comparedDim, comparedQuery, dimWords, headCell, isPerHead, labelText, otherDims,
} from "./cells";
import { div, element, fill, more, refill } from "./element";
import { badges, flagGroups, flagTitle, flagWords, rolesFirst } from "./flags";
import type { Opened, Page, View } from "./page";
import { pinButton } from "./shell";
import { comparedChoice, metricOptions } from "./selection";
import { filterBox, filtered, parseFilter } from "./filter";
import { numberColumn, orderIn, table, textColumn, type Column } from "./table";
import { count, flagsByHead, headLink, shownOf } from "./words";

// The columns shown at first, if the file has them.
const MAIN: readonly MetricName[] = [...CATALOGUE.values()]
  .filter(({ listed }) => listed !== undefined)
  .sort((a, b) => a.listed! - b.listed!)
  .map(({ name }) => name);
const MAIN_SHOWN = 8;

export interface HeadRow {
  head: Head;
  flags: readonly Flag[];
}

export const heads: View = {
  id: "heads",
  title: "Heads",
  has: (results) => results.coord("layer").length > 0 && perHead(results).length > 0,
  open,
};

async function open(page: Page): Promise<Opened> {
  const box = div("");
  const filter = filterBox(page, {
    label: "Find heads",
    placeholder: "induction, 17.3, weight_induction > 0.1",
    help:
      "Heads (17.3, 17.*, *.5, layer 17), roles and flags (induction), and conditions on any metric, by its name or " +
      "title (weight_induction > 0.1; also <, <=, >=, =).",
  });
  const metrics = perHead(page.results);
  const words = flagNames(page.results);
  const compared = div("");
  const chooser = columnChooser(page);
  let drawn = 0;
  const update = async () => {
    fill(compared, comparedChoice(page));
    const known = metrics.map((metric) => metricColumn(page.results, metric, comparedQuery(page.results, page.address.query)));
    const turn = ++drawn;
    const columns = chosenColumns(page);
    const asked = parseFilter(namedHeads(withoutUnfinished(filter.text(), metrics, words)), known);
    await page.results.need(...columns, ...asked.conditions.map(({ column }) => fromFile(column)));
    if (turn !== drawn) return;
    const all = headRows(page.results);
    const { rows, problem } = filtered(all, asked, known, (row, word) => hasWord(row, word, words), words);
    refill(box, headTable(page, columns, rows));
    filter.say(`${count(rows.length, "head")} of ${all.length}`, problem);
  };
  return { node: div("", element("h1", {}, "All heads"), compared, filter.node, chooser, box), update };
}

export function headRows(results: Results): HeadRow[] {
  const flags = flagsByHead(results);
  return allHeads(results).map((head) => ({ head, flags: flags.get(headName(head)) ?? [] }));
}

// Names "layer 17" and "head 17.3" as elsewhere: "17.*", "17.3".
export const namedHeads = (text: string): string =>
  text
    .replace(/\blayers?\s+(\d+)\b(?!\.)/gi, "$1.*")
    .replace(/\bheads?\s+(\d+\.\d+)/gi, "$1")
    .replace(/\bheads?\s+(\d+)\b(?!\.)/gi, "*.$1");

// Removes a metric's name at the end of the text, because its condition is not typed yet.
export function withoutUnfinished(text: string, metrics: readonly string[], flags: readonly string[]): string {
  const word = /[^\s,<>=≤≥]*$/.exec(text)![0].toLowerCase();
  const isPart = (name: string) => name.includes(word);
  const waits = word.length > 1 && metrics.some(isPart) && !flags.some(isPart) && !/[<>=≤≥]\s*$/.test(text.slice(0, text.length - word.length));
  return waits ? text.slice(0, text.length - word.length) : text;
}

// Returns the names of all roles and flags in the file, the most frequent first.
const flagNames = (results: Results): string[] =>
  flagGroups(results.header.flags ?? []).map(({ flags }) => flags[0]!.name);

// Returns whether the word matches the head. "3.*", "*.5" and "3.5" are names of heads. Other words
// match a flag or a role with that name, or, if no name in `known` equals the word, one that
// contains it: "sink" does not match "sinks".
export const hasWord = ({ head, flags }: HeadRow, word: string, known: readonly string[] = []): boolean => {
  if (/^[\d*]+(\.[\d*]*)?$/.test(word)) return nameFits(headName(head), word);
  if (known.includes(word)) return flags.some(({ name }) => name === word);
  return flags.some(({ name }) => flagWords(name).includes(word.replaceAll("_", " ")));
};

function nameFits(name: string, pattern: string): boolean {
  const [layer = "*", head = "*"] = pattern.split(".");
  const found = parseHead(name)!;
  const fits = (part: string, value: number) =>
    part === "" || part === "*" || part === String(value);
  return fits(layer, found.layer) && fits(head, found.head);
}

const perHead = (results: Results, names: readonly MetricName[] = results.names()): MetricName[] =>
  names.filter((name) => isPerHead(results, name));

export function mainColumns(results: Results): MetricName[] {
  const main = perHead(results, MAIN);
  return (main.length > 0 ? main : perHead(results)).slice(0, MAIN_SHOWN);
}

function chosenColumns({ results, address }: Page): MetricName[] {
  const asked = address.query["columns"];
  return asked === undefined ? mainColumns(results) : perHead(results, asked.split(",").map(fromFile));
}

function headTable(page: Page, metrics: readonly MetricName[], rows: readonly HeadRow[]): HTMLElement {
  const { results } = page;
  const columns: Column<HeadRow>[] = [
    {
      id: "head",
      title: "Head",
      key: ({ head }) => head.layer * 1e6 + head.head,
      show: ({ head }) => element("span", {}, headLink(head), pinButton(page.theme, headName(head))),
    },
    ...metrics.map((metric) => metricColumn(results, metric, comparedQuery(results, page.address.query))),
    textColumn(
      "flags", "Roles, flags", ({ flags }) => flagTitle(rolesFirst(flags)), ({ flags }) => badges(rolesFirst(flags)),
    ),
  ];
  const chosen = orderIn(page);
  const order = chosen.order ?? { column: "head", descending: false };
  return table({ caption: captionOf(results), columns, rows, ...chosen, order });
}

// A cell shows the last label of every dim that has no choice.
export const captionOf = (results: Results): string =>
  `Values of each head at the ${results.coord("length").length > 0 ? "longest length" : "last step"}`;

export function metricColumn(
  results: Results,
  metric: MetricName,
  query: Address["query"] = {},
): Column<HeadRow> {
  const cell = chosenCell(results, metric, query);
  const unit = results.info(metric)?.unit ?? "1";
  const value = ({ head }: HeadRow) =>
    results.value(metric, { ...cell, ...headCell(results, head) });
  const note = [unit === "1" ? "" : unit, cellWords(results, metric, cell)].filter((part) => part !== "").join(", ");
  return {
    ...numberColumn(metric, results.title(metric), value, (row) => shownOf(results, metric, value(row)), note),
    value: (row) => (results.isNone(metric, value(row)) ? NaN : value(row)),
  };
}

// Example: "N 20". Lists the labels of the cell, except the length and the intervention, which the
// page shows once.
export function cellWords(results: Results, metric: MetricName, cell: Cell): string {
  return otherDims(results, metric)
    .filter((dim) => dim !== "length" && dim !== comparedDim(results) && results.coord(dim).length > 1)
    .map(
      (dim) =>
        `${dim === "top_n" ? "N" : dimWords(dim)} ${labelText(results.coord(dim)[cell[dim] ?? 0])}`,
    )
    .join(", ");
}

// A checkbox for every metric of single heads.
function columnChooser(page: Page): HTMLElement {
  const { results } = page;
  const ticks = div("ticks");
  const chooser = more("chooser", "Columns", ticks);
  const tick = (metric: MetricName, text: string): HTMLElement => {
    const input = element("input", {
      type: "checkbox",
      checked: chosenColumns(page).includes(metric),
      onchange: () => {
        const others = chosenColumns(page).filter((name) => name !== metric);
        const columns = (input.checked ? [...others, metric] : others).join(",");
        page.go(changed(page.address, { columns }), true);
      },
    });
    return element("label", {}, input, ` ${text}`);
  };
  chooser.addEventListener("toggle", () => {
    if (ticks.firstChild) return;
    const groups = new Map<string, HTMLElement>();
    for (const { value, text, group = "other" } of metricOptions(results, perHead(results))) {
      const box = groups.get(group) ?? element("fieldset", {}, element("legend", {}, group));
      groups.set(group, box);
      box.append(tick(value, text));
    }
    ticks.append(...groups.values());
  });
  return chooser;
}
