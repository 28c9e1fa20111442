// Shows the plan: the replacement of each head, the keys that every head keeps, and the
// confirmation.
import type { Results } from "../data/results";
import { formatNumber, formatShare } from "../figures/format";
import { keptKeysFigure, paretoFigures } from "../figures/plan";
import {
  budgetsOf, confirmed, assignments, judgedByReplay, judgedTasks, ORACLE, PLAN, samePlans, type Confirmed,
  type WithInterval,
} from "../figures/planned";
import { signed } from "../figures/predictions";
import { changed, headAddress } from "./address";
import { chosenIndex } from "./cells";
import { choice, element, fill, type Child } from "./element";
import { saidIn } from "./findings";
import { LiveMap } from "./map";
import { notices } from "./overview";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { numberColumn, table, textColumn, type Column } from "./table";
import { count, metricLink, shown } from "./words";

export const plan: View = {
  id: "plan",
  title: "Plan",
  has: (results) => results.has("planned_change"),
  open,
};

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  await results.need(...results.names());
  const map = element("section", { "aria-label": "Keys that each head keeps" });
  const confirming = element("div");
  // The numbers of many heads need the full width of the page.
  const beside = results.coord("head").length <= 12;
  const node = element(
    "div",
    { class: "plan" },
    element("h1", {}, "What each head keeps, and what that does to the loss"),
    ...sentences(results),
    notices(results),
    budgetChoice(page),
    element(
      "div",
      { class: beside ? "pictures" : "pictures wide" },
      map,
      ...paretoFigures(results).map((figure) => picture(page, figure, { heading: "h2" })),
    ),
    element("h2", {}, "Confirmed on other text"),
    element("p", { class: "note" }, legend(results), " ", metricLink("plan_difference")),
    confirming,
  );
  let drawn = "";
  const update = () => {
    const budget = chosenIndex(results, "budget", page.address.query);
    if (drawn === `${budget}`) return;
    drawn = `${budget}`;
    const select = node.querySelector<HTMLSelectElement>("#choose-budget");
    if (select) select.value = budgetsOf(results)[budget]!;
    fill(map, ...mapOf(page, budget));
    fill(confirming, confirmation(results, budget));
  };
  return { node, update };
}

// Shows the sentence to act on, then the others.
function sentences(results: Results): HTMLElement[] {
  const [first, ...others] = results.header.summary ?? [];
  if (!first) return [element("p", { class: "note" }, "This results file has no summary.")];
  return [
    element("p", { class: "act" }, ...saidIn(results, first)),
    ...(others.length > 0
      ? [element("ul", { class: "also" }, ...others.map((said) => element("li", {}, ...saidIn(results, said))))]
      : []),
  ];
}

// Makes the choice of budget for the map and the table.
function budgetChoice(page: Page): HTMLElement | null {
  const budgets = budgetsOf(page.results);
  if (budgets.length < 2) return null;
  return element(
    "div",
    { class: "controls" },
    choice(
      "choose-budget", "Plan", budgets.map((value) => ({ value, text: value })),
      budgets[chosenIndex(page.results, "budget", page.address.query)]!,
      (value) => page.go(changed(page.address, { budget: value })),
    ),
  );
}

function mapOf(page: Page, budget: number): Child[] {
  const { results } = page;
  const figure = keptKeysFigure(results, budget);
  if (!figure) return [];
  const map = new LiveMap(results, "kept_keys", { budget }, (head) => page.go(headAddress(head)));
  return [
    picture(page, figure, { heading: "h2", drawn: (drawing) => map.attach(drawing) }),
    map.readout,
  ];
}

