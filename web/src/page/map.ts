// Makes the layer x head map interactive: shows values for the pointer and the keyboard, and opens
// the page of a head.
import type { MetricName } from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { headName, type Head } from "./address";
import { allHeads, headCell, rowsBehind } from "./cells";
import { element } from "./element";
import { flagTitle } from "./flags";
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
export function nextPlace(
  key: string,
  place: number,
  columns: number,
  size: number,
): number | undefined {
  const column = place % columns;
  const row = place - column;
  switch (key) {
    case "ArrowLeft":
      return column > 0 ? place - 1 : place;
    case "ArrowRight":
      return column < columns - 1 && place + 1 < size ? place + 1 : place;
    case "ArrowUp":
      return place >= columns ? place - columns : place;
    case "ArrowDown":
      return place + columns < size ? place + columns : place;
    case "Home":
      return row;
    case "End":
      return Math.min(row + columns - 1, size - 1);
    case "PageUp":
      return column;
    case "PageDown":
      return size - columns + column;
    default:
      return undefined;
  }
}

export class LiveMap {
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
    this.readout.textContent =
      "Point at a head, or move with the arrow keys; Enter opens its page.";
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

  private say(place: number): void {
    this.readout.textContent = `Head ${headName(this.heads[place]!)}: ${this.words(place)}`;
  }

  private point(place: number, event: PointerEvent): void {
    this.tip.hidden = place < 0;
    if (place < 0) return;
    this.showTip(place);
    const box = this.tip.parentElement!.getBoundingClientRect();
    this.putTip(event.clientX - box.left, event.clientY - box.top, box.width);
  }

  private focus(place: number): void {
    if (place < 0) return;
    this.cells[this.place]?.setAttribute("tabindex", "-1");
    this.place = place;
    const cell = this.cells[place]!;
    cell.setAttribute("tabindex", "0");
    this.say(place);
    this.showTip(place);
    this.tip.hidden = false;
    const box = this.tip.parentElement!.getBoundingClientRect();
    const at = cell.getBoundingClientRect();
    this.putTip(at.right - box.left, at.bottom - box.top, box.width);
  }

  private showTip(place: number): void {
    const [first, ...rest] = this.words(place).split(/, (?=standard|\d+ rows)|; /);
    this.tip.replaceChildren(
      element("strong", {}, `Head ${headName(this.heads[place]!)}`),
      ...[first ?? "", ...rest].map((line) => element("span", {}, line)),
    );
  }

  // Places the tip next to the pointer, inside the picture.
  private putTip(x: number, y: number, width: number): void {
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + 14}px`;
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
