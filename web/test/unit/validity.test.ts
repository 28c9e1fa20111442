import { describe, expect, it } from "vitest";
import { chooseTicks, domainOf, place } from "../../src/figures/axes";
import type { Figure } from "../../src/figures/figure";
import {
  prediction, predictorTitle, predictorUnit, signed, strongest, strongestPair,
} from "../../src/figures/predictions";
import { standardFigures } from "../../src/figures/standard";
import { predictionFigure } from "../../src/figures/validity";
import { chosenPair } from "../../src/page/validity";
import { changing, madeResults, madeValidate, PREDICTORS } from "./made";
import { column, drawn, expectWhole } from "./svg";

const results = madeResults(madeValidate());
const pair = (name: string, intervention = 0) => ({ predictor: PREDICTORS.indexOf(name), intervention });
const dots = (figure: Figure) => drawn(figure).elements.filter(({ name }) => name === "circle");

const changedValues = changing(madeValidate());

describe("what predicts", () => {
  it("is in the file", () => {
    const predicting = PREDICTORS.flatMap((name, predictor) =>
      [0, 1].filter((intervention) => prediction(results, { predictor, intervention }).predicts)
        .map((intervention) => [name, intervention]),
    );
    expect(predicting).toEqual([["entropy", 0], ["critical_n_head", 0], ["flag wide", 0]]);
    const none = changedValues("predicts", (_, was) => was && 0);
    expect(prediction(none, pair("entropy")).predicts).toBe(false);
    const { predicts: _, ...older } = madeValidate().metrics;
    expect(prediction(madeResults({ ...madeValidate(), metrics: older }), pair("entropy")).predicts).toBe(false);
  });

  it("is best where it predicts, and begins with the best of the best", () => {
    expect(strongest(results, 0)).toMatchObject({ ...pair("entropy"), predicts: true });
    // A larger correlation does not predict.
    const larger = changedValues("rank_correlation", (cell, was) =>
      cell["predictor"] === 2 && cell["intervention"] === 0 ? 0.875 : was);
    expect(strongest(larger, 0)).toMatchObject(pair("entropy"));
    expect(strongest(results, 1)).toMatchObject({ ...pair("critical_n_head", 1), predicts: false });
    expect(strongestPair(results)).toMatchObject(pair("entropy"));
    const nothing = changedValues("rank_correlation", () => null);
    expect(strongest(nothing, 0)).toBeUndefined();
    expect(chosenPair(nothing, {})).toEqual({ predictor: 0, intervention: 0 });
  });

  it("is chosen by the address", () => {
    const query = { predictor: "flag sink", intervention: "softmax:t=2" };
    expect(chosenPair(results, query)).toEqual(pair("flag sink", 1));
    expect(chosenPair(results, { predictor: "gone" })).toEqual(pair("entropy"));
  });

  it("has words and units", () => {
    const title = (name: string) => predictorTitle(results, name);
    expect(title("budget_keys sampler=top")).toBe("keys to keep, sampler top");
    expect(title("flag wide")).toBe("flag wide");
    expect(title("output_change under sinks:sinks=4,window=60")).toBe(
      "change of the output under sinks:sinks=4,window=60",
    );
    expect(title("my_own_metric")).toBe("my own metric");
    expect(["entropy", "entropy_normalized", "flag sink", "my_own"].map((name) => predictorUnit(results, name)))
      .toEqual(["nats", "", "", ""]);
    expect([0.514, -0.5, 0, NaN].map((value) => signed(value))).toEqual(["+0.51", "-0.50", "+0.00", "–"]);
    expect(signed(-0.00104, 4)).toBe("-0.0010");
  });
});

