import { expect, test } from "vitest";
import { fromFile } from "../../src/catalogue/catalogue";
import { resultsFromFile } from "../file";
import { allHeads, chosenCell, comparedDim, headCell, isPerHead, rowsBehind } from "../../src/page/cells";
import { answerRows, hasAnswers } from "../../src/page/answers";
import { hasLosses, lossRows } from "../../src/page/losses";
import { nextPlace, reading } from "../../src/page/map";
import { windowsOf } from "../../src/page/overview";
import { metricOptions } from "../../src/page/selection";
import { madeCompare, madeDiff, madeResults } from "./made";
import { smallFile, smallResults } from "./page-results";

const results = smallResults();

test("a cell is what the address says, else the longest length and the paper's N", () => {
  expect(chosenCell(results, "separability")).toEqual({ length: 1, top_n: 1 });
  expect(chosenCell(results, "separability", { length: "32", top_n: "100" })).toEqual({
    length: 0,
    top_n: 2,
  });
  expect(chosenCell(results, "separability", { length: "33" })).toEqual({ length: 1, top_n: 1 });
});

test("the overview names the layers without a window", () => {
  const withWindows = (window: number[]) => {
    const file = smallFile();
    file["coords"] = { ...(file["coords"] as object), window };
    return windowsOf(resultsFromFile(file));
  };
  expect(windowsOf(results)).toBeUndefined();
  expect(withWindows([0, 0])).toBeUndefined();
  expect(withWindows([512, 0])).toBe("windows of 512 keys in all layers but 2");
  expect(withWindows([512, 512])).toBe("windows of 512 keys in all layers");
});

test("a comparison opens on what an intervention changes, not on the model as it is", () => {
  for (const dim of ["normalizer", "pattern"] as const) {
    const compared = madeResults(madeCompare(dim));
    expect(chosenCell(compared, "loss")).toEqual({ [dim]: 1, length: 2 });
    expect(chosenCell(compared, "loss", { [dim]: "original" })).toEqual({ [dim]: 0, length: 2 });
    expect(comparedDim(compared)).toBe(dim);
  }
  expect(comparedDim(madeResults(madeDiff()))).toBe("run");
  expect(chosenCell(madeResults(madeDiff()), "entropy_normalized")).toEqual({ run: 1, length: 1 });
  expect(comparedDim(results)).toBeUndefined();
});

test("the losses of a comparison are those of the file, of all heads or of one at a time", () => {
  const rows = lossRows(madeResults(madeCompare("normalizer")));
  expect(rows.map(({ intervention, change }) => [intervention, change])).toEqual([["original", 0], ["one", 0.25], ["two", 0.5]]);
  expect(rows[1]).toMatchObject({ where: "", error: 0.01, kl: NaN });
  const made = madeCompare("pattern");
  made.metrics["loss_change"]!.dims = ["layer", "head", "pattern", "length"];
  made.metrics["loss_change"]!.value = ({ layer, head, pattern }) =>
    layer === 0 && head === 0 ? null : head! - layer! - 0.25 * pattern!;
  const each = lossRows(madeResults(made));
  expect(each).toHaveLength(12);
  expect(each.slice(0, 3).map(({ where, intervention, change }) => [where, intervention, change])).toEqual([
    ["1.0", "two", -1.5], ["1.0", "one", -1.25], ["1.1", "two", -0.5],
  ]);
  expect(each.slice(-2).map(({ change }) => change)).toEqual([NaN, NaN]);
  expect(hasLosses(results)).toBe(false);
});

test("the answers are those of the file, of each task and intervention", () => {
  const file = smallFile();
  const metrics = file["metrics"] as Record<string, unknown>;
  Object.assign(file["coords"] as object, { task: ["keys", "copy"], pattern: ["original", "window"] });
  const of = (values: unknown, dims = ["pattern", "task"], more: object = {}) => ({ dims, unit: "1", values, ...more });
  metrics["answer_right"] = of([[1, 0.5], [0.25, null]]);
  metrics["answer_right_low"] = of([[0.9, 0.4], [0.1, null]]);
  metrics["answer_right_high"] = of([[1, 0.6], [0.4, null]]);
  metrics["answers_kept"] = of([[1, 1], [0.125, null]]);
  metrics["answer_loss_change"] = of([[0, 0], [2, 3]], undefined, { stderr: [[0, 0], [0.5, null]] });
  metrics["does_task"] = of([1, 0], ["task"]);
  const made = resultsFromFile(file);
  expect(hasAnswers(made)).toBe(true);
  const rows = answerRows(made);
  expect(rows.map(({ task, intervention, done }) => [task, intervention, done])).toEqual([
    ["keys", "original", true], ["keys", "window", true], ["copy", "original", false], ["copy", "window", false],
  ]);
  expect(rows[1]).toMatchObject({ right: { share: 0.25, low: 0.1, high: 0.4 }, change: 2, error: 0.5 });
  expect(rows[1]!.kept.share).toBe(0.125);
  expect(rows[0]!.kept.share).toBe(NaN);
  (metrics["answer_right"] as { dims: string[] }).dims = ["layer", "task"];
  expect(hasAnswers(resultsFromFile(file))).toBe(false);
  expect(hasAnswers(results)).toBe(false);
});

test("heads are named by their labels, not by their places", () => {
  expect(allHeads(results)).toHaveLength(6);
  expect(headCell(results, { layer: 2, head: 5 })).toEqual({ layer: 1, head: 2 });
  expect(isPerHead(results, "entropy")).toBe(true);
  expect(isPerHead(results, "loss")).toBe(false);
});

test("what is read from the map: value with its unit, rows, and a dash where undefined", () => {
  expect(reading(results, "entropy", { length: 0 }, { layer: 2, head: 1 })).toBe(
    "entropy 9 nats, 32 rows",
  );
  expect(reading(results, "entropy", { length: 1 }, { layer: 2, head: 5 })).toBe(
    "entropy –, 0 rows",
  );
  expect(reading(results, fromFile("surprise"), {}, { layer: 2, head: 1 })).toBe("surprise –");
  expect(rowsBehind(results, fromFile("surprise"), {})).toBeNaN();
});

test("keys move inside the map and never out of it", () => {
  const from = (key: string, place: number) => nextPlace(key, place, 3, 6);
  expect([from("ArrowRight", 0), from("ArrowRight", 2), from("ArrowLeft", 3)]).toEqual([1, 2, 3]);
  expect([from("ArrowDown", 1), from("ArrowDown", 4), from("ArrowUp", 4)]).toEqual([4, 4, 1]);
  expect([from("Home", 5), from("End", 3), from("PageDown", 1), from("PageUp", 4)]).toEqual([
    3, 5, 4, 1,
  ]);
  expect(from("a", 1)).toBeUndefined();
  expect(nextPlace("ArrowDown", 0, 1, 1)).toBe(0);
});

test("metrics that the catalogue does not know are offered last", () => {
  const options = metricOptions(results, results.names());
  expect(options[0]).toEqual({ value: "entropy", text: "entropy", group: "weights" });
  expect(options.map(({ value }) => value)).toEqual(["entropy", "separability", "loss", "surprise"]);
  expect(options[3]).toEqual({ value: "surprise", text: "surprise", group: "other" });
});
