// Results from the page itself, as `headgauge report` puts them there: a header, and one script a
// metric, which is unpacked when it is asked for.
import { Results, type Header, type MetricInfo, type RawNumbers } from "./results";

export const DATA_ID = "headgauge-data";

// `element` names the text of a metric's numbers: {"values": [...], "stderr": ..., "rows": ...}.
interface Overview {
  header: Header;
  metrics: (MetricInfo & { element: string })[];
}

// Results from the text that says what there is and a way to the numbers behind each element.
export function resultsFromOverview(
  text: string,
  load: (element: string) => Promise<RawNumbers> | RawNumbers,
): Results {
  const { header, metrics } = JSON.parse(text) as Overview;
  const elements = new Map(metrics.map((metric) => [metric.name, metric.element]));
  return new Results(
    header,
    new Map(metrics.map(({ element: _, ...info }) => [info.name, info])),
    (name) => load(elements.get(name)!),
  );
}

// In a page the numbers are elements: that text (type application/json), or, where there are many,
// the numbers themselves (type application/gzip): gzipped and in base64, float64 in little-endian
// order, NaN where undefined, for each of the attribute data-parts one after the other.
export function resultsFromPage(page: Document): Results {
  return resultsFromOverview(textOf(page, DATA_ID), (element) => unpack(page, element));
}

function textOf(page: Document, id: string): string {
  const element = page.getElementById(id);
  if (!element) throw new Error(`the page has no data: expected an element "${id}"`);
  return element.textContent ?? "";
}

async function unpack(page: Document, id: string): Promise<RawNumbers> {
  const text = textOf(page, id);
  const element = page.getElementById(id)!;
  if (element.getAttribute("type") !== "application/gzip") return JSON.parse(text) as RawNumbers;
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) bytes[k] = letters.charCodeAt(k);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const numbers = new Float64Array(await new Response(stream).arrayBuffer());
  const parts = (element.getAttribute("data-parts") ?? "values").split(" ");
  const size = numbers.length / parts.length;
  return Object.fromEntries(
    parts.map((part, k) => [part, numbers.subarray(k * size, (k + 1) * size)]),
  ) as unknown as RawNumbers;
}
