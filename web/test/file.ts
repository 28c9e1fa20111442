// Results from the text of a results.json, parsed: as a page has them.
import { resultsFromOverview } from "../src/data/embedded";
import type { RawNumbers, Results } from "../src/data/results";

export function resultsFromFile(file: object): Results {
  const { metrics, ...header } = file as { metrics: Record<string, RawNumbers> };
  const infos = Object.entries(metrics).map(([name, { values: _v, stderr: _s, rows: _r, ...info }]) => ({
    name, element: name, ...info,
  }));
  return resultsFromOverview(JSON.stringify({ header, metrics: infos }), (name) => metrics[name]!);
}
