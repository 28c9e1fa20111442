import { describe, expect, it } from "vitest";
import { fromFile, type MetricName } from "../../src/catalogue/catalogue";
import type { Results } from "../../src/data/results";
import { drawForFile, type Figure } from "../../src/figures/figure";
import { genericFigure } from "../../src/figures/generic";
import { headFigures } from "../../src/figures/head";
import { modelFigures } from "../../src/figures/model";
import { limitsFigures, tokensFigures } from "../../src/figures/papers";
import { standardFigures } from "../../src/figures/standard";
import {
  madeCompare, madeConverge, madePieces, madeRandomKeys, madeResults, madeScan, madeSynthetic,
} from "./made";
import { SmallDocument, svgText } from "../../src/offline/dom";
import { column, drawn, expectWhole } from "./svg";

const ids = (figures: Figure[]) => figures.map((figure) => figure.id);

function figure(figures: Figure[], id: string): Figure {
  const found = figures.find((one) => one.id === id);
  if (!found) throw new Error(`no figure ${id} among ${ids(figures).join(", ")}`);
  return found;
}

// The made models have 2 x 3 heads.
const meanOverHeads = (results: Results, name: MetricName, cell: Record<string, number>) =>
  [0, 1, 2, 3, 4, 5].reduce((sum, k) => sum + results.value(name, { layer: k < 3 ? 0 : 1, head: k % 3, ...cell }), 0) / 6;

it("a figure says in its file that the results are partial", () => {
  const one = standardFigures(madeResults(madeConverge()))[0]!;
  const document = new SmallDocument() as unknown as Document;
  const file = (partial: boolean) => svgText(drawForFile(one, partial, { document, width: 720, dark: false }));
  expect(file(true).match(/\(partial results\)/g)).toHaveLength(3); // the drawing, its title and its label
  expect(file(false)).not.toContain("partial");
});

describe("figures of one head", () => {
  const results = madeResults(madeConverge());
  const figures = headFigures(results, { layer: 1, head: 2 });

  it("have the numbers of the file in their rows", () => {
    for (const name of ["distance", "distance_bound", "expected_distance_context"] as const) {
      expect(column(figure(figures, "distance-against-length"), name)).toEqual(
        [0, 1, 2].map((length) => results.value(name, { layer: 1, head: 2, length, top_n: 1 })),
      );
    }
    expect(column(figure(figures, "sensitivity"), "sensitivity_epsilon_10")).toEqual(
      [0, 1, 2, 3].map((temperature) => results.value("sensitivity", { layer: 1, head: 2, temperature, epsilon: 1 })),
    );
    expect(column(figure(figures, "error"), "error_mean_stderr")).toEqual([0.01, 0.01, 0.01, 0.01]);
    expect(column(figure(figures, "budget"), "tokens_for_error")).toEqual([10, 11, 12, 10, 11, 12]);
    const effective = figure(figures, "effective-tokens");
    expect(column(effective, "effective_tokens_forecast_with_sinks").slice(-3)).toEqual([20, 21, 22]);
    expect(column(effective, "effective_tokens_forecast_with_sinks_low").slice(-3)).toEqual([10, 11, 12]);
    expect(column(effective, "effective_tokens_forecast_with_sinks_high").slice(-3)).toEqual([40, 41, 42]);
  });

  it("show the head among the mean and the middle 80 % of all", () => {
    const effective = figure(figures, "effective-tokens");
    expect(column(effective, "effective_tokens_with_sinks_mean").slice(0, 3)).toEqual([1, 2, 3]);
    expect(drawn(effective).text).toContain(">all heads</text>");
  });

  it("leaves out forecasts that the model has no positions for", () => {
    const made = madeScan();
    made.metrics["effective_tokens_forecast_with_sinks"]!.value = () => null;
    const found = figure(headFigures(madeResults(made), { layer: 1, head: 2 }), "effective-tokens");
    expectWhole(found);
    expect(found.title).not.toContain("forecast");
    expect(found.columns).not.toContain("effective_tokens_forecast_with_sinks");
  });

  it("draws bounds as printed dashed and valid ones not, and names those of all steps once", () => {
    expect(drawn(figure(figures, "sensitivity")).text.match(/>bounds<\/text>/g)).toHaveLength(1);
    const { elements } = drawn(figure(figures, "distance-against-length"));
    const dashed = elements.filter(({ attributes }) => attributes["stroke-dasharray"] === "6 4");
    expect(dashed.length).toBeGreaterThanOrEqual(2); // the line and its key
    const alone = { ...madeScan(), metrics: { distance: { dims: ["layer", "head", "length", "top_n"] } } };
    const one = headFigures(madeResults(alone), { layer: 0, head: 0 });
    expect(drawn(one[0]!).text).not.toContain("6 4");
  });

  it("is of the normalizer asked for where there are several", () => {
    const compared = madeResults(madeCompare("normalizer"));
    const cell = { layer: 0, head: 1, top_n: 2 };
    for (const normalizer of [0, 2]) {
      const [separability] = headFigures(compared, { layer: 0, head: 1 }, { normalizer });
      expect(column(separability!, "separability")[2]).toBe(compared.value("separability", { ...cell, normalizer }));
    }
  });
});

