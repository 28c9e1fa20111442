// Renders the formulas while the page is built: browsers draw MathML themselves, so neither KaTeX
// nor its fonts enter the page.
import katex from "katex";
import type { Plugin } from "vite";
import { FORMULAS } from "./formulas";

const NAME = "virtual:formulas";
const RESOLVED = `\0${NAME}`;

export function formulasPlugin(): Plugin {
  return {
    name: "headgauge-formulas",
    resolveId: (id) => (id === NAME ? RESOLVED : undefined),
    load: (id) => (id === RESOLVED ? `export default ${JSON.stringify(renderAll())}` : undefined),
  };
}

export function renderAll(): Record<string, { mathml: string; words: string; source: string }> {
  return Object.fromEntries(
    Object.entries(FORMULAS).map(([name, { tex, words, source }]) => [
      name,
      { mathml: render(tex), words, source },
    ]),
  );
}

function render(tex: string): string {
  const span = katex.renderToString(tex, {
    output: "mathml", displayMode: true, throwOnError: true, strict: "error",
  });
  // The math element alone, without KaTeX's span and its copy of the TeX.
  return span
    .replace(/^<span[^>]*>/, "")
    .replace(/<\/span>$/, "")
    .replace(/<annotation[\s\S]*?<\/annotation>/, "")
    .replace(/<\/?semantics>/g, "")
    // KaTeX leaves the room about names of functions to its style sheet, which the page lacks.
    .replaceAll("<mo>\u2061</mo>", '<mo>\u2061</mo><mspace width="0.17em"/>');
}
