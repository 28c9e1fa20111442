// The tokens whose loss changes most, and what validate finds of answers, as rows of tables.
import { describe, expect, it } from "vitest";
import { resultsFromFile } from "../file";
import { answerPredictors, retrievalHeads } from "../../src/page/answer_validity";
import { tokenRows } from "../../src/page/token_losses";
import { validity } from "../../src/page/validity";

describe("tokens", () => {
  it("stand in the order of the size of their change, those without one left out", () => {
    const tokens = [
      { document: 0, position: 4, losses: [3, 3.5, null] },
      { document: 0, position: 9, losses: [3, 1, 2] },
      { document: 2, position: 7, losses: [null, 1, 2], task: "keys" },
    ];
    expect(tokenRows(tokens, 1).map(({ position, change }) => [position, change])).toEqual([[9, -2], [4, 0.5]]);
    expect(tokenRows(tokens, 2).map(({ position }) => position)).toEqual([9]);
  });
});

// Two heads under two interventions, validated on answers alone.
const answered = resultsFromFile({
  schema: "headgauge.results/2", command: "validate", settings: {}, partial: false, layers_done: 1,
  tool: { name: "headgauge", version: "0.1.0" }, model: { name: "m", family: "gpt2", layers: 1, heads: 2 },
  text: {}, flags: [], notices: [], timings: {},
  coords: {
    layer: [0], head: [0, 1], intervention: ["a", "b"], cases: ["keys, odd cases", "keys, even cases"],
    predictor: ["entropy", "horizon", "flag sink"],
  },
  metrics: {
    validated_answer_change: {
      dims: ["layer", "head", "intervention", "cases"], unit: "nats",
      values: [[[[0.5, 0.25], [1, 2]], [[0, 0], [0, 0]]]],
    },
    retrieval_head: { dims: ["layer", "head", "intervention"], unit: "1", values: [[[1, 1], [0, 0]]] },
    ...Object.fromEntries(
      ["", "_low", "_high", "_p"].map((end) => [
        `answer_rank_correlation${end}`,
        { dims: ["predictor", "intervention"], unit: "1", values: [[0.25, -0.5], [null, null], [0.75, 0.5]] },
      ]),
    ),
    predicts_answers: { dims: ["predictor", "intervention"], unit: "1", values: [[0, 0], [0, 0], [1, 0]] },
  },
});

describe("what loses answers", () => {
  it("has a view without a text, too", () => {
    expect(validity.has(answered)).toBe(true);
  });

  it("lists a head for each intervention, the largest loss first", () => {
    expect(retrievalHeads(answered).map(({ name, intervention, change }) => [name, intervention, change])).toEqual([
      ["0.0", "b", 1.5], ["0.0", "a", 0.375],
    ]);
  });

  it("has the predictors with a correlation, flags last", () => {
    const rows = answerPredictors(answered);
    expect(rows.map(({ under }) => under[0]!.rho)).toEqual([0.25, 0.75]);
    expect(rows[1]!.under.map(({ predicts }) => predicts)).toEqual([true, false]);
  });
});
