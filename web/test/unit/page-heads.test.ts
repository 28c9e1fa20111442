import { expect, test } from "vitest";
import { fromFile } from "../../src/catalogue/catalogue";
import { headName } from "../../src/page/address";
import { flagGroups, flagsTitle, flagTitle, rolesFirst } from "../../src/page/flags";
import { pieces } from "../../src/page/findings";
import { filtered, parseFilter } from "../../src/page/filter";
import { captionOf, hasWord, headRows, metricColumn, namedHeads, withoutUnfinished, type HeadRow } from "../../src/page/heads";
import { valueText } from "../../src/page/provenance";
import { madeResults, madeScan, madeSteps } from "./made";
import { smallResults } from "./page-results";

const columns = ["surprise", "entropy"].map((name) => metricColumn(smallResults(), fromFile(name)));
const names = ["sink", "wide"];
const asked = (filter: string, rows = headRows(smallResults())) => {
  const { rows: left, problem } = filtered(rows, parseFilter(namedHeads(filter), columns), columns, (row, word) => hasWord(row, word, names), names);
  return { heads: left.map(({ head }) => headName(head)), problem };
};
const found = (filter: string) => asked(filter).heads;

test("values and flags of a series are those of the last step", () => {
  const [series, scan] = [madeResults(madeSteps()), madeResults(madeScan())];
  expect([series, scan].map(captionOf)).toEqual(["Values of each head at the last step", "Values of each head at the longest length"]);
  expect([series, scan].map(flagsTitle)).toEqual(["Roles, flags at the last step", "Roles, flags"]);
});

test("the filter takes names of heads and of flags, and all words must fit", () => {
  expect(found("")).toHaveLength(6);
  expect(found("2.*")).toEqual(["2.0", "2.1", "2.5"]);
  expect(found("*.1")).toEqual(["0.1", "2.1"]);
  expect(found("2")).toEqual(["2.0", "2.1", "2.5"]);
  expect(found("0.1")).toEqual(["0.1"]);
  expect(found("SINK")).toEqual(["0.1", "2.5"]);
  expect(found("wide")).toEqual(["0.1"]);
  expect(found("sink, 2.*")).toEqual(["2.5"]);
  expect(found("nothing")).toEqual([]);
});

test("the filter compares numbers, of a metric by its name or its title, and all conditions must hold", () => {
  // surprise: 1 2 3, 4 - 6; entropy at the longest length: 2 4 6, 8 10 -
  expect(found("surprise > 2")).toEqual(["0.5", "2.0", "2.5"]);
  expect(found("surprise>=2 surprise<= 4")).toEqual(["0.1", "0.5", "2.0"]);
  expect(found("surprise≥2, Surprise≤4")).toEqual(["0.1", "0.5", "2.0"]);
  expect(found("entropy = 4")).toEqual(["0.1"]);
  expect(found("entropy<1e1")).toEqual(["0.0", "0.1", "0.5", "2.0"]); // not one that is undefined
  expect(found("sink entropy > .5")).toEqual(["0.1"]);
  expect(found("2.* surprise > 3 sink")).toEqual(["2.5"]);
  const named = [{ id: "entropy_normalized", title: "normalized entropy, all", numeric: true }];
  for (const name of ["entropy_normalized", "entropy normalized", "Normalized Entropy, all"]) {
    expect(parseFilter(`near previous ${name} < -.5`, named)).toEqual({
      words: ["near", "previous"], conditions: [{ column: "entropy_normalized", sign: "<", number: -0.5 }], problem: "",
    });
  }
});

test("layers and heads may be named in words, and conditions are put together by and", () => {
  expect(found("layer 2")).toEqual(["2.0", "2.1", "2.5"]);
  expect(found("head 1")).toEqual(["0.1", "2.1"]);
  expect(found("head 2.5")).toEqual(["2.5"]);
  expect(found("layer 0 and surprise > 1 and sink")).toEqual(["0.1"]);
});

test("the name of a metric that has no condition yet is left aside", () => {
  const without = (text: string) => withoutUnfinished(text, ["weight_induction", "sink_weight"], ["sink"]);
  expect(without("layer 3 weight_ind")).toBe("layer 3 ");
  expect(without("weight_induction")).toBe("");
  expect(without("sin")).toBe("sin"); // a flag begins so
  expect(without("weight_induction > 0.1")).toBe("weight_induction > 0.1");
  expect(without("weight_induction > we")).toBe("weight_induction > we"); // wrong, and said to be
});

