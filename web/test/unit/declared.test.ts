// The figures that the catalogue declares.
import { expect, test } from "vitest";
import { declaration, FIGURES, type DeclaredFigure, type MetricName } from "../../src/catalogue/catalogue";
import { declaredFigures, hasFigures } from "../../src/figures/declared";
import { AXES } from "../../src/figures/curves";
import { headFigures } from "../../src/figures/head";
import { LAWS } from "../../src/figures/laws";
import { standardFigures } from "../../src/figures/standard";
import { chosenPair } from "../../src/page/validity";
import {
  changing, madeCaches, madeCompare, madeConverge, madeDiff, madeJudgedPlan, madePieces, madeRandomKeys, madeResults, madeScan, madeSteps,
  madeSynthetic, madeValidate, PREDICTORS,
} from "./made";
import { column, drawn, expectWhole } from "./svg";

const values = (figure: DeclaredFigure): { metric?: MetricName; by?: MetricName | number; law?: string }[] => {
  switch (figure.kind) {
    case "map":
      return [{ metric: figure.metric }];
    case "scatter":
      return [figure.x, ...figure.series, ...(figure.law ? [figure.law] : [])];
    case "curves":
    case "spread":
      return [...figure.curves];
    default:
      return [figure.x];
  }
};

test("every figure is of metrics of the catalogue, which have the dim, and of laws that there are", () => {
  expect(new Set(FIGURES.map(({ kind }) => kind))).toEqual(
    new Set(["curves", "spread", "scatter", "dots", "bars", "map"]),
  );
  expect(new Set(FIGURES.map(({ id }) => id)).size).toBe(FIGURES.length);
  for (const figure of FIGURES) {
    const { id, needs, any } = figure;
    const metrics = values(figure).flatMap(({ metric, by }) => [metric, typeof by === "string" ? by : undefined]);
    expect(metrics, id).toContain(needs);
    for (const { law } of values(figure)) if (law) expect(LAWS, id).toHaveProperty(law);
    if ("along" in figure && figure.along !== "growth") expect(AXES, id).toHaveProperty(figure.along);
    if (any) expect(needs, id).toBe("{metric}");
    for (const metric of any ? [] : metrics) if (metric) expect(declaration(metric), `${id}: ${metric}`).toBeDefined();
    if (any || !("along" in figure) || ["growth", "length"].includes(figure.along)) continue;
    for (const { metric } of values(figure)) {
      const entry = metric && declaration(metric)?.entry;
      if (entry?.name === metric && entry) expect(entry.dims, `${id}: ${metric}`).toContain(figure.along);
    }
  }
});

test("every figure is drawn of results that have its metrics, and is whole", () => {
  const files = [
    madeScan(), madeConverge(), madeSynthetic(), madeSynthetic("sphere_"), madeCompare("normalizer"), madeCompare("pattern"), madeCaches(),
    madeDiff(), madeValidate(), madeJudgedPlan(), madeSteps(), madeRandomKeys(), madePieces(),
  ].map((made) => standardFigures(madeResults(made)));
  files.push(headFigures(madeResults(madeSteps()), { layer: 1, head: 0 }));
  files.flat().forEach(expectWhole);
  for (const ids of files.map((figures) => figures.map(({ id }) => id))) expect(new Set(ids).size).toBe(ids.length);
  const ids = files.flat().map(({ id }) => id).join("\n");
  const missing = FIGURES.filter(({ id }) => !new RegExp(`^${id.replaceAll(/\{\w+\}/g, ".+")}`, "m").test(ids));
  expect(missing.map(({ id }) => id)).toEqual([]);
});

test("any metric of heads is drawn over the steps, on a page of a head with that head in front", () => {
  const results = madeResults(madeSteps());
  const [figure, ...others] = declaredFigures(results, "training");
  expect(others).toEqual([]);
  expect([figure!.id, figure!.title]).toEqual(["training-entropy", "Entropy over the steps"]);
  expect(figure!.columns.slice(0, 3)).toEqual(["step", "entropy_layer_0_head_0", "entropy_layer_0_head_0_stderr"]);
  expect(column(figure!, "step")).toEqual([0.5, 100, 2000000]);
  const value = (layer: number, head: number) => [0, 1, 2].map((step) => results.value("entropy", { layer, head, step }));
  expect(column(figure!, "entropy_layer_7_head_1")).toEqual(value(7, 1));
  for (const key of ["layers 0 to 1", "layer 2", "layers 4 to 5"]) expect(drawn(figure!).text).toContain(`>${key}</text>`);
  const [own] = declaredFigures(results, "head", { layer: 7, head: 1 }, "layer 7, head 1");
  expect(own!.title).toBe("Entropy over the steps: layer 7, head 1");
  expect(column(own!, "entropy")).toEqual(value(7, 1));
  expect(drawn(own!).text).toContain(">layer 7, head 1</text>");
  const one = madeSteps();
  one.coords["step"] = [100];
  expect(hasFigures(madeResults(one), "training")).toBe(false);
});

