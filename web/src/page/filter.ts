// A box to filter a table by, with its text in the address.
import { changed } from "./address";
import { element, fill } from "./element";
import type { Page } from "./page";

export interface Filter {
  readonly node: HTMLElement;
  readonly status: HTMLElement; // how many rows there are
  // What the address asks for; the box shows it from then on.
  text(): string;
}

export function filterBox(page: Page, label: string, placeholder: string): Filter {
  const asked = () => page.address.query["filter"] ?? "";
  const status = element("p", { class: "note", role: "status" });
  const input = element("input", {
    id: "filter",
    type: "search",
    placeholder,
    value: asked(),
    oninput: () => page.go(changed(page.address, { filter: input.value || undefined }), true),
  });
  const choice = element("label", { class: "choice", for: "filter" }, element("span", {}, label), input);
  return {
    node: element("div", { class: "controls" }, choice, status),
    status,
    text: () => {
      if (input.value !== asked()) input.value = asked();
      return asked();
    },
  };
}

// Another table in its place; a head of a column that had the focus has it again.
export function refill(box: HTMLElement, table: HTMLElement): void {
  const focused = box.contains(document.activeElement) ? document.activeElement?.id : undefined;
  fill(box, table);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}
