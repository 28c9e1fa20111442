// The page of one head.
import { FLAGS, type MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import type { Figure } from "../figures/figure";
import { headFigures } from "../figures/head";
import { valuesOfHeads, wordsAt } from "../figures/quantity";
import { RESTS, rolesByHead } from "../figures/roles";
import { changed, formatAddress, headName, parseHead, type Head } from "./address";
import {
  allHeads, chosenCell, chosenIndex, comparedDim, comparedQuery, headCell, isByPosition, isPerHead, rowsBehind,
} from "./cells";
import { choice, div, element, fill, more, note, section, type Child, type Option } from "./element";
import { examples } from "./examples";
import { flagsOfHead, flagsTitle, flagWords } from "./flags";
import { ASIDE_WORDS } from "./findings";
import { cellWords, mainColumns } from "./heads";
import type { Opened, Page, View } from "./page";
import { failure, message, picture } from "./picture";
import { pinButton } from "./shell";
import { comparedChoice, metricOptions } from "./selection";
import { numberColumn, table, textColumn, type Column } from "./table";
import { flagsByHead, headLink, shown, shownOf, signed, titleLink } from "./words";

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
    return { node: div("", element("h1", {}, "Head"), failure(`These results have no head "${address.item}".`)) };
  }
  const first = await card(page, found);
  const cards = div("cards", first.node);
  const differences = div("");
  const values = div("");
  const beside = besideChoice(page, all, found);
  const node = element(
    "article",
    { class: "head-page" },
    title(page, all, place, await results.gather(() => titleOf(results, found))),
    beside.node,
    differences,
    cards,
    section("values", "Values", values),
  );
  let second: Card | undefined;
  // The numbers follow the figures, because those of a large file take a moment.
  const update = async () => {
    const other = beside.chosen();
    if (second?.name !== (other && headName(other))) {
      second = other && (await card(page, other));
      fill(cards, first.node, second?.node);
      cards.classList.toggle("two", second !== undefined);
      for (const shownCard of [first, second]) if (shownCard) shownCard.heading.hidden = second === undefined;
    }
    await Promise.all([first.update(), second?.update()]);
    const heads = other ? [found, other] : [found];
    const names = results.names().filter((name) => isPerHead(results, name) && !isByPosition(results, name));
    await results.need(...names);
    const main = mainColumns(results);
    fill(differences, other && section("differences", "Side by side", valueTable(page, heads, main, "Main values")));
    fill(values, ...valueTables(page, heads, names));
  };
  return { node, update };
}

interface Card {
  name: string;
  node: HTMLElement;
  heading: HTMLElement;
  update(): Promise<void>;
}

// Shows flags, examples and figures of one head, which may be next to those of another.
async function card(page: Page, found: Head): Promise<Card> {
  const { results } = page;
  const name = headName(found);
  const id = (part: string) => `${part}-${name.replace(".", "-")}`;
  const drawings = div("pictures");
  const asides = div("pictures");
  const aside = more("aside", "More: distances, nulls and bounds", note(ASIDE_WORDS), asides);
  const figures = section(id("figures"), "Figures", comparedChoice(page), drawings, aside);
  const viewer = await examples(results, found).catch((error) => failure(message(error)));
  const heading = element("h2", { class: "card-name", hidden: true }, headLink(found, `Head ${name}`));
  const flags = flagsByHead(results).get(name) ?? [];
  return {
    name,
    heading,
    node: div(
      "card",
      heading,
      viewer && section(id("examples"), "Examples", viewer),
      section(id("flags"), flagsTitle(results), flagsOfHead(results, flags)),
      figures,
    ),
    update: async () => {
      const drawn = await results.gather(() => figuresOf(page, found));
      figures.hidden = drawn.length === 0;
      const made = (some: Figure[]) => some.map((figure) => picture(page, figure));
      fill(drawings, ...made(drawn.filter((figure) => !figure.aside)));
      fill(asides, ...made(drawn.filter((figure) => figure.aside)));
      aside.hidden = !drawn.some((figure) => figure.aside);
    },
  };
}

const BESIDE_NONE = "none";

// Makes the choice of a second head to show next to this one; the address stores it.
function besideChoice(page: Page, all: readonly Head[], found: Head): { node: HTMLElement; chosen(): Head | undefined } {
  const chosen = () => {
    const asked = parseHead(page.address.query["beside"] ?? "");
    return asked && all.find((other) => headName(other) === headName(asked) && other !== found);
  };
  const now = chosen();
  const node = choice(
    "choose-beside", "Beside it",
    [{ value: BESIDE_NONE, text: "no other head" }, ...headOptions(all.filter((other) => other !== found))],
    now ? headName(now) : BESIDE_NONE,
    (name) => page.go(changed(page.address, { beside: name === BESIDE_NONE ? undefined : name })),
  );
  return { node: element("div", { class: "controls" }, node), chosen };
}

// Returns the figures of one head. Their ids, which name files, include the head.
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

