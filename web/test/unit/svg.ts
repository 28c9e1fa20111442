// Whether a text is well-formed XML, and what a drawing is made of. A reader of its own: it shares
// nothing with the writer in src/offline.
import { expect } from "vitest";
import type { Figure } from "../../src/figures/figure";
import { SmallDocument, svgText } from "../../src/offline/dom";

export interface Parsed {
  name: string;
  attributes: Record<string, string>;
}

const TOKEN = /<(\/?)([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+="[^"<&]*(?:&[a-z]+;[^"<&]*)*")*)\s*(\/?)>|([^<]+)/gy;

export function parseXml(text: string): Parsed[] {
  const open: string[] = [];
  const found: Parsed[] = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  const source = text.trim();
  while (at < source.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source);
    if (!match) throw new Error(`not XML: ${source.slice(at, at + 120)}`);
    at = TOKEN.lastIndex;
    const [, closing, name, attributes = "", empty, words] = match;
    if (words !== undefined) {
      if (/&(?!(amp|lt|gt|quot);)/.test(words)) throw new Error(`bare & in ${words}`);
    } else if (closing) {
      if (open.pop() !== name) throw new Error(`</${name}> closes nothing`);
    } else {
      const parsed: Record<string, string> = {};
      for (const [, key, value] of attributes.matchAll(/([\w:.-]+)="([^"]*)"/g)) {
        if (key! in parsed) throw new Error(`${key} twice in <${name}>`);
        parsed[key!] = value!;
      }
      found.push({ name: name!, attributes: parsed });
      if (!empty) open.push(name!);
    }
  }
  if (open.length > 0) throw new Error(`open: ${open.join(" ")}`);
  return found;
}

export function drawn(figure: Figure, width = 720, dark = false): { text: string; elements: Parsed[] } {
  const document = new SmallDocument() as unknown as Document;
  const text = svgText(figure.draw({ document, width, dark, titled: true }));
  return { text, elements: parseXml(text) };
}

export function column({ columns, rows }: Figure, name: string) {
  const at = columns.indexOf(name);
  expect(at, `${name} in ${columns.join(", ")}`).toBeGreaterThanOrEqual(0);
  return rows.map((row) => row[at]);
}

// What holds for every figure: its CSV is a table, and its drawing stands alone.
export function expectWhole(figure: Figure): void {
  expect(figure.title).not.toBe("");
  expect(figure.caption.length).toBeGreaterThan(20);
  expect(figure.title + figure.caption).not.toMatch(/(?<!says )undefined|\{[\w?]+\}|[[\]]/);
  expect(figure.rows.length).toBeGreaterThan(0);
  expect(
    figure.rows.filter((row) => row.length !== figure.columns.length || row.some(Number.isNaN)),
    figure.id,
  ).toEqual([]);
  expect(new Set(figure.columns).size, `${figure.id}: ${figure.columns}`).toBe(figure.columns.length);
  for (const [width, dark] of [[340, false], [720, true]] as const) {
    const { text, elements } = drawn(figure, width, dark);
    const [svg] = elements;
    expect(svg!.attributes).toMatchObject({ role: "img", width: String(width) });
    expect(elements.some(({ name }) => name === "title")).toBe(true);
    expect(text, figure.id).not.toMatch(/currentColor|var\(|<style|NaN|Infinity|undefined,|="null"/);
  }
}