test("the metric that changed first is drawn new against old", () => {
  const results = madeResults(madeDiff());
  const [figure, ...others] = declaredFigures(results, "model");
  expect(others).toEqual([]);
  expect([figure!.id, figure!.title]).toEqual(["changes-entropy-normalized", "Normalized entropy: new against old at L = 16"]);
  const of = (run: number) => results.value("entropy_normalized", { layer: 1, head: 1, run, length: 0 }); // not the last
  expect(figure!.rows[4]).toEqual(["layer 1, head 1", of(0), of(1), 0.01]);
});

test("a predictor on a text is drawn against the loss change on the others, with the correlation", () => {
  const results = madeResults(madeValidate());
  const pair = (name: string, intervention = 0) => ({ predictor: PREDICTORS.indexOf(name), intervention });
  const [figure] = declaredFigures(results, "validity", pair("entropy"));
  expect(figure!.id).toBe("validity-entropy-under-topk-k-16");
  expect(figure!.title).toBe("Loss change under topk:k=16 against entropy: rank correlation -0.75 (-0.88 to -0.63)");
  expect(figure!.caption).toContain("over 12 heads");
  expect(figure!.caption).toMatch(/ Its adjusted p is 0\.063\.$/);
  expect(figure!.rows).toHaveLength(36);
  const at = { layer: 1, head: 2 };
  const of = (text: number) => results.value("validated_loss_change", { ...at, intervention: 0, text });
  const row = figure!.rows[12 + 6]!; // on the second text
  expect(row.slice(0, 3)).toEqual(["layer 1, head 2", "b.txt", results.value("predictor_value", { ...at, predictor: 1, text: 1 })]);
  expect(row[3]).toBeCloseTo((of(0) + of(2)) / 2, 12);
  expect(row[4]).toBeCloseTo(Math.hypot(0.01, 0.01) / 2, 12);
  const { text, elements } = drawn(figure!);
  expect(text).toContain("<title>b.txt, layer 1, head 2: 0.701, 0.06 ± 0.014</title>");
  const points = elements.filter(({ name, attributes }) => name === "circle" && attributes["stroke"] !== undefined);
  expect(new Set(points.map(({ attributes }) => attributes["stroke"])).size).toBe(3); // a colour for each text
  // What lacks a value has no words.
  const [constant] = declaredFigures(results, "validity", pair("constant"));
  expect(constant!.title).toBe("Loss change under topk:k=16 against constant");
  expect(constant!.caption).toMatch(/ standard errors\.$/);
  expect(drawn(declaredFigures(results, "validity", pair("flag sink"))[0]!).text).toContain(">not raised</text>");
  // A head of which none was found has no point.
  const [lacking] = declaredFigures(results, "validity", pair("critical_n_head"));
  expect(column(lacking!, "predictor_value").filter((value) => value === null)).toHaveLength(9);
  expect(lacking!.caption).toContain(" No point for 9 of 36: ");
  expect(drawn(lacking!).text).toContain(">critical N of the head (keys)</text>");
  const one = madeResults(madeValidate(["only.txt"]));
  const [own] = declaredFigures(one, "validity", pair("entropy"));
  for (const [of, words] of [[figure, "other texts"], [own, "same text"]] as const) {
    expect(drawn(of!).text).toContain(`>loss change on the ${words} (nats)</text>`);
  }
  expect(own!.rows[6]![3]).toBe(one.value("validated_loss_change", { ...at, intervention: 0, text: 0 }));
});

test("the pair that is drawn first is the best that predicts, a figure in a file the best of each intervention", () => {
  const results = madeResults(madeValidate());
  expect(chosenPair(results, {})).toEqual({ predictor: 1, intervention: 0 });
  expect(chosenPair(results, { predictor: "flag sink", intervention: "softmax:t=2" })).toEqual({ predictor: 5, intervention: 1 });
  expect(chosenPair(results, { predictor: "gone" })).toEqual({ predictor: 1, intervention: 0 });
  const changed = changing(madeValidate());
  // A larger correlation does not predict.
  const larger = changed("rank_correlation", ({ predictor, intervention }, was) => (predictor === 2 && intervention === 0 ? 0.875 : was));
  expect(chosenPair(larger, {})).toEqual({ predictor: 1, intervention: 0 });
  expect(standardFigures(results).map(({ id }) => id)).toEqual([
    "validity-entropy-under-topk-k-16", "validity-critical-n-head-under-softmax-t-2",
  ]);
  const nothing = changed("rank_correlation", () => null);
  expect(chosenPair(nothing, {})).toEqual({ predictor: 0, intervention: 0 });
  expect(standardFigures(nothing)).toEqual([]);
});
