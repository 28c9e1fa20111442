// Draws a metric over layers and heads, with one rectangle for each head.
import type { MetricName } from "../catalogue/catalogue";
import * as Plot from "@observablehq/plot";
import { usualPlace, type Cell, type Metric, type Results } from "../data/results";
import type { DrawOptions, Figure, Spot } from "./figure";
import { csvValue, formatNumber, formatWithError, headAt, metricLabel, withScale } from "./format";
import { frame, type FrameOptions } from "./frame";
import { overHeads } from "./heads";
import { isLogarithmic } from "./scatter";
import { colourScale, themeOf } from "./theme";

const LINEAR_RATIO = 100; // a linear scale of colours can show two decades

// Example: "L = 1024, N = 20": the labels of the fixed dims.
export function cellLabel(results: Results, metric: Pick<Metric, "dims"> | undefined, cell: Cell): string {
  const letters: Record<string, string> = {
    length: "L", top_n: "N", temperature: "T", epsilon: "ε", forecast_length: "F", tokens: "n",
  };
  return (metric?.dims ?? [])
    .filter((dim) => dim !== "layer" && dim !== "head")
    .map((dim) => {
      const labels = results.coord(dim);
      const label = labels[cell[dim] ?? usualPlace(dim, labels)];
      const text = typeof label === "number" ? formatNumber(label) : String(label);
      return letters[dim] ? `${letters[dim]} = ${text}` : `${dim.replace(/_/g, " ")} ${text}`;
    })
    .join(", ");
}

// Options that replace the words and set the colours.
export interface MapOptions extends Partial<Pick<Figure, "id" | "title" | "caption">> {
  log?: boolean;
  scaled?: readonly number[]; // values that set the scale, if several maps share one
}

export function mapFigure(results: Results, name: MetricName, cell: Cell, own: MapOptions = {}): Figure {
  const metric = results.metric(name);
  const byHead = metric?.dims.includes("head") ?? false;
  const values = overHeads(results, name, cell);
  const where = cellLabel(results, metric, cell);
  const title = own.title ?? `Map of ${metricLabel(results, name)}${where ? ` at ${where}` : ""}`;
  const stderr = metric?.parts.stderr !== undefined;
  const unit = metric?.unit === "1" ? "" : ` ${metric?.unit}`;
  const spots = gridSpots(results, byHead, values.map(({ value, stderr: error, ...at }) =>
    ({ ...at, title: results.isNone(name, value) ? "none found" : formatWithError(value, error) + (Number.isFinite(value) ? unit : "") })));
  return {
    id: own.id ?? `map-${name.replace(/_/g, "-")}`,
    title,
    caption:
      own.caption ??
      `Each cell is ${byHead ? "a head: layers downwards, heads across" : "a layer"}. A cross ` +
      "says undefined or not measured, a dash that none was found.",
    columns: [...(byHead ? ["layer", "head"] : ["layer"]), name, ...(stderr ? [`${name}_stderr`] : [])],
    rows: values.map(({ layer, head, value, stderr: error }) => [
      results.coord("layer")[layer]!,
      ...(byHead ? [results.coord("head")[head]!] : []),
      csvValue(value),
      ...(stderr ? [csvValue(error)] : []),
    ]),
    spots,
    draw: (options) => {
      const theme = themeOf(options.dark);
      const shown = values.map(({ value }) => (results.isNone(name, value) ? NaN : value));
      const scaled = own.scaled ?? shown;
      const scale = colourScale(scaled, {
        diverging: results.changed(name) !== undefined,
        logarithmic: own.log ?? isLogarithmic(results, name, scaled, LINEAR_RATIO),
      });
      const label = withScale(metricLabel(results, name), scale.kind === "sequential-log");
      const cells = values.map(({ value }, k) => {
        const missing = !Number.isFinite(shown[k]);
        const fill = missing ? theme.undefinedFill : scale.colour(shown[k]!);
        const mark = results.isNone(name, value) ? "–" : "×";
        return { ...spots[k]!, fill, missing, ink: isDark(fill) ? "#ffffff" : "#000000", text: missing ? mark : shortText(value) };
      });
      const ramp = { scale, label: `${label}${where ? `, ${where}` : ""}` };
      return drawGrid(options, { title, ramp }, cells, (width, height) => {
        const fits = width >= 38 && height >= 16;
        return Plot.text(cells.filter(({ missing }) => missing || fits), {
          x: "x", y: "y", text: "text", fill: "ink", fontSize: Math.min(11, height), pointerEvents: "none",
        });
      });
    },
  };
}

// The cells of layers and heads; without heads, one a layer.
export const gridSpots = (
  results: Results, byHead: boolean, cells: readonly { layer: number; head: number; title: string }[],
): Spot[] =>
  cells.map(({ layer, head, title }) => {
    const at = byHead ? headAt(results, { layer, head }) : undefined;
    const y = String(results.coord("layer")[layer]);
    const x = byHead ? String(results.coord("head")[head]) : "all heads";
    return { x, y, line: layer, head: at, title: `${at ? `head ${at}` : `layer ${y}`}: ${title}` };
  });

// Draws layers downwards and heads across, with a mark of the caller above the cells.
export function drawGrid(
  options: DrawOptions, words: Pick<FrameOptions, "title" | "ramp" | "key">, cells: readonly (Spot & { fill: string })[],
  above: (width: number, height: number) => Plot.Markish,
): SVGSVGElement {
  const theme = themeOf(options.dark);
  const labels = (of: "x" | "y") => [...new Set(cells.map((cell) => String(cell[of])))];
  const [heads, layers] = [labels("x"), labels("y")];
  const byHead = cells.some(({ head }) => head !== undefined);
  const left = 18 + 7 * Math.max(...layers.map((label) => label.length));
  const inner = byHead ? options.width - left - 10 : Math.min(160, options.width - left - 10);
  const width = inner / heads.length;
  const height = Math.max(11, Math.min(30, width));
  const step = Math.max(1, Math.ceil((7 * heads[heads.length - 1]!.length + 6) / width));
  const rowStep = Math.ceil(12 / height);
  const every = (names: string[], n: number) => names.filter((_, k) => k % n === 0);
  const axis = { fontSize: 11, label: null, tickSize: 0, color: theme.muted };
  const stroke = ({ head }: Spot) => (head !== undefined && options.pinned?.includes(head) ? theme.text : "none");
  return frame(options, {
    ...words,
    height: height * layers.length,
    left,
    right: options.width - left - inner,
    yLabel: "layer",
    ...(byHead ? { xLabel: "head" } : {}),
    options: {
      x: { type: "band", domain: heads, padding: 0, align: 0 },
      y: { type: "band", domain: layers, padding: 0 },
      color: { type: "identity" },
    },
    marks: [
      Plot.axisX(every(heads, step), axis),
      Plot.axisY(every(layers, rowStep), axis),
      Plot.cell(cells, { x: "x", y: "y", fill: "fill", inset: 0.5, title: "title", stroke, strokeWidth: 3 }),
      above(width, height),
    ],
  });
}

function shortText(value: number): string {
  const text = formatNumber(value, 3);
  return text.length <= 5 ? text : formatNumber(value, 2);
}

// Returns whether white text is more legible than black on this colour ("#440154" or "rgb(68, 1,
// 84)").
function isDark(colour: string): boolean {
  const parts = colour.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
    : (colour.match(/\d+(\.\d+)?/g) ?? []).map(Number);
  const [r = 0, g = 0, b = 0] = parts.map((part) => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  // Above this luminance black has the higher contrast, at least 4.5.
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179;
}