describe("figures of the whole model", () => {
  it("has critical N as the file has it, -1 included, and rings where there was none", () => {
    const critical = figure(modelFigures(madeResults(madeScan())), "critical-n");
    expect(column(critical, "critical_n")).toEqual([-1, 4, 4]);
    expect(column(critical, "closest_n")).toEqual([3, 4, 5]);
    expect(column(critical, "closest_n_high")).toEqual([5, 6, 7]);
    expect(column(critical, "critical_n_paper")).toEqual([2, 2, 2]);
    expect(drawn(critical).text).toMatch(/none up to this N, [^:]*: 15</);
    expect(drawn(critical).text).toContain("4 (3 to 6)");
  });

  it("sets normalizers and patterns beside each other", () => {
    const normalizers = modelFigures(madeResults(madeCompare("normalizer")));
    expect(ids(normalizers)).toEqual([
      "loss-change-model", "loss", "normalizers", "normalizers-separability", "critical-n",
    ]);
    expect(column(figure(normalizers, "normalizers"), "loss_change")).toEqual([0, 0.25, 0.5]);
    // Changes of each head have no place among those of the model.
    const each = madeCompare("normalizer");
    each.metrics["loss_change"]!.dims.unshift("layer", "head");
    expect(ids(modelFigures(madeResults(each)))).toEqual(["loss", "critical-n"]);
    // The ring of an intervention alone is in the key, once.
    expect(drawn(figure(normalizers, "critical-n")).text.match(/>none up to this N<\/text>/g)).toHaveLength(1);
    const results = madeResults(madeCompare("pattern"));
    const kept = meanOverHeads(results, "kept_mass", { pattern: 1 });
    expect(column(figure(modelFigures(results), "patterns"), "kept_mass_mean")[1]).toBeCloseTo(kept, 12);
  });

  it("shows the parts of a file with several experiments", () => {
    const results = madeResults(madeSynthetic("sphere_"));
    const [rates] = tokensFigures(results);
    expect(rates!.id).toBe("sphere-rates");
    expect(column(rates!, "rate_mean")).toEqual(
      [0, 1, 2].map((sphere_scale) => results.value("sphere_rate_mean", { sphere_scale })),
    );
    expect(drawn(rates!).text).toContain("Tokens on the sphere: measured rate");
  });

  it("shows a model whose heads see random keys", () => {
    const results = madeResults(madeRandomKeys());
    const [all, each] = tokensFigures(results) as [Figure, Figure];
    // Of the rows from 33 to 64.
    const kl = (all_heads_window: number, all_heads_random: number) => {
      const of = (all_heads_length: number) =>
        results.value("all_heads_kl", { all_heads_window, all_heads_random, all_heads_length });
      return 2 * of(1) - of(0);
    };
    [0, 1, 2].forEach((n) => {
      expect(column(all, "all_heads_kl_all_heads_window_1")[n]).toBeCloseTo(kl(0, n), 12);
      expect(column(all, "all_heads_kl_all_heads_window_32")[n]).toBeCloseTo(kl(1, n), 12);
      expect(column(all, "all_heads_kl_by_1")[n]).toBeCloseTo(kl(0, 0) / 2 ** n, 12);
    });
    expect(column(each, "each_head_kl")[4]).toBe(results.value("each_head_kl", { layer: 1, head: 1 }));
  });

  it("shows what falls before the loss rises", () => {
    const figures = limitsFigures(madeResults(madePieces()));
    expect(column(figures[1]!, "loss_second_half_less_loss_first_half")).toEqual([0, 1, 2]);
  });

  it("draws paper A's figures as means over the heads", () => {
    const results = madeResults(madeScan());
    const figures = limitsFigures(results);
    expect(column(figure(figures, "paper-corollary-2"), "margin_at_share_top_share_0.5_mean")).toEqual(
      [0, 1, 2, 3, 4, 5, 6].map((position) => 1 + 1 + position + 1),
    );
    const distance = meanOverHeads(results, "distance", { length: 1, top_n: 1 });
    expect(column(figures[0]!, "distance_mean")[1]).toBeCloseTo(distance, 12);
  });
});

