// Shows the plan: the replacement of each head, the keys that every head keeps, and the
// confirmation.
import type { Results } from "../data/results";
import { keptKeysFigures, paretoFigures } from "../figures/plan";
import { overHeads } from "../figures/heads";
import { formatAddress } from "./address";
import { chosenIndex } from "./cells";
import { div, element, fill } from "./element";
import { answer, findings } from "./findings";
import { notices } from "./overview";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";
import { keptChoice } from "./selection";
import { tableBox } from "./tables";

const budgetsOf = (results: Results): string[] => results.coord("budget").map(String);

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
  const same = element("p", { class: "note same" });
  const chosen = () => chosenIndex(results, "budget", page.address.query);
  const confirmed = tableBox(page, ["confirmed", "confirmed_retrieval"], () => ({ label: budgetsOf(results)[chosen()]! }));
  const kept = tableBox(page, ["kept_keys"]);
  // The numbers of many heads need the full width of the page.
  const beside = results.coord("head").length <= 12;
  const node = div(
    "plan",
    element("h1", {}, "What each head keeps, and what that does to the loss"),
    answer(results),
    notices(results),
    budgetChoice(page),
    div(
      beside ? "pictures" : "pictures wide",
      map,
      ...paretoFigures(results).map((figure) => picture(page, figure, { heading: "h2" })),
    ),
    element("section", { class: "confirmation" }, same, confirmed.node, kept.node),
    findings(results),
  );
  let drawn = "";
  const update = () => {
    const asked = formatAddress(page.address);
    if (drawn === asked) return;
    drawn = asked;
    const budget = chosen();
    const select = node.querySelector<HTMLSelectElement>("#choose-budget");
    if (select) select.value = budgetsOf(results)[budget]!;
    const figure = keptKeysFigures(results)[budget];
    fill(map, figure && picture(page, figure, { heading: "h2" }));
    const others = samePlans(results, budget).map((other) => `"${other}"`).join(" and ");
    same.textContent = others && `This very plan is also ${others}; the other methods differ there.`;
    same.hidden = others === "";
    confirmed.update();
    kept.update();
  };
  return { node, update };
}

// Makes the choice of budget for the map and the table.
function budgetChoice(page: Page): HTMLElement | null {
  const budgets = budgetsOf(page.results);
  if (budgets.length < 2) return null;
  return div("controls", keptChoice(page, "budget", "Plan", budgets, budgets[chosenIndex(page.results, "budget", page.address.query)]));
}

// Returns the other budgets with the same plan: a plan may use less than its budget.
export function samePlans(results: Results, budget: number): string[] {
  const method = results.coord("method").indexOf("plan");
  const known = (of: number) => JSON.stringify([
    results.value("planned_change", { method, budget: of }),
    overHeads(results, "kept_keys", { budget: of }).map(({ value }) => value),
  ]);
  return budgetsOf(results).filter((_, other) => other !== budget && known(other) === known(budget));
}
