// Draws the costs and gains of an intervention (another normalizer or pattern).
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { variants } from "./critical";
import type { Figure } from "./figure";
import { judgedN, overHeads } from "./heads";
import { scatterFigure } from "./scatter";

interface Side {
  metric: MetricName;
  label: string;
  cell: Record<string, number>;
}

export function interventionFigures(results: Results): Figure[] {
  const { dim } = variants(results, "loss_change");
  const dims = results.info("loss_change")?.dims ?? [];
  // A map shows the changes of every head, which --each measures.
  if (!results.hasText() || dims.length === 0 || dims.includes("layer") || (dim !== "normalizer" && dim !== "pattern")) {
    return [];
  }
  const top_n = judgedN(results);
  const sides: (Side & { id: string; title: string })[] =
    dim === "pattern"
      ? [
          {
            id: "patterns", title: "Patterns: loss against the weight they keep",
            metric: "kept_mass", label: "weight kept, mean over heads (share)", cell: {},
          },
        ]
      : [
          {
            id: "normalizers", title: "Normalizers: loss against selectivity",
            metric: "entropy_normalized_with_sinks",
            label: "normalized entropy, mean over heads (1: spread over all keys)", cell: {},
          },
          {
            id: "normalizers-separability", title: "Normalizers: loss against separability",
            metric: "separability_with_sinks",
            label: `separability at N = ${results.coord("top_n")[top_n ?? 0]}, mean over heads (share)`,
            cell: top_n === undefined ? {} : { top_n },
          },
        ];
  return sides.flatMap(({ id, title, ...side }) => interventionFigure(results, dim, id, title, side) ?? []);
}

function interventionFigure(
  results: Results,
  dim: string,
  id: string,
  title: string,
  { metric, label, cell }: Side,
): Figure | undefined {
  const names = results.coord(dim).map(String);
  const points = names.map((name, intervention) => {
    const values = overHeads(results, metric, { ...cell, [dim]: intervention })
      .map(({ value }) => value)
      .filter(Number.isFinite);
    const change = results.value("loss_change", { [dim]: intervention });
    return {
      label: name,
      x: values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : NaN,
      y: intervention === 0 && !Number.isFinite(change) ? 0 : change,
      yError: results.stderr("loss_change", { [dim]: intervention }),
      series: intervention,
    };
  });
  return scatterFigure({
    id,
    title,
    caption:
      "Change of the loss at the longest length when every head is under the intervention, with " +
      "bars of ± 2 standard errors of the paired differences; the original stands on the line at 0.",
    columns: [dim, `${metric}_mean`, "loss_change", "loss_change_stderr"],
    x: { label },
    y: { label: "change of the loss (nats a token)", include: [0] },
    points,
    named: true,
    marks: (theme) => [Plot.ruleY([0], { stroke: theme.muted, strokeDasharray: "2 3" })],
  });
}
