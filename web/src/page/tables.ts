// Draws the tables that the program made of the results (src/view).
import type { MetricName } from "../catalogue/catalogue";
import type { ViewCell, ViewTable } from "../data/results";
import { formatAddress, parseHead, type Address } from "./address";
import { div, element, more, note, refill, terms } from "./element";
import type { Opened, Page } from "./page";
import { orderIn, table, type Column } from "./table";
import { count, headLink, metricLink } from "./words";

export interface Drawn {
  label?: string; // only the tables of this label: a plan, an outcome
  link?: (row: readonly ViewCell[]) => Address; // where the name of a row leads
}

const idOf = ({ name, label }: ViewTable): string =>
  label === "" ? name : `${name}-${label.replaceAll(/\W+/g, "-")}`;

// Returns a section for each table of these names, in their order.
function viewTables(page: Page, names: readonly string[], options: Drawn = {}): HTMLElement[] {
  return names.flatMap((name) =>
    page.results.tables
      .filter((one) => one.name === name && (options.label === undefined || one.label === options.label))
      .map((one) => section(page, one, options)),
  );
}

// A box with these tables, which follows the address.
export function tableBox(page: Page, names: readonly string[], options: () => Drawn = () => ({})): Opened & { update(): void } {
  const node = div("");
  let drawn = "";
  const update = () => {
    const asked = formatAddress(page.address);
    if (asked !== drawn) refill(node, ...viewTables(page, names, options()));
    drawn = asked;
  };
  return { node, update };
}

function section(page: Page, made: ViewTable, options: Drawn): HTMLElement {
  const id = idOf(made);
  const title = made.title || made.columns[0]!.title; // a table without one has it above its rows
  return element(
    "section",
    { class: "view-table", id, "aria-label": title },
    element("h2", {}, title),
    table({ caption: title, columns: columnsOf(made, options), rows: made.rows, ...orderIn(page, id, true) }),
    made.left_out > 0 && note(`${count(made.left_out, "more row")}.`),
    ...explanations(made),
  );
}

// The columns of the table of roles have no titles on a terminal.
const UNTITLED = ["heads", "role", "what they do"];

const columnsOf = (made: ViewTable, { link }: Drawn): Column<ViewCell[]>[] =>
  made.columns.map(({ title, unit, number }, k) => {
    const cell = (row: ViewCell[]): ViewCell => row[k]!;
    const show = (row: ViewCell[]) => {
      if (title === "head" && parseHead(cell(row)[0])) return headLink(cell(row)[0]);
      if (title === "metric") return metricLink(cell(row)[0] as MetricName, cell(row)[0], "plain");
      return k === 0 && link
        ? element("a", { id: `${idOf(made)}-${cell(row)[1]}`, href: formatAddress(link(row)) }, cell(row)[0])
        : shownCell(cell(row));
    };
    const key = (row: ViewCell[]) => cell(row)[1] ?? (number ? NaN : cell(row)[0]);
    return { id: `${k}`, title: title || unit || (UNTITLED[k] ?? ""), note: title && unit, numeric: number, key, show };
  });

function shownCell([text, , mark]: ViewCell): Node | string {
  if (mark === "") return text;
  return element(
    "span",
    { class: `mark-${mark}` },
    text,
    mark === "strong" && element("span", { "aria-hidden": "true" }, "*"),
    mark === "strong" && element("span", { class: "unseen" }, " shown"),
  );
}

function explanations({ columns, notes }: ViewTable): HTMLElement[] {
  const explained = columns.filter(({ meaning }) => meaning !== "").map(({ title, meaning }) => [title, meaning] as const);
  const box = more("aside", "What the columns say", terms("note meanings", explained));
  box.open = explained.length < 3;
  return [...(explained.length > 0 ? [box] : []), ...notes.map((said) => note(said))];
}
