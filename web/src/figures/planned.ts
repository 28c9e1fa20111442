// The results of `headgauge plan` (docs/mathematics.md 7e): plans for shares of the key-value
// cache, compared with other plans on held-out text.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";
import { overHeads } from "./heads";

export const PLAN_NEEDS: readonly MetricName[] = [
  "kept_keys", "planned_cache_share", "planned_change", "planned_change_low",
  "planned_change_high", "plan_difference", "plan_difference_low", "plan_difference_high",
  "plan_difference_p", "random_change", "random_plans_p",
];

const LEVEL = 0.05; // false discovery rate over all methods and budgets

export const PLAN = "plan";
export const RANDOM = "random heads";
export const ORACLE = "heaviest keys";
const SAME_KEYS = "equal windows";

export interface Confirmed {
  method: string;
  budget: number;
  cache: number; // share of the key-value cache that is kept
  read: number; // share of the keys that a query reads
  change: number; // change of the loss, with its 95 % interval
  low: number;
  high: number;
  difference: number; // the plan's change minus this one's; NaN for the plan itself
  differenceLow: number;
  differenceHigh: number;
  p: number; // adjusted
  verdict: "lower" | "higher" | ""; // how the plan's loss compares, if that is significant
}

// Returns whether plans are judged by the loss; models without a loss are judged by their output.
export const judgedByLoss = (results: Results): boolean => results.header.settings["judged_by"] !== "output";

// Returns the unit of a change: " nats" or that of the output.
export const changeUnit = (results: Results): string => (judgedByLoss(results) ? " nats" : "");

export const budgetsOf = (results: Results): string[] => results.coord("budget").map(String);

export const methodsOf = (results: Results): string[] => results.coord("method").map(String);

// Returns the methods of a budget in the file's order, without those that made no plan of this
// size.
export function confirmed(results: Results, budget: number): Confirmed[] {
  return methodsOf(results)
    .map((method, k): Confirmed => {
      const of = (metric: MetricName) => results.value(metric, { method: k, budget });
      const difference = of("plan_difference");
      const p = of("plan_difference_p");
      const cache = of("planned_cache_share");
      return {
        method,
        budget,
        cache,
        read: method === ORACLE ? sharedByAll(results, budget) : cache,
        change: of("planned_change"),
        low: of("planned_change_low"),
        high: of("planned_change_high"),
        difference,
        differenceLow: of("plan_difference_low"),
        differenceHigh: of("plan_difference_high"),
        p,
        verdict: p <= LEVEL && difference !== 0 ? (difference < 0 ? "lower" : "higher") : "",
      };
    })
    .filter(({ change }) => Number.isFinite(change));
}

// The oracle reads as many keys for each query as a window of the same size on all heads.
function sharedByAll(results: Results, budget: number): number {
  const share = (method: string) => {
    const k = methodsOf(results).indexOf(method);
    return k < 0 ? NaN : results.value("planned_cache_share", { method: k, budget });
  };
  const same = share(SAME_KEYS);
  return Number.isFinite(same) ? same : share(PLAN);
}

// Returns the other budgets with the same plan: the plan with the lowest loss may use less than its
// budget.
export function samePlans(results: Results, budget: number): string[] {
  const known = (of: number) => JSON.stringify([
    results.value("planned_change", { method: methodsOf(results).indexOf(PLAN), budget: of }),
    overHeads(results, "kept_keys", { budget: of }).map(({ value }) => value),
  ]);
  return budgetsOf(results).filter((_, other) => other !== budget && known(other) === known(budget));
}

// Returns the loss changes with the plan's entries assigned to random heads.
export const assignmentChanges = (results: Results, budget: number): number[] =>
  results
    .coord("draw")
    .map((_, draw) => results.value("random_change", { budget, draw }))
    .filter(Number.isFinite);

export interface Assignments {
  plans: number;
  noWorse: number; // assignments that lose at most as much as the plan
  p: number;
  matters: boolean; // true if it matters which head has which entry
}

export function assignments(results: Results, budget: number): Assignments | undefined {
  const p = results.value("random_plans_p", { budget });
  const plans = assignmentChanges(results, budget).length;
  if (Number.isNaN(p) || plans === 0) return undefined;
  return { plans, noWorse: Math.round(p * (1 + plans)) - 1, p, matters: p <= LEVEL };
}
