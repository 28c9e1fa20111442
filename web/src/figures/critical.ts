// Draws critical N of the whole model, and its loss, against the context length.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { curvesFigure, metricCurve, sizesAlong, type Curve } from "./curves";
import type { Figure } from "./figure";
import { csvValue } from "./format";

const PAPER_SHARE = 0.06;

// The interventions of `compare`, or the old and new run of `diff`; a single unnamed one for other
// files.
export function variants(results: Results, name: MetricName): { dim: string; labels: string[] } {
  const dims = results.info(name)?.dims ?? [];
  const dim = ["normalizer", "pattern", "run"].find((own) => dims.includes(own));
  return dim ? { dim, labels: results.coord(dim).map(String) } : { dim: "", labels: [""] };
}

const onlyAgainstLength = (results: Results, name: MetricName): boolean =>
  (results.info(name)?.dims ?? []).every((dim) =>
    ["outcome", "length", "normalizer", "pattern", "run"].includes(dim),
  );

export function criticalFigure(results: Results): Figure | undefined {
  if (!results.has("critical_n") || !onlyAgainstLength(results, "critical_n")) return undefined;
  const lengths = results.numbers("length");
  const most = Number(results.header.settings["critical_max"] ?? NaN);
  const searched = lengths.map((length) => Math.min(length - 1, Number.isFinite(most) ? most : Infinity));
  const { dim, labels } = variants(results, "critical_n");
  const missing: { x: number; y: number; variant: number; title: string }[] = [];
  const written: { column: string; values: number[] }[] = [];
  const curves = labels.flatMap((label, variant): Curve[] => {
    const cell = dim ? { [dim]: variant } : {};
    const curve = (name: MetricName, words: string, style: Curve["style"], colour: Curve["colour"]) =>
      metricCurve(results, "length", cell, {
        name, label: label ? `${label}: ${words}` : words, colour, style,
      }).map((own) => {
        const column = label ? `${name} ${label}` : name;
        written.push({ column, values: [...own.values] });
        const values = own.values.map((value) => (results.isNone(name, value) ? NaN : value));
        return { ...own, name: column, values };
      });
    const critical = curve("critical_n", "shown to be equal from", "dashed", variant);
    (critical.length > 0 ? written.at(-1)!.values : []).forEach((value, k) => {
      if (!results.isNone("critical_n", value)) return;
      const text = `none up to N = ${searched[k]}`;
      missing.push({ x: lengths[k]!, y: searched[k]!, variant, title: `${label} L = ${lengths[k]}: ${text}` });
    });
    return [
      ...curve("closest_n", "closest", "line", variant),
      ...critical,
      // There is only room for the paper's own values next to a single model.
      ...(labels.length === 1 ? curve("critical_n_paper", "the paper's test", "dotted", 1) : []),
    ];
  });
  if (curves.length === 0) return undefined;
  const figure = curvesFigure({
    id: "critical-n",
    title: "Critical N against length",
    caption:
      "Where the heads' mean distances meet their mean expected distances (the reading “context”, a " +
      "conjecture about the paper): the N at which the median head comes closest, with its 95 % " +
      "interval over heads; the first N at which the heads are shown to be equal within 5 %; and, " +
      "dotted, the first N at which the paper's test finds no difference, which shows nothing of the " +
      "kind. A ring says that none was shown up to the N searched, which is where it stands.",
    x: sizesAlong(results, "length"),
    y: {
      label: "N (keys, log scale)", log: true,
      include: [...missing.map(({ y }) => y), ...lengths.map((length) => PAPER_SHARE * length)],
    },
    curves: [
      {
        name: "six_percent", label: "6 % of L", colour: "muted", style: "dashed",
        values: lengths.map((length) => PAPER_SHARE * length),
      },
      ...curves,
    ],
    key: (theme) =>
      missing.length > 0
        ? [{ label: "none up to this N", colour: theme.series[missing[0]!.variant % 6]!, kind: "ring" }]
        : [],
    marks: (theme) => [
      Plot.dot(missing, {
        x: "x", y: "y", r: (d: { variant: number }) => 4 + 2.5 * d.variant, fill: "none",
        stroke: (d: { variant: number }) => theme.series[d.variant % 6]!, strokeWidth: 1.75,
        title: "title",
      }),
    ],
  });
  if (!figure) return undefined;
  // The file's own numbers, including -1.
  const rows = figure.rows.map((row, k) =>
    row.map((value, column) => {
      const own = written.find((one) => one.column === figure.columns[column])?.values[k];
      return own === undefined ? value : csvValue(own);
    }),
  );
  return { ...figure, rows };
}

export function lossFigure(results: Results): Figure | undefined {
  if (!results.has("loss") || !results.hasText() || !onlyAgainstLength(results, "loss")) return undefined;
  const { dim, labels } = variants(results, "loss");
  return curvesFigure({
    id: "loss",
    title: "Loss against length",
    caption:
      "Mean loss of the next token over the first L tokens, with bands of ± 2 standard errors" +
      (dim ? " (of each by itself: differences are known better, see the loss change)." : "."),
    x: sizesAlong(results, "length"),
    y: { label: "loss (nats a token)" },
    curves: labels.flatMap((label, variant) =>
      metricCurve(results, "length", dim ? { [dim]: variant } : {}, {
        name: "loss", label: label || "loss", colour: variant, style: "line",
      }).map((curve) => ({ ...curve, name: label ? `loss ${label}` : "loss" })),
    ),
  });
}