// Says what a head is by its rarest role, and how far it rests: "Head 17.3, induction: 68 % of what does not rest goes
// to what followed earlier copies; rests 59 %".
export function titleOf(results: Results, found: Head): string {
  const roles = (rolesByHead(results).get(headName(found)) ?? []).filter((role, k) => k === 0 || role === RESTS);
  const cell = { ...headCell(results, found), normalizer: 0, pattern: 0 };
  const said = roles.map((role) => wordsAt(results, FLAGS.get(role)!.says!, cell)).join("; ");
  return `Head ${headName(found)}${roles.length > 0 ? `, ${flagWords(roles[0]!)}: ${said}` : ""}`;
}

function title(page: Page, all: readonly Head[], place: number, heading: string): HTMLElement {
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
  return div(
    "head-title",
    div("", element("h1", {}, heading), element("p", { class: "facts" }, facts.join(" · "))),
    element(
      "nav",
      { class: "steps", "aria-label": "Other heads" },
      choice("choose-head", "Head", headOptions(all), headName(all[place]!), (item) => page.go({ ...address, item })),
      pinButton(page.theme, headName({ layer, head })),
      step(all[place - 1], "← Previous, ", ""),
      element("a", { href: formatAddress({ view: "heads", item: "", query: {} }) }, "All heads"),
      step(all[place + 1], "Next, ", " →"),
    ),
  );
}

const headOptions = (heads: readonly Head[]): Option[] =>
  heads.map((head) => ({ value: headName(head), text: headName(head), group: `layer ${head.layer}` }));

interface ValueRow {
  metric: MetricName;
  group: string;
  at: string;
  unit: string;
  of: { value: number; error: number; rows: number; rank: number }[]; // by head
  heads: number; // that have a value
  isSize: boolean; // not the name of something
}

// Shows the metrics; those that are only useful together with others are behind "more".
function valueTables(page: Page, heads: readonly Head[], names: readonly MetricName[]): Child[] {
  const { results } = page;
  const longest = results.coord("length").at(-1);
  const asides = names.filter((name) => results.isAside(name));
  const rest = () => valueTable(page, heads, asides, `More values of ${namesOf(heads)}`);
  return [
    longest !== undefined && note(`At the longest length, ${longest} tokens.`),
    valueTable(page, heads, names.filter((name) => !results.isAside(name)), `Values of ${namesOf(heads)}`),
    asides.length > 0 && more("aside", "More: critical N, nulls and bounds", note(ASIDE_WORDS), rest()),
  ];
}

const rankWords = (rank: number, heads: number): string => (Number.isNaN(rank) ? "–" : `${rank} of ${heads}`);

const namesOf = (heads: readonly Head[]): string =>
  `${heads.length > 1 ? "heads" : "head"} ${heads.map(headName).join(" and ")}`;

function valueTable({ results, address }: Page, heads: readonly Head[], names: readonly MetricName[], caption: string): HTMLElement {
  const query = comparedQuery(results, address.query);
  const rows: ValueRow[] = metricOptions(results, names).map(({ value: metric, group = "" }) => {
    const chosen = chosenCell(results, metric, query);
    const unit = results.info(metric)?.unit ?? "1";
    const isSize = results.entry(metric)?.identifier !== true;
    const all = valuesOfHeads(results, metric, chosen).filter((value) => !results.isNone(metric, value));
    return {
      metric,
      group,
      at: cellWords(results, metric, chosen),
      unit: unit === "1" ? "" : unit,
      heads: all.length,
      isSize,
      of: heads.map((head) => {
        const cell: Cell = { ...chosen, ...headCell(results, head) };
        const value = results.value(metric, cell);
        return {
          value,
          rank: isSize && all[0] !== all.at(-1) && all.includes(value) ? 1 + all.filter((other) => other > value).length : NaN,
          error: results.stderr(metric, cell),
          rows: rowsBehind(results, metric, cell),
        };
      }),
    };
  });
  const two = heads.length > 1;
  const errorOf = (k: number) => (row: ValueRow) => row.of[k]!.error;
  const difference = (row: ValueRow) =>
    !row.isSize || row.of.some(({ value }) => results.isNone(row.metric, value)) ? NaN : row.of[1]!.value - row.of[0]!.value;
  const columns: Column<ValueRow>[] = [
    textColumn("metric", "Metric", ({ metric }) => metric, ({ metric }) => titleLink(results, metric)),
    ...heads.flatMap((head, k) => [
      numberColumn<ValueRow>(
        `value-${k}`, two ? headName(head) : "Value", (row) => row.of[k]!.value,
        (row) => shownOf(results, row.metric, row.of[k]!.value),
      ),
      numberColumn(`error-${k}`, two ? "±" : "± standard error", errorOf(k), (row) => shown(errorOf(k)(row), 2)),
      numberColumn<ValueRow>(
        `rank-${k}`, "Rank", (row) => row.of[k]!.rank, (row) => rankWords(row.of[k]!.rank, row.heads), two ? "" : "1: the largest",
      ),
    ]),
    ...(two ? [numberColumn("difference", "Difference", difference, (row) => signed(difference(row)))] : []),
    textColumn("unit", "Unit", ({ unit }) => unit),
    textColumn("at", "At", ({ at }) => at),
    ...(two
      ? []
      : [numberColumn<ValueRow>("rows", "Rows", ({ of }) => of[0]!.rows), textColumn<ValueRow>("group", "Group", ({ group }) => group)]),
  ];
  return table({ caption, columns, rows });
}
