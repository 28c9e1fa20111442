// The figures that the catalogue declares.
import { expect, test } from "vitest";
import { declaration, FIGURES, type DeclaredFigure, type MetricName } from "../../src/catalogue/catalogue";
import { AXES } from "../../src/figures/curves";
import { LAWS } from "../../src/figures/laws";

const values = (figure: DeclaredFigure): { metric?: MetricName; by?: MetricName | number; law?: string }[] => {
  switch (figure.kind) {
    case "map":
      return [{ metric: figure.metric }];
    case "scatter":
      return [figure.x, ...figure.series, ...(figure.law ? [figure.law] : [])];
    case "curves":
    case "spread":
      return [...figure.curves];
    default:
      return [figure.x];
  }
};

test("every figure is of metrics of the catalogue, which have the dim, and of laws that there are", () => {
  expect(new Set(FIGURES.map(({ kind }) => kind))).toEqual(
    new Set(["curves", "spread", "scatter", "dots", "bars", "map"]),
  );
  expect(new Set(FIGURES.map(({ id }) => id)).size).toBe(FIGURES.length);
  for (const figure of FIGURES) {
    const { id, needs } = figure;
    const metrics = values(figure).flatMap(({ metric, by }) => [metric, typeof by === "string" ? by : undefined]);
    expect(metrics, id).toContain(needs);
    for (const metric of metrics) if (metric) expect(declaration(metric), `${id}: ${metric}`).toBeDefined();
    for (const { law } of values(figure)) if (law) expect(LAWS, id).toHaveProperty(law);
    if (!("along" in figure) || figure.along === "growth") continue;
    expect(AXES, id).toHaveProperty(figure.along);
    for (const { metric } of values(figure)) {
      const declared = metric && declaration(metric)?.entry;
      const experiment = declared && declared.name !== metric;
      if (declared && !experiment && figure.along !== "length") expect(declared.dims, `${id}: ${metric}`).toContain(figure.along);
    }
  }
});
