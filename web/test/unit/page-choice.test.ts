import { expect, test } from "vitest";
import { fromFile } from "../../src/catalogue/catalogue";
import { modelFigures } from "../../src/figures/model";
import { resultsFromFile } from "../file";
import { allHeads, chosenCell, comparedDim, headCell, isPerHead, rowsBehind } from "../../src/page/cells";
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
    expect(chosenCell(compared, "loss")).toEqual({ [dim]: 1, outcome: 0, length: 2 });
    expect(chosenCell(compared, "loss", { [dim]: "original" })).toEqual({ [dim]: 0, outcome: 0, length: 2 });
    expect(comparedDim(compared)).toBe(dim);
  }
  expect(comparedDim(madeResults(madeDiff()))).toBe("run");
  expect(chosenCell(madeResults(madeDiff()), "entropy_normalized")).toEqual({ run: 1, length: 1 });
  expect(comparedDim(results)).toBeUndefined();
});

test("losses open on the text, the metrics of answers on the last task", () => {
  const made = madeCompare("pattern");
  made.coords["outcome"] = ["text", "keys", "copy"];
  made.metrics["answer_right"] = { dims: ["pattern", "outcome"] };
  made.metrics["answer_loss_by_context"] = { dims: ["pattern", "outcome", "context"] };
  made.metrics["planned_answers_kept"] = { dims: ["outcome"] };
  made.coords["context"] = ["33-64", "65-128"];
  const compared = madeResults(made);
  expect(chosenCell(compared, "loss_change")).toEqual({ pattern: 1, outcome: 0, length: 2 });
  expect(chosenCell(compared, "loss", { outcome: "keys" })).toEqual({ pattern: 1, outcome: 1, length: 2 });
  expect(chosenCell(compared, "answer_right")).toEqual({ pattern: 1, outcome: 2 });
  expect(chosenCell(compared, "answer_right", { outcome: "keys" })).toEqual({ pattern: 1, outcome: 1 });
  expect(chosenCell(compared, "answer_loss_by_context")["outcome"]).toBe(2);
  expect(chosenCell(compared, "planned_answers_kept")).toEqual({ outcome: 2 });
});

test("the losses of answers are not taken for those of a text", () => {
  const made = madeCompare("normalizer");
  made.coords["outcome"] = ["keys", "copy"];
  const answered = madeResults(made);
  expect(modelFigures(answered).map(({ id }) => id)).toEqual(["critical-n"]);
  made.coords["outcome"] = ["keys", "text"];
  expect(modelFigures(madeResults(made)).map(({ id }) => id)).toEqual([
    "critical-n", "loss", "normalizers", "normalizers-separability",
  ]);
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
