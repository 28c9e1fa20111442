// Critical N of the whole model, and its loss, against the length of the context.
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { curvesFigure, metricCurve, type Curve } from "./curves";
import type { Figure } from "./figure";

const PAPER_SHARE = 0.06;

// The interventions of `compare`, the old and new run of `diff`; one unnamed of other files.
export function variants(results: Results, name: string): { dim: string; labels: string[] } {
  const dims = results.info(name)?.dims ?? [];
  const dim = ["normalizer", "pattern", "run"].find((own) => dims.includes(own));
  return dim ? { dim, labels: results.coord(dim).map(String) } : { dim: "", labels: [""] };
}

const onlyAgainstLength = (results: Results, name: string): boolean =>
  (results.info(name)?.dims ?? []).every((dim) =>
    ["length", "normalizer", "pattern", "run"].includes(dim),
  );

export function criticalFigure(results: Results): Figure | undefined {
  if (!results.has("critical_n") || !onlyAgainstLength(results, "critical_n")) return undefined;
  const lengths = results.numbers("length");
  const most = Number(results.header.settings["critical_max"] ?? NaN);
  const searched = lengths.map((length) => Math.min(length - 1, Number.isFinite(most) ? most : Infinity));
  const { dim, labels } = variants(results, "critical_n");
  const missing: { x: number; y: number; variant: number; title: string }[] = [];
  const curves = labels.flatMap((label, variant): Curve[] => {
    const [curve] = metricCurve(results, "length", dim ? { [dim]: variant } : {}, {
      name: "critical_n", label: label || "critical N", colour: variant, style: "line",
    });
    if (!curve) return [];
    curve.values.forEach((value, k) => {
      if (!results.isNone("critical_n", value)) return;
      const text = `none up to N = ${searched[k]}`;
      missing.push({ x: lengths[k]!, y: searched[k]!, variant, title: `${label} L = ${lengths[k]}: ${text}` });
    });
    return [
      {
        ...curve,
        name: label ? `critical_n ${label}` : "critical_n",
        values: curve.values.map((value) => (results.isNone("critical_n", value) ? NaN : value)),
      },
    ];
  });
  if (curves.length === 0) return undefined;
  const figure = curvesFigure({
    id: "critical-n",
    title: "Critical N against length",
    caption:
      "The first N at which the heads' mean distances do not differ significantly from their mean " +
      "expected distances (the reading “context”, a conjecture about the paper), beside 6 % of the " +
      "length. A ring says that there was none up to the N searched, which is where it stands.",
    x: {
      column: "length", label: "context length L (tokens, log scale)", values: lengths, log: true,
      ticks: lengths,
    },
    y: {
      label: "critical N (keys, log scale)", log: true,
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
  // The file's own numbers, those that say none included.
  const written = labels.map((_, variant) =>
    lengths.map((__, length) => results.value("critical_n", { ...(dim ? { [dim]: variant } : {}), length })),
  );
  return figure && {
    ...figure,
    rows: figure.rows.map((row, k) => [
      ...row.slice(0, 2),
      ...written
        .filter((values) => values.some(Number.isFinite))
        .map((values) => (Number.isFinite(values[k]) ? values[k]! : null)),
    ]),
  };
}

export function lossFigure(results: Results): Figure | undefined {
  if (!results.has("loss") || !onlyAgainstLength(results, "loss")) return undefined;
  const lengths = results.numbers("length");
  const { dim, labels } = variants(results, "loss");
  return curvesFigure({
    id: "loss",
    title: "Loss against length",
    caption:
      "Mean loss of the next token over the first L tokens, with bands of ± 2 standard errors" +
      (dim ? " (of each by itself: differences are known better, see the loss change)." : "."),
    x: {
      column: "length", label: "context length L (tokens, log scale)", values: lengths, log: true,
      ticks: lengths,
    },
    y: { label: "loss (nats a token)" },
    curves: labels.flatMap((label, variant) =>
      metricCurve(results, "length", dim ? { [dim]: variant } : {}, {
        name: "loss", label: label || "loss", colour: variant, style: "line",
      }).map((curve) => ({ ...curve, name: label ? `loss ${label}` : "loss" })),
    ),
  });
}
