// Makes results from the text of a results.json, or from its parsed value.
import { fromFile, type MetricName } from "../catalogue/catalogue";
import type { Examples } from "./examples";
import { Results, type Header, type MetricInfo, type RawNumbers } from "./results";

export const SCHEMA = "headgauge.results/2";

interface ResultsFile extends Header, Partial<Examples> {
  metrics: Record<string, Omit<MetricInfo, "name"> & RawNumbers>;
}

export function resultsFromFile(file: unknown): Results {
  const found = (file as ResultsFile | null)?.schema;
  if (typeof found !== "string" || !(found === SCHEMA || found.startsWith(`${SCHEMA}.`))) {
    throw new Error(`expected a results file of schema ${SCHEMA}, found ${JSON.stringify(found)}`);
  }
  const { metrics, examples, token_losses, passages = [], ...header } = file as ResultsFile;
  const infos = new Map<MetricName, MetricInfo>();
  for (const [key, metric] of Object.entries(metrics)) {
    const name = fromFile(key);
    const { values: _v, stderr: _s, degrees_of_freedom: _d, rows: _r, ...info } = metric;
    infos.set(name, { name, ...info });
  }
  return new Results(
    header,
    infos,
    (name) => metrics[name]!,
    examples || token_losses
      ? () => Promise.resolve({ ...(examples && { examples }), ...(token_losses && { token_losses }), passages })
      : undefined,
  );
}
