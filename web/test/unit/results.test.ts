// What stands beside the values of a results file, and the outcomes that it judges.
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fromFile } from "../../src/catalogue/catalogue";
import { resultsFromPage } from "../../src/data/embedded";
import type { Results } from "../../src/data/results";
import { drawnDim } from "../../src/figures/generic";
import { cellLabel } from "../../src/figures/map";
import { resultsFromFile } from "../../src/data/embedded";
import { smallFile } from "./page-results";

const CORRELATION = {
  dims: ["predictor", "outcome"], unit: "1",
  values: [[0.5, 0.25], [-0.75, null]],
  stderr: [[0.015625, 0.03125], [0.046875, null]],
  degrees_of_freedom: [[7, 7], [7, null]],
  low: [[0.375, 0.125], [-0.875, null]],
  high: [[0.625, 0.375], [-0.5, null]],
  p: [[0.0625, 0.5], [0.0009765625, null]],
  rows: [[12, 11], [10, 0]],
};
const COORDS = { predictor: ["entropy", "horizon"], outcome: ["answers", "text"], length: [32, 64] };
const LOSS = { dims: ["outcome", "length"], unit: "nats", values: [[null, 4], [3, 2]] };
const PARTS = ["values", "stderr", "low", "high", "p", "rows"] as const; // as a page has them

const file = (metrics: object, coords: object): Results => resultsFromFile({ ...smallFile(), coords, metrics });

// A page of which only the elements with data are there: a metric as a text, another one packed.
function pageWith(): Document {
  const { metrics: _, ...header } = smallFile();
  const flat = (part: unknown) => (part as (number | null)[][]).flat().map((value) => value ?? NaN);
  // All first bytes of a part, then all second ones.
  const packed = PARTS.flatMap((part) => {
    const bytes = new Uint8Array(Float32Array.from(flat(CORRELATION[part])).buffer);
    return [0, 1, 2, 3].flatMap((plane) => [...bytes].filter((_, k) => k % 4 === plane));
  });
  const metrics = [
    { name: "rank_correlation", element: "metric-0", dims: CORRELATION.dims, unit: "1" },
    { name: "loss", element: "metric-1", dims: LOSS.dims, unit: "nats" },
  ];
  const elements: Record<string, { text: string; attributes: Record<string, string> }> = {
    "headgauge-data": { text: JSON.stringify({ header: { ...header, coords: COORDS }, metrics }), attributes: {} },
    "metric-0": {
      text: gzipSync(Uint8Array.from(packed)).toString("base64"),
      attributes: { type: "application/gzip", "data-parts": PARTS.join(" ") },
    },
    "metric-1": { text: JSON.stringify({ values: LOSS.values }), attributes: { type: "application/json" } },
  };
  const getElementById = (id: string) => {
    const found = elements[id];
    return found ? { textContent: found.text, getAttribute: (name: string) => found.attributes[name] ?? null } : null;
  };
  return { getElementById } as unknown as Document;
}

const fromPage = async (): Promise<Results> => {
  const results = await resultsFromPage(pageWith());
  await results.need(...results.names());
  return results;
};

describe("an estimate", () => {
  const both: [string, () => Results | Promise<Results>][] = [
    ["a file", () => file({ rank_correlation: CORRELATION, loss: LOSS }, COORDS)],
    ["a packed page", fromPage],
  ];

  it.each(both)("of %s has the parts that stand beside its value", async (_, make) => {
    const results = await make();
    expect(results.estimate("rank_correlation", { predictor: 0, outcome: 0 })).toEqual({
      value: 0.5, stderr: 0.015625, low: 0.375, high: 0.625, p: 0.0625, rows: 12,
    });
    expect(results.estimate("rank_correlation", { predictor: 0, outcome: 1 })).toEqual({
      value: 0.25, stderr: 0.03125, low: 0.125, high: 0.375, p: 0.5, rows: 11,
    });
    expect(results.estimate("rank_correlation", { predictor: 1, outcome: 0 })).toEqual({
      value: -0.75, stderr: 0.046875, low: -0.875, high: -0.5, p: 0.0009765625, rows: 10,
    });
    expect(results.stderr("rank_correlation", { predictor: 1, outcome: 0 })).toBe(0.046875);
  });

  it.each(both)("of %s is NaN where there is none", async (_, make) => {
    const results = await make();
    const none = { value: NaN, stderr: NaN, low: NaN, high: NaN, p: NaN, rows: NaN };
    expect(results.estimate("rank_correlation", { predictor: 1, outcome: 1 })).toEqual({ ...none, rows: 0 });
    expect(results.estimate("loss", { outcome: 1, length: 0 })).toEqual({ ...none, value: 3 });
    expect(results.estimate("loss", { outcome: NaN })).toEqual(none);
    expect(results.estimate(fromFile("unheard_of"), {})).toEqual(none);
  });

  it("is no attribute of the metric", () => {
    const results = file({ rank_correlation: CORRELATION }, COORDS);
    expect(results.info("rank_correlation")).toMatchObject({ name: "rank_correlation", dims: CORRELATION.dims, unit: "1" });
    for (const part of [...PARTS, "degrees_of_freedom"]) expect(results.info("rank_correlation")).not.toHaveProperty(part);
  });

  it("is the same in a part of a file, whether the file has read it before or not", () => {
    const metric = { ...CORRELATION, dims: ["model_predictor", "outcome"] };
    const coords = { ...COORDS, model_predictor: COORDS.predictor };
    for (const before of [false, true]) {
      const results = file({ model_rank_correlation: metric }, coords);
      if (before) results.metric(fromFile("model_rank_correlation"));
      expect(results.part("model")!.estimate("rank_correlation", { predictor: 0, outcome: 0 })).toEqual({
        value: 0.5, stderr: 0.015625, low: 0.375, high: 0.625, p: 0.0625, rows: 12,
      });
    }
  });
});

