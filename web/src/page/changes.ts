// Two runs, or a model under interventions, side by side: what changed most.
import type { Cell, Metric, Results } from "../data/results";
import { changed, headName, type Head } from "./address";
import { dimWords, isByPosition, labelText } from "./cells";
import { element } from "./element";
import { definition } from "./head";
import type { Opened, Page, View } from "./page";
import { filterBox, refill } from "./filter";
import { formatOrder, parseOrder, table, type Column } from "./table";
import { count, headLink, shown } from "./words";

const ROWS_SHOWN = 200;

// The change of a metric that stands out most, of one head (and intervention).
export interface Change {
  metric: string;
  title: string;
  head: Head | undefined;
  intervention: string;
  at: string;
  before: number;
  after: number;
  change: number;
  error: number;
  errors: number; // |change| in standard errors
  relative: number;
}

export const changes: View = {
  id: "changes",
  title: "Changes",
  has: (results) => changeMetrics(results).length > 0,
  open,
};

function changeMetrics(results: Results): string[] {
  return results
    .names()
    .filter((name) => results.changed(name) && !isByPosition(results, name));
}

// The dim along which things are compared, and the label that is the old one.
function comparison(results: Results): { dim: string; old: string } | undefined {
  for (const [dim, old] of [
    ["run", "old"],
    ["normalizer", "original"],
    ["pattern", "original"],
  ] as const) {
    if (results.coord(dim).includes(old)) return { dim, old };
  }
  return undefined;
}

export function changesOf(results: Results, name: string): Change[] {
  const metric = results.metric(name);
  if (!metric) return [];
  const best = new Map<string, { change: Change; place: number }>();
  eachCell(metric, (cell, place) => {
    const change = metric.values[place]!;
    if (Number.isNaN(change) || change === 0) return;
    const found = changeAt(results, metric, cell, place);
    const key = `${found.head ? headName(found.head) : ""}|${found.intervention}`;
    const other = best.get(key);
    if (!other || standsOut(found) > standsOut(other.change))
      best.set(key, { change: found, place });
  });
  return [...best.values()].map(({ change }) => change);
}

const standsOut = ({ errors, relative, change }: Change) =>
  [errors, relative, Math.abs(change)].find((size) => !Number.isNaN(size))!;

function changeAt(results: Results, metric: Metric, cell: Cell, place: number): Change {
  const plain = results.changed(metric.name)!;
  const by = comparison(results);
  const label = (dim: string) => labelText(results.coord(dim)[cell[dim] ?? 0]);
  const index = (name: string) => results.coord(by?.dim ?? "").indexOf(name);
  const intervention = by && metric.dims.includes(by.dim) ? label(by.dim) : "";
  const before = results.value(plain, { ...cell, ...(by ? { [by.dim]: index(by.old) } : {}) });
  const after = results.value(plain, {
    ...cell,
    ...(by && intervention === "" ? { [by.dim]: index("new") } : {}),
  });
  const change = metric.values[place]!;
  const error = metric.stderr ? metric.stderr[place]! : NaN;
  const larger = Math.max(Math.abs(before), Math.abs(after));
  return {
    metric: plain,
    title: results.title(plain),
    head:
      cell["layer"] !== undefined && cell["head"] !== undefined
        ? { layer: Number(label("layer")), head: Number(label("head")) }
        : undefined,
    intervention,
    at: metric.dims
      .filter(
        (dim) =>
          dim !== "head" && dim !== by?.dim && (dim !== "layer" || !metric.dims.includes("head")),
      )
      .map((dim) => `${dimWords(dim)} ${label(dim)}`)
      .join(", "),
    before,
    after,
    change,
    error,
    errors: error > 0 ? Math.abs(change) / error : NaN,
    relative: larger > 0 ? Math.abs(change) / larger : NaN,
  };
}

function eachCell(metric: Metric, visit: (cell: Cell, place: number) => void): void {
  const at = metric.dims.map(() => 0);
  for (let place = 0; place < metric.values.length; place += 1) {
    const cell: Record<string, number> = {};
    metric.dims.forEach((dim, k) => (cell[dim] = at[k]!));
    visit(cell, place);
    for (let k = at.length - 1; k >= 0 && ++at[k]! === metric.shape[k]; k -= 1) at[k] = 0;
  }
}

