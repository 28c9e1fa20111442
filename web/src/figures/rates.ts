// Draws how fast errors fall with the number of tokens, and how fast the papers say they fall.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import type { Results } from "../data/results";
import { powerLaw } from "./error";
import { curvesFigure, metricCurve, sizesAlong, type Curve } from "./curves";
import type { Figure } from "./figure";
import { csvValue, formatNumber, headLabel } from "./format";
import { overHeads } from "./heads";
import { scatterFigure, type ScatterPoint } from "./scatter";

// The figures here need these.
export const RATES_NEEDS: readonly MetricName[] = ["rate_mean", "rate_covariance", "uniform_error", "hardmax_error"];

export const ratesFigures = (results: Results): Figure[] =>
  [ratesFigure(results), ...scaleErrorFigures(results), uniformFigure(results), hardmaxFigure(results)].filter(
    (figure) => figure !== undefined,
  );

const KINDS = ["mean", "covariance"] as const;

interface Place {
  label: string;
  horizon: number;
  rates: { value: number; stderr: number }[]; // in the order of KINDS
}

function places(results: Results): Place[] {
  const found = results.info("horizon")?.dims.includes("scale")
    ? results.numbers("scale").map((label, scale) => ({ label: `scale ${formatNumber(label)}`, at: { scale } }))
    : overHeads(results, "horizon").map(({ layer, head }) => ({
        label: headLabel(results, layer, head), at: { layer, head },
      }));
  return found.map(({ label, at }) => ({
    label,
    horizon: results.value("horizon", at),
    rates: KINDS.map((kind) => ({
      value: results.value(`rate_${kind}`, at), stderr: results.stderr(`rate_${kind}`, at),
    })),
  }));
}

function ratesFigure(results: Results): Figure | undefined {
  const found = places(results);
  if (!KINDS.some((kind) => results.has(`rate_${kind}`))) return undefined;
  const points = found.flatMap(({ label, horizon, rates }): ScatterPoint[] =>
    rates.map(({ value, stderr }, series) => ({
      label: `${label}, ${KINDS[series]}`, x: horizon, y: value, yError: stderr, series,
    })),
  );
  return scatterFigure({
    id: "rates",
    title: "Measured rate against horizon",
    caption:
      "The errors fall as n^-rate; bars of ± 2 standard errors of the fits. The dashed curve is " +
      "the predicted rate 1/(2(1 + H²)) of an upper bound: measured rates should not lie below it.",
    columns: [
      "place", "horizon", "rate_mean", "rate_mean_stderr", "rate_covariance",
      "rate_covariance_stderr",
    ],
    rows: found.map(({ label, horizon, rates }) => [
      label,
      csvValue(horizon),
      ...rates.flatMap(({ value, stderr }) => [csvValue(value), csvValue(stderr)]),
    ]),
    x: { label: "horizon H (log scale)", log: true },
    y: { label: "rate of the error", include: [0, 0.5] },
    points,
    key: (theme) => [
      { label: "mean", colour: theme.series[0], kind: "dot" },
      { label: "covariance", colour: theme.series[1], kind: "dot" },
      { label: "predicted", colour: theme.muted, kind: "dashed" },
    ],
    marks: (theme, { domain: [low, high] }) => [
      Plot.line(
        Array.from({ length: 81 }, (_, k) => {
          const h = low * (high / low) ** (k / 80);
          return [h, 1 / (2 * (1 + h * h))] as [number, number];
        }),
        { stroke: theme.muted, strokeWidth: 2, strokeDasharray: "6 4" },
      ),
    ],
  });
}

// Readers can distinguish only so many lines; the CSV has all of them.
function spreadOut(count: number, most = 6): number[] {
  if (count <= most) return Array.from({ length: count }, (_, k) => k);
  return Array.from({ length: most }, (_, k) => Math.round((k * (count - 1)) / (most - 1)));
}

