// The common parts of drawings: background, axis labels and key, so that each is complete by
// itself.
import * as Plot from "@observablehq/plot";
import { chooseTicks, type Axis } from "./axes";
import type { DrawOptions } from "./figure";
import { formatTick } from "./format";
import { FONT, themeOf, type ColourScale, type Theme } from "./theme";

export interface KeyEntry {
  label: string;
  colour: string;
  kind: "line" | "thin" | "dashed" | "dotted" | "dot" | "ring" | "box";
}

export interface FrameOptions {
  title: string;
  height?: number; // of the area between the axes
  x?: Axis;
  y?: Axis;
  xLabel?: string; // label of an axis that marks draw
  yLabel?: string;
  key?: KeyEntry[];
  ramp?: { scale: ColourScale; label: string };
  left?: number;
  right?: number;
  marks: Plot.Markish[];
  options?: Plot.PlotOptions; // further scales
}

const LINE = 16;
const SMALL = 12;
const CHARACTER = 6.7; // approximate width of a character at 12 px

export const textWidth = (text: string, size = SMALL): number =>
  (text.length * CHARACTER * size) / SMALL;

export function wrapped(text: string, width: number, size = SMALL): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && textWidth(`${last} ${word}`, size) <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}

export function frame(
  { document, width, dark, titled = false, title: given }: DrawOptions,
  { title: own, height = 260, x, y, left, right = 20, marks, options = {}, ...words }: FrameOptions,
): SVGSVGElement {
  const theme = themeOf(dark);
  const title = given ?? own;
  const { xLabel = x?.label, yLabel = y?.label, key = [], ramp } = words;
  // Bold letters are wider.
  const titleLines = titled ? wrapped(title, (width - 16) / 1.12, 15) : [];
  const keyRows = rowsOfKey(key, width - 16);
  const yLines = yLabel ? wrapped(yLabel, width - 16) : [];
  const xLines = xLabel ? wrapped(xLabel, width - 16) : [];
  const rampHeight = ramp ? 34 + LINE * wrapped(ramp.label, width - 16).length : 0;
  const head =
    8 + titleLines.length * 20 + rampHeight + keyRows.length * 19 + yLines.length * LINE;
  const yTicks = y ? chooseTicks(y, height, () => 18) : [];
  const yFormat = y?.format ?? formatTick;
  const marginLeft =
    left ?? (y ? 20 + Math.max(12, ...yTicks.map((tick) => textWidth(yFormat(tick), 11))) : 10);
  const xFormat = x?.format ?? formatTick;
  const inner = width - marginLeft - right;
  const xTicks = x ? chooseTicks(x, inner, (label) => textWidth(label, 11) + 10) : [];
  const marginTop = head + (y ? 10 : 4);
  const marginBottom = (x || options.x ? 24 : 6) + xLines.length * LINE + 4;
  const total = height + marginTop + marginBottom;
  const axisStyle = { fontSize: 11, color: theme.muted, label: null, tickSize: 4 };
  const svg = Plot.plot({
    document,
    width,
    height: total,
    marginTop,
    marginBottom,
    marginLeft,
    marginRight: right,
    ...(x ? { x: scaleOf(x) } : {}),
    ...(y ? { y: scaleOf(y) } : {}),
    ...options,
    marks: [
      x ? Plot.gridX(xTicks, { stroke: theme.grid, strokeOpacity: 1 }) : null,
      y ? Plot.gridY(yTicks, { stroke: theme.grid, strokeOpacity: 1 }) : null,
      x ? Plot.axisX(xTicks, { ...axisStyle, text: xFormat }) : null,
      y ? Plot.axisY(yTicks, { ...axisStyle, text: yFormat }) : null,
      ...marks,
    ],
  }) as SVGSVGElement;
  ownColours(svg, theme);
  const pen = new Pen(document, svg, theme);
  pen.ground(width, total, title);
  let top = 8;
  for (const line of titleLines) pen.text(8, (top += 20) - 5, line, { size: 15, weight: "600" });
  if (ramp) top = drawRamp(pen, ramp, top, width - 16);
  for (const row of keyRows) {
    for (const { entry, at } of row) drawEntry(pen, entry, 8 + at, top + 9);
    top += 19;
  }
  for (const line of yLines) pen.text(8, (top += LINE) - 3, line, {});
  let bottom = total - 8 - (xLines.length - 1) * LINE;
  for (const line of xLines) {
    pen.text(marginLeft + inner / 2, bottom, line, { anchor: "middle" });
    bottom += LINE;
  }
  return svg;
}

