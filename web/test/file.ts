// Results from the text of a results.json, parsed: as a page has them.
import { resultsFromOverview } from "../src/data/embedded";
import { PARTS, type RawNumbers, type Results, type ViewTable } from "../src/data/results";

const NUMBERS = new Set<string>(["values", "degrees_of_freedom", ...PARTS]);

export function resultsFromFile(file: object): Results {
  const { metrics, tables, ...header } = file as { metrics: Record<string, RawNumbers>; tables?: ViewTable[] };
  const infos = Object.entries(metrics).map(([name, metric]) => ({
    name, element: name, ...Object.fromEntries(Object.entries(metric).filter(([key]) => !NUMBERS.has(key))),
  }));
  return resultsFromOverview(JSON.stringify({ header, metrics: infos, tables }), (name) => metrics[name]!);
}
