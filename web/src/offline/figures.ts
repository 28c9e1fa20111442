// Entry of the figures bundle: results.json in, SVG texts out.
import "./engine";
import { resultsFromFile } from "../data/file";
import { standardFigures } from "../figures/standard";
import { SmallDocument, svgText } from "./dom";

const width = 720;

// For each standard figure that the results hold enough for: its file name without the ending and
// its SVG. Takes and gives JSON texts, which is all that the engine passes.
export function draw(resultsText: string): string {
  const results = resultsFromFile(JSON.parse(resultsText));
  const document = new SmallDocument() as unknown as Document;
  return JSON.stringify(
    standardFigures(results).map((figure) => ({
      name: figure.id,
      title: figure.title,
      svg: svgText(figure.draw({ document, width, dark: false })),
    })),
  );
}
