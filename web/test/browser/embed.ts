// A page with results in it as `headgauge report` makes it, for results that no command writes:
// broken ones, and ones of a future version.
import { readFileSync } from "node:fs";
import { PARTS, type Part } from "../../src/data/results";

export interface MetricJson extends Partial<Record<Part, unknown>> {
  dims: string[];
  unit: string;
  values: unknown;
  degrees_of_freedom?: unknown;
}

export interface ResultsJson {
  coords: Record<string, (number | string)[]>;
  metrics: Record<string, MetricJson>;
  [key: string]: unknown;
}

const PLACE = "<!--headgauge-data-->";

export function pageWith(bundle: string, scripts: string): string {
  const html = readFileSync(bundle, "utf8");
  if (!html.includes(PLACE)) throw new Error(`${bundle} has no place for data`);
  return html.replace(PLACE, () => scripts);
}

export function scriptsOf(results: ResultsJson): string {
  const { metrics, examples, passages, ...header } = results;
  const infos = Object.entries(metrics).map(([name, metric], k) => {
    const { values: _v, degrees_of_freedom: _d, ...rest } = metric;
    const info = Object.fromEntries(Object.entries(rest).filter(([key]) => !PARTS.some((part) => part === key)));
    return { name, ...info, element: `metric-${k}` };
  });
  const chunks = Object.values(metrics).map((metric, k) => {
    const parts = Object.fromEntries(PARTS.map((part) => [part, metric[part]]));
    return script(`metric-${k}`, "application/json", JSON.stringify({ values: metric.values, ...parts }));
  });
  const data = JSON.stringify({ header, metrics: infos });
  if (examples !== undefined) {
    const kept = JSON.stringify({ examples, passages });
    chunks.push(script("headgauge-examples", "application/json", kept));
  }
  return [script("headgauge-data", "application/json", data), ...chunks].join("\n");
}

// JSON never holds a "<" that must stay one, so that no text can end the script.
function script(id: string, type: string, text: string): string {
  return `<script id="${id}" type="${type}">${text.replaceAll("<", "\\u003c")}</script>`;
}