describe("an outcome", () => {
  it("that is not named is the text, whatever its place", () => {
    const results = file({ rank_correlation: CORRELATION, loss: LOSS }, COORDS);
    expect(results.value("loss", {})).toBe(2);
    expect(results.value("loss", { length: 0 })).toBe(3);
    expect(results.value("loss", { outcome: 0 })).toBe(4);
    expect(results.estimate("rank_correlation", { predictor: 0 }).p).toBe(0.5);
    expect(cellLabel(results, results.metric("loss"), {})).toBe("outcome text, L = 64");
    const first = file({ loss: LOSS }, { ...COORDS, outcome: ["text", "keys"] });
    expect(first.value("loss", {})).toBe(4);
    expect(cellLabel(first, first.metric("loss"), {})).toBe("outcome text, L = 64");
    const none = file({ loss: LOSS }, { ...COORDS, outcome: ["copy", "keys"] });
    expect(cellLabel(none, none.metric("loss"), {})).toBe("outcome copy, L = 64");
  });

  const judged = (outcome: string[], does: (number | null)[]) =>
    file({ does_task: { dims: ["outcome"], unit: "1", values: does } }, { outcome });

  it("is a task where it is known whether the model does it", () => {
    const results = judged(["text", "replay", "keys", "copy"], [null, null, 0, 1]);
    expect(results.tasks()).toEqual([{ name: "keys", outcome: 2 }, { name: "copy", outcome: 3 }]);
    expect(["text", "replay", "answers", "keys"].map((name) => results.outcome(name))).toEqual([
      0, 1, undefined, undefined,
    ]);
  });

  it('named "replay" is the task or the replay of texts', () => {
    const task = judged(["text", "replay"], [null, 1]);
    expect(task.tasks()).toEqual([{ name: "replay", outcome: 1 }]);
    expect(task.outcome("replay")).toBeUndefined();
    expect(task.outcome("text")).toBe(0);
    const texts = judged(["text", "replay"], [null, null]);
    expect(texts.tasks()).toEqual([]);
    expect(texts.outcome("replay")).toBe(1);
    const both = judged(["text", "replay", "replay (task)"], [null, null, 1]);
    expect(both.tasks()).toEqual([{ name: "replay (task)", outcome: 2 }]);
    expect(both.outcome("replay")).toBe(1);
  });

  it("is none in a file without outcomes, and no task without answers", () => {
    const results = file({}, {});
    expect([results.outcome("text"), results.tasks()]).toEqual([undefined, []]);
    const texts = file({ loss: LOSS }, { ...COORDS, outcome: ["text", "replay"] });
    expect([texts.outcome("text"), texts.outcome("replay"), texts.tasks()]).toEqual([0, 1, []]);
  });

  it("is not what a metric is drawn along if there is another dim", () => {
    const coords = { outcome: ["text", "keys"], source_distance: ["1-2", "3-4"], length: [64] };
    const metric = (dims: string[]) => ({ dims, unit: "1", values: dims.length > 1 ? [[null, null], [1, 0]] : [null, 1] });
    const results = file(
      { answer_right_by_distance: metric(["outcome", "source_distance"]), answer_right: metric(["outcome"]) }, coords,
    );
    expect(drawnDim(results, "answer_right_by_distance")).toBe("source_distance");
    expect(drawnDim(results, "answer_right")).toBe("outcome");
  });
});

describe("a change that the page computes", () => {
  it("is the difference to the original's value, but where rounding would show", () => {
    const of = { dims: ["pattern", "length"], unit: "1", values: [[0.5, null], [0.75, 1]], stderr: [[3, 1], [4, 1]] };
    const change = { dims: of.dims, unit: "1", change_of: "of", kept_changes: [[2, 0.2500001]] };
    const results = file({ of, of_change: change }, { pattern: ["original", "a"], length: [32, 64] });
    const { values, parts } = results.metric(fromFile("of_change"))!;
    expect([...values]).toEqual([0, NaN, 0.2500001, NaN]);
    expect([...parts.stderr!]).toEqual([0, NaN, 5, NaN]);
  });
});
