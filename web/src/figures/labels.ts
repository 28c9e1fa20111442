// Places the names of points next to them, without overlap.
import * as Plot from "@observablehq/plot";
import type { DrawOptions, Spot } from "./figure";
import { svgElement, textWidth } from "./frame";
import type { Theme } from "./theme";

const SIZE = 12;
const HIGH = 14;

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Named<At = number> {
  label: string;
  x: At;
  y: At;
}

// Returns the box of each name, in the pixels of the points.
export function placeNames(points: readonly Named[], room: Box): Box[] {
  const taken: Box[] = points.map(({ x, y }) => ({ left: x - 5, right: x + 5, top: y - 5, bottom: y + 5 }));
  return points.map(({ label, x, y }) => {
    const width = textWidth(label, SIZE);
    const boxAt = (left: number, bottom: number): Box => ({ left, right: left + width, top: bottom - HIGH, bottom });
    const tried = Array.from({ length: 24 }, (_, k) => k).flatMap((step) =>
      [-1, 1].flatMap((up) => {
        const bottom = y + 5 + up * (9 + step * HIGH * 0.6);
        return [boxAt(x + 7, bottom), boxAt(x - 7 - width, bottom), boxAt(x - width / 2, bottom)];
      }),
    );
    const inside = tried.filter(
      ({ left, right, top, bottom }) =>
        left >= room.left && right <= room.right && top >= room.top && bottom <= room.bottom,
    );
    const free = inside.find((box) => !taken.some((other) => overlap(box, other))) ?? inside[0] ?? tried[0]!;
    taken.push(free);
    return free;
  });
}

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// Draws the names as a mark of Plot, which knows where the points are. A name that is not next to
// its point has a line to it.
export const names = (points: readonly Named<number | string>[], theme: Theme): Plot.RenderFunction =>
  (_index, scales, _channels, { width, height, marginLeft, marginRight, marginTop, marginBottom }, { document }) => {
    const make = (tag: string, attributes: Record<string, string | number>) => svgElement(document, tag, attributes);
    const group = make("g", { "aria-label": "text", "font-size": SIZE, fill: theme.text });
    const pixels = points.map(({ label, x, y }) => ({ label, x: scales.x!(x) as number, y: scales.y!(y) as number }));
    const room = {
      left: marginLeft + 2, right: width - marginRight + 10, top: marginTop - 6, bottom: height - marginBottom,
    };
    placeNames(pixels, room).forEach(({ left, right, top, bottom }, k) => {
      const point = pixels[k]!;
      // Text may be narrower than its box, so it is anchored at the side of the point.
      const anchor = left > point.x ? "start" : right < point.x ? "end" : "middle";
      const x = { start: left, end: right, middle: (left + right) / 2 }[anchor];
      if (Math.abs((top + bottom) / 2 - point.y) > HIGH) {
        const edge = bottom < point.y ? bottom : top;
        group.appendChild(make("path", { d: `M${point.x},${point.y}L${x},${edge}`, stroke: theme.muted, "stroke-width": 0.75 }));
      }
      const text = make("text", {
        x, y: bottom - 3, "text-anchor": anchor, stroke: theme.background, "stroke-width": 4, "stroke-linejoin": "round", "paint-order": "stroke",
      });
      text.textContent = point.label;
      group.appendChild(text);
    });
    return group;
  };

// The pinned heads: their points or lines, in front of the others, with their names.
export function pinnedMarks(spots: readonly Spot[], { pinned = [] }: DrawOptions, theme: Theme, lines: boolean): Plot.Markish[] {
  const own = spots.filter(({ head, y }) => head !== undefined && pinned.includes(head) && !Number.isNaN(y));
  if (own.length === 0) return [];
  const at = { x: "x", y: "y", stroke: theme.text, strokeWidth: 2.5, clip: true };
  const ends = own.filter(({ line }, k) => !lines || own[k + 1]?.line !== line);
  return [
    lines ? Plot.line(own, { ...at, z: "line" }) : Plot.dot(own, { ...at, r: 7 }),
    names(ends.map(({ head, x, y }) => ({ label: head!, x, y })), theme),
  ];
}
