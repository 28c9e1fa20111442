// Shows the plan: the replacement of each head, the keys that every head keeps, and the
// confirmation.
import type { Results } from "../data/results";
import { formatNumber } from "../figures/format";
import { keptKeysFigure, paretoFigures } from "../figures/plan";
import {
  budgetsOf, assignments, judgedByReplay, judgedTasks, samePlans,
} from "../figures/planned";
import { changed, formatAddress, headAddress } from "./address";
import { chosenIndex } from "./cells";
import { choice, element, fill, type Child } from "./element";
import { saidIn } from "./findings";
import { LiveMap } from "./map";
import { notices } from "./overview";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { viewTables } from "./tables";
import { count } from "./words";

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
    confirming,
  );
  let drawn = "";
  const update = () => {
    const budget = chosenIndex(results, "budget", page.address.query);
    const asked = formatAddress(page.address);
    if (drawn === asked) return;
    drawn = asked;
    const select = node.querySelector<HTMLSelectElement>("#choose-budget");
    if (select) select.value = budgetsOf(results)[budget]!;
    fill(map, ...mapOf(page, budget));
    fill(confirming, confirmation(page, budget));
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

function confirmation(page: Page, budget: number): HTMLElement {
  const { results } = page;
  const label = budgetsOf(results)[budget]!;
  const said = assignmentWords(results, budget);
  const same = samePlans(results, budget).map((other) => `"${other}"`);
  return element(
    "section",
    { class: "confirmation", "data-budget": label },
    same.length > 0 &&
      element("p", { class: "note same" }, `This very plan is also ${same.join(" and ")}; the other methods differ there.`),
    ...viewTables(page, ["confirmed", "confirmed_retrieval"], { label }),
    said !== "" && element("p", { class: "assignments" }, said),
  );
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