export function legend(results: Results): string {
  const documents = results.coord("document").length;
  const replay = judgedByReplay(results);
  const tasks = judgedTasks(results).length > 0;
  const others = [replay && "the replay", tasks && "the answers of each task"].filter(Boolean).join(" and ");
  const sentences: (string | false)[] = [
    `Changes of the loss are in nats, on ${count(documents, "document")} that had no part in making the plans, ` +
      "with 95 % intervals by Student's t over documents.",
    "* the plan's change of the loss is shown to be lower or higher than the method's (paired t test " +
      "over documents, false discovery rate 5 % over all lines); p is of the same test.",
    results.has("planned_same_token") &&
      "Same token: how often the model under a plan predicts the token that it predicts without.",
    replay && "Replay: the last tokens of each document, which repeat its first.",
    tasks &&
      "Kept: the share of the right answers of a task that stay right, with 95 % intervals of Clopper and " +
        "Pearson over cases.",
    others !== "" &&
      `The cost of a plan is the change of the loss of text plus that of ${others}, each weighed by what is at stake: ` +
        "what it loses when every head keeps an eighth of the keys.",
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}

function confirmation(results: Results, budget: number): HTMLElement {
  const name = budgetsOf(results)[budget]!;
  const rows = confirmed(results, budget);
  const said = assignmentWords(results, budget);
  const same = samePlans(results, budget).map((other) => `"${other}"`);
  return element(
    "section",
    { class: "confirmation", "data-budget": name },
    element("h3", {}, `Plan "${name}"`),
    same.length > 0 &&
      element("p", { class: "note same" }, `This very plan is also ${same.join(" and ")}; the other methods differ there.`),
    table({ caption: `Plan "${name}" beside other methods`, columns: columnsOf(results), rows }),
    said !== "" && element("p", { class: "assignments" }, said),
  );
}

export const columnsOf = (results: Results): Column<Confirmed>[] => [
  textColumn("method", "Method", ({ method }) => method, ({ method }) =>
    method === PLAN ? element("strong", {}, method) : method,
  ),
  numberColumn("cache", "Cache", ({ cache }) => cache, ({ method, cache, read }) =>
    method === ORACLE
      ? withNote(formatShare(cache), `an oracle: reads ${formatShare(read)}`)
      : formatShare(cache),
  ),
  valueColumn("change", "Loss change", ({ change }) => change, asChange),
  numberColumn("difference", "Plan less it", ({ difference }) => difference.value, differenceCell),
  numberColumn("p", "p", ({ p }) => p, ({ p }) => shown(p, 2)),
  ...(results.has("planned_same_token")
    ? [valueColumn("same", "Same token", ({ sameToken }) => ({ value: sameToken, low: NaN, high: NaN }), asShare)]
    : []),
  ...(judgedByReplay(results) ? [valueColumn("replay", "Replay change", ({ replay }) => replay, asChange)] : []),
  ...judgedTasks(results).map(({ name, place }) =>
    valueColumn(`kept-${place}`, `${name} kept`, ({ kept }) => kept[place]!, asShare),
  ),
];

const asChange = (value: number): string => signed(value, 4);
const asShare = (value: number): string => formatShare(value, 2);

const valueColumn = (
  id: string, title: string, of: (row: Confirmed) => WithInterval, show: (value: number) => string,
): Column<Confirmed> =>
  numberColumn(id, title, (row) => of(row).value, (row) =>
    Number.isNaN(of(row).value) ? "–" : withNote(show(of(row).value), range(of(row), show)),
  );

const range = ({ low, high }: WithInterval, show: (value: number) => string): string =>
  Number.isFinite(low) && Number.isFinite(high) ? `${show(low)} to ${show(high)}` : "";

const withNote = (text: Node | string, note: string): HTMLElement =>
  element("span", {}, text, note !== "" && element("span", { class: "note" }, note));

function differenceCell({ difference, verdict }: Confirmed): Node | string {
  if (Number.isNaN(difference.value)) return "–";
  const value = element(
    "span",
    { class: verdict === "" ? false : `differs ${verdict}` },
    asChange(difference.value),
    verdict !== "" && element("span", { "aria-hidden": "true" }, "*"),
    verdict !== "" && element("span", { class: "unseen" }, ` the plan's change is shown to be ${verdict}`),
  );
  return withNote(value, range(difference, asChange));
}

// Describes random_plans_p in words.
export function assignmentWords(results: Results, budget: number): string {
  const found = assignments(results, budget);
  if (!found) return "";
  const { plans, noWorse, p, matters } = found;
  return (
    `Of ${count(plans, "plan")} that deal the same entries to other heads at random, ` +
    `${noWorse === 0 ? "none has" : noWorse === 1 ? "1 has" : `${noWorse} have`} as low a ${costName(results)} ` +
    `(p = ${formatNumber(p, 2)}): it ${matters ? "matters" : "is not shown to matter"} which head got what.`
  );
}

// What ranks the plans among random ones: the cost, which is the loss alone if nothing else judges them.
const costName = (results: Results): string =>
  judgedByReplay(results) || judgedTasks(results).length > 0 ? "cost" : "loss";
