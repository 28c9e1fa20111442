// A figure on the page: drawn when it comes into view, as wide as its place, with its caption and
// links to its files.
import type { CellValue } from "./save";
import { csvText, download, fileName, pngBlob, svgText } from "./save";
import { button, div, element, fill, more, note } from "./element";
import { drawForFile, type Figure } from "../figures/figure";
import type { Page } from "./page";
import { pointAt } from "./point";
import { table } from "./table";

const SAVED_WIDTH = 720;
const TABLE_ROWS = 500;

export interface PictureOptions {
  heading?: "h2" | "h3";
}

export function picture(page: Page, figure: Figure, options: PictureOptions = {}): HTMLElement {
  const { heading = "h3" } = options;
  const place = div("drawing");
  const made = element(
    "figure",
    { class: "picture", "data-figure": figure.id },
    element(heading, {}, figure.title),
    place,
    element(
      "figcaption",
      {},
      figure.caption === "" ? null : element("p", {}, figure.caption),
      files(page, figure),
      numbers(figure),
    ),
  );
  let width = 0;
  const draw = () => {
    try {
      const drawing = figure.draw({ document, width, dark: page.theme.dark, pinned: page.theme.pinned });
      for (const marks of drawing.querySelectorAll("g[aria-label]")) {
        // Plot sets aria-labels on its groups of marks; screen readers would say "line, dot, text".
        marks.setAttribute("data-marks", marks.getAttribute("aria-label")!);
        marks.removeAttribute("aria-label");
      }
      drawing.setAttribute("role", "img");
      drawing.setAttribute("aria-label", `${figure.title}. ${figure.caption}`);
      if (figure.spots) pointAt(page, drawing, figure.spots, place);
      const focused = place.contains(document.activeElement);
      fill(place, drawing);
      if (focused) drawing.focus();
    } catch (error) {
      fill(place, failure(`This figure cannot be drawn: ${message(error)}`));
    }
  };
  const drawAt = (shown: number) => {
    const next = Math.max(280, Math.floor(shown));
    if (next !== width) {
      width = next;
      draw();
    }
  };
  watch(place, page, drawAt, () => {
    if (width === 0) drawAt(place.clientWidth || SAVED_WIDTH);
    else draw();
  });
  return made;
}

// Draws when the place first comes near the screen, and again when its width, the colours or the
// medium change. Stops when the place has left the page.
function watch(place: HTMLElement, page: Page, drawAt: (width: number) => void, again: () => void) {
  let seen = false;
  const sight = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen = true;
      sight.disconnect();
      drawAt(place.clientWidth);
    },
    { rootMargin: "300px" },
  );
  sight.observe(place);
  const size = new ResizeObserver(() => {
    if (!place.isConnected) return;
    // Printing scales the existing drawing; a new layout would come too late.
    if (seen && !page.theme.printing) drawAt(place.clientWidth);
  });
  size.observe(place);
  const print = () => {
    if (!place.isConnected) return stop();
    seen = true;
    again();
  };
  const unlisten = page.theme.onChange(() => {
    if (!place.isConnected) stop();
    else if (page.theme.printing) print();
    else if (seen) again();
  });
  window.addEventListener("beforeprint", print);
  const stop = () => {
    unlisten();
    window.removeEventListener("beforeprint", print);
    sight.disconnect();
    size.disconnect();
  };
}

function files(page: Page, figure: Figure): HTMLElement {
  const { model, partial } = page.results.header;
  const drawing = () => drawForFile(figure, partial, { document, width: SAVED_WIDTH, dark: false });
  const status = element("span", { class: "status", role: "status" });
  const save = (ending: string, make: () => Blob | Promise<Blob>) => {
    const write = async () => download(fileName(figure.id, model.name, ending), await make());
    const written = () =>
      write().then(
        () => (status.textContent = ""),
        (error) => (status.textContent = `Not saved: ${message(error)}`),
      );
    const name = ending.toUpperCase();
    return button("", name, () => void written(), { "aria-label": `Save ${figure.title} as ${name}` });
  };
  return element(
    "p",
    { class: "files" },
    element("span", { "aria-hidden": "true" }, "Save"),
    save("svg", () => new Blob([svgText(drawing())], { type: "image/svg+xml" })),
    save("png", () => pngBlob(drawing())),
    save("csv", () => new Blob([csvText(figure.columns, figure.rows)], { type: "text/csv" })),
    status,
  );
}

// Shows the numbers of the figure, for readers who cannot see it or want exact values.
function numbers({ title, columns, rows }: Figure): HTMLElement {
  const box = div("");
  const details = more("numbers", "Numbers", box);
  details.addEventListener("toggle", () => {
    if (!details.open || box.firstChild) return;
    const rest = rows.length - TABLE_ROWS;
    box.append(
      table({
        caption: `Numbers of ${title}`,
        columns: columns.map((name, k) => ({
          id: name,
          title: name,
          numeric: rows.some((row) => typeof row[k] === "number"),
          key: () => "",
          show: (row: Figure["rows"][number]) => shown(row[k]!),
        })),
        rows: rows.slice(0, TABLE_ROWS),
      }),
      ...(rest > 0 ? [note(`${rest} more rows are in the CSV.`)] : []),
    );
  });
  return details;
}

function shown(value: CellValue): string {
  if (value === null || (typeof value === "number" && Number.isNaN(value))) return "–";
  return String(value);
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function failure(text: string): HTMLElement {
  return element("p", { class: "failure", role: "alert" }, text);
}
