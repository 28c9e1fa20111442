// The frame of every view: the bar with the views.
import type { Header, Results } from "../data/results";
import { formatAddress } from "./address";
import { button, div, element, fill, list } from "./element";
import { headLink, nameOf } from "./words";
import type { View } from "./page";
import type { Theme } from "./theme";

export interface Shell {
  node: HTMLElement;
  place: HTMLElement;
  // Marks the view that is open.
  mark(view: View): void;
}

// Says of partial results how far the run came.
export function unfinished({ layers_done, model }: Header): string {
  const part = layers_done < model.layers ? ` after ${layers_done} of ${model.layers} layers` : "";
  return `Partial results: the run was interrupted${part}.`;
}

export const pinButton = (theme: Theme, head: string, text = "Pin"): HTMLElement =>
  button("pin", text, () => theme.pin(head), {
    "data-pin": head, "aria-pressed": String(theme.pinned.includes(head)), "aria-label": `Pin head ${head} in all charts`,
  });

export function shell(results: Results, theme: Theme, views: readonly View[]): Shell {
  const links = views.filter((view) => view.has(results)).map((view) => {
    const href = formatAddress({ view: view.id, item: "", query: {} });
    return { view, link: element("a", { href }, view.title) };
  });
  const place = element("main", { id: "view", tabindex: -1 });
  const { model, tool, partial } = results.header;
  const pins = element("p", { class: "pins", "aria-live": "polite" });
  const skip = (event: Event) => {
    event.preventDefault();
    place.focus();
  };
  const node = div(
    "shell",
    element("a", { class: "skip", href: "#view", onclick: skip }, "Skip to the content"),
    element(
      "header",
      { class: "bar" },
      element("p", { class: "brand" }, element("strong", {}, "headgauge"), ` ${results.command}`),
      element("nav", { "aria-label": "Views" }, list("", links.map(({ link }) => link))),
    ),
    partial && element("p", { class: "warning" }, unfinished(results.header)),
    pins,
    place,
    element(
      "footer",
      {},
      element("p", {}, `${nameOf(model.name)} · headgauge ${tool.version} · this page is one file and asks nothing of the network`),
    ),
  );
  theme.onChange(() => {
    const chosen = theme.pinned.map((head) => element("span", { class: "badge" }, headLink(head), pinButton(theme, head, "×")));
    fill(pins, chosen.length > 0 && "Pinned in all charts: ", ...chosen);
    for (const one of document.querySelectorAll<HTMLElement>("[data-pin]")) {
      one.setAttribute("aria-pressed", String(theme.pinned.includes(one.dataset["pin"]!)));
    }
    if (!theme.printing) return;
    for (const flag of node.querySelectorAll<HTMLDetailsElement>("details.flag, details.aside")) flag.open = true;
    for (const more of node.querySelectorAll<HTMLButtonElement>(".heads .more")) more.click();
  });
  return {
    node,
    place,
    mark: (open) => {
      for (const { view, link } of links) {
        if (view === open) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      document.title = `${open.title}: ${nameOf(model.name)}${partial ? " (partial)" : ""} - headgauge`;
    },
  };
}
