import { expect, test } from "vitest";
import { fromFile } from "../../src/catalogue/catalogue";
import { mapFigure } from "../../src/figures/map";
import { modelFigures } from "../../src/figures/model";
import { rolesByHead, rolesFigure } from "../../src/figures/roles";
import { resultsFromFile } from "../../src/data/embedded";
import { allHeads, chosenCell, comparedDim, headCell, isPerHead, rowsBehind } from "../../src/page/cells";
import { titleOf } from "../../src/page/head";
import { windowsOf } from "../../src/page/overview";
import { nextSpot } from "../../src/page/point";
import { metricLike, metricOptions } from "../../src/page/selection";
import { nameOf } from "../../src/page/words";
import { madeCompare, madeDiff, madeResults } from "./made";
import { smallFile, smallResults } from "./page-results";
import { drawn } from "./svg";

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
    "loss-change-model", "loss", "normalizers", "normalizers-separability", "critical-n",
  ]);
});

test("heads are named by their labels, not by their places", () => {
  expect(allHeads(results)).toHaveLength(6);
  expect(headCell(results, { layer: 2, head: 5 })).toEqual({ layer: 1, head: 2 });
  expect(isPerHead(results, "entropy")).toBe(true);
  expect(isPerHead(results, "loss")).toBe(false);
});

test("what is read from the map: value, or that there is none", () => {
  const read = (length: number) => mapFigure(results, "entropy", { length }).spots!.map(({ head, title }) => [head, title]);
  expect(read(0)[3]).toEqual(["2.0", "head 2.0: 7 nats"]);
  expect(read(1)[5]).toEqual(["2.5", "head 2.5: undefined"]);
  expect(rowsBehind(results, "entropy", { layer: 1, head: 2, length: 1 })).toBe(0);
  expect(rowsBehind(results, fromFile("surprise"), {})).toBeNaN();
});

test("keys move inside the map, along a curve and to the next one, and never out of it", () => {
  const { spots } = mapFigure(results, "entropy", {});
  const from = (key: string, place: number) => nextSpot(key, place, spots!);
  expect([from("ArrowRight", 0), from("ArrowRight", 2), from("ArrowLeft", 3)]).toEqual([1, 2, 3]);
  expect([from("ArrowDown", 1), from("ArrowDown", 4), from("ArrowUp", 4)]).toEqual([4, 4, 1]);
  expect(from("a", 1)).toBeUndefined();
  const curves = [[1, 0], [2, 0], [3, 0], [2, 1], [3, 1]].map(([x, line]) => ({ x: x!, line: line! }));
  expect(nextSpot("ArrowDown", 1, curves)).toBe(3);
  expect(nextSpot("ArrowDown", 0, curves)).toBe(0); // the other curve has nothing there
  expect(nextSpot("ArrowRight", 2, curves)).toBe(2);
});

test("a metric is found by its title, else by words of its name, title or group", () => {
  const all = metricOptions(results, results.names());
  const found = (text: string) => metricLike(all, text)?.value;
  expect(found("entropy")).toBe("entropy");
  expect(found("SEPAR")).toBe("separability");
  expect(found("model lo")).toBe("loss"); // its group is "model"
  expect(found("entropy separability")).toBeUndefined();
  expect(found("  ")).toBeUndefined();
  const alike = [{ value: "a", text: "weight on sinks of all" }, { value: "b", text: "weight on sinks" }];
  expect(metricLike(alike, "Weight on sinks")?.value).toBe("b");
});

test("a head is titled by its rarest role and by how far it rests", () => {
  const file = smallFile() as { metrics: Record<string, unknown>; flags: object[] };
  const shares = (value: number) => ({ dims: ["layer", "head"], unit: "1", values: [[value, value, value], [value, value, value]] });
  const made = resultsFromFile({
    ...file,
    metrics: { ...file.metrics, weight_induction: shares(0.678), weight_near: shares(0.5), sink_weight: shares(0.594) },
    flags: [[0, 1, "near"], [2, 5, "sinks"], [2, 5, "near"], [2, 5, "induction"], [2, 0, "sinks"], [2, 1, "wide"]].map(
      ([layer, head, name]) => ({ name, layer, head, length: 64, value: 1, threshold: 0.3, source: "s" }),
    ),
  });
  expect(titleOf(made, { layer: 2, head: 5 })).toBe(
    "Head 2.5, induction: 68 % of what does not rest goes to what followed earlier copies; rests 59 %",
  );
  expect(titleOf(made, { layer: 0, head: 1 })).toBe("Head 0.1, near: 50 % of what does not rest goes to the last 64 tokens");
  expect(titleOf(made, { layer: 2, head: 0 })).toBe("Head 2.0, sinks: rests 59 %");
  expect(titleOf(made, { layer: 2, head: 1 })).toBe("Head 2.1"); // a flag is no role
  expect(rolesByHead(made).get("2.5")).toEqual(["induction", "near", "sinks"]);
  const figure = rolesFigure(made)!;
  expect(figure.rows.map((row) => row[2])).toEqual(["", "near", "", "sinks", "", "induction near sinks"]);
  const { text } = drawn(figure);
  for (const said of ["near 2", "induction 1", "none of these 4", "rests on sinks 2"]) expect(text).toContain(`>${said}<`);
  expect(rolesFigure(resultsFromFile({ ...file, flags: [] }))).toBeUndefined();
  expect(rolesFigure(resultsFromFile({ ...file, flags: made.header.flags, metrics: {}, coords: {} }))).toBeUndefined();
});

test("a name has no folders of a file, but an organization stays", () => {
  expect(nameOf("build/smollm/SmolLM2.Q4_1.gguf")).toBe("SmolLM2.Q4_1.gguf");
  expect(nameOf("C:\\texts\\war_and_peace.txt")).toBe("war_and_peace.txt");
  expect(nameOf("models/HuggingFaceTB/SmolLM2-135M")).toBe("HuggingFaceTB/SmolLM2-135M");
  expect(nameOf("gpt2")).toBe("gpt2");
});

test("metrics that the catalogue does not know are offered last", () => {
  const options = metricOptions(results, results.names());
  expect(options[0]).toEqual({ value: "entropy", text: "entropy", group: "weights" });
  expect(options.map(({ value }) => value)).toEqual(["entropy", "separability", "loss", "surprise"]);
  expect(options[3]).toEqual({ value: "surprise", text: "surprise", group: "other" });
});
