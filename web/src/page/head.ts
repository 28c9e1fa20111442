// The page of one head.
import type { Cell, Results } from "../data/results";
import type { Figure } from "../figures/figure";
import { headFigures } from "../figures/head";
import { formatAddress, headName, parseHead, type Head } from "./address";
import {
  allHeads,
  chosenCell,
  chosenIndex,
  comparedDim,
  comparedQuery,
  headCell,
  isByPosition,
  isPerHead,
  rowsBehind,
} from "./cells";
import { choice, element, fill } from "./element";
import { examples } from "./examples";
import { flagsOfHead } from "./flags";
import { cellWords } from "./heads";
import type { Opened, Page, View } from "./page";
import { failure, message, picture } from "./picture";
import { comparedChoice, metricOptions } from "./selection";
import { table, type Column } from "./table";
import { flagsByHead, headLink, shown, shownOf } from "./words";

export const head: View = {
  id: "head",
  title: "Head",
  has: (results) => results.names().some((name) => isPerHead(results, name)),
  open,
};

async function open(page: Page): Promise<Opened> {
  const { results, address } = page;
  const all = allHeads(results);
  const asked = address.item === "" ? all[0] : parseHead(address.item);
  const place = all.findIndex((other) => asked && headName(other) === headName(asked));
  const found = all[place];
  if (!found) {
    return {
      node: element(
        "div",
        {},
        element("h1", {}, "Head"),
        failure(`These results have no head "${address.item}".`),
      ),
    };
  }
  const drawings = element("div", { class: "pictures" });
  const values = element("div");
  const figures = section("figures", "Figures", comparedChoice(page), drawings);
  const viewer = await examples(results, found).catch((error) => failure(message(error)));
  const node = element(
    "article",
    { class: "head-page" },
    title(page, all, place),
    section(
      "flags",
      "Flags",
      flagsOfHead(flagsByHead(results).get(headName(found)) ?? []),
    ),
    viewer && section("examples", "Examples", viewer),
    figures,
    section("values", "Values", values),
  );
  // The numbers come after the figures: those of a large file take a moment.
  const update = async () => {
    const drawn = await results.gather(() => figuresOf(page, found));
    figures.hidden = drawn.length === 0;
    fill(drawings, ...drawn.map((figure) => picture(page, figure)));
    const names = results
      .names()
      .filter((name) => isPerHead(results, name) && !isByPosition(results, name));
    await results.need(...names);
    fill(values, valueTable(page, found, names));
  };
  return { node, update };
}

function section(id: string, title: string, ...content: (Node | null)[]): HTMLElement {
  return element("section", { "aria-labelledby": id }, element("h2", { id }, title), ...content);
}

// What the figures say of which head they show is said by the page already, but not by a file.
function figuresOf({ results, address }: Page, found: Head): Figure[] {
  const dim = comparedDim(results);
  const index = dim === undefined ? 0 : chosenIndex(results, dim, address.query);
  const at = headCell(results, found);
  const figures = headFigures(
    results,
    { layer: at["layer"]!, head: at["head"]! },
    dim === undefined ? {} : { [dim]: index },
  );
  return figures.map((figure) => ({ ...figure, id: `${figure.id}-head-${headName(found)}` }));
}

function title(page: Page, all: readonly Head[], place: number): HTMLElement {
  const { results, address } = page;
  const { layer, head } = all[place]!;
  const at = results.numbers("layer").indexOf(layer);
  const facts = [`Layer ${layer}, head ${head}`];
  const type = results.coord("layer_type")[at];
  if (type !== undefined) facts.push(String(type).replaceAll("_", " "));
  const window = results.coord("window")[at];
  if (typeof window === "number" && window > 0) facts.push(`window of ${window} keys`);
  const reads = results.coord("kv_head")[results.numbers("head").indexOf(head)];
  if (reads !== undefined && Number(reads) !== head) facts.push(`reads key-value head ${reads}`);
  const step = (other: Head | undefined, before: string, after: string) =>
    other ? headLink(other, `${before}${headName(other)}${after}`) : null;
  return element(
    "div",
    { class: "head-title" },
    element(
      "div",
      {},
      element("h1", {}, `Head ${headName({ layer, head })}`),
      element("p", { class: "facts" }, facts.join(" · ")),
    ),
    element(
      "nav",
      { class: "steps", "aria-label": "Other heads" },
      choice(
        "choose-head",
        "Head",
        all.map((other) => ({ value: headName(other), text: headName(other), group: `layer ${other.layer}` })),
        headName(all[place]!),
        (item) => page.go({ ...address, item }),
      ),
      step(all[place - 1], "← Previous, ", ""),
      element("a", { href: formatAddress({ view: "heads", item: "", query: {} }) }, "All heads"),
      step(all[place + 1], "Next, ", " →"),
    ),
  );
}

interface ValueRow {
  metric: string;
  group: string;
  at: string;
  value: number;
  error: number;
  rows: number;
  unit: string;
}

function valueTable({ results, address }: Page, head: Head, names: readonly string[]): HTMLElement {
  const query = comparedQuery(results, address.query);
  const rows: ValueRow[] = metricOptions(results, names).map(({ value: metric, group = "" }) => {
    const cell: Cell = { ...chosenCell(results, metric, query), ...headCell(results, head) };
    const unit = results.info(metric)?.unit ?? "1";
    return {
      metric,
      group,
      at: cellWords(results, metric, cell),
      value: results.value(metric, cell),
      error: results.stderr(metric, cell),
      rows: rowsBehind(results, metric, cell),
      unit: unit === "1" ? "" : unit,
    };
  });
  const lengths = results.coord("length");
  const columns: Column<ValueRow>[] = [
    {
      id: "metric",
      title: "Metric",
      key: (row) => row.metric,
      show: (row) => definition(results, row.metric),
    },
    {
      id: "value",
      title: "Value",
      numeric: true,
      key: (row) => row.value,
      show: (row) => shownOf(results, row.metric, row.value),
    },
    {
      id: "error",
      title: "± standard error",
      numeric: true,
      key: (row) => row.error,
      show: (row) => shown(row.error, 2),
    },
    { id: "unit", title: "Unit", key: (row) => row.unit, show: (row) => row.unit },
    { id: "at", title: "At", key: (row) => row.at, show: (row) => row.at },
    {
      id: "rows",
      title: "Rows",
      numeric: true,
      key: (row) => row.rows,
      show: (row) => shown(row.rows),
    },
    { id: "group", title: "Group", key: (row) => row.group, show: (row) => row.group },
  ];
  return element(
    "div",
    {},
    lengths.length > 0 &&
      element(
        "p",
        { class: "note" },
        `At the longest length, ${lengths[lengths.length - 1]} tokens.`,
      ),
    table({ caption: `Values of head ${headName(head)}`, columns, rows }),
  );
}

export function definition(results: Results, metric: string): HTMLElement {
  return element(
    "a",
    { class: "plain", href: formatAddress({ view: "methods", item: metric, query: {} }) },
    results.title(metric),
  );
}
