// A metric that is of no single head, or that this page knows nothing of: a line along a dim of
// numbers where it has one, and all its values in a table.
import { flatIndex, type Cell, type Metric, type Results } from "../data/results";
import { curvesFigure, metricCurve } from "../figures/curves";
import type { Figure } from "../figures/figure";
import { capital, metricLabel } from "../figures/format";
import { dimWords, labelText, metricWords } from "./cells";
import { table, type Column } from "./table";
import { shown, shownOf } from "./words";

const ROWS_SHOWN = 1000;

// The dim that a metric is drawn along: its last of several numbers.
export function lineDim(results: Results, metric: string): string | undefined {
  const dims = results.info(metric)?.dims ?? [];
  return [...dims].reverse().find((dim) => {
    const labels = results.coord(dim);
    return labels.length > 1 && labels.every((label) => typeof label === "number");
  });
}

export function lineFigure(results: Results, metric: string, cell: Cell): Figure | undefined {
  const dim = lineDim(results, metric);
  if (dim === undefined) return undefined;
  const values = results.numbers(dim);
  const log = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 8;
  const label = metricLabel(results, metric);
  return curvesFigure({
    id: `values-${metric.replaceAll("_", "-")}`,
    title: `${capital(label)} against ${dimWords(dim)}`,
    caption: "Bands are ± 2 standard errors, where there are any; a gap is an undefined value.",
    x: { column: dim, label: dimWords(dim), values, log, ticks: values },
    y: { label },
    curves: metricCurve(results, dim, cell, { name: metric, label, colour: 0, style: "line", dots: true }),
  });
}

interface ValueRow {
  labels: string[];
  value: number;
  error: number;
}

export function valuesTable(results: Results, name: string): HTMLElement {
  const metric = results.metric(name)!;
  const rows = rowsOf(results, metric);
  const columns: Column<ValueRow>[] = metric.dims.map((dim, k) => ({
    id: dim,
    title: dimWords(dim),
    key: (row) => row.labels[k]!,
    show: (row) => row.labels[k]!,
  }));
  columns.push({ id: "value", title: metricWords(name), numeric: true, key: (row) => row.value, show: (row) => shownOf(name, row.value) });
  if (metric.stderr) {
    columns.push({ id: "error", title: "± standard error", numeric: true, key: (row) => row.error, show: (row) => shown(row.error, 2) });
  }
  return table({ caption: `Values of ${metricWords(name)}`, columns, rows, limit: ROWS_SHOWN });
}

function rowsOf(results: Results, metric: Metric): ValueRow[] {
  const rows: ValueRow[] = [];
  const visit = (dims: readonly string[], cell: Cell, labels: string[]) => {
    const [dim, ...rest] = dims;
    if (dim === undefined) {
      const at = flatIndex(metric, cell);
      rows.push({ labels, value: metric.values[at]!, error: metric.stderr?.[at] ?? NaN });
      return;
    }
    results.coord(dim).forEach((label, k) => {
      if (rows.length < ROWS_SHOWN) visit(rest, { ...cell, [dim]: k }, [...labels, labelText(label)]);
    });
  };
  visit(metric.dims, {}, []);
  return rows;
}
