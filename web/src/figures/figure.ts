// A figure: the drawing, the words around it, and its data. Figures do not depend on the page: the
// same code draws in a browser and, without one, for `headgauge report --format svg`.

export interface DrawOptions {
  document: Document;
  width: number;
  dark: boolean;
  titled?: boolean; // true to put the title in the drawing, for a file
  title?: string; // replaces the figure's own title
  pinned?: readonly string[]; // heads that stand out
}

// A place in a drawing that can be pointed at.
export interface Spot {
  x: number | string;
  y: number | string;
  title: string;
  line: number; // the curve or the row that it is on
  head?: string | undefined; // "17.3"
}

// Draws a figure for a file. The title says of partial results that they are: nothing stands beside it.
export const drawForFile = (figure: Figure, partial: boolean, options: DrawOptions) =>
  figure.draw(
    partial ? { ...options, title: `${figure.title} (partial results)`, titled: true } : options,
  );

export interface Figure {
  id: string; // used in file names and addresses: distance-against-length
  title: string;
  caption: string; // one or two sentences on the content and its units
  aside?: boolean; // behind "more"
  columns: string[];
  rows: (string | number | null)[][]; // the drawn values, for the CSV
  spots?: readonly Spot[];
  // A complete drawing, including its own colours and fonts, so that it can be saved as a file.
  draw(options: DrawOptions): SVGSVGElement;
}
