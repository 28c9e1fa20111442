// Formats numbers and names, the same in drawings, tables and sentences. Does not use Intl, which
// the engine inside headgauge lacks.
import type { MetricName } from "../catalogue/catalogue";
import type { Results } from "../data/results";

// Formats with this many significant digits, without trailing zeros; uses exponents only if a plain
// number would be long.
export function formatNumber(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "undefined";
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "-infinite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split("e");
    return `${trimZeros(mantissa!)}e${Number(exponent)}`;
  }
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return trimZeros(value.toFixed(decimals));
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export const formatTick = (value: unknown): string =>
  typeof value === "number" ? formatNumber(value, 4) : String(value);

export const formatShare = (value: number, digits = 3): string =>
  `${formatNumber(100 * value, digits)} %`;

// Example: "0.4812 ± 0.013": the value and two standard errors.
export function formatWithError(value: number, stderr: number, digits = 4): string {
  const text = formatNumber(value, digits);
  return Number.isFinite(value + stderr) ? `${text} ± ${formatNumber(2 * stderr, 2)}` : text;
}

// Writes a value with its interval, if it has one: "0.48 (0.4 to 0.5)".
export const formatEstimate = (
  value: number, { stderr = NaN, low = NaN, high = NaN }: Partial<Record<"stderr" | "low" | "high", number>>, digits = 4,
): string =>
  Number.isFinite(low)
    ? `${formatNumber(value, digits)} (${formatNumber(low, 2)} to ${formatNumber(high, 2)})`
    : formatWithError(value, stderr, digits);

export const plainName = (name: string): string => name.replace(/_/g, " ");

// Makes part of a file name.
export const slug = (name: string): string =>
  name.replace(/[^A-Za-z0-9.]+/g, "-").replace(/^-|-$/g, "");

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

// "effective tokens (keys)", and with another ending "effective tokens (keys, log scale)".
export const withEnding = (label: string, ending = "1"): string =>
  ending === "1" || ending === "" ? label
  : label.endsWith(")") ? `${label.slice(0, -1)}, ${ending})`
  : `${label} (${ending})`;

export const withScale = (label: string, log: boolean): string => withEnding(label, log ? "log scale" : "");

export const metricLabel = (results: Results, name: MetricName): string =>
  withEnding(results.title(name), results.info(name)?.unit);

// Example: "17.3".
export const headAt = (results: Results, { layer = 0, head = 0 }: { layer?: number; head?: number }): string =>
  `${results.coord("layer")[layer]}.${results.coord("head")[head]}`;

export function headLabel(results: Results, layer: number, head: number): string {
  return `layer ${results.coord("layer")[layer]}, head ${results.coord("head")[head]}`;
}

// A page holds numbers of 32 bits, whose further digits say nothing.
export function csvValue(value: number): number | null {
  if (!Number.isFinite(value)) return null;
  return Math.fround(value) === value && !Number.isInteger(value) ? Number(value.toPrecision(7)) : value;
}
