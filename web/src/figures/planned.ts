// The results of `headgauge plan` (docs/mathematics.md 7e): plans for shares of the key-value
// cache, compared with other plans on held-out text and tasks.
import type { Estimate, Results } from "../data/results";
import { overHeads } from "./heads";

const LEVEL = 0.05; // false discovery rate over all methods and budgets

export const PLAN = "plan";
export const RANDOM = "random heads";
export const ORACLE = "heaviest keys";
const SAME_KEYS = "equal windows, sinks";

export interface Confirmed {
  method: string;
  budget: number;
  cache: number; // share of the key-value cache that is kept
  read: number; // share of the keys that a query reads
  change: Estimate; // change of the loss
  difference: Estimate; // the plan's change minus this one's; NaN for the plan itself
  verdict: "lower" | "higher" | ""; // how the plan's loss compares, if that is significant
  sameToken: number; // share of the next tokens that are predicted as without a plan
  replay: Estimate; // change of the loss of the replay; NaN if it is not judged
  kept: Estimate[]; // by task, the share of the right answers that stay right; NaN if it is not judged
}

export const budgetsOf = (results: Results): string[] => results.coord("budget").map(String);

export const methodsOf = (results: Results): string[] => results.coord("method").map(String);

// Returns the methods of a budget in the file's order, without those that made no plan of this
// size.
export function confirmed(results: Results, budget: number): Confirmed[] {
  return methodsOf(results)
    .map((method, k): Confirmed => {
      const at = { method: k, budget };
      const difference = results.estimate("plan_difference", at);
      const cache = results.value("planned_cache_share", at);
      return {
        method,
        budget,
        cache,
        read: method === ORACLE ? sharedByAll(results, budget) : cache,
        change: results.estimate("planned_change", at),
        difference,
        verdict: difference.p <= LEVEL && difference.value !== 0 ? (difference.value < 0 ? "lower" : "higher") : "",
        sameToken: results.value("planned_same_token", at),
        replay: results.estimate("planned_change", { ...at, outcome: results.outcome("replay") ?? NaN }),
        kept: results.tasks().map(({ outcome }) => results.estimate("planned_answers_kept", { ...at, outcome })),
      };
    })
    .filter(({ change }) => Number.isFinite(change.value));
}

// Returns whether the plans are judged by a replay of the first tokens, too.
export const judgedByReplay = (results: Results): boolean => results.outcome("replay") !== undefined;

export interface Task {
  name: string;
  place: number; // in Confirmed.kept
}

// Returns the tasks whose answers judge the plans: those that the model itself does.
export function judgedTasks(results: Results): Task[] {
  const rows = budgetsOf(results).flatMap((_, budget) => confirmed(results, budget));
  return results
    .tasks()
    .map(({ name }, place): Task => ({ name, place }))
    .filter(({ place }) => rows.some(({ kept }) => Number.isFinite(kept[place]!.value)));
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

// Returns the other budgets with the same plan: a plan may use less than its budget.
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
  noWorse: number; // assignments whose cost is at most the plan's
  p: number;
  matters: boolean; // true if it matters which head has which entry
}

export function assignments(results: Results, budget: number): Assignments | undefined {
  const p = results.value("random_plans_p", { budget });
  const plans = assignmentChanges(results, budget).length;
  if (Number.isNaN(p) || plans === 0) return undefined;
  return { plans, noWorse: Math.round(p * (1 + plans)) - 1, p, matters: p <= LEVEL };
}