describe("whatever a file holds", () => {
  it("leaves out figures whose metrics are missing", () => {
    const empty = madeResults({ coords: { layer: [0], head: [0] }, metrics: {} });
    expect(headFigures(empty, { layer: 0, head: 0 })).toEqual([]);
    expect(modelFigures(empty)).toEqual([]);
    expect(standardFigures(empty)).toEqual([]);
  });

  it("draws gaps for undefined values, and no figure where there is nothing else", () => {
    const made = madeScan();
    made.metrics["separability"]!.value = ({ top_n }) => (top_n === 1 ? null : 0.5);
    const separability = figure(headFigures(madeResults(made), { layer: 0, head: 0 }), "separability");
    expect(column(separability, "separability")).toEqual([0.5, null, 0.5]);
    expectWhole(separability);
    for (const metric of Object.values(made.metrics)) metric.value = () => null;
    expect(headFigures(madeResults(made), { layer: 0, head: 0 })).toEqual([]);
    modelFigures(madeResults(made)).forEach(expectWhole);
  });

  it("works with one head, one length and one N", () => {
    const results = madeResults(madeScan({ layers: 1, heads: 1, lengths: [64], sizes: [5] }));
    const figures = standardFigures(results);
    expect(ids(figures)).toContain("distance-against-length-layer-0-head-0");
    figures.forEach(expectWhole);
  });

  it("shows a metric that it does not know", () => {
    const results = madeResults({
      coords: { layer: [0], head: [0, 1], angle: [1, 2, 3], colour: ["red", "<blue>"] },
      metrics: {
        of_heads: { dims: ["layer", "head", "angle"], stderr: true },
        of_angles: { dims: ["angle"], unit: "furlongs", stderr: true },
        of_colours: { dims: ["colour"] },
        alone: { dims: [], value: () => 0.5 },
        undefined_everywhere: { dims: ["angle"], value: () => null },
      },
    });
    const shown = ["of_heads", "of_angles", "of_colours", "alone"].map((name) => genericFigure(results, fromFile(name))!);
    shown.forEach(expectWhole);
    expect(column(shown[1]!, "of_angles")).toEqual([0, 1, 2].map((angle) => results.value(fromFile("of_angles"), { angle })));
    expect(shown[3]!.rows).toEqual([["all", 0.5]]);
    expect(genericFigure(results, fromFile("undefined_everywhere"))).toBeUndefined();
    expect(genericFigure(results, fromFile("not_there"))).toBeUndefined();
  });
});
