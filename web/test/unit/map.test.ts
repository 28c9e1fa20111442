import { describe, expect, it } from "vitest";
import type { MetricName } from "../../src/catalogue/catalogue";
import type { Figure } from "../../src/figures/figure";
import { mapFigure } from "../../src/figures/map";
import { colourScale } from "../../src/figures/theme";
import { madeResults, madeScan } from "./made";
import { drawn, expectWhole } from "./svg";

// The rectangles of the cells: those with a title are the only ones of Plot's cell mark.
const cells = (name: MetricName, results = madeResults(madeScan()), cell = {}) => {
  const { elements } = drawn(mapFigure(results, name, cell));
  return elements.filter(({ name: tag, attributes }) => tag === "rect" && "x" in attributes &&
    !("rx" in attributes) && attributes["height"] !== "12" && attributes["y"] !== undefined);
};

describe("the map of a metric", () => {
  const results = madeResults(madeScan());

  it("has a row a head in row-major order, with the file's numbers", () => {
    const map = mapFigure(results, "entropy", { length: 1 });
    expect(map.columns).toEqual(["layer", "head", "entropy", "entropy_stderr"]);
    expect(map.rows[4]).toEqual([1, 1, results.value("entropy", { layer: 1, head: 1, length: 1 }), 0.01]);
    expectWhole(map);
  });

  it("draws one rectangle a head, undefined ones too, layers downwards and heads across", () => {
    const made = madeScan();
    made.metrics["entropy"]!.value = ({ layer, head }) => (layer === 0 && head === 1 ? null : 0.5 + head!);
    const drawnCells = cells("entropy", madeResults(made));
    expect(drawnCells).toHaveLength(6);
    const x = drawnCells.map(({ attributes }) => Number(attributes["x"]));
    const y = drawnCells.map(({ attributes }) => Number(attributes["y"]));
    expect(x[0]! < x[1]! && x[1]! < x[2]! && x[3] === x[0]).toBe(true);
    expect(y[0] === y[2] && y[3]! > y[0]!).toBe(true);
    expect(drawnCells[1]!.attributes["fill"]).toBe("#c4c9cf");
    expectWhole(mapFigure(madeResults(made), "entropy", {}));
  });

  it("has one column for a metric of whole layers", () => {
    const map = mapFigure(results, "union_coverage", { length: 2, top_n: 0 });
    expect(map.columns).toEqual(["layer", "union_coverage", "union_coverage_stderr"]);
    expect(map.rows).toHaveLength(2);
    expect(cells("union_coverage")).toHaveLength(2);
  });

  it("distinguishes a critical N that was not found from a small one", () => {
    const map = mapFigure(results, "critical_n_head", {});
    expect(map.rows.map((row) => row[2])).toEqual([-1, 9, 9, -1, 9, 9]);
    const { text } = drawn(map);
    expect(text).toContain("head 0.0: none found");
    expect(text).toContain("–");
  });

  it("holds its place in 1200 heads", () => {
    const many = madeResults(madeScan({ layers: 48, heads: 25 }));
    expect(cells("entropy", many)).toHaveLength(1200);
    expectWhole(mapFigure(many, "entropy", {}));
  });
});

// Of a dead head, and of others as they are.
const withOneSmall = (small: number) => {
  const made = madeScan();
  for (const [name, large] of [["entropy", 3], ["entropy_normalized", 0.8], ["effective_tokens", 90]] as const) {
    made.metrics[name]!.value = ({ layer, head }) => (layer === 0 && head === 0 ? small : large - 0.1 * head!);
  }
  made.metrics["effective_tokens"]!.unit = "keys";
  made.metrics["entropy"]!.unit = "nats";
  return madeResults(made);
};

describe("a scale that is not linear", () => {
  const said = (figure: Figure) => drawn(figure).text.includes("log scale)") || drawn(figure).text.includes(", log scale<");

  it("is none of a metric with bounds, or of nats, however small one head is", () => {
    const results = withOneSmall(0.001);
    for (const [name, middle] of [["entropy_normalized", />0\.40?1?</], ["entropy", />1\.5</]] as const) {
      const map = mapFigure(results, name, {});
      expect(said(map), name).toBe(false);
      expect(drawn(map).text, name).toMatch(middle);
    }
  });

  it("says so at the legend, in a map", () => {
    const results = withOneSmall(0.001);
    expect(drawn(mapFigure(results, "effective_tokens", {})).text).toContain("(keys, log scale)");
    expect(drawn(mapFigure(withOneSmall(50), "effective_tokens", {})).text).not.toContain("log scale");
  });
});

describe("colour scales", () => {
  it("are of logs for sizes alone, and where that is asked for", () => {
    expect(colourScale([1, 1000]).kind).toBe("sequential");
    expect(colourScale([0, 1000], { logarithmic: true }).kind).toBe("sequential");
    const log = colourScale([1, 1000], { logarithmic: true });
    expect(log.kind).toBe("sequential-log");
    expect(log.at(0.5)).toBeCloseTo(Math.sqrt(1000), 9);
  });

  it("are even about 0 for changes and for both signs", () => {
    expect(colourScale([0.1, 0.4], { diverging: true }).domain).toEqual([-0.4, 0.4]);
    expect(colourScale([-1, 3]).domain).toEqual([-3, 3]);
  });

  it("give a colour where all values are alike or there is none", () => {
    for (const values of [[], [NaN], [2, 2], [0, 0]]) {
      const scale = colourScale(values);
      expect(scale.colour(scale.at(0.5))).toMatch(/^(#|rgb)/);
    }
  });
});
