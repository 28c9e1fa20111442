// Rank correlations of the two papers' metrics: does a head that selects poorly also need more
// context?
import { fromFile, type MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import type { Figure } from "./figure";
import { capital, csvValue, formatNumber, headLabel, metricLabel } from "./format";
import { overHeads } from "./heads";
import { isWide, pairText, scatterFigure, withScale, type ScatterPoint } from "./scatter";

export const CORRELATION_NEEDS: readonly MetricName[] = [
  "rank_correlation", "rank_correlation_low", "rank_correlation_high", "critical_fraction_head",
  "critical_n_head", "separability", "entropy_slope", "horizon", "rate_mean", "rate_covariance",
  "tokens_for_error",
];

// The N at which heads are judged: 20, else the largest from 2 up to 20.
export function judgedN(results: Results): number | undefined {
  const sizes = results.numbers("top_n");
  let best: number | undefined;
  sizes.forEach((size, k) => {
    if (size >= 2 && size <= 20 && (best === undefined || size > sizes[best]!)) best = k;
  });
  return best;
}

const indexOf = (labels: readonly (string | number)[], wanted: string | number) => {
  const at = labels.findIndex((label) => label === wanted);
  return at < 0 ? undefined : at;
};

const BUDGETS: readonly MetricName[] = ["tokens_for_error", "budget_keys"];

// The labels at which a metric with more dims is judged, as in the correlations: N = 20, an error
// of 5 %, the latest keys kept.
export function judgedCell(results: Results, name: MetricName): Cell {
  const cell: Record<string, number> = {};
  const put = (dim: string, index: number | undefined) => {
    if (index !== undefined) cell[dim] = index;
  };
  if (results.info(name)?.dims.includes("top_n")) put("top_n", judgedN(results));
  if (BUDGETS.includes(name)) {
    put("tolerance", indexOf(results.coord("tolerance"), 0.05));
    put("sampler", indexOf(results.coord("sampler"), "recent"));
  }
  return cell;
}

function words(results: Results, name: MetricName): string {
  const plain = metricLabel(results, name);
  if (name === ("separability" satisfies MetricName)) {
    const n = results.coord("top_n")[judgedN(results) ?? 0];
    return `${plain} at N = ${n}`;
  }
  return name === BUDGETS[0] ? "keys for an error of 5 %, latest kept (tokens)" : plain;
}

export function correlationFigure(
  results: Results,
  capacity: MetricName,
  convergence: MetricName,
): Figure | undefined {
  const labels = { capacity: results.coord("capacity_metric"), convergence: results.coord("convergence_metric") };
  const cell = {
    capacity_metric: labels.capacity.indexOf(capacity),
    convergence_metric: labels.convergence.indexOf(convergence),
  };
  const x = overHeads(results, capacity, judgedCell(results, capacity));
  const y = overHeads(results, convergence, judgedCell(results, convergence));
  if (x.length === 0 || x.length !== y.length) return undefined;
  const points = x.map(({ layer, head, value, stderr }, k): ScatterPoint => {
    // A critical N beyond the searched range ranks above all that were found.
    const of = results.entry(capacity)?.fraction_of;
    const none = of !== undefined && results.isNone(of, results.value(of, { layer, head }));
    return {
      label: headLabel(results, layer, head),
      x: none ? 1 : value,
      y: y[k]!.value,
      xError: stderr,
      yError: y[k]!.stderr,
      hollow: none,
    };
  });
  const known = cell.capacity_metric >= 0 && cell.convergence_metric >= 0;
  const rho = known ? results.value("rank_correlation", cell) : NaN;
  const interval = pairText(
    known ? results.value("rank_correlation_low", cell) : NaN,
    known ? results.value("rank_correlation_high", cell) : NaN,
  );
  const pairs = points.filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
  const correlation = Number.isFinite(rho)
    ? `: rank correlation ${formatNumber(rho, 2)}${interval}, ${pairs.length} heads`
    : "";
  const log = { x: isWide(pairs.map((point) => point.x)), y: isWide(pairs.map((point) => point.y)) };
  return scatterFigure({
    id: `correlation-${capacity}-${convergence}`.replace(/_/g, "-"),
    title: `${capital(words(results, convergence))} against ${words(results, capacity)}${correlation}`,
    caption:
      "One point a head, bars of ± 2 standard errors; Spearman's rank correlation with its 95 % " +
      "interval by resampling heads. A ring stands at 1: no critical N was found.",
    columns: ["layer", "head", capacity, convergence],
    rows: x.map(({ layer, head }, k) => [
      results.coord("layer")[layer]!,
      results.coord("head")[head]!,
      csvValue(points[k]!.x),
      csvValue(points[k]!.y),
    ]),
    x: { label: withScale(words(results, capacity), log.x), log: log.x },
    y: { label: withScale(words(results, convergence), log.y), log: log.y },
    points,
  });
}

// Returns the pair with the largest absolute rank correlation.
export function closestPair(results: Results): [MetricName, MetricName] | undefined {
  let best: [MetricName, MetricName] | undefined;
  let size = -1;
  results.coord("capacity_metric").forEach((capacity, i) =>
    results.coord("convergence_metric").forEach((convergence, j) => {
      const rho = results.value("rank_correlation", { capacity_metric: i, convergence_metric: j });
      if (Math.abs(rho) > size) {
        size = Math.abs(rho);
        best = [fromFile(String(capacity)), fromFile(String(convergence))];
      }
    }),
  );
  return best;
}
