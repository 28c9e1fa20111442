// The figures that a results file has by itself, without anyone choosing a head.
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import type { Figure } from "./figure";

export function standardFigures(results: Results): Figure[] {
  const lengths = results.numbers("length");
  const rows = lengths.map((length, k) => [length, results.value("critical_n", { length: k })]);
  return [
    {
      id: "critical-n",
      title: "Critical N",
      caption: "",
      columns: ["length", "critical_n"],
      rows,
      draw: ({ document, width }) =>
        Plot.plot({
          document,
          width,
          x: { type: "log", tickFormat: String, ticks: lengths },
          y: { tickFormat: String },
          marks: [
            Plot.line(rows, { x: "0", y: "1", title: (d: number[]) => `${d[0]}` }),
            Plot.dot(rows, { x: "0", y: "1" }),
            Plot.text(rows, { x: "0", y: "1", text: (d: number[]) => String(d[0]) }),
          ],
        }) as SVGSVGElement,
    },
  ];
}
