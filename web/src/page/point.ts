// Names what is under the pointer in a drawing, or where the arrow keys are; opens and pins its head.
import type * as Plot from "@observablehq/plot";
import type { Spot } from "../figures/figure";
import { svgElement } from "../figures/frame";
import { headAddress } from "./address";
import { element } from "./element";
import { flagTitle, flagWords, rolesFirst } from "./flags";
import type { Page } from "./page";
import { flagsByHead } from "./words";

const REACH = 60; // pixels

// The left and right keys follow a curve or a row, the others go to the next one at the same place.
export function nextSpot(key: string, now: number, spots: readonly Pick<Spot, "x" | "line">[]): number | undefined {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[key];
  if (step === undefined) return undefined;
  const along = key === "ArrowRight" || key === "ArrowLeft";
  const { x, line } = spots[now]!;
  for (let k = now + step; k in spots; k += step) {
    const other = spots[k]!;
    if (along ? other.line === line : other.line !== line && other.x === x) return k;
  }
  return now;
}

const lastAt = new WeakMap<readonly Spot[], number>(); // of each figure, over its drawings

export function pointAt(page: Page, drawing: SVGSVGElement, all: readonly Spot[], place: HTMLElement): void {
  const along = (name: "x" | "y") => {
    const { apply, bandwidth = 0 } = (drawing as unknown as Plot.Plot).scale(name)!;
    return (value: number | string) => apply(value) + bandwidth / 2;
  };
  const [toX, toY] = [along("x"), along("y")];
  const spots = all
    .map((spot, k) => ({ ...spot, k, at: [toX(spot.x), toY(spot.y)] as const }))
    .filter(({ at }) => at.every(Number.isFinite));
  if (spots.length === 0) return;
  const flags = flagsByHead(page.results);
  const look = { fill: "none", stroke: "currentColor", "stroke-width": 2, "pointer-events": "none" };
  const ring = svgElement(document, "circle", { ...look, r: 8 });
  const curve = svgElement(document, "path", look);
  const hasCurves = drawing.querySelector("[data-marks=line]") !== null;
  const tip = element("div", { class: "tip", hidden: true, role: "status" });
  queueMicrotask(() => place.append(tip)); // when the drawing is in its place
  for (const title of drawing.querySelectorAll("g title")) title.remove(); // the tip says more
  let now = -1;
  const leave = () => {
    now = -1;
    ring.remove();
    curve.remove();
    tip.hidden = true;
  };
  const show = (k: number) => {
    now = k;
    lastAt.set(all, k);
    const { at: [x, y], title, head, line } = spots[k]!;
    ring.setAttribute("transform", `translate(${x},${y})`);
    const own = hasCurves ? spots.filter((other) => other.line === line && other.head === head) : [];
    curve.setAttribute("d", own.map(({ k, at }, place) => `${own[place - 1]?.k === k - 1 ? "L" : "M"}${at}`).join(""));
    drawing.append(curve, ring);
    const unsaid = (flags.get(head ?? "") ?? []).filter(({ name }) => !title.includes(flagWords(name)));
    const more = head === undefined ? [] : [flagTitle(rolesFirst(unsaid)), "A click opens it; Shift and a click, or P, pins it in all charts."];
    tip.replaceChildren(element("strong", {}, title), ...more.filter(Boolean).map((line) => element("span", {}, line)));
    tip.hidden = false;
    const { left, top, width } = place.getBoundingClientRect();
    const near = ring.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(near.right - left + 4, width - tip.offsetWidth))}px`;
    tip.style.top = `${near.bottom - top + 4}px`;
  };
  const act = (pins: boolean) => {
    const head = spots[now]?.head;
    if (head === undefined) return;
    if (pins) page.theme.pin(head);
    else page.go(headAddress(head));
  };
  drawing.setAttribute("tabindex", "0");
  drawing.setAttribute("role", "application");
  drawing.addEventListener("pointermove", ({ clientX, clientY }) => {
    const box = drawing.getBoundingClientRect();
    const zoom = drawing.viewBox.baseVal.width / box.width;
    const far = spots.map(({ at: [x, y] }) => Math.hypot(x - (clientX - box.left) * zoom, y - (clientY - box.top) * zoom));
    const nearest = far.reduce((best, one, k) => (one < far[best]! ? k : best), 0);
    if (far[nearest]! <= REACH) show(nearest);
    else leave();
  });
  drawing.addEventListener("focus", () => now < 0 && show(Math.min(lastAt.get(all) ?? 0, spots.length - 1)));
  for (const event of ["pointerleave", "blur"]) drawing.addEventListener(event, leave);
  drawing.addEventListener("click", ({ shiftKey }) => act(shiftKey));
  drawing.addEventListener("keydown", (event) => {
    const { key } = event;
    const next = nextSpot(key, Math.max(0, now), spots);
    if (next !== undefined) show(next);
    else if (key === "Enter" || key === "p") act(key === "p");
    else return;
    event.preventDefault();
  });
}
