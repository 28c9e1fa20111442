// A table that can be sorted by its column headings.
import { changed } from "./address";
import { element, scrollBox } from "./element";
import type { Page } from "./page";
import { shown } from "./words";

export interface Column<Row> {
  id: string;
  title: string;
  note?: string; // a unit or a description of the column
  numeric?: boolean;
  // The sort key of a row; NaN and empty values come last in both directions.
  key(row: Row): number | string;
  // The value that a filter condition compares, if it is not the key; NaN if there is no number.
  value?(row: Row): number;
  show(row: Row): Node | string;
}

export const textColumn = <Row>(
  id: string, title: string, key: (row: Row) => string, show: Column<Row>["show"] = key,
): Column<Row> => ({ id, title, key, show });

export const numberColumn = <Row>(
  id: string, title: string, key: (row: Row) => number,
  show: Column<Row>["show"] = (row) => shown(key(row)), note = "",
): Column<Row> => ({ id, title, note, numeric: true, key, show });

// "-entropy" sorts by entropy, largest first.
export interface Order {
  column: string;
  descending: boolean;
}

export function parseOrder(text: string | undefined): Order | undefined {
  if (text === undefined || text === "" || text === "-") return undefined;
  return text.startsWith("-")
    ? { column: text.slice(1), descending: true }
    : { column: text, descending: false };
}

export function formatOrder({ column, descending }: Order): string {
  return descending ? `-${column}` : column;
}

// The first click sorts numbers from the largest, names from the first.
export function nextOrder(
  now: Order | undefined,
  column: { id: string; numeric?: boolean },
): Order {
  if (now?.column === column.id) return { column: column.id, descending: !now.descending };
  return { column: column.id, descending: column.numeric === true };
}

export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: Order | undefined,
): Row[] {
  const column = columns.find(({ id }) => id === order?.column);
  if (!order || !column) return [...rows];
  const sign = order.descending ? -1 : 1;
  const missing = (key: number | string) => key === "" || Number.isNaN(key);
  return rows
    .map((row) => ({ row, key: column.key(row) }))
    .sort((a, b) => {
      if (missing(a.key) || missing(b.key)) return Number(missing(a.key)) - Number(missing(b.key));
      if (a.key === b.key) return 0; // sort() is stable, so they keep their order
      return (a.key < b.key ? -1 : 1) * sign;
    })
    .map(({ row }) => row);
}

// The order of a table that the address keeps under this name. A choice adds an entry to the
// history, unless it replaces the last.
export const orderIn = (page: Page, name = "sort", replace = false): Pick<TableOptions<unknown>, "name" | "order" | "sort"> => ({
  name,
  order: parseOrder(page.address.query[name]),
  sort: (next) => page.go(changed(page.address, { [name]: formatOrder(next) }), replace),
});

export interface TableOptions<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  order?: Order | undefined;
  name?: string; // sets its ids apart from those of other tables
  sort?: (order: Order) => void; // absent: the table cannot be sorted
  limit?: number; // number of rows shown after sorting
}

// The first column names the row.
export function table<Row>(options: TableOptions<Row>): HTMLElement {
  const { caption, columns, rows, order, limit = Infinity } = options;
  const lines = sorted(rows, columns, order).slice(0, limit).map((row) => lineOf(columns, row));
  return scrollBox(
    { "aria-label": caption },
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, ...columns.map((column) => headingOf(column, options)))),
      element("tbody", {}, ...lines),
    ),
  );
}

function headingOf<Row>(column: Column<Row>, { name = "sort", order, sort }: TableOptions<Row>): HTMLElement {
  const title = element("span", { class: "column-name" }, ...breakable(column.title));
  const direction = order?.column !== column.id ? "none" : order.descending ? "descending" : "ascending";
  const arrow = element("span", { class: "arrow", "aria-hidden": "true" }, ARROWS[direction]);
  const id = name === "sort" ? `sort-${column.id}` : `sort-${name}-${column.id}`;
  return element(
    "th",
    { scope: "col", class: column.numeric === true && "number", "aria-sort": sort && direction },
    sort
      ? element("button", { type: "button", class: "sort", id, onclick: () => sort(nextOrder(order, column)) }, title, arrow)
      : title,
    column.note ? element("span", { class: "note" }, column.note) : null,
  );
}

const ARROWS = { none: "\u00a0↕", ascending: "\u00a0↑", descending: "\u00a0↓" };

// Allows line breaks between the parts of a spec such as sinks:sinks=4,window=60.
const breakable = (title: string): (Node | string)[] =>
  title
    .split(/(?<=[:,])(?=\S)/)
    .flatMap((part, k) => (k === 0 ? [part] : [element("wbr"), part]));

function lineOf<Row>(columns: readonly Column<Row>[], row: Row): HTMLElement {
  const line = element("tr");
  columns.forEach((column, k) => {
    const cell = k === 0 ? element("th", { scope: "row" }) : element("td");
    if (column.numeric) cell.className = "number";
    cell.append(column.show(row));
    line.append(cell);
  });
  return line;
}
