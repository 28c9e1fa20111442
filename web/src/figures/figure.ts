// A figure: the drawing, the words around it, and its data. Figures do not depend on the page: the
// same code draws in a browser and, without one, for `headgauge report --format svg`.

export interface DrawOptions {
  document: Document;
  width: number;
  dark: boolean;
  titled?: boolean; // with the title in the drawing: for a file, where no words stand around it
  title?: string; // in place of the figure's own
}

export interface Figure {
  id: string; // for file names and addresses: distance-against-length
  title: string;
  caption: string; // what is seen, and in which units; one or two sentences
  columns: string[];
  rows: (string | number | null)[][]; // what is drawn, for the CSV
  // A complete drawing, including its own colours and fonts, so that it can be saved as a file.
  draw(options: DrawOptions): SVGSVGElement;
}
