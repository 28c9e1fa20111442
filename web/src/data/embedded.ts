// Results from the page itself, as `headgauge report` puts them there: a header, and one script a
// metric, which is unpacked when it is asked for.
import { Results, type CatalogueEntry, type Header, type MetricInfo, type RawNumbers } from "./results";

export const DATA_ID = "headgauge-data";

// `metrics` names the element of each metric's numbers: {"values": [...], "stderr": ..., "rows":
// ...}, as JSON (type application/json) or that gzipped and in base64 (type application/gzip).
interface EmbeddedData {
  header: Header;
  catalogue: CatalogueEntry[];
  metrics: (MetricInfo & { element: string })[];
}

export function resultsFromPage(page: Document): Results {
  const data = JSON.parse(textOf(page, DATA_ID)) as EmbeddedData;
  const elements = new Map(data.metrics.map((metric) => [metric.name, metric.element]));
  return new Results(
    data.header,
    new Map(data.metrics.map(({ name, dims, unit }) => [name, { name, dims, unit }])),
    (name) => unpack(page, elements.get(name)!),
    new Map(data.catalogue.map((entry) => [entry.name, entry])),
  );
}

function textOf(page: Document, id: string): string {
  const element = page.getElementById(id);
  if (!element) throw new Error(`the page has no data: expected an element "${id}"`);
  return element.textContent ?? "";
}

async function unpack(page: Document, id: string): Promise<RawNumbers> {
  const text = textOf(page, id);
  if (page.getElementById(id)!.getAttribute("type") !== "application/gzip") {
    return JSON.parse(text) as RawNumbers;
  }
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as RawNumbers;
}