// All words must stand in the metric's name, the head, the intervention or the cell.
export function matchingChanges(all: readonly Change[], filter: string): Change[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return all.filter((change) => {
    const name = change.head ? headName(change.head) : "model";
    const text =
      `${change.metric} ${change.title} ${change.intervention} ${change.at}`.toLowerCase();
    return words.every((word) =>
      /^[\d*]+\.[\d*]*$/.test(word)
        ? new RegExp(
            `^${word.replaceAll(".", "\\.").replaceAll("*", "\\d*")}${word.endsWith(".") ? "\\d+" : ""}$`,
          ).test(name)
        : text.includes(word) || name === word,
    );
  });
}

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  const names = changeMetrics(results);
  await results.need(...names.flatMap((name) => [name, results.changed(name)!]));
  const all = names.flatMap((name) => changesOf(results, name));
  const box = element("div");
  const filter = filterBox(page, "Filter (metric, head or intervention)", "entropy  or  3.*");
  const update = () => {
    const found = matchingChanges(all, filter.text());
    refill(box, changeTable(page, found));
    const more = found.length > ROWS_SHOWN ? `; the first ${ROWS_SHOWN} are shown` : "";
    filter.status.textContent = `${count(found.length, "change")} of ${count(all.length, "change")}${more}`;
  };
  const node = element(
    "div",
    {},
    element("h1", {}, "What changed"),
    element("p", {}, compared(results)),
    filter.node,
    box,
  );
  return { node, update };
}

function compared({ header }: Results): string {
  const { old, new: next } = header.settings;
  const of = (run: unknown) =>
    typeof run === "object" && run !== null
      ? String((run as Record<string, unknown>)["file"] ?? JSON.stringify(run))
      : String(run);
  if (old !== undefined && next !== undefined)
    return `${of(old)} against ${of(next)}. Of each metric and head, the value that changed most.`;
  return (
    "Each intervention against the model as it is. Of each metric, head and intervention, the " +
    "value that changed most."
  );
}

function changeTable(page: Page, found: readonly Change[]): HTMLElement {
  const order = parseOrder(page.address.query["sort"]) ?? { column: "errors", descending: true };
  const interventions = found.some(({ intervention }) => intervention !== "");
  const columns: Column<Change>[] = [
    {
      id: "metric",
      title: "Metric",
      key: (row) => row.metric,
      show: (row) => definition(page.results, row.metric),
    },
    {
      id: "head",
      title: "Head",
      key: ({ head }) => (head ? head.layer * 1e6 + head.head : NaN),
      show: ({ head }) => (head ? headLink(head) : "model"),
    },
    ...(interventions
      ? [
          {
            id: "intervention",
            title: "Intervention",
            key: (row: Change) => row.intervention,
            show: (row: Change) => row.intervention,
          },
        ]
      : []),
    { id: "at", title: "At", key: (row) => row.at, show: (row) => row.at },
    {
      id: "before",
      title: "Before",
      numeric: true,
      key: (row) => row.before,
      show: (row) => shown(row.before),
    },
    {
      id: "after",
      title: "After",
      numeric: true,
      key: (row) => row.after,
      show: (row) => shown(row.after),
    },
    {
      id: "change",
      title: "Change",
      numeric: true,
      key: (row) => Math.abs(row.change),
      show: (row) => shown(row.change),
    },
    {
      id: "error",
      title: "± standard error",
      numeric: true,
      key: (row) => row.error,
      show: (row) => shown(row.error, 2),
    },
    {
      id: "errors",
      title: "In standard errors",
      numeric: true,
      key: (row) => row.errors,
      show: (row) => shown(row.errors, 3),
    },
    {
      id: "relative",
      title: "Relative",
      numeric: true,
      key: (row) => row.relative,
      show: (row) => shown(row.relative, 3),
    },
  ];
  return table({
    caption: "Largest changes",
    columns,
    rows: found,
    order,
    limit: ROWS_SHOWN,
    sort: (next) => page.go(changed(page.address, { sort: formatOrder(next) })),
  });
}
