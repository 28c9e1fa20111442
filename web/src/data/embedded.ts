// Reads results from the page, as written by `headgauge report`: a header, and one script per
// metric, which is unpacked on request.
import type { Examples } from "./examples";
import { Results, type Header, type MetricInfo, type RawNumbers } from "./results";

export const DATA_ID = "headgauge-data";
// JSON, gzipped if large; absent if no examples were kept.
const EXAMPLES_ID = "headgauge-examples";

// `element` names the text of a metric's numbers: {"values": [...], "stderr": ..., "rows": ...}.
interface Overview {
  header: Header;
  metrics: (MetricInfo & { element: string })[];
  flag_words?: Header["flag_words"];
}

// Makes results from the overview and a function that loads the numbers of each element.
export function resultsFromOverview(
  text: string,
  load: (element: string) => Promise<RawNumbers> | RawNumbers,
  examples?: () => Promise<Examples>,
): Results {
  const { header, metrics, flag_words = {} } = JSON.parse(text) as Overview;
  const elements = new Map(metrics.map((metric) => [metric.name, metric.element]));
  return new Results(
    { ...header, flag_words },
    new Map(metrics.map(({ element: _, ...info }) => [info.name, info])),
    (name) => load(elements.get(name)!),
    examples,
  );
}

// In a page the numbers are elements: that text (type application/json) or, if it is large, the
// numbers (type application/gzip) as base64 of gzipped little-endian float64, NaN for undefined,
// with the parts of the attribute data-parts one after the other.
export function resultsFromPage(page: Document): Results {
  const read = async () => {
    const { text, bytes } = await contentOf(page, EXAMPLES_ID);
    return JSON.parse(text ?? new TextDecoder().decode(bytes)) as Examples;
  };
  let known: Promise<Examples> | undefined; // read once for all heads
  const examples = () => (known ??= read());
  return resultsFromOverview(
    elementOf(page, DATA_ID).textContent ?? "",
    (id) => unpack(page, id),
    page.getElementById(EXAMPLES_ID) ? examples : undefined,
  );
}

function elementOf(page: Document, id: string): HTMLElement {
  const element = page.getElementById(id);
  if (!element) throw new Error(`the page has no data: expected an element "${id}"`);
  return element;
}

// Returns the text of an element, or its decompressed bytes.
async function contentOf(
  page: Document,
  id: string,
): Promise<{ text: string; bytes?: never } | { text?: never; bytes: ArrayBuffer }> {
  const element = elementOf(page, id);
  const text = element.textContent ?? "";
  if (element.getAttribute("type") !== "application/gzip") return { text };
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) packed[k] = letters.charCodeAt(k);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return { bytes: await new Response(stream).arrayBuffer() };
}

async function unpack(page: Document, id: string): Promise<RawNumbers> {
  const { text, bytes } = await contentOf(page, id);
  if (text !== undefined) return JSON.parse(text) as RawNumbers;
  const numbers = new Float64Array(bytes);
  const parts = (elementOf(page, id).getAttribute("data-parts") ?? "values").split(" ");
  const size = numbers.length / parts.length;
  return Object.fromEntries(
    parts.map((part, k) => [part, numbers.subarray(k * size, (k + 1) * size)]),
  ) as unknown as RawNumbers;
}
