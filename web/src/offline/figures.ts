// Entry point of the figures bundle: takes results and returns SVG texts.
import "./engine";
import { resultsFromOverview } from "../data/embedded";
import type { RawNumbers } from "../data/results";
import { drawForFile } from "../figures/figure";
import { standardFigures } from "../figures/standard";
import { SmallDocument, svgText } from "./dom";

const width = 720;

// Returns, for each standard figure that the results have data for, its file name without the
// ending, its title and its SVG. `load` returns the JSON text of an element of the overview, and
// light or dark for "theme". All are texts, because the engine passes nothing else.
export function draw(overview: string, load: (element: string) => string): string {
  const results = resultsFromOverview(overview, (name) => JSON.parse(load(name)) as RawNumbers);
  const document = new SmallDocument() as unknown as Document;
  const options = { document, width, dark: load("theme") === "dark", titled: true };
  return JSON.stringify(
    standardFigures(results).map((figure) => ({
      name: figure.id,
      title: figure.title,
      svg: svgText(drawForFile(figure, results.header.partial, options)),
    })),
  );
}
