// Reads the catalogue of metrics while the page is built, and renders its formulas: browsers draw
// MathML themselves, so neither KaTeX nor its fonts enter the page.
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import katex from "katex";
import type { Plugin } from "vite";
import type { CatalogueEntry, DeclaredFigure, Experiment } from "./catalogue";

type Declared = CatalogueEntry & { kind: string; tex?: string };

interface Group {
  group: string;
  metrics: Omit<Declared, "group">[];
  experiments?: Experiment[];
  figures?: DeclaredFigure[];
}

// Returns the groups in order.
function groups(): Group[] {
  const folder = resolve(__dirname, "../../../catalogue");
  return readdirSync(folder).sort().map(
    (file) => JSON.parse(readFileSync(resolve(folder, file), "utf8")) as Group,
  );
}

// Returns the metrics that results files contain.
export const declared = (): Declared[] =>
  groups().flatMap(({ group, metrics }) =>
    metrics.filter(({ kind }) => kind !== "hidden").map((metric) => ({ ...metric, group })),
  );

const MODULES: Readonly<Record<string, () => unknown>> = {
  "virtual:catalogue": () => declared().map(({ tex: _, ...entry }) => entry),
  "virtual:experiments": () => groups().flatMap(({ experiments }) => experiments ?? []),
  "virtual:figures": () => groups().flatMap(({ figures }) => figures ?? []),
  "virtual:formulas": () =>
    Object.fromEntries(declared().map(({ name, tex }) => [name, render(tex ?? "")])),
};

export function cataloguePlugin(): Plugin {
  return {
    name: "headgauge-catalogue",
    resolveId: (id) => (id in MODULES ? `\0${id}` : undefined),
    load: (id) => {
      const make = MODULES[id.slice(1)];
      return make && `export default ${JSON.stringify(make())}`;
    },
  };
}

function render(tex: string): string {
  const span = katex.renderToString(tex, {
    output: "mathml", displayMode: true, throwOnError: true, strict: "error",
  });
  // Keeps only the math element, without KaTeX's span and its copy of the TeX.
  return span
    .replace(/^<span[^>]*>/, "")
    .replace(/<\/span>$/, "")
    .replace(/<annotation[\s\S]*?<\/annotation>/, "")
    .replace(/<\/?semantics>/g, "")
    // KaTeX's style sheet, which the page lacks, adds the space around function names.
    .replaceAll("<mo>\u2061</mo>", '<mo>\u2061</mo><mspace width="0.17em"/>');
}
