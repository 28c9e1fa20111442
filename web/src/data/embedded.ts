// Reads results from the page, as written by `headgauge report`: a header, and one script per
// metric, which is unpacked on request.
import type { Examples } from "./examples";
import { PARTS, Results, type Header, type MetricInfo, type RawNumbers, type ViewTable } from "./results";

export const DATA_ID = "headgauge-data";
// This and the examples are JSON, gzipped if large. Absent if no examples were kept.
const EXAMPLES_ID = "headgauge-examples";

// `element` names the text of a metric's numbers: {"values": [...], "stderr": ..., "rows": ...}.
interface Overview {
  header: Header;
  metrics: (MetricInfo & { element: string })[];
  tables?: ViewTable[];
}

// Makes results from the overview and a function that loads the numbers of each element.
export function resultsFromOverview(
  text: string,
  load: (element: string) => Promise<RawNumbers> | RawNumbers,
  examples?: () => Promise<Examples>,
): Results {
  const { header, metrics, tables } = JSON.parse(text) as Overview;
  const elements = new Map(metrics.map((metric) => [metric.name, metric.element]));
  return new Results(
    header,
    new Map(metrics.map(({ element: _, ...info }) => [info.name, info])),
    (name) => load(elements.get(name)!),
    examples,
    undefined,
    tables,
  );
}

const NUMBERS = new Set<string>(["values", "degrees_of_freedom", ...PARTS]);

// Makes results from the text of a results.json, parsed. It has no tables: the program makes them.
export function resultsFromFile(file: object): Results {
  const { metrics, tables, examples, passages, token_losses, ...header } = file as {
    metrics: Record<string, RawNumbers>; tables?: ViewTable[];
  } & Partial<Examples>;
  const infos = Object.entries(metrics).map(([name, metric]) => ({
    name, element: name, ...Object.fromEntries(Object.entries(metric).filter(([key]) => !NUMBERS.has(key))),
  }));
  const kept = { examples, passages, token_losses } as Examples;
  return resultsFromOverview(
    JSON.stringify({ header, metrics: infos, tables }), (name) => metrics[name]!,
    examples || token_losses ? () => Promise.resolve(kept) : undefined,
  );
}

// In a page the numbers are elements: that text (type application/json) or, if it is large, the
// numbers (type application/gzip) as base64 of gzipped little-endian float32 in planes of bytes, NaN for undefined,
// with the parts of the attribute data-parts one after the other.
export async function resultsFromPage(page: Document): Promise<Results> {
  const textOf = async (id: string) => {
    const { text, bytes } = await contentOf(page, id);
    return text ?? new TextDecoder().decode(bytes);
  };
  let known: Promise<Examples> | undefined; // read once for all heads
  const examples = () => (known ??= textOf(EXAMPLES_ID).then((text) => JSON.parse(text) as Examples));
  return resultsFromOverview(
    await textOf(DATA_ID),
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

// Numbers of four bytes of which all first bytes come first, then all second ones.
function ofPlanes(planes: Uint8Array): Float64Array {
  const count = planes.length / 4;
  const bytes = Uint8Array.from(planes, (_, k) => planes[(k % 4) * count + Math.floor(k / 4)]!);
  return Float64Array.from(new Float32Array(bytes.buffer));
}

async function unpack(page: Document, id: string): Promise<RawNumbers> {
  const { text, bytes } = await contentOf(page, id);
  if (text !== undefined) return JSON.parse(text) as RawNumbers;
  const parts = (elementOf(page, id).getAttribute("data-parts") ?? "values").split(" ");
  const size = bytes.byteLength / parts.length;
  return Object.fromEntries(
    parts.map((part, k) => [part, ofPlanes(new Uint8Array(bytes, k * size, size))]),
  ) as unknown as RawNumbers;
}
