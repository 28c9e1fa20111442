// A figure on the page: drawn when it comes into view, as wide as its place, with its caption and
// links to its files.
import type { CellValue } from "./save";
import { csvText, download, fileName, pngBlob, svgText } from "./save";
import { element, fill } from "./element";
import { drawForFile, type Figure } from "../figures/figure";
import type { Page } from "./page";

const SAVED_WIDTH = 720;
const TABLE_ROWS = 500;

export interface PictureOptions {
  heading?: "h2" | "h3";
  // Called after every new drawing, to make it interactive.
  drawn?: (drawing: SVGSVGElement) => void;
}

export function picture(page: Page, figure: Figure, options: PictureOptions = {}): HTMLElement {
  const { heading = "h3", drawn } = options;
  const place = element("div", { class: "drawing" });
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
      const drawing = figure.draw({ document, width, dark: page.theme.dark });
      for (const marks of drawing.querySelectorAll("g[aria-label]")) {
        // Plot sets aria-labels on its groups of marks; screen readers would say "line, dot, text".
        marks.setAttribute("data-marks", marks.getAttribute("aria-label")!);
        marks.removeAttribute("aria-label");
      }
      if (drawn) {
        drawn(drawing);
      } else {
        drawing.setAttribute("role", "img");
        drawing.setAttribute("aria-label", `${figure.title}. ${figure.caption}`);
      }
      fill(place, drawing);
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
  const name = (ending: string) => fileName(figure.id, page.results.header.model.name, ending);
  const drawing = () =>
    drawForFile(figure, page.results.header.partial, { document, width: SAVED_WIDTH, dark: false });
  const status = element("span", { class: "status", role: "status" });
  const save = (ending: string, make: () => Blob | Promise<Blob>) =>
    element(
      "button",
      {
        type: "button",
        "aria-label": `Save ${figure.title} as ${ending.toUpperCase()}`,
        onclick: () => {
          void (async () => {
            try {
              download(name(ending), await make());
              status.textContent = "";
            } catch (error) {
              status.textContent = `Not saved: ${message(error)}`;
            }
          })();
        },
      },
      ending.toUpperCase(),
    );
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
function numbers(figure: Figure): HTMLElement {
  const box = element("div");
  const details = element("details", { class: "numbers" }, element("summary", {}, "Numbers"), box);
  details.addEventListener("toggle", () => {
    if (details.open && !box.firstChild) box.append(plainTable(figure));
  });
  return details;
}

function plainTable({ title, columns, rows }: Figure): HTMLElement {
  const line = (row: readonly CellValue[]) =>
    element(
      "tr",
      {},
      ...row.map((value) =>
        element("td", { class: typeof value !== "string" && "number" }, shown(value)),
      ),
    );
  const more = rows.length - TABLE_ROWS;
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Numbers of ${title}` },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name))),
      ),
      element("tbody", {}, ...rows.slice(0, TABLE_ROWS).map(line)),
    ),
    more > 0 && element("p", { class: "note" }, `${more} more rows are in the CSV.`),
  );
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
