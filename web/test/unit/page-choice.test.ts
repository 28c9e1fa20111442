import { expect, test } from "vitest";
import { allHeads, chosenCell, headCell, isPerHead, rowsBehind } from "../../src/page/cells";
import { nextPlace, reading } from "../../src/page/map";
import { quantities } from "../../src/page/methods";
import { metricOptions } from "../../src/page/selection";
import { smallResults } from "./page-results";

const results = smallResults();

test("a cell is what the address says, else the longest length and the paper's N", () => {
  expect(chosenCell(results, "separability")).toEqual({ length: 1, top_n: 1 });
  expect(chosenCell(results, "separability", { length: "32", top_n: "100" })).toEqual({
    length: 0,
    top_n: 2,
  });
  expect(chosenCell(results, "separability", { length: "33" })).toEqual({ length: 1, top_n: 1 });
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
  expect(reading(results, "surprise", {}, { layer: 2, head: 1 })).toBe("surprise –");
  expect(rowsBehind(results, "surprise", {})).toBeNaN();
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

test("every quantity of the file has its place in the methods, once", () => {
  const groups = quantities(results);
  expect(groups.get("weights")).toEqual(["entropy"]);
  expect([...groups.values()].flat().sort()).toEqual([
    "entropy",
    "loss",
    "separability",
    "surprise",
  ]);
  expect(groups.get("other quantities of this file")).toEqual(["surprise"]);
});
