// Draws a row for each label: dots with their errors, or bars.
import * as Plot from "@observablehq/plot";
import type { Label } from "../data/results";
import { domainOf } from "./axes";
import type { Figure } from "./figure";
import { csvValue, formatNumber, formatWithError } from "./format";
import { frame, textWidth } from "./frame";
import { themeOf } from "./theme";

export interface Row {
  labels: readonly Label[]; // of the CSV
  name: string;
  colour: number; // in the theme's series
  values: readonly { value: number; stderr: number }[]; // of bars the first is the whole
}

export interface RowsOptions extends Pick<Figure, "id" | "title" | "caption" | "columns"> {
  made: readonly Row[];
  x: { label: string; log: boolean; include: readonly number[]; lines: readonly number[] };
  rowLabel: string;
  key: readonly string[];
}

const csvRows = (rows: readonly Row[], errors = false): Figure["rows"] =>
  rows.map(({ labels, values }) => [
    ...labels, ...values.flatMap(({ value, stderr }) => [csvValue(value), ...(errors ? [csvValue(stderr)] : [])]),
  ]);

const nameAxis = (color: string) => Plot.axisY({ label: null, tickSize: 0, fontSize: 11, color });

export function dotsFigure({ made, x, rowLabel, columns, key: _key, ...words }: RowsOptions): Figure | undefined {
  const dots = made.map(({ name, colour, values: [one] }) => {
    const { value, stderr } = one!;
    return { name, colour, value, low: value - 2 * stderr, high: value + 2 * stderr, title: `${name}: ${formatWithError(value, stderr)}` };
  });
  const errors = made.some(({ values: [one] }) => Number.isFinite(one!.stderr));
  const domain = domainOf(dots.flatMap(({ value, low, high }) => [value, low, high]), {
    log: x.log, include: [...x.include, ...x.lines], room: 0.08,
  });
  if (!domain) return undefined;
  return {
    ...words,
    columns: errors ? [...columns, `${columns.at(-1)}_stderr`] : columns,
    rows: csvRows(made, errors),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const colour = (dot: { colour: number }) => theme.series[dot.colour % theme.series.length]!;
      return frame(options, {
        title: words.title,
        height: (errors ? 30 : 22) * dots.length + (errors ? 10 : 0),
        x: { label: x.label, log: x.log, domain },
        ...(rowLabel === "" ? {} : { yLabel: rowLabel }),
        left: 16 + Math.max(...dots.map(({ name }) => textWidth(name, 11))),
        right: 44,
        options: {
          y: { type: "point", domain: dots.map(({ name }) => name), padding: 0.6 },
          color: { type: "identity" },
        },
        marks: [
          nameAxis(theme.text),
          Plot.ruleX(x.lines, { stroke: theme.muted, strokeDasharray: "2 3" }),
          Plot.ruleY(dots, { x1: domain[0], x2: "value", y: "name", stroke: theme.grid, strokeWidth: 2 }),
          Plot.ruleY(dots.filter(({ low }) => Number.isFinite(low)), {
            x1: "low", x2: "high", y: "name", stroke: colour, strokeWidth: 2,
          }),
          Plot.dot(dots, { x: "value", y: "name", r: 5, fill: colour, title: "title" }),
          Plot.text(dots, {
            x: "value", y: "name", text: ({ value }) => formatNumber(value), ...(errors ? { dy: -12 } : { dx: 10 }),
            textAnchor: errors ? "middle" : "start", fill: theme.text, stroke: theme.background, strokeWidth: 4,
            fontSize: 11,
          }),
        ],
      });
    },
  };
}

export function barsFigure({ made, x, rowLabel, key, ...words }: RowsOptions): Figure | undefined {
  const rows = made.map(({ name, values }) => ({ name, values: values.map(({ value }) => value) }));
  const most = Math.max(...rows.map(({ values }) => values[0]!).filter(Number.isFinite));
  if (!Number.isFinite(most)) return undefined;
  type Bar = (typeof rows)[number];
  const title = ({ name, values: [whole, ...parts] }: Bar) =>
    `${rowLabel} ${name}: ${[...parts, whole!].map((value) => formatNumber(value)).join(" of ")}`;
  return {
    ...words,
    rows: csvRows(made),
    draw: (options) => {
      const theme = themeOf(options.dark);
      const colours = [theme.undefinedFill, ...theme.series];
      return frame(options, {
        title: words.title,
        height: Math.max(60, rows.length * 22),
        x: { label: x.label, domain: [0, most] },
        yLabel: rowLabel,
        left: 36,
        right: 52,
        key: key.map((label, k) => ({ label, colour: colours[k]!, kind: "box" as const })),
        options: { y: { type: "band", domain: rows.map(({ name }) => name), padding: 0.2 } },
        marks: [
          nameAxis(theme.text),
          ...key.map((_, k) =>
            Plot.barX(rows, { x: ({ values }: Bar) => values[k]!, y: "name", fill: colours[k]!, title }),
          ),
          Plot.text(rows, {
            x: ({ values }: Bar) => values[0]!, y: "name", dx: 5, textAnchor: "start", fill: theme.text, fontSize: 11,
            text: ({ values: [whole, part = NaN] }: Bar) =>
              Number.isFinite(part) ? `${formatNumber((100 * part) / whole!, 3)} %` : "",
          }),
        ],
      });
    },
  };
}
