// Makes the layer x head map interactive: shows values for the pointer and the keyboard, and opens
// the page of a head.
import type { MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import type { Figure } from "../figures/figure";
import { headAddress, headName, type Head } from "./address";
import { allHeads, headCell, rowsBehind } from "./cells";
import { element } from "./element";
import { flagTitle } from "./flags";
import type { Page } from "./page";
import { picture } from "./picture";
import { flagsByHead, shown, withUnit } from "./words";

// Describes a head in this cell of the metric: value, standard error, rows, flags.
export function reading(results: Results, metric: MetricName, cell: Cell, head: Head): string {
  const at: Cell = { ...cell, ...headCell(results, head) };
  const unit = results.info(metric)?.unit ?? "1";
  const value = results.value(metric, at);
  const parts = [
    `${results.title(metric)} ${results.isNone(metric, value) ? "none found" : withUnit(value, unit)}`,
  ];
  const error = results.stderr(metric, at);
  if (!Number.isNaN(error)) parts.push(`standard error ${shown(error, 2)}`);
  const rows = rowsBehind(results, metric, at);
  if (!Number.isNaN(rows)) parts.push(`${rows} rows`);
  return parts.join(", ");
}

// Returns the next place in a grid with that many columns; undefined for other keys.
export function nextPlace(key: string, place: number, columns: number, size: number): number | undefined {
  const column = place % columns;
  const row = place - column;
  const places: Record<string, number> = {
    ArrowLeft: column > 0 ? place - 1 : place,
    ArrowRight: column < columns - 1 && place + 1 < size ? place + 1 : place,
    ArrowUp: row > 0 ? place - columns : place,
    ArrowDown: place + columns < size ? place + columns : place,
    Home: row,
    End: Math.min(row + columns - 1, size - 1),
    PageUp: column,
    PageDown: size - columns + column,
  };
  return places[key];
}

class LiveMap {
  readonly readout = element("p", { class: "readout", "aria-live": "polite" });
  private readonly tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  private readonly heads: Head[];
  private readonly columns: number;
  private readonly flags: ReturnType<typeof flagsByHead>;
  private cells: SVGElement[] = [];
  private place = 0;

  constructor(
    private readonly results: Results,
    private readonly metric: MetricName,
    private readonly cell: Cell,
    private readonly open: (head: string) => void,
  ) {
    this.heads = allHeads(results);
    this.columns = Math.max(1, results.coord("head").length);
    this.flags = flagsByHead(results);
    this.readout.textContent = "Point at a head, or move with the arrow keys; Enter opens its page.";
  }

  // Called after every new drawing.
  attach(drawing: SVGSVGElement): void {
    const found = [...drawing.querySelectorAll<SVGElement>('g[data-marks="cell"] rect')];
    if (found.length !== this.heads.length) throw new Error("the map has not one cell a head");
    this.cells = found;
    drawing.setAttribute("role", "group");
    drawing.setAttribute(
      "aria-label",
      `Map of ${this.results.title(this.metric)}: arrow keys move, Enter opens a head`,
    );
    drawing.classList.add("map");
    found.forEach((cell, place) => {
      cell.replaceChildren(); // removes its <title>, because the text below says more
      cell.setAttribute("role", "link");
      cell.setAttribute("tabindex", place === this.place ? "0" : "-1");
      cell.setAttribute("aria-label", `Head ${headName(this.heads[place]!)}: ${this.words(place)}`);
    });
    const placeOf = (event: Event) => found.indexOf(event.target as SVGElement);
    drawing.addEventListener("pointermove", (event) => this.point(placeOf(event), event));
    drawing.addEventListener("pointerleave", () => (this.tip.hidden = true));
    drawing.addEventListener("focusin", (event) => this.focus(placeOf(event)));
    drawing.addEventListener("focusout", () => (this.tip.hidden = true));
    drawing.addEventListener("click", (event) => this.enter(placeOf(event)));
    drawing.addEventListener("keydown", (event) => this.key(event));
    queueMicrotask(() => drawing.parentElement?.append(this.tip));
  }

  private words(place: number): string {
    const head = this.heads[place]!;
    const flags = flagTitle(this.flags.get(headName(head)));
    const said = reading(this.results, this.metric, this.cell, head);
    return flags === "" ? said : `${said}; ${flags}`;
  }

  private point(place: number, { clientX, clientY }: PointerEvent): void {
    if (place < 0) this.tip.hidden = true;
    else this.showTip(place, clientX, clientY);
  }

  private focus(place: number): void {
    if (place < 0) return;
    this.cells[this.place]?.setAttribute("tabindex", "-1");
    this.place = place;
    const cell = this.cells[place]!;
    cell.setAttribute("tabindex", "0");
    this.readout.textContent = `Head ${headName(this.heads[place]!)}: ${this.words(place)}`;
    const { right, bottom } = cell.getBoundingClientRect();
    this.showTip(place, right, bottom);
  }

  // Shows the tip next to this point of the screen, inside the picture.
  private showTip(place: number, x: number, y: number): void {
    const lines = this.words(place).split(/, (?=standard|\d+ rows)|; /);
    this.tip.replaceChildren(
      element("strong", {}, `Head ${headName(this.heads[place]!)}`),
      ...lines.map((line) => element("span", {}, line)),
    );
    this.tip.hidden = false;
    const box = this.tip.parentElement!.getBoundingClientRect();
    this.tip.style.left = `${Math.max(0, Math.min(x - box.left + 14, box.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y - box.top + 14}px`;
  }

  private enter(place: number): void {
    if (place >= 0) this.open(headName(this.heads[place]!));
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.enter(this.place);
      return;
    }
    const next = nextPlace(event.key, this.place, this.columns, this.heads.length);
    if (next === undefined) return;
    event.preventDefault();
    this.cells[next]?.focus();
  }
}

// The picture of a map that answers to the pointer and the keyboard, and what it says.
export function livePicture(
  page: Page, figure: Figure, metric: MetricName, cell: Cell, heading?: "h2",
): HTMLElement[] {
  const map = new LiveMap(page.results, metric, cell, (head) => page.go(headAddress(head)));
  return [picture(page, figure, { ...(heading ? { heading } : {}), drawn: (drawing) => map.attach(drawing) }), map.readout];
}
