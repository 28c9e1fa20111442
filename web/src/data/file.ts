// Results from the text of a results.json, or from its parsed value.
import { Results, type CatalogueEntry, type Header, type MetricInfo, type RawNumbers } from "./results";

export const SCHEMA = "headgauge.results/1";

interface ResultsFile extends Header {
  metrics: Record<string, { dims: string[]; unit: string } & RawNumbers>;
}

export function resultsFromFile(file: unknown, catalogue: CatalogueEntry[] = []): Results {
  const found = (file as ResultsFile | null)?.schema;
  if (typeof found !== "string" || !(found === SCHEMA || found.startsWith(`${SCHEMA}.`))) {
    throw new Error(`expected a results file of schema ${SCHEMA}, found ${JSON.stringify(found)}`);
  }
  const { metrics, ...header } = file as ResultsFile;
  const infos = new Map<string, MetricInfo>();
  for (const [name, { dims, unit }] of Object.entries(metrics)) infos.set(name, { name, dims, unit });
  return new Results(
    header,
    infos,
    (name) => metrics[name]!,
    new Map(catalogue.map((entry) => [entry.name, entry])),
  );
}
