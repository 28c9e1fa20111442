// The figures that the catalogue declares.
import { expect, test } from "vitest";
import { CATALOGUE, FIGURES } from "../../src/catalogue/catalogue";
import { AXES } from "../../src/figures/curves";

test("every curve is a metric of the catalogue that has the dim", () => {
  expect(FIGURES.length).toBeGreaterThan(0);
  for (const { id, needs, along, curves } of FIGURES) {
    expect(AXES, id).toHaveProperty(along);
    expect(curves.map(({ metric }) => metric), id).toContain(needs);
    for (const { metric } of curves) {
      expect(CATALOGUE.has(metric), `${id}: ${metric}`).toBe(true);
      const dims = CATALOGUE.get(metric)?.dims ?? [];
      if (along !== "length") expect(dims, `${id}: ${metric}`).toContain(along);
    }
  }
});
