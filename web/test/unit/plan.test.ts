import { describe, expect, it } from "vitest";
import type { Results } from "../../src/data/results";
import type { Figure } from "../../src/figures/figure";
import { keptKeysFigures, paretoFigures } from "../../src/figures/plan";
import { chosenIndex } from "../../src/page/cells";
import { samePlans } from "../../src/page/plan";
import { views } from "../../src/page/views";
import { changing, madeJudgedPlan, madePlan, madeResults, madeScan, METHODS } from "./made";
import { column, drawn, expectWhole } from "./svg";

const results = madeResults(madePlan());
const judged = madeResults(madeJudgedPlan());
const lossFigure = (of: Results): Figure => paretoFigures(of)[0]!;

const changedValues = changing(madePlan());

describe("a plan beside other methods", () => {
  it("is named once where it is the plan of several budgets", () => {
    expect(samePlans(results, 0)).toEqual([]);
    const made = madePlan();
    made.metrics["kept_keys"]!.value = () => 32;
    made.metrics["planned_change"]!.value = ({ method, budget }) => (method === 0 ? 0.5 : budget!);
    expect(samePlans(madeResults(made), 0)).toEqual(["25 %"]);
    expect(samePlans(madeResults(made), 1)).toEqual(["50 %"]);
    made.metrics["planned_change"]!.value = ({ budget }) => budget!;
    expect(samePlans(madeResults(made), 0)).toEqual([]);
  });

  it("begins with the plan that was asked for, and is the first view of its results alone", () => {
    expect(chosenIndex(results, "budget", {})).toBe(0);
    expect(chosenIndex(results, "budget", { budget: "25 %" })).toBe(1);
    const first = (of: Results) => views.find((view) => view.has(of))!.id;
    expect([first(results), first(madeResults(madeScan()))]).toEqual(["plan", "overview"]);
    expect(views.filter((view) => view.has(madeResults(madeScan()))).map(({ id }) => id)).not.toContain("plan");
  });
});

describe("the loss against the cache", () => {
  const figure = lossFigure(results);
  const rowsOf = (method: string) => figure.rows.filter((row) => row[1] === method);

  it("has a row for each method and budget with its interval, and one for each random plan", () => {
    expect(figure.columns).toEqual([
      "budget", "method", "planned_cache_share", "planned_change", "planned_change_low", "planned_change_high",
    ]);
    expect(figure.rows).toHaveLength(9 + 8); // a method made no plan of one size
    expect(rowsOf("plan")).toEqual([
      ["50 %", "plan", 0.4375, -0.0625, -0.09375, -0.03125], ["25 %", "plan", 0.21875, -0.125, -0.15625, -0.09375],
    ]);
    expect(rowsOf("heaviest keys").map((row) => row[2])).toEqual([0.5, 0.25]); // reads as much as these
    expect(rowsOf("draw 1")[0]).toEqual(["50 %", "draw 1", 0.4375, 0.1875, null, null]); // at the plan's share
  });

  it("sets the plan off, above the others, and names all in the key", () => {
    const { text, elements } = drawn(figure);
    expect(text).toContain("<title>plan, 50 %: 43.8 %, -0.0625 (-0.094 to -0.031)</title>");
    for (const label of [...METHODS, "full attention"]) expect(text).toContain(`>${label}</text>`);
    const sizes = elements.filter(({ name }) => name === "circle").map(({ attributes }) => Number(attributes["r"]));
    expect([2, 3.5, 5.5].map((size) => sizes.filter((r) => r === size).length)).toEqual([8, 7, 2]);
    expect(sizes.slice(-2)).toEqual([5.5, 5.5]);
  });

  it("is drawn with one document, which has no intervals, and is none without a plan", () => {
    const made = madePlan();
    for (const end of ["low", "high"] as const) made.metrics["planned_change"]![end] = () => null;
    expectWhole(lossFigure(madeResults(made)));
    expect(drawn(lossFigure(madeResults(made))).text).toContain("<title>plan, 50 %: 43.8 %, -0.0625</title>");
    expect(paretoFigures(changedValues("planned_change", () => null))).toEqual([]);
  });

  it("has no faint points without random plans, of which no caption speaks", () => {
    const { coords: { draw: _draw, ...coords }, metrics: { random_change: _change, random_plans_p: _p, ...metrics }, ...made } = madePlan();
    const without = madeResults({ ...made, coords, metrics });
    expect(lossFigure(without).rows).toHaveLength(9);
    expect(lossFigure(without).caption).not.toContain("Faint");
    expect(keptKeysFigures(without)[0]!.caption).toMatch(/ The plan leaves a share of 0\.438 of the cache\.$/);
  });

  it("bends the axis where a random plan is lost, and has the line at 0", () => {
    const lost = changedValues("random_change", ({ draw }, was) => (draw === 3 ? 40 : was));
    expect(drawn(lossFigure(lost)).text).toContain("logarithmic beyond");
    expect(drawn(figure).text).not.toContain("logarithmic beyond");
  });
});

