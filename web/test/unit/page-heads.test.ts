import { expect, test } from "vitest";
import { resultsFromFile } from "../../src/data/file";
import { headName } from "../../src/page/address";
import { changesOf, matchingChanges } from "../../src/page/changes";
import { flagGroups } from "../../src/page/flags";
import { pieces } from "../../src/page/findings";
import { headRows, matching } from "../../src/page/heads";
import { valueText } from "../../src/page/provenance";
import { smallFile, smallResults } from "./page-results";

const found = (filter: string) =>
  matching(headRows(smallResults()), filter).map(({ head }) => headName(head));

test("the filter takes names of heads and of flags, and all words must fit", () => {
  expect(found("")).toHaveLength(6);
  expect(found("2.*")).toEqual(["2.0", "2.1", "2.5"]);
  expect(found("*.1")).toEqual(["0.1", "2.1"]);
  expect(found("2")).toEqual(["2.0", "2.1", "2.5"]);
  expect(found("0.1")).toEqual(["0.1"]);
  expect(found("SINK")).toEqual(["0.1", "2.5"]);
  expect(found("over_selected")).toEqual(["0.1"]);
  expect(found("sink, 2.*")).toEqual(["2.5"]);
  expect(found("nothing")).toEqual([]);
});

test("flags are grouped by name, the most frequent first", () => {
  const groups = flagGroups(smallResults().header.flags);
  expect(groups.map(({ name, flags }) => [name, flags.length])).toEqual([
    ["sink", 2],
    ["over_selected", 1],
  ]);
  const gained = flagGroups([{ ...smallResults().header.flags[0]!, change: "gained" }]);
  expect(gained[0]!.name).toBe("sink (gained)");
});

test("in a sentence heads are links, measured numbers facts, and a temperature is no head", () => {
  const fact = (text: string, metric: string) => ({ text, metric, cell: [], value: 0, scale: 1 });
  const said = pieces({
    text:
      "At T = 0.1 head 0.1 (0.10) is flattest; heads 1.2, 1.3 and 2.0 follow with 10 keys " +
      "of 110.",
    heads: ["0.1", "1.3", "2.0"],
    facts: [fact("0.1", "rule"), fact("0.10", "entropy"), fact("10", "mass_90"), fact("999", "x")],
  });
  expect(said.map(({ text }) => text).join("")).toBe(
    "At T = 0.1 head 0.1 (0.10) is flattest; heads 1.2, 1.3 and 2.0 follow with 10 keys of 110.",
  );
  expect(said.filter(({ kind }) => kind === "head").map(({ text }) => text)).toEqual([
    "0.1",
    "1.3",
    "2.0",
  ]);
  expect(said.filter(({ kind }) => kind === "fact").map(({ text }) => text)).toEqual([
    "0.1",
    "0.10",
    "10",
  ]);
  expect(said[0]!.text).toBe("At T = ");
});

test("of each head the change that stands out most in standard errors", () => {
  const results = resultsFromFile({
    ...smallFile(),
    coords: { layer: [0], head: [0, 1], length: [32, 64], run: ["old", "new"] },
    metrics: {
      entropy: {
        dims: ["layer", "head", "run", "length"],
        unit: "1",
        values: [
          [
            [
              [1, 2],
              [1.5, 4],
            ],
            [
              [1, 1],
              [1, null],
            ],
          ],
        ],
      },
      entropy_change: {
        dims: ["layer", "head", "length"],
        change_of: "entropy",
        unit: "1",
        values: [
          [
            [0.5, 2],
            [0, null],
          ],
        ],
        stderr: [
          [
            [0.01, 1],
            [1, null],
          ],
        ],
      },
    },
  });
  const changes = changesOf(results, "entropy_change");
  expect(changes).toHaveLength(1);
  expect(changes[0]).toMatchObject({
    metric: "entropy",
    head: { layer: 0, head: 0 },
    at: "length L 32",
    before: 1,
    after: 1.5,
    change: 0.5,
    errors: 50,
  });
  expect(matchingChanges(changes, "ENTR 0.*")).toHaveLength(1);
  expect(matchingChanges(changes, "1.*")).toHaveLength(0);
});

test("settings as words", () => {
  expect([
    valueText(true),
    valueText(null),
    valueText([]),
    valueText([1, 2.5]),
    valueText({ a: 1 }),
  ]).toEqual(["yes", "–", "–", "1, 2.5", '{"a":1}']);
  expect(valueText(Array.from({ length: 50 }, () => 0))).toMatch(/ and 10 more$/);
});