test("the filter says what is wrong with it, and holds to the rest", () => {
  expect(asked("entropi > 3 sink")).toEqual({
    heads: ["0.1", "2.5"], problem: '"entropi>3": there is no column "entropi"; the nearest is "entropy"',
  });
  expect(asked("surprise > much").problem).toBe('"surprise>much": expected a number after >');
  expect(asked("surprise >").problem).toBe('"surprise>": expected a number after >');
  expect(asked("sinks")).toEqual({ heads: [], problem: 'nothing here is called "sinks"; the nearest is "sink"' });
  expect(asked("surprize > 2").problem).toContain('the nearest is "surprise"');
  expect(asked("zebra > 2").problem).toBe('"zebra>2": there is no column "zebra"'); // nothing is near
  expect(asked("sink").problem).toBe("");
});

test("a value that says none is no number, and a name may hold a sign", () => {
  const rows = [{ value: -1 }, { value: 3 }];
  const column = [
    { id: "softmax:t=2", title: "softmax:t=2", numeric: true, key: ({ value }: { value: number }) => value,
      value: ({ value }: { value: number }) => (value < 0 ? NaN : value), show: () => "" },
  ];
  const left = (text: string) => filtered(rows, parseFilter(text, column), column, (_, word) => word === "t=2").rows;
  expect(left("softmax:t=2 < 9")).toEqual([{ value: 3 }]);
  expect(parseFilter("t=2", column)).toEqual({ words: ["t=2"], conditions: [], problem: "" });
});

test("a role is filtered as a flag is", () => {
  const rows = [
    { head: { layer: 0, head: 1 }, flags: [{ name: "sink" }, { name: "induction" }] },
    { head: { layer: 0, head: 2 }, flags: [{ name: "sinks" }, { name: "previous" }] },
    { head: { layer: 0, head: 3 }, flags: [{ name: "sink" }] },
  ] as unknown as HeadRow[];
  const named = (filter: string) => asked(filter, rows).heads;
  expect(named("induction")).toEqual(["0.1"]);
  expect(named("sink")).toEqual(["0.1", "0.3"]);
  expect(rows.map(({ flags }) => flagTitle(rolesFirst(flags)))).toEqual(["induction, sink", "sinks, previous", "sink"]);
  expect(named("previous sinks")).toEqual(["0.2"]); // a head may have several
});

test("flags are grouped by name, the most frequent first", () => {
  const groups = flagGroups(smallResults().header.flags);
  expect(groups.map(({ name, flags }) => [name, flags.length])).toEqual([["sink", 2], ["wide", 1]]);
  const gained = flagGroups([{ ...smallResults().header.flags[0]!, change: "gained" }]);
  expect(gained[0]!.name).toBe("sink (gained)");
});

test("in a sentence heads are links, measured numbers facts, and a temperature is no head", () => {
  const fact = (text: string, kind: string, name = "") => ({ text, kind, name: fromFile(name), value: 0, scale: 1 });
  const said = pieces({
    text:
      "At T = 0.1 head 0.1 (0.10) is flattest; heads 1.2, 1.3 and 2.0 follow with 10 keys " +
      "of 110.",
    heads: ["0.1", "1.3", "2.0"],
    facts: [
      fact("0.1", "constant"), fact("0.10", "cell", "entropy"),
      fact("10", "standard_error", "mass_90"), fact("999", "cell", "x"),
    ],
  });
  expect(said.map(({ text }) => text).join("")).toBe(
    "At T = 0.1 head 0.1 (0.10) is flattest; heads 1.2, 1.3 and 2.0 follow with 10 keys of 110.",
  );
  const of = (one: string) => said.filter(({ kind }) => kind === one).map(({ text }) => text);
  expect(of("head")).toEqual(["0.1", "1.3", "2.0"]);
  expect(of("fact")).toEqual(["0.1", "0.10", "10"]);
  expect(said[0]!.text).toBe("At T = ");
});

test("settings as words", () => {
  expect([true, null, [], [1, 2.5], { a: 1 }].map(valueText)).toEqual(["yes", "–", "–", "1, 2.5", '{"a":1}']);
  expect(valueText(Array.from({ length: 50 }, () => 0))).toMatch(/ and 10 more$/);
});
