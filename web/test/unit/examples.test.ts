// What is shown of an example: which tokens, in which order, and as which characters.
import { expect, test } from "vitest";
import { heldBy } from "../../src/page/examples";
import { examplesOf, runsOf, textsOf, visible, type Example } from "../../src/data/examples";

const example = (query: number, keys: number[]): Example => ({
  layer: 0, head: 1, why: "far", value: 0.5, document: 1, query, covered: 1, keys, weights: keys.map(() => 0.1),
});

const tokens = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, k) => `t${from + k}`);

const all = {
  examples: [example(60, [10]), { ...example(5, [1]), head: 2 }],
  passages: [
    { document: 0, first: 0, tokens: ["other"] },
    { document: 1, first: 2, tokens: tokens(2, 30) },
    { document: 1, first: 50, tokens: tokens(50, 64) },
  ],
};

test("an example is of its head, and its text of its document", () => {
  expect(examplesOf(all, { layer: 0, head: 2 })).toEqual([all.examples[1]]);
  const texts = textsOf(all, 1);
  expect(texts.get(2)).toBe("t2");
  expect(texts.has(0)).toBe(false);
  expect(texts.size).toBe(42);
});

test("eight tokens on either side are shown, and what lies between is counted", () => {
  const runs = runsOf(all.examples[0]!, textsOf(all, 1));
  const shown = runs.map(({ skipped, tokens }) => [skipped, tokens[0]!.position, tokens.length]);
  expect(shown).toEqual([[2, 2, 17], [33, 52, 12]]);
  expect(runs[0]!.tokens[8]).toEqual({ position: 10, text: "t10", key: 0, isQuery: false });
  expect(runs[1]!.tokens[8]).toEqual({ position: 60, text: "t60", key: -1, isQuery: true });
});

test("a gap of two tokens is filled in, one of three is not", () => {
  const texts = new Map(tokens(0, 100).map((text, k) => [k, text]));
  const positions = (runs: ReturnType<typeof runsOf>) => runs.map((run) => run.tokens.length);
  expect(positions(runsOf(example(39, [20]), texts))).toEqual([36]); // 29 and 30 lie between
  expect(positions(runsOf(example(40, [20]), texts))).toEqual([17, 17]);
});

test("without a text the query and its keys stand alone", () => {
  const runs = runsOf(example(9, [0, 8]), new Map());
  const shown = runs.map(({ skipped, tokens }) => [skipped, tokens.map((t) => t.position)]);
  expect(shown).toEqual([[0, [0]], [7, [8, 9]]]);
  expect(runs[0]!.tokens[0]!.text).toBeUndefined();
});

test("characters without a shape are marks, others stay", () => {
  expect(visible("a\nb\tc")).toBe("a↵b⇥c");
  expect(visible("\u0000\u001b")).toBe("\u2400\u241b");
  expect(visible("\u202eab\u2066\ufeff\u200b")).toBe("\ufffdab\ufffd\ufffd\ufffd");
  expect(visible(" <b>é🦇 &amp;")).toBe(" <b>é🦇 &amp;");
});

test("beyond the heaviest keys the others are shown with two neighbours", () => {
  const texts = new Map(tokens(0, 400).map((text, k) => [k, text]));
  const keys = [380, 350, 320, 290, 260, 230, 200, 170, 140];
  const runs = runsOf(example(390, keys), texts);
  expect(runs.map((run) => run.tokens.length)).toEqual([5, 17, 17, 17, 17, 17, 17, 17, 27]);
});

test("what the keys that are not shown hold is said", () => {
  const of = (covered: number, others: number | undefined, weights: number[]) =>
    heldBy({ ...example(9, weights.map((_, k) => k)), weights, covered, ...(others === undefined ? {} : { others }) });
  expect(of(0.96, 300, [0.9, 0.06])).toBe("these 2 keys hold 96\u00a0% of its weight, the 300 other keys 4\u00a0%, each at most 4\u00a0%");
  expect(of(0.5, 1000, [0.45, 0.05])).toContain("the 1\u202f000 other keys 50\u00a0%, each at most 5\u00a0%");
  expect(of(1, 0, [1])).toBe("this key holds 100\u00a0% of its weight");
  expect(of(0.9, undefined, [0.9])).toBe("this key holds 90\u00a0% of its weight"); // an older file
});
