// Draws changes between two runs: of the list of the results file.
import type { Change, Results } from "../data/results";
import type { Figure } from "./figure";
import { capital, metricLabel } from "./format";
import { isLogarithmic, scatterFigure, withScale } from "./scatter";

// Returns the head of a change: "3.5", "3.*" for a layer, "all" for the model.
export const headOf = ({ labels: { layer, head = "*" } }: Change): string =>
  layer === undefined ? "all" : `${layer}.${head}`;

export const interventionOf = ({ labels }: Change): string =>
  labels["normalizer"] ?? labels["pattern"] ?? "";

// Draws the metric of the first change of a head: old against new, one point per head.
export function changesFigure(results: Results): Figure | undefined {
  const ofHeads = (results.header.changes ?? []).filter(({ labels }) => labels["head"] !== undefined);
  const name = ofHeads[0]?.metric;
  const [old, now] = results.coord("run").map(String);
  if (name === undefined || old === undefined || now === undefined) return undefined;
  const changes = ofHeads.filter(({ metric }) => metric === name);
  const values = changes.flatMap(({ before, after }) => [before, after]);
  const log = isLogarithmic(results, name, values);
  const label = metricLabel(results, name);
  return scatterFigure({
    id: `changes-${name.replace(/_/g, "-")}`,
    title: `${capital(label)}: ${now} against ${old}`,
    caption:
      "A point for each head in which it changed, at the value that stands out most, with a bar of " +
      "± 2 standard errors of the change; on the dashed line nothing changed.",
    columns: ["layer", "head", "old", "new", "change", "change_stderr"],
    rows: changes.map(({ labels, before, after, change, stderr }) => [
      labels["layer"]!, labels["head"]!, before, after, change, stderr,
    ]),
    x: { label: withScale(`${old}: ${label}`, log), log, include: values },
    y: { label: withScale(`${now}: ${label}`, log), log, include: values },
    points: changes.map((change) => ({
      label: `head ${headOf(change)}`, x: change.before, y: change.after,
      yError: change.stderr ?? NaN, series: 1,
    })),
    law: (x) => x,
  });
}
