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
  const groups = new Map<string, HTMLOptGroupElement>();
  for (const { value, text, group } of options) {
    const option = element("option", { value }, text);
    if (group === undefined) {
      select.append(option);
      continue;
    }
    let box = groups.get(group);
    if (!box) {
      box = element("optgroup", { label: group });
      groups.set(group, box);
      select.append(box);
    }
    box.append(option);
  }
  select.value = chosen;
  return element("label", { class: "choice", for: id }, element("span", {}, label), select);
}