describe("the replay and the answers of tasks", () => {
  const [, replay, passkey] = paretoFigures(judged) as [Figure, Figure, Figure];
  const rowsOf = ({ rows }: Figure, of: string) => rows.filter((row) => row[1] === of);

  it("have figures of their own, and none if the text alone is judged", () => {
    const ids = (of: Results) => paretoFigures(of).map(({ id }) => id);
    expect(ids(results)).toEqual(["plan-loss-against-cache"]);
    expect(ids(judged)).toEqual([
      "plan-loss-against-cache", "plan-replay-against-cache", "plan-answers-against-cache-passkey-8",
    ]);
    const undone = changing(madeJudgedPlan())("planned_answers_kept", () => null);
    expect(ids(undone)).toEqual(["plan-loss-against-cache", "plan-replay-against-cache"]);
    expect(lossFigure(judged).rows).toEqual(lossFigure(results).rows);
  });

  it("draw the change of the replay, without random plans", () => {
    expect(rowsOf(replay, "heaviest keys")).toHaveLength(1); // of 25 % it is undefined
    expect(rowsOf(replay, "plan")).toEqual([
      ["50 %", "plan", 0.4375, 0.25, -0.25, 0.75], ["25 %", "plan", 0.21875, 0.5, 0, 1],
    ]);
  });

  it("draw the share of the answers that a plan keeps from 0 to 1, with the line of full attention at 1", () => {
    expect(rowsOf(passkey, "equal windows, sinks")).toEqual([
      ["50 %", "equal windows, sinks", 0.5, 0.5, 0.25, 1], ["25 %", "equal windows, sinks", 0.25, 0.25, 0.125, 0.5],
    ]);
    // The mean over random plans has no interval.
    expect(rowsOf(passkey, "random heads").map((row) => row.slice(3))).toEqual([[0.25, null, null], [0.125, null, null]]);
    const { text } = drawn(passkey);
    const ticks = [...text.matchAll(/>(-?\d+) %<\/text>/g)].map(([, percent]) => Number(percent));
    expect([Math.min(...ticks), Math.max(...ticks)]).toEqual([0, 100]);
  });
});

describe("the keys that each head keeps", () => {
  it("are on one logarithmic scale for all budgets, with the number in the cell", () => {
    const [large, small] = keptKeysFigures(results);
    expect(column(large!, "kept_keys")).toEqual([512, 1024, 1536, 512, 1024, 2048]);
    expect(column(small!, "kept_keys")).toEqual([32, 32, 32, 32, 32, 32]);
    expect(large!.title).toBe('Keys that each head keeps after 2048 tokens, plan "50 %"');
    expect(large!.caption).toContain("The plan leaves a share of 0.438 of the cache. Among random assignments of its entries to other heads its p is 0.2.");
    const { text } = drawn(large!);
    expect(text).toContain("keys kept (keys, log scale), budget 50 %");
    for (const end of [32, 256, 2048]) expect(text).toContain(`>${end}</text>`); // the ends, the mean of their logs
    const other = drawn(small!).elements.map(({ attributes }) => attributes["fill"]);
    // The least has its colour, also where there is no other.
    expect(other.filter((fill) => fill === "rgb(68, 1, 84)" || fill === "#440154").length).toBeGreaterThanOrEqual(6);
  });
});