describe("the scatter plot of a pair", () => {
  it("has the predictor on a text and the mean change on the others", () => {
    const figure = predictionFigure(results, pair("entropy"))!;
    expectWhole(figure);
    expect(figure.rows).toHaveLength(36);
    const [layer, head] = [1, 2];
    const of = (text: number) => results.value("validated_loss_change", { layer, head, intervention: 0, text });
    const row = figure.rows[12 + 6]!; // on the second text
    expect(row.slice(0, 3)).toEqual([1, 2, "b.txt"]);
    expect(row[3]).toBe(results.value("predictor_value", { layer, head, predictor: 1, text: 1 }));
    expect(row[4]).toBeCloseTo((of(0) + of(2)) / 2, 12);
    expect(row[5]).toBeCloseTo(Math.hypot(0.01, 0.01) / 2, 12);
    expect(figure.title).toContain("topk:k=16 against entropy: rank correlation -0.75 (-0.88 to -0.63), 12 heads");
    expect(figure.caption).toContain("the metric predicts the loss");
    expect(figure.caption).toContain("± 2 standard errors");
  });

  it("tells the texts apart and labels the heads", () => {
    const figure = predictionFigure(results, pair("entropy"))!;
    const { text } = drawn(figure);
    for (const name of ["a.txt", "b.txt", "c.txt"]) expect(text).toContain(`metric on ${name}</text>`);
    expect(text).toContain("<title>layer 1, head 2, b.txt: 0.701, 0.06 ± 0.014 nats</title>");
    expect(new Set(dots(figure).map(({ attributes }) => attributes["stroke"])).size).toBeGreaterThanOrEqual(3);
    expect(dots(figure)).toHaveLength(36 + 3); // and the key
    // More texts than colours are not told apart by colours that repeat.
    const seven = madeResults(madeValidate(["a", "b", "c", "d", "e", "f", "g"]));
    expect(drawn(predictionFigure(seven, pair("entropy"))!).text).not.toContain("metric on");
  });

  it("is of one text where asked, with its correlation", () => {
    const figure = predictionFigure(results, pair("tokens_for_error sampler=top"), { text: 1 })!;
    expectWhole(figure);
    expect(new Set(column(figure, "text_of_predictor"))).toEqual(new Set(["b.txt"]));
    expect(figure.title).toContain("on b.txt: rank correlation -0.01, 12 heads");
    expect(figure.caption).toContain("is not shown to predict");
  });

  it("sets the points of a flag apart in strips, each nearer to its own value", () => {
    const figure = predictionFigure(results, pair("flag wide"))!;
    expectWhole(figure);
    expect(new Set(column(figure, "predictor_value"))).toEqual(new Set([0, 1]));
    const { text } = drawn(figure);
    expect(text).toContain(">raised<");
    expect(text).toContain(">not raised<");
    const strips = (some: Figure) =>
      [...drawn(some).text.matchAll(/<circle cx="([\d.]+)"[^>]*><title>[^<]*?(not raised|raised),/g)]
        .map(([, at, said]) => ({ at: Number(at), raised: said === "raised" }));
    const points = strips(figure);
    expect(points).toHaveLength(36);
    expect(new Set(points.map(({ at }) => at)).size).toBe(36);
    const places = (raised: boolean) => points.filter((point) => point.raised === raised).map(({ at }) => at);
    expect(Math.min(...places(true)) - Math.max(...places(false))).toBeGreaterThan(50);
    expect(strips(predictionFigure(results, pair("flag wide"))!)).toEqual(points);
  });

  it("puts a ring beyond the largest value where none was found, and leaves out what is undefined", () => {
    const figure = predictionFigure(results, pair("critical_n_head"))!;
    expectWhole(figure);
    expect(figure.caption).toContain("A ring stands beyond the largest value");
    expect(figure.title).toContain("12 heads");
    expect(drawn(figure).text).toContain("layer 0, head 3, a.txt: none found, ");
    // The correlation is of the 9 heads that have a value: the others are undefined.
    const made = madeValidate();
    made.metrics["rank_correlation"]!.rows = 9;
    const undefinedOnes = predictionFigure(madeResults(made), pair("critical_n_head"))!;
    expectWhole(undefinedOnes);
    expect(undefinedOnes.title).toContain("9 heads");
    expect(undefinedOnes.caption).toContain("3 heads have an undefined value");
    expect(drawn(undefinedOnes).text).not.toContain("none found");
    expect(dots(undefinedOnes)).toHaveLength(27 + 3);
    expect(column(undefinedOnes, "predictor_value").filter((value) => value === null)).toHaveLength(9);
  });

  it("leaves out a head without a loss on some text", () => {
    const gone = changedValues("validated_loss_change", ({ layer, head, text }, was) =>
      layer === 0 && head === 0 && text === 2 ? null : was);
    const figure = predictionFigure(gone, pair("entropy"))!;
    expectWhole(figure);
    expect(figure.title).toContain("11 heads");
    expect(dots(figure)).toHaveLength(33 + 3);
  });

  it("says so where there is no correlation, and is none where no head has a value", () => {
    const figure = predictionFigure(results, pair("constant"))!;
    expectWhole(figure);
    expect(figure.title).toContain("no rank correlation");
    const nothing = changedValues("predictor_value", () => null);
    expect(predictionFigure(nothing, pair("entropy"))?.title ?? "").not.toContain("NaN");
    expect(predictionFigure(changedValues("validated_loss_change", () => null), pair("entropy"))).toBeUndefined();
  });

  it("is of the same text where there is one", () => {
    const one = madeResults(madeValidate(["only.txt"]));
    const figure = predictionFigure(one, pair("entropy"))!;
    expectWhole(figure);
    expect(column(figure, "loss_change")).toEqual(
      [0, 1, 2].flatMap((layer) => [0, 1, 2, 3].map((head) =>
        one.value("validated_loss_change", { layer, head, intervention: 0, text: 0 }))),
    );
    expect(figure.caption).toContain("nothing is shown of another");
    expect(drawn(figure).text).toContain("loss change on the same text (nats)");
  });

  it("bends the axis of the loss where a few heads change it most", () => {
    const far = changedValues("validated_loss_change", ({ layer, head }, was) =>
      layer === 2 && head === 3 ? 40 : was);
    const figure = predictionFigure(far, pair("entropy"))!;
    expectWhole(figure);
    expect(drawn(figure).text).toContain("logarithmic beyond");
    expect(drawn(predictionFigure(results, pair("entropy"))!).text).not.toContain("logarithmic beyond");
  });

  it("draws the best of each intervention as standard figures", () => {
    const figures = standardFigures(results);
    expect(figures.map(({ id }) => id)).toEqual([
      "validity-entropy-under-topk-k-16", "validity-critical-n-head-under-softmax-t-2",
    ]);
    figures.forEach(expectWhole);
    expect(figures[1]!.caption).toContain("not shown to predict");
  });
});

describe("an axis that is linear near 0 and logarithmic beyond", () => {
  const axis = { label: "", symlog: 0.01, domain: [-0.1, 1] as [number, number] };

  it("has room on either side, and 0 where it is", () => {
    const domain = domainOf([-0.1, 1], { symlog: 0.01, room: 0.1 })!;
    const room = (11 * 101) ** 0.1;
    expect(domain[0]).toBeCloseTo(-0.01 * (11 * room - 1), 12);
    expect(domain[1]).toBeCloseTo(0.01 * (101 * room - 1), 12);
    expect(place(axis, -0.1)).toBeCloseTo(0, 12);
    expect(place(axis, 1)).toBeCloseTo(1, 12);
    expect(place(axis, 0)).toBeCloseTo(Math.log(11) / (Math.log(11) + Math.log(101)), 12);
  });

  it("has ticks of either sign, none within the part that is linear but 0", () => {
    expect(chooseTicks(axis, 300, () => 18)).toEqual([-0.1, -0.03, -0.01, 0, 0.01, 0.03, 0.1, 0.3, 1]);
    expect(chooseTicks(axis, 120, () => 18)).toEqual([-0.1, 0, 0.1, 1]);
  });
});
