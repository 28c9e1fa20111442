// The largest changes between two runs or under interventions: the list of the results file.
import { errorsOf, type Change, type Results } from "../data/results";
import { headOf, interventionOf } from "../figures/changes";
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
  intervention: string;
  at: string;
}

export const changes: View = {
  id: "changes",
  title: "Changes",
  has: ({ header }) => header.changes !== undefined,
  open,
};

// Returns rows in the order of the list.
export function changeRows(results: Results): ChangeRow[] {
  return (results.header.changes ?? []).map((change) => {
    const { layer: _l, head: _h, normalizer: _n, pattern: _p, ...rest } = change.labels;
    return {
      ...change,
      title: results.title(change.metric),
      head: headOf(change),
      intervention: interventionOf(change),
      at: Object.entries(rest).map(([dim, label]) => `${dimWords(dim)} ${label}`).join(", "),
    };
  });
}

// Returns whether the word occurs in the metric's name, the head, the intervention or the cell.
export function hasWord({ metric, title, head, intervention, at }: ChangeRow, word: string): boolean {
  if (/^[\d*]+\.[\d*]*$/.test(word)) {
    const pattern = word.replaceAll(".", "\\.").replaceAll("*", "[\\d*]*");
    return new RegExp(`^${pattern}${word.endsWith(".") ? ".+" : ""}$`).test(head);
  }
  return head === word || `${metric} ${title} ${intervention} ${at}`.toLowerCase().includes(word);
}

async function open(page: Page): Promise<Opened> {
  const all = changeRows(page.results);
  const box = div("");
  const filter = filterBox(page, {
    label: "Filter",
    placeholder: "entropy 3.* change < 0",
    help:
      "Words of a metric, a head (3.5, 3.*), an intervention or a place, and conditions on a column of numbers, " +
      "by its title (before > 0.5; also <, <=, >=, =).",
  });
  const columns = columnsOf(page.results, all);
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
  return command === "diff"
    ? `${file(settings["old"])} against ${file(settings["new"])}. Of each metric and head, the ` +
        "value that stands out most."
    : "Each intervention against the model as it is. Of each metric, head and intervention, the " +
        "value that stands out most.";
}

// Says how many values changed, and whether the list is complete.
export function counted({ header: { changes = [], change_counts: counts } }: Results): string {
  if (!counts) return "";
  const listed = changes.length;
  return [
    counts.values > 0 &&
      `${grouped(counts.changed)} of ${count(counts.values, "value")} with standard errors changed` +
        (counts.changed > 0
          ? `, at most ${grouped(Math.ceil(counts.by_chance))} of them by chance `
          : " beyond chance ") +
        `(false discovery rate ${shown(100 * counts.level, 3)} %).`,
    counts.unmeasured_values > 0 &&
      `${grouped(counts.unmeasured_changed)} of ${count(counts.unmeasured_values, "value")} ` +
        "without standard errors changed.",
    listed < counts.found &&
      `The file lists ${grouped(listed)} of ${count(counts.found, "change")}, the first of each kind.`,
  ].filter((sentence) => sentence !== false).join(" ");
}

export function columnsOf(results: Results, all: readonly ChangeRow[]): Column<ChangeRow>[] {
  return [
    textColumn("metric", "Metric", ({ metric }) => metric, ({ metric }) => titleLink(results, metric)),
    {
      id: "head",
      title: "Head",
      key: ({ labels }) => Number(labels["layer"]) * 1e6 + Number(labels["head"] ?? -1),
      show: ({ labels, head }) => (labels["head"] === undefined ? head : headLink(head)),
    },
    ...(all.some(({ intervention }) => intervention !== "")
      ? [textColumn<ChangeRow>("intervention", "Intervention", ({ intervention }) => intervention)]
      : []),
    textColumn("at", "At", ({ at }) => at),
    numberColumn("before", "Before", ({ before }) => before),
    numberColumn("after", "After", ({ after }) => after),
    {
      ...numberColumn("change", "Change", ({ change }) => Math.abs(change), ({ change }) => shown(change)),
      value: ({ change }) => change,
    },
    numberColumn("error", "± standard error", ({ stderr }) => stderr ?? NaN, ({ stderr }) => shown(stderr, 2)),
    numberColumn("errors", "In standard errors", errorsOf, (row) =>
      errorsOf(row) === Infinity ? "exact" : shown(row.errors, 3),
    ),
    numberColumn("p", "p", (row) => row.adjusted_p ?? NaN, (row) =>
      errorsOf(row) === Infinity ? "0" : shown(row.adjusted_p ?? null, 2),
    ),
    numberColumn("relative", "Relative", ({ relative }) => relative, ({ relative }) => shown(relative, 3)),
  ];
}
