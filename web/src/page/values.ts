// Shows all values of a metric without heads in a table.
import type { MetricName } from "../catalogue/catalogue";
import { flatIndex, type Cell, type Metric, type Results } from "../data/results";
import { dimWords, labelText } from "./cells";
import { numberColumn, table, textColumn } from "./table";
import { shown, shownOf } from "./words";

const ROWS_SHOWN = 1000;

// Returns the dim along which the metric's figure is drawn, which the user cannot choose.
export function drawnDim(results: Results, metric: MetricName): string | undefined {
  const several = (results.info(metric)?.dims ?? []).filter((dim) => results.coord(dim).length > 1);
  return (
    several.find((dim) => results.coord(dim).every((label) => typeof label === "number")) ??
    several[0]
  );
}

interface ValueRow {
  labels: string[];
  value: number;
  error: number;
}

export function valuesTable(results: Results, name: MetricName): HTMLElement {
  const metric = results.metric(name)!;
  const rows = rowsOf(results, metric);
  const columns = [
    ...metric.dims.map((dim, k) => textColumn<ValueRow>(dim, dimWords(dim), ({ labels }) => labels[k]!)),
    numberColumn<ValueRow>("value", results.title(name), ({ value }) => value, ({ value }) => shownOf(results, name, value)),
    ...(metric.stderr
      ? [numberColumn<ValueRow>("error", "± standard error", ({ error }) => error, ({ error }) => shown(error, 2))]
      : []),
  ];
  return table({ caption: `Values of ${results.title(name)}`, columns, rows, limit: ROWS_SHOWN });
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
      if (rows.length < ROWS_SHOWN)
        visit(rest, { ...cell, [dim]: k }, [...labels, labelText(label)]);
    });
  };
  visit(metric.dims, {}, []);
  return rows;
}
