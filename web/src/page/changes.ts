// The largest changes between two runs or under interventions: the list of the results file.
import { errorsOf, type Change, type Results } from "../data/results";
import { dimWords } from "./cells";
import { div, element, note, refill } from "./element";
import type { Opened, Page, View } from "./page";
import { filterBox, filtered, parseFilter } from "./filter";
import { numberColumn, orderIn, table, textColumn, type Column } from "./table";
import { count, grouped, headLink, shown, titleLink } from "./words";

const ROWS_SHOWN = 200;

export interface ChangeRow extends Change {
  title: string;
  head: string; // "3.5" for a head, "3.*" for a layer, "all" for the model
  at: string; // the intervention and the place
}

export const changes: View = {
  id: "changes",
  title: "Changes",
  has: ({ header }) => header.changes !== undefined,
  open,
};

const isIntervention = (dim: string) => dim === "normalizer" || dim === "pattern";

// Returns rows in the order of the list.
export const changeRows = (results: Results): ChangeRow[] =>
  (results.header.changes ?? []).map((change) => {
    const { layer, head = "*", ...rest } = change.labels;
    return {
      ...change,
      title: results.title(change.metric),
      head: layer === undefined ? "all" : `${layer}.${head}`,
      at: Object.entries(rest).map(([dim, label]) => (isIntervention(dim) ? label : `${dimWords(dim)} ${label}`)).join(", "),
    };
  });

// Returns whether the word occurs in the metric's name, the head or the cell.
export function hasWord({ metric, title, head, at }: ChangeRow, word: string): boolean {
  if (/^[\d*]+\.[\d*]*$/.test(word)) {
    const pattern = word.replaceAll(".", "\\.").replaceAll("*", "[\\d*]*");
    return new RegExp(`^${pattern}${word.endsWith(".") ? ".+" : ""}$`).test(head);
  }
  return head === word || `${metric} ${title} ${at}`.toLowerCase().includes(word);
}

function open(page: Page): Opened {
  const all = changeRows(page.results);
  const box = div("");
  const filter = filterBox(page, {
    label: "Filter",
    placeholder: "entropy 3.* change < 0",
    help:
      "Words of a metric, a head (3.5, 3.*), an intervention or a place, and conditions on a column of numbers, " +
      "by its title (before > 0.5; also <, <=, >=, =).",
  });
  const columns = columnsOf(page.results);
  const update = () => {
    const { rows, problem } = filtered(all, parseFilter(filter.text(), columns), columns, hasWord);
    refill(box, table({ caption: "Largest changes", columns, rows, limit: ROWS_SHOWN, ...orderIn(page) }));
    const more = rows.length > ROWS_SHOWN ? `; the first ${ROWS_SHOWN} are shown` : "";
    filter.say(`${count(rows.length, "change")} of ${count(all.length, "change")}${more}`, problem);
  };
  const words = [element("p", {}, compared(page.results)), note(counted(page.results))];
  return { node: div("", element("h1", {}, "What changed"), ...words, filter.node, box), update };
}

function compared({ command, header: { settings } }: Results): string {
  const file = (run: unknown) => (run as { file?: string } | undefined)?.file ?? "a run";
  const what = command === "diff" ? `${file(settings["old"])} against ${file(settings["new"])}` : "Each intervention against the model as it is";
  return `${what}. Of each metric, head and intervention, the value that stands out most.`;
}

// Says how many values changed, and how many of them are listed.
export function counted({ header: { changes = [], change_counts: counts } }: Results): string {
  if (!counts) return "";
  return (
    `${grouped(counts.changed)} of ${count(counts.values, "value")} with standard errors changed, at most ` +
    `${grouped(Math.ceil(counts.by_chance))} of them by chance (false discovery rate ${shown(100 * counts.level, 3)} %), and ` +
    `${grouped(counts.unmeasured_changed)} of ${grouped(counts.unmeasured_values)} without. The file lists ` +
    `${grouped(changes.length)} of ${count(counts.found, "change")}, the first of each kind.`
  );
}

// A standard error of 0 leaves no randomness.
const unlessExact = (row: Change, exact: string, value: number | null | undefined, digits: number): string =>
  errorsOf(row) === Infinity ? exact : shown(value, digits);

export const columnsOf = (results: Results): Column<ChangeRow>[] => [
  textColumn("metric", "Metric", ({ metric }) => metric, ({ metric }) => titleLink(results, metric)),
  {
    id: "head",
    title: "Head",
    key: ({ labels }) => Number(labels["layer"]) * 1e6 + Number(labels["head"] ?? -1),
    show: ({ labels, head }) => (labels["head"] === undefined ? head : headLink(head)),
  },
  textColumn("at", "At", ({ at }) => at),
  numberColumn("before", "Before", ({ before }) => before),
  numberColumn("after", "After", ({ after }) => after),
  {
    ...numberColumn("change", "Change", ({ change }) => Math.abs(change), ({ change }) => shown(change)),
    value: ({ change }) => change,
  },
  numberColumn("error", "± standard error", ({ stderr }) => stderr ?? NaN, ({ stderr }) => shown(stderr, 2)),
  numberColumn("errors", "In standard errors", errorsOf, (row) => unlessExact(row, "exact", row.errors, 3)),
  numberColumn("p", "p", ({ adjusted_p = NaN }) => adjusted_p, (row) => unlessExact(row, "0", row.adjusted_p, 2)),
  numberColumn("relative", "Relative", ({ relative }) => relative, ({ relative }) => shown(relative, 3)),
];
