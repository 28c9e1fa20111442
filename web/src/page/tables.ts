// Draws the tables that the program made of the results (src/view).
import type { ViewCell, ViewTable } from "../data/results";
import { formatAddress, type Address } from "./address";
import { element } from "./element";
import type { Page } from "./page";
import { orderIn, table, type Column } from "./table";
import { count, headLink } from "./words";

export interface Drawn {
  label?: string; // only the tables of this label: a plan, an outcome
  link?: (row: readonly ViewCell[]) => Address; // where the name of a row leads
}

// What the address says of the order of these tables.
export const ordersOf = ({ address, results }: Page, names: readonly string[]): string =>
  JSON.stringify(results.tables.filter(({ name }) => names.includes(name)).map((made) => address.query[idOf(made)]));

const idOf = ({ name, label }: ViewTable): string =>
  label === "" ? name : `${name}-${label.replaceAll(/\W+/g, "-")}`;

// Returns a section for each table of these names, in their order.
export function viewTables(page: Page, names: readonly string[], options: Drawn = {}): HTMLElement[] {
  return names.flatMap((name) =>
    page.results.tables
      .filter((one) => one.name === name && (options.label === undefined || one.label === options.label))
      .map((one) => section(page, one, options)),
  );
}

function section(page: Page, made: ViewTable, options: Drawn): HTMLElement {
  const id = idOf(made);
  return element(
    "section",
    { class: "view-table", id, "aria-label": made.title },
    element("h2", {}, made.title),
    table({ caption: made.title, columns: columnsOf(made, options), rows: made.rows, ...orderIn(page, id, true) }),
    made.left_out > 0 && element("p", { class: "note" }, `${count(made.left_out, "more row")}.`),
    ...explanations(made),
  );
}

const columnsOf = (made: ViewTable, { link }: Drawn): Column<ViewCell[]>[] =>
  made.columns.map(({ title, unit, number }, k) => {
    const cell = (row: ViewCell[]): ViewCell => row[k]!;
    const show = (row: ViewCell[]) => {
      if (title === "head") return headLink(cell(row)[0]);
      return k === 0 && link
        ? element("a", { id: `${idOf(made)}-${cell(row)[1]}`, href: formatAddress(link(row)) }, cell(row)[0])
        : shownCell(cell(row));
    };
    const key = (row: ViewCell[]) => cell(row)[1] ?? (number ? NaN : cell(row)[0]);
    return { id: `${k}`, title, note: unit, numeric: number, key, show };
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
  const explained = columns.filter(({ meaning }) => meaning !== "");
  return [
    ...(explained.length > 0
      ? [
          element(
            "details",
            { class: "aside", open: explained.length < 3 },
            element("summary", {}, "What the columns say"),
            element(
              "dl",
              { class: "note meanings" },
              ...explained.flatMap(({ title, meaning }) => [element("dt", {}, title), element("dd", {}, meaning)]),
            ),
          ),
        ]
      : []),
    ...notes.map((note) => element("p", { class: "note" }, note)),
  ];
}
