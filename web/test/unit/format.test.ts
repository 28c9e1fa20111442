import { describe, expect, it } from "vitest";
import { chooseTicks, domainOf } from "../../src/figures/axes";
import { formatNumber, formatShare, formatWithError } from "../../src/figures/format";

describe("numbers as text", () => {
  it.each([
    [0, "0"], [1024, "1024"], [999999, "999999"], [0.30000000000000004, "0.3"], [12.3456, "12.35"],
    [123456.7, "123457"], [0.00012345, "0.0001234"], [0.00001, "1e-5"], [-2.5, "-2.5"],
    [1234567, "1.235e6"], [NaN, "undefined"], [Infinity, "infinite"], [100, "100"],
  ])("%d is %s", (value, text) => expect(formatNumber(value)).toBe(text));

  it("have errors, shares and bytes", () => {
    expect(formatWithError(0.48123, 0.0065)).toBe("0.4812 ± 0.013");
    expect(formatWithError(0.5, NaN)).toBe("0.5");
    expect(formatShare(0.05)).toBe("5 %");
  });
});

describe("axes", () => {
  it("ends where values differ by rounding alone", () => {
    const [low, high] = domainOf([1, 1 + 2 ** -52])!;
    expect(high - low).toBeGreaterThan(0.1);
    const narrow = { label: "x", domain: [1e6, 1e6 + 2 ** -33] as [number, number] };
    expect(chooseTicks(narrow, 500, () => 20).length).toBeLessThan(10);
  });

  it("have room about the values, and none of their own where there are no values", () => {
    expect(domainOf([NaN])).toBeUndefined();
    expect(domainOf([-1, 0], { log: true })).toBeUndefined();
    const [low, high] = domainOf([5, 5], { log: true })!;
    expect(low < 5 && high > 5).toBe(true);
  });

  it("keep the last of given ticks when there is not room for all", () => {
    const axis = { label: "", log: true, domain: [32, 1024] as [number, number], ticks: [32, 64, 128, 256, 512, 1024] };
    expect(chooseTicks(axis, 600, () => 30)).toEqual([32, 64, 128, 256, 512, 1024]);
    expect(chooseTicks(axis, 120, () => 30)).toEqual([64, 256, 1024]);
  });

  it("of numbers whose ratio exceeds float64", () => {
    const domain = domainOf([6.9e-319, 0.5], { log: true })!;
    expect(domain[0]).toBeGreaterThan(0);
    expect(chooseTicks({ label: "", log: true, domain }, 500, () => 40).length).toBeGreaterThan(2);
  });

  it.each([
    [false, [0, 1]], [false, [-3e-7, 2e-7]], [false, [0.5, 1234567]], [true, [0.0007, 30]],
    [true, [1e-12, 1e9]], [true, [3, 3.1]],
  ] as [boolean, [number, number]][])("finds ticks inside (log %s, %j)", (log, domain) => {
    const ticks = chooseTicks({ label: "", log, domain }, 300, () => 40);
    expect(ticks.length).toBeGreaterThanOrEqual(1);
    expect(ticks.length).toBeLessThanOrEqual(9);
    for (const tick of ticks) {
      expect(tick).toBeGreaterThanOrEqual(domain[0] - 1e-9);
      expect(tick).toBeLessThanOrEqual(domain[1] * (1 + 1e-9));
    }
  });
});