// Draws errors of synthetic tokens, one line for each scale of the scores.
function scaleErrorFigures(results: Results): Figure[] {
  return KINDS.flatMap((kind) => {
    const name = `error_${kind}` as const;
    if (!results.info(name)?.dims.includes("scale")) return [];
    const scales = spreadOut(results.coord("scale").length);
    const figure = curvesFigure({
      id: `error-against-tokens-${kind}`,
      title: `Error of the ${kind} against tokens`,
      caption:
        "Relative error of the attention outputs over n tokens against their exact values, by " +
        "horizon H; bands of ± 2 standard errors over the replicates." +
        (scales.length < results.coord("scale").length
          ? " Some of the scales are drawn; a results file has all."
          : ""),
      x: sizesAlong(results, "tokens"),
      y: { label: `relative error of the ${kind} (log scale)`, log: true },
      curves: scales.flatMap((scale, colour) => {
        const horizon = formatNumber(results.value("horizon", { scale }), 3);
        return metricCurve(results, "tokens", { scale }, {
          name, label: `H = ${horizon}`, colour, style: "line",
        }).map((curve) => ({ ...curve, name: `${name} scale ${results.coord("scale")[scale]}` }));
      }),
    });
    return figure ?? [];
  });
}

function uniformFigure(results: Results): Figure | undefined {
  if (!results.has("uniform_error")) return undefined;
  const tokens = results.numbers("tokens");
  const curves = spreadOut(results.coord("radius").length).flatMap((radius, colour): Curve[] => {
    const label = formatNumber(results.numbers("radius")[radius]!);
    const measured = metricCurve(results, "tokens", { radius }, {
      name: "uniform_error", label: `R = ${label}`, colour, style: "line",
    }).map((curve) => ({ ...curve, name: `uniform_error radius ${label}` }));
    const constant = results.value("uniform_constant_predicted", { radius });
    if (measured.length === 0 || !Number.isFinite(constant)) return measured;
    return [
      ...measured,
      {
        name: `predicted radius ${label}`, label: "", colour, style: "dashed",
        values: tokens.map((n) => constant / Math.sqrt(n)),
      },
    ];
  });
  return curvesFigure({
    id: "uniform-error",
    title: "Largest error over a ball against tokens",
    caption:
      "The largest error of the attention map over queries of radius up to R, at H = 1; bands of " +
      "± 2 standard errors. Dashed, in the same colour, the limit C/√n with the predicted " +
      "constant C; where C is large, the error has not begun to fall so.",
    x: sizesAlong(results, "tokens"),
    y: { label: "largest error (log scale)", log: true },
    curves,
    key: (theme) =>
      curves.some(({ style }) => style === "dashed")
        ? [{ label: "predicted", colour: theme.muted, kind: "dashed" }]
        : [],
  });
}

function hardmaxFigure(results: Results): Figure | undefined {
  if (!results.has("hardmax_error")) return undefined;
  const tokens = results.numbers("tokens");
  const [measured] = metricCurve(results, "tokens", {}, {
    name: "hardmax_error", label: "measured", colour: 0, style: "line",
  });
  const predicted = metricCurve(results, "tokens", {}, {
    name: "hardmax_error_predicted", label: "predicted by its law", colour: "muted",
    style: "dashed",
  });
  if (!measured) return undefined;
  const root = powerLaw(tokens, measured.values, 0.5);
  return curvesFigure({
    id: "hardmax",
    title: "Hardmax error against tokens",
    caption:
      "With all weight on the largest score the error falls only as 1/√(log n): next to it the " +
      "slope of 1/√n, which softmax reaches. Band of ± 2 standard errors.",
    x: sizesAlong(results, "tokens"),
    y: { label: "hardmax error (log scale)", log: true },
    curves: [
      measured,
      ...predicted,
      ...(root
        ? [{ name: "slope_half", label: "slope of 1/√n", colour: 1, style: "dotted" as const, values: root }]
        : []),
    ],
  });
}
