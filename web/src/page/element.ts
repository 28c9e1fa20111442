// Makes DOM nodes. All text becomes text nodes, never HTML, because names in a results file may
// contain any characters.

export type Child = Node | string | null | undefined | false;
type Value = string | number | boolean | undefined | ((event: Event) => void);

// Example: element("a", { href: "#", onclick: open }, "text"). An attribute that is false or
// undefined is omitted; a function is a listener.
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, Value>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...kept(children));
  return made;
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...kept(children));
}

// Replaces the content. The element that has the focus keeps it, known by its id, and boxes stay
// where they were scrolled.
export function refill(parent: Element, ...children: Child[]): void {
  const focused = parent.contains(document.activeElement) ? document.activeElement?.id : "";
  const scrolled = [...parent.querySelectorAll(".scroll")].map((box) => box.scrollTop);
  fill(parent, ...children);
  parent.querySelectorAll(".scroll").forEach((box, k) => (box.scrollTop = scrolled[k] ?? 0));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

// What views are made of most.
export const div = (name: string, ...children: Child[]): HTMLElement =>
  element("div", name === "" ? {} : { class: name }, ...children);

export const note = (...children: Child[]): HTMLElement => element("p", { class: "note" }, ...children);

export const list = (name: string, items: readonly (Child | Child[])[], start?: number): HTMLElement =>
  element(
    start === undefined ? "ul" : "ol", { class: name !== "" && name, start },
    ...items.map((item) => element("li", {}, ...[item].flat())),
  );

// A list of terms, each with what is said of it; without those of which nothing is said.
export const terms = (name: string, pairs: readonly (readonly [string, string])[]): HTMLElement =>
  element(
    "dl", name === "" ? {} : { class: name },
    ...pairs.flatMap(([term, said]) => (said === "" ? [] : [element("dt", {}, term), element("dd", {}, said)])),
  );

export const button = (name: string, text: string, onclick: () => void, attributes = {}): HTMLElement =>
  element("button", { type: "button", class: name !== "" && name, onclick, ...attributes }, text);

// A part that opens by its summary.
export const more = (name: string, summary: Child, ...content: Child[]): HTMLDetailsElement =>
  element("details", { class: name !== "" && name }, element("summary", {}, summary), ...content);

// A box that scrolls by itself, so that the page never scrolls sideways.
export const scrollBox = (label: Readonly<Record<string, string>>, ...content: Child[]): HTMLElement =>
  element("div", { class: "scroll", tabindex: 0, role: "region", ...label }, ...content);

// A part of the page, named by its heading.
export function section(id: string, title: string, ...content: Child[]): HTMLElement {
  return element("section", { class: id, "aria-labelledby": id }, element("h2", { id }, title), ...content);
}

function kept(children: readonly Child[]): (Node | string)[] {
  return children.filter(
    (child): child is Node | string => child !== null && child !== undefined && child !== false,
  );
}

// A labelled <select>. Options of the same group are shown together.
export interface Option {
  value: string;
  text: string;
  group?: string | undefined;
}

export function choice(
  id: string,
  label: string,
  options: readonly Option[],
  chosen: string,
  change: (value: string) => void,
): HTMLElement {
  const select = element("select", { id, onchange: () => change(select.value) });
  const groups = new Map<string, HTMLElement>([["", select]]);
  for (const { value, text, group = "" } of options) {
    const box = groups.get(group) ?? select.appendChild(element("optgroup", { label: group }));
    groups.set(group, box);
    box.append(element("option", { value }, text));
  }
  select.value = chosen;
  return element("label", { class: "choice", for: id }, element("span", {}, label), select);
}
