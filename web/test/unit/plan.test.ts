import { describe, expect, it } from "vitest";
import type { Results } from "../../src/data/results";
import type { Figure } from "../../src/figures/figure";
import { keptKeysFigure, paretoFigures } from "../../src/figures/plan";
import { confirmed, assignments, judgedTasks, samePlans } from "../../src/figures/planned";
import { standardFigures } from "../../src/figures/standard";
import { chosenIndex } from "../../src/page/cells";
import { assignmentWords } from "../../src/page/plan";
import { views } from "../../src/page/views";
import { changing, madeJudgedPlan, madePlan, madeResults, madeScan, METHODS } from "./made";
import { column, drawn, expectWhole } from "./svg";

const results = madeResults(madePlan());
const judged = madeResults(madeJudgedPlan());
const lossFigure = (of: Results): Figure => paretoFigures(of)[0]!;

const changedValues = changing(madePlan());

describe("a plan beside other methods", () => {
  it("has the file's numbers, without methods that made no plan of the size", () => {
    expect(confirmed(results, 0).map(({ method }) => method)).toEqual(METHODS);
    expect(confirmed(results, 1).map(({ method }) => method)).toEqual(METHODS.filter((name) => name !== "by layer"));
    expect(confirmed(results, 0)[1]).toEqual({
      method: "equal windows, sinks", budget: 0, cache: 0.5, read: 0.5,
      change: { value: 0.25, stderr: 0.01, low: 0.21875, high: 0.28125, p: NaN, rows: NaN },
      difference: { value: -0.3125, stderr: 0.01, low: -0.375, high: -0.25, p: 0.05, rows: NaN }, verdict: "lower",
      replay: { value: NaN, stderr: NaN, low: NaN, high: NaN, p: NaN, rows: NaN }, sameToken: NaN, kept: [],
    });
    expect(confirmed(results, 0)[0]!.difference.value).toBeNaN();
  });

  it("is shown to differ at a false discovery rate of 5 %, in either direction", () => {
    const verdicts = (of: Results) => confirmed(of, 0).map(({ verdict }) => verdict);
    expect(verdicts(results)).toEqual(["", "lower", "", "lower", ""]);
    const worse = changedValues("plan_difference", ({ method }, was) => (method === 1 ? 0.25 : method === 3 ? 0 : was));
    expect(verdicts(worse)).toEqual(["", "higher", "", "", ""]);
  });

  it("has an oracle that reads as much as the same window on all heads, or else as the plan", () => {
    const oracle = (of: Results) => confirmed(of, 1).find(({ method }) => method === "heaviest keys")!;
    expect(oracle(results)).toMatchObject({ cache: 1, read: 0.25 });
    const without = changedValues("planned_cache_share", ({ method }, was) => (method === 1 ? null : was));
    expect(oracle(without)).toMatchObject({ cache: 1, read: 0.21875 });
  });

  it("says in words how it ranks among plans assigned at random", () => {
    expect(assignments(results, 0)).toEqual({ plans: 4, noWorse: 0, p: 0.2, matters: false });
    expect(assignmentWords(results, 0)).toBe(
      "Of 4 plans that deal the same entries to other heads at random, none has as low a loss (p = 0.2): " +
        "it is not shown to matter which head got what.",
    );
    expect(assignmentWords(results, 1)).toContain("2 have as low a loss (p = 0.6)");
    const small = changedValues("random_plans_p", () => 0.05);
    expect(assignmentWords(small, 0)).toContain("(p = 0.05): it matters");
    const none = changedValues("random_plans_p", () => null);
    expect(assignmentWords(none, 0)).toBe("");
  });

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

  it("has a row for each method and budget, from the smallest share, and one for each random plan", () => {
    expectWhole(figure);
    expect(figure.rows).toHaveLength(9 + 8);
    expect(figure.rows.slice(0, 2)).toEqual([
      ["plan", "25 %", null, 0.21875, -0.125, -0.15625, -0.09375],
      ["plan", "50 %", null, 0.4375, -0.0625, -0.09375, -0.03125],
    ]);
    expect(figure.rows.filter(([method]) => method === "heaviest keys").map((row) => row[3])).toEqual([0.25, 0.5]);
    expect(figure.rows.slice(9, 11)).toEqual([
      ["random plan", "50 %", 0, 0.4375, 0.0625, null, null], ["random plan", "50 %", 1, 0.4375, 0.1875, null, null],
    ]);
    expect(column(figure, "cache_share_drawn").slice(13)).toEqual([0.21875, 0.21875, 0.21875, 0.21875]);
    expect(figure.caption).toContain("3 documents that had no part in making the plans, with 95 % intervals");
    expect(figure.caption).toContain("their cache holds all keys");
  });

  it("sets the plan off, the others as they are told in the key", () => {
    const { text, elements } = drawn(figure);
    expect(text).toContain("<title>plan, 50 %: 43.8 % of the cache, -0.0625 (-0.094 to -0.031) nats</title>");
    expect(text).toContain("<title>heaviest keys, 25 %: 25 % of the keys read, 0.625 (0.59 to 0.66) nats</title>");
    for (const label of [...METHODS.filter((name) => name !== "random heads"), "random heads, mean", "full attention"]) {
      expect(text).toContain(`>${label}</text>`);
    }
    const sizes = elements.filter(({ name }) => name === "circle").map(({ attributes }) => attributes["r"]);
    expect([2, 3.5, 5.5].map((size) => sizes.filter((r) => Number(r) === size).length)).toEqual([8, 7, 2]);
    expect(sizes.slice(-2).map(Number)).toEqual([5.5, 5.5]); // above the others
    const rules = (of: Figure) => [...drawn(of).text.matchAll(/<g aria-label="rule"[^>]*>(.*?)<\/g>/gs)]
      .map(([, lines]) => lines!.match(/<line/g)?.length ?? 0);
    expect(rules(figure)).toEqual([1, 2, 2, 1, 2, 2]); // full attention, and intervals, the plan's last
    const [faint] = elements.filter(({ name, attributes }) => name === "g" && attributes["fill-opacity"] === "0.45");
    expect(faint).toBeDefined();
  });

  it("has every mark where its value is", () => {
    const { elements, text } = drawn(figure);
    const shifts = new Set([...text.matchAll(/<g aria-label="(?:dot|line|rule)"[^>]*?(?: transform="([^"]*)")?>/g)].map(([, shift]) => shift));
    expect(shifts.size).toBe(1);
    // Of 50 %: the plan and the plans assigned at random keep the same share; so do equal windows and what the oracle reads.
    const at = elements.filter(({ name }) => name === "circle").map(({ attributes }) => attributes["cx"]);
    expect(new Set(at).size).toBe(new Set(column(figure, "cache_share_drawn")).size);
    expect(figure.caption).not.toContain("sideways");
  });

  it("is drawn with one document, which has no intervals, and is none without a plan", () => {
    const made = madePlan();
    for (const end of ["low", "high"] as const) made.metrics["planned_change"]![end] = () => null;
    made.coords["document"] = [0];
    const one = lossFigure(madeResults(made));
    expectWhole(one);
    expect(one.caption).toContain("on 1 document that had no part in making the plans; one shows nothing of others");
    expect(drawn(one).text).toContain("<title>plan, 50 %: 43.8 % of the cache, -0.0625 nats</title>");
    expect(paretoFigures(changedValues("planned_change", () => null))).toEqual([]);
  });

  it("bends the axis where a random plan is lost, and has the line at 0", () => {
    const lost = changedValues("random_change", ({ draw }, was) => (draw === 3 ? 40 : was));
    expectWhole(lossFigure(lost));
    expect(drawn(lossFigure(lost)).text).toContain("logarithmic beyond");
    expect(drawn(figure).text).not.toContain("logarithmic beyond");
    expect(drawn(lossFigure(lost)).text).not.toContain(">-1</text>"); // no room below for 5 % of 40
    // The line of full attention is in sight where all plans raise the loss.
    const risen = madePlan();
    for (const [name, part] of [
      ["planned_change", "value"], ["planned_change", "low"], ["planned_change", "high"], ["random_change", "value"],
    ] as const) {
      const was = risen.metrics[name]![part]!;
      risen.metrics[name]![part] = (cell) => (was(cell) === null ? null : was(cell)! + 3);
    }
    expect(drawn(lossFigure(madeResults(risen))).text).toContain(">0</text>");
  });
});

describe("the replay and the answers of tasks", () => {
  const [, replay, passkey] = paretoFigures(judged) as [Figure, Figure, Figure];
  const rowsOf = ({ rows }: Figure, of: string) => rows.filter(([method]) => method === of);

  it("are read with their intervals, a task without a verdict as undefined", () => {
    expect(confirmed(judged, 1)[1]).toMatchObject({
      sameToken: 0.875,
      replay: { value: 2, low: 1.5, high: 2.5 },
      kept: [{ value: NaN, low: NaN, high: NaN }, { value: 0.25, low: 0.125, high: 0.5 }],
    });
    expect(judgedTasks(judged)).toEqual([{ name: "passkey 8", place: 1 }]);
    expect(judgedTasks(results)).toEqual([]);
  });

  it("have figures of their own, and none if the text alone is judged", () => {
    const ids = (of: Results) => paretoFigures(of).map(({ id }) => id);
    expect(ids(results)).toEqual(["plan-loss-against-cache"]);
    expect(ids(judged)).toEqual([
      "plan-loss-against-cache", "plan-replay-against-cache", "plan-answers-against-cache-passkey-8",
    ]);
    const undone = changing(madeJudgedPlan())("planned_answers_kept", () => null);
    expect(ids(undone)).toEqual(["plan-loss-against-cache", "plan-replay-against-cache"]);
    expect(standardFigures(judged).map(({ id }) => id)).toEqual([...ids(judged), "plan-kept-keys-50", "plan-kept-keys-25"]);
    expect(lossFigure(judged).rows).toEqual(lossFigure(results).rows);
  });

  it("draw the change of the replay, without random plans", () => {
    expectWhole(replay);
    expect(replay.columns).toEqual([
      "method", "budget", "cache_share_drawn", "replay_change", "replay_change_low", "replay_change_high",
    ]);
    expect(replay.rows).toHaveLength(9 - 1); // of 25 % the oracle's replay is undefined
    expect(rowsOf(replay, "plan")).toEqual([
      ["plan", "25 %", 0.21875, 0.5, 0, 1], ["plan", "50 %", 0.4375, 0.25, -0.25, 0.75],
    ]);
    expect(replay.title).toBe("What the plans cost: change of the replay against share of the cache");
    expect(replay.caption).toContain("3 documents that had no part in making the plans, with 95 % intervals (Student's t");
    expect(replay.caption).toContain("the last tokens of each document repeat its first. The line at 0 is full attention.");
    expect(replay.caption).not.toContain("dots");
    const { text, elements } = drawn(replay);
    expect(text).toContain("<title>plan, 50 %: 43.8 % of the cache, 0.25 (-0.25 to 0.75) nats</title>");
    expect(text).toContain(">change of the loss of the replay on the confirming texts (nats)<");
    expect(elements.filter(({ name }) => name === "circle")).toHaveLength(8);
  });

  it("draw the share of the answers that a plan keeps from 0 to 1, with the line of full attention at 1", () => {
    expectWhole(passkey);
    expect(passkey.columns.slice(3)).toEqual(["answers_kept", "answers_kept_low", "answers_kept_high"]);
    expect(rowsOf(passkey, "equal windows, sinks")).toEqual([
      ["equal windows, sinks", "25 %", 0.25, 0.25, 0.125, 0.5], ["equal windows, sinks", "50 %", 0.5, 0.5, 0.25, 1],
    ]);
    // The mean over random plans has no interval.
    expect(rowsOf(passkey, "random heads").map((row) => row.slice(3))).toEqual([[0.125, null, null], [0.25, null, null]]);
    expect(passkey.title).toBe("What the plans keep: right answers of passkey 8 against share of the cache");
    expect(passkey.caption).toContain("with 95 % intervals (Clopper and Pearson, over cases). The line at 100 % is full attention.");
    const { text, elements } = drawn(passkey);
    expect(text).toContain("<title>equal windows, sinks, 25 %: 25 % of the cache, 25 % (13 % to 50 %) of the right answers</title>");
    expect(text).toContain("<title>random heads, 50 %: 43.8 % of the cache, 25 % of the right answers</title>");
    const ticks = [...text.matchAll(/>(-?\d+) %<\/text>/g)].map(([, percent]) => Number(percent));
    expect([Math.min(...ticks), Math.max(...ticks)]).toEqual([0, 100]);
    // All answers kept: on the line of full attention, at the top.
    const [line] = /<g aria-label="rule"[^>]*stroke-dasharray[^>]*>.*?<\/g>/s.exec(text)!;
    const top = Number(/ y1="([^"]*)"/.exec(line)![1]);
    const places = elements.filter(({ name }) => name === "circle").map(({ attributes }) => Number(attributes["cy"]));
    expect(places.filter((y) => y === top)).toHaveLength(2);
    expect(Math.min(...places)).toBe(top);
  });

  it("are part of the cost by which the plan ranks among random ones", () => {
    expect(assignmentWords(judged, 1)).toContain("2 have as low a cost (p = 0.6)");
    expect(assignmentWords(results, 1)).toContain("2 have as low a loss (p = 0.6)");
  });
});

describe("the keys that each head keeps", () => {
  it("are on one logarithmic scale for all budgets, with the number in the cell", () => {
    const [large, small] = [0, 1].map((budget) => keptKeysFigure(results, budget)!);
    expectWhole(large!);
    expect(large!.columns).toEqual(["layer", "head", "kept_keys"]);
    expect(column(large!, "kept_keys")).toEqual([512, 1024, 1536, 512, 1024, 2048]);
    expect(column(small!, "kept_keys")).toEqual([32, 32, 32, 32, 32, 32]);
    expect(large!.title).toBe('Keys that each head keeps after 2048 tokens, plan "50 %"');
    expect(large!.caption).toContain("The plan leaves 43.8 % of the cache.");
    const { text, elements } = drawn(large!);
    expect(text).toContain("keys kept (keys, log scale), budget 50 %");
    for (const end of [32, 256, 2048]) expect(text).toContain(`>${end}</text>`); // the ends, the mean of their logs
    expect(text.match(/>2048<\/text>/g)).toHaveLength(2); // and in its cell
    expect(text).toMatch(/>1536<\/text>/);
    const fills = elements.filter(({ attributes }) => attributes["y"] !== undefined).map(({ attributes }) => attributes["fill"]);
    const other = drawn(small!).elements.map(({ attributes }) => attributes["fill"]);
    // The least has its colour, also where there is no other.
    expect(other.filter((fill) => fill === "rgb(68, 1, 84)" || fill === "#440154").length).toBeGreaterThanOrEqual(6);
    expect(fills.filter((fill) => fill === "rgb(68, 1, 84)" || fill === "#440154").length).toBeLessThan(2);
  });

  it("are standard figures, a map for each budget after the loss", () => {
    const figures = standardFigures(results);
    expect(figures.map(({ id }) => id)).toEqual(["plan-loss-against-cache", "plan-kept-keys-50", "plan-kept-keys-25"]);
    figures.forEach(expectWhole);
    expect(standardFigures(madeResults(madeScan())).filter(({ id }) => id.startsWith("plan"))).toEqual([]);
  });
});
