import { expect, test } from "vitest";
import { changed, formatAddress, parseAddress, parseHead } from "../../src/page/address";

test("an address survives the way through the location bar", () => {
  const addresses = [
    { view: "overview", item: "", query: {} },
    { view: "head", item: "3.5", query: {} },
    { view: "heads", item: "", query: { filter: "3.* wide", sort: "-entropy" } },
    { view: "claims", item: "a/b & c?", query: { normalizer: "ssmax:s=0.43,b=0", "a&b": "50 %" } },
  ];
  for (const address of addresses) expect(parseAddress(formatAddress(address))).toEqual(address);
});

test("the same state has one address", () => {
  const one = { view: "overview", item: "", query: { metric: "entropy", length: "64" } };
  const other = { view: "overview", item: "", query: { length: "64", metric: "entropy" } };
  expect(formatAddress(one)).toBe(formatAddress(other));
});

test("what is typed by hand does no harm", () => {
  expect(parseAddress("")).toEqual({ view: "", item: "", query: {} });
  expect(parseAddress("#head/%E0%A4%A")).toEqual({ view: "head", item: "%E0%A4%A", query: {} });
  expect(parseAddress("#heads?filter=%zz&x").query).toEqual({ filter: "%zz", x: "" });
});

test("choices are added, replaced and taken away, and the rest stays", () => {
  const start = { view: "heads", item: "", query: { sort: "entropy", filter: "3.*" } };
  expect(changed(start, { sort: "-entropy", filter: undefined }).query).toEqual({
    sort: "-entropy",
  });
  expect(start.query).toEqual({ sort: "entropy", filter: "3.*" });
});

test("names of heads", () => {
  expect(parseHead("11.3")).toEqual({ layer: 11, head: 3 });
  for (const wrong of ["", "3", "3.", "3.5.1", "-1.2", "3.5 "])
    expect(parseHead(wrong)).toBeUndefined();
});
