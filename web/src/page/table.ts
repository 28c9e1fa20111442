// A table that can be sorted by its column headings.
import { changed } from "./address";
import { element } from "./element";
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
  below?: { title: string; rows: readonly Row[] } | undefined; // sorted separately
  order?: Order | undefined;
  name?: string; // sets its ids apart from those of other tables
  sort?: (order: Order) => void; // absent: the table cannot be sorted
  limit?: number; // number of rows shown after sorting
}

// Puts the table in a box that scrolls sideways, so that the page never does. The first column
// names the row.
export function table<Row>(options: TableOptions<Row>): HTMLElement {
  const { caption, columns, rows, below, name = "sort", order, sort, limit = Infinity } = options;
  const head = element("tr");
  for (const column of columns) {
    const title = element("span", { class: "column-name" }, ...breakable(column.title));
    const note = column.note ? element("span", { class: "note" }, column.note) : null;
    const ordered = order?.column === column.id;
    const direction = ordered ? (order.descending ? "descending" : "ascending") : "none";
    const cell = element("th", {
      scope: "col",
      class: column.numeric === true && "number",
      "aria-sort": sort && direction,
    });
    if (sort) {
      const button = element(
        "button",
        {
          type: "button",
          class: "sort",
          id: name === "sort" ? `sort-${column.id}` : `sort-${name}-${column.id}`,
          onclick: () => sort(nextOrder(order, column)),
        },
        title,
        element(
          "span",
          { class: "arrow", "aria-hidden": "true" },
          ordered ? (order.descending ? "\u00a0↓" : "\u00a0↑") : "\u00a0↕",
        ),
      );
      cell.append(button);
    } else {
      cell.append(title);
    }
    if (note) cell.append(note);
    head.append(cell);
  }
  const body = (some: readonly Row[], title?: string) =>
    element(
      "tbody",
      {},
      title !== undefined &&
        element(
          "tr",
          {},
          element("th", { class: "group", scope: "rowgroup", colspan: columns.length }, title),
        ),
      ...sorted(some, columns, order).slice(0, limit).map((row) => lineOf(columns, row)),
    );
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, caption),
      element("thead", {}, head),
      (rows.length > 0 || !below) && body(rows),
      below && below.rows.length > 0 && body(below.rows, below.title),
    ),
  );
}

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
