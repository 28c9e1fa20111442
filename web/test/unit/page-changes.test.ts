import { expect, test } from "vitest";
import { changeRows, changes, columnsOf, counted, hasWord } from "../../src/page/changes";
import { filtered, parseFilter } from "../../src/page/filter";
import { madeChange, madeDiff, madeResults, madeScan } from "./made";

test("an intervention stands with the place", () => {
  const labels = { normalizer: "sparsemax", layer: "0", head: "2", length: "16" };
  const made = { ...madeDiff(), changes: [madeChange("entropy", labels, 1, 0.1)] };
  expect(changeRows(madeResults(made))[0]).toMatchObject({
    head: "0.2", at: "sparsemax, length L 16",
  });
});

test("the filter takes metrics, titles and heads", () => {
  const rows = changeRows(madeResults(madeDiff()));
  const columns = columnsOf(madeResults(madeDiff()));
  const found = (filter: string) =>
    filtered(rows, parseFilter(filter, columns), columns, hasWord).rows.map(({ head }) => head);
  expect(found("NORMALIZED *.1")).toEqual(["1.1", "0.1"]);
  expect(found("1.")).toEqual(["1.1", "1.*"]);
  expect(found("1.*")).toEqual(["1.1", "1.*"]);
  expect(found("all")).toEqual(["all"]);
  expect(found("0.1 64")).toEqual(["0.1"]);
  expect(found("2.*")).toEqual([]);
  expect(found("change < 0")).toEqual(["0.1"]);
  expect(found("normalized in standard errors >= 30")).toEqual(["1.1"]);
});

test("how many changed is that of the file, and a list that was cut says so", () => {
  const results = madeResults(madeDiff());
  expect(counted(results)).toBe(
    "3 of 12 values with standard errors changed, at most 1 of them by chance (false discovery " +
      "rate 5 %), and 1 of 5 without. The file lists 4 of 4 changes, the first of each kind.",
  );
  results.header.change_counts!.found = 1234;
  expect(counted(results)).toContain("The file lists 4 of 1\u202f234 changes");
});

test("the view is there for every list, and only for one", () => {
  expect(changes.has(madeResults({ ...madeDiff(), changes: [] }))).toBe(true);
  expect(changes.has(madeResults(madeScan()))).toBe(false);
});