const scaleOf = ({ log = false, symlog, domain }: Axis): Plot.ScaleOptions =>
  symlog === undefined
    ? { type: log ? "log" : "linear", domain }
    : { type: "symlog", constant: symlog, domain };

class Pen {
  constructor(
    private readonly document: Document,
    private readonly svg: SVGSVGElement,
    readonly theme: Theme,
  ) {}

  ground(width: number, height: number, title: string): void {
    const { svg } = this;
    const look = {
      role: "img", "aria-label": title, fill: this.theme.text, "font-family": FONT, "font-size": "11",
    };
    for (const [name, value] of Object.entries(look)) svg.setAttribute(name, value);
    svg.style.setProperty("max-width", "100%");
    svg.style.setProperty("height", "auto");
    const words = svgElement(this.document, "title", {});
    words.textContent = title;
    const rect = svgElement(this.document, "rect", { width, height, fill: this.theme.background });
    const first = svg.firstChild;
    for (const under of [words, rect]) svg.insertBefore(under, first);
  }

  text(
    x: number,
    y: number,
    text: string,
    { anchor = "start", size = SMALL, weight = "normal", fill = this.theme.text },
  ): void {
    const element = this.shape("text", {
      x, y, fill, "text-anchor": anchor, "font-size": size, "font-weight": weight,
    });
    element.textContent = text;
  }

  shape(name: string, attributes: Record<string, string | number>): Element {
    return this.svg.appendChild(svgElement(this.document, name, attributes));
  }
}

export function svgElement(document: Document, name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, `${value}`);
  return element;
}

// Plot takes colours from the surrounding page, which a file does not have.
function ownColours(svg: SVGSVGElement, theme: Theme): void {
  const named: Record<string, string> = {
    currentColor: theme.text,
    "var(--plot-background)": theme.background,
  };
  const visit = (element: Element) => {
    for (const child of Array.from(element.children)) {
      if (child.tagName.toLowerCase() === "style") {
        element.removeChild(child);
        continue;
      }
      for (const attribute of ["fill", "stroke"]) {
        const own = named[child.getAttribute(attribute) ?? ""];
        if (own !== undefined) child.setAttribute(attribute, own);
      }
      visit(child);
    }
  };
  visit(svg);
}

function rowsOfKey(key: KeyEntry[], width: number): { entry: KeyEntry; at: number }[][] {
  const rows: { entry: KeyEntry; at: number }[][] = [];
  let used = Infinity;
  for (const entry of key) {
    const size = 30 + textWidth(entry.label) + 14;
    if (used + size > width) {
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1]!.push({ entry, at: used });
    used += size;
  }
  return rows;
}

export const DASHES: Partial<Record<KeyEntry["kind"], string>> = { dashed: "6 4", dotted: "2 3" };

function drawEntry(pen: Pen, { label, colour, kind }: KeyEntry, x: number, y: number): void {
  const dot = { cx: x + 12, cy: y, r: 4 };
  if (kind === "box") pen.shape("rect", { x: x + 2, y: y - 5, width: 20, height: 10, fill: colour });
  else if (kind === "dot") pen.shape("circle", { ...dot, fill: colour });
  else if (kind === "ring") pen.shape("circle", { ...dot, fill: "none", stroke: colour, "stroke-width": 2 });
  else {
    pen.shape("path", {
      d: `M${x},${y}H${x + 24}`, stroke: colour, "stroke-width": kind === "thin" ? 1.25 : 2,
      "stroke-dasharray": DASHES[kind] ?? "none",
    });
  }
  pen.text(x + 30, y + 4, label, {});
}

// Draws a colour scale as a row of boxes, without a canvas.
function drawRamp(
  pen: Pen,
  { scale, label }: { scale: ColourScale; label: string },
  top: number,
  room: number,
): number {
  const width = Math.min(room, 320);
  let y = top;
  for (const line of wrapped(label, room)) pen.text(8, (y += LINE) - 4, line, {});
  const steps = 40;
  for (let k = 0; k < steps; k += 1) {
    pen.shape("rect", {
      x: 8 + (k * width) / steps,
      y,
      width: width / steps + 0.5,
      height: 12,
      fill: scale.colour(scale.at((k + 0.5) / steps)),
    });
  }
  const single = scale.domain[0] === scale.domain[1];
  for (const [share, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]] as const) {
    if (single && share !== 0.5) continue;
    const end = share === 0.5 ? NaN : scale.domain[share]; // a count is not rounded
    const text = formatTick(
      Number.isInteger(end) ? end : Number(scale.at(share).toPrecision(3)),
    );
    pen.text(8 + share * width, y + 25, text, { anchor, size: 11, fill: pen.theme.muted });
  }
  return y + 34;
}
