// Draws the largest changes between two runs or under interventions: the list of the results file.
import * as Plot from "@observablehq/plot";
import type { Change, Results } from "../data/results";
import { domainOf } from "./axes";
import type { Figure } from "./figure";
import { capital, formatNumber, formatWithError, metricLabel } from "./format";
import { frame, wrapped } from "./frame";
import { isLogarithmic, scatterFigure, withScale } from "./scatter";
import { themeOf } from "./theme";

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
    marks: (theme, x, y) => {
      const ends = [Math.max(x.domain[0], y.domain[0]), Math.min(x.domain[1], y.domain[1])];
      return [
        Plot.line(ends.map((end) => [end, end] as [number, number]), {
          stroke: theme.muted, strokeDasharray: "6 4",
        }),
      ];
    },
  });
}

// Draws the first changes of the list.
export function largestChangesFigure(results: Results, most = 15): Figure | undefined {
  const changes = (results.header.changes ?? []).slice(0, most);
  const bars = changes.map((change, place) => {
    const error = change.stderr ?? NaN;
    const share = (value: number) => (value * change.relative) / Math.abs(change.change);
    return {
      place,
      at: share(change.change),
      low: share(change.change - 2 * error),
      high: share(change.change + 2 * error),
      label: [headOf(change), results.title(change.metric), interventionOf(change)].join(" ").trim(),
      title:
        `${formatNumber(change.before)} to ${formatNumber(change.after)}: ` +
        formatWithError(change.change, error),
    };
  });
  const domain = domainOf(bars.flatMap(({ low, high, at }) => [low, high, at]), { include: [0] });
  if (!domain) return undefined;
  const title = "Largest changes";
  return {
    id: "largest-changes",
    title,
    caption:
      "Of each metric and head the value that stands out most, those of the most standard errors " +
      "first: its change relative to the largest value of the metric, with bars of ± 2 standard errors.",
    columns: ["metric", "head", "intervention", "before", "after", "change", "change_stderr", "relative"],
    rows: changes.map((change) => [
      change.metric, headOf(change), interventionOf(change), change.before, change.after,
      change.change, change.stderr, change.relative,
    ]),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const named = bars.map((bar) => ({ ...bar, lines: wrapped(bar.label, options.width - 40, 11) }));
      const most = Math.max(...named.map(({ lines }) => lines.length));
      return frame(options, {
        title,
        height: (21 + 13 * most) * bars.length + 12,
        x: { label: "change (relative to the largest value of the metric)", domain },
        options: { y: { type: "point", axis: null, domain: bars.map(({ place }) => place), padding: 0.6 } },
        marks: [
          Plot.ruleX([0], { stroke: theme.muted, strokeDasharray: "2 3" }),
          Plot.ruleY(bars.filter(({ low }) => Number.isFinite(low)), {
            x1: "low", x2: "high", y: "place", stroke: theme.series[1], strokeWidth: 2,
          }),
          Plot.dot(bars, { x: "at", y: "place", r: 4, fill: theme.series[1], title: "title" }),
          Plot.text(named, {
            y: "place", text: ({ lines }) => lines.join("\n"), frameAnchor: "left", textAnchor: "start", dx: 4,
            lineAnchor: "bottom", dy: -8, lineHeight: 13 / 11,
            fontSize: 11, fill: theme.text, stroke: theme.background, strokeWidth: 3,
          }),
        ],
      });
    },
  };
}
