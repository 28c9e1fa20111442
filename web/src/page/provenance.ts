// The origin of the numbers: program, model, texts, settings, times.
import { element, section } from "./element";
import type { Opened, Page, View } from "./page";
import { count, shown } from "./words";

const LIST_SHOWN = 40;

export const provenance: View = {
  id: "provenance",
  title: "Settings",
  has: () => true,
  open: ({ results: { header } }: Page): Opened => ({
    node: element(
      "div",
      { class: "provenance" },
      element("h1", {}, "Settings and provenance"),
      part("Program", [
        ...Object.entries(header.tool),
        ["schema", header.schema],
        ["command", header.command ?? "unknown"],
      ]),
      part("Model", Object.entries(header.model)),
      texts(header.text),
      part("Settings", Object.entries(header.settings)),
      part(
        "Times",
        Object.entries(header.timings ?? {}).map(([stage, seconds]) => [
          stage,
          `${shown(seconds, 3)} s`,
        ]),
      ),
    ),
  }),
};

function part(title: string, entries: readonly (readonly [string, unknown])[]): HTMLElement | null {
  if (entries.length === 0) return null;
  const id = `provenance-${title.toLowerCase()}`;
  return section(
    id,
    title,
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": id },
      element(
        "table",
        { class: "pairs" },
        element(
          "tbody",
          {},
          ...entries.map(([name, value]) =>
            element(
              "tr",
              {},
              element("th", { scope: "row" }, name.replaceAll("_", " ")),
              element("td", {}, valueText(value)),
            ),
          ),
        ),
      ),
    ),
  );
}

export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : shown(value, 6);
  if (Array.isArray(value)) {
    if (value.length === 0) return "–";
    const more = value.length - LIST_SHOWN;
    return (
      value.slice(0, LIST_SHOWN).map(valueText).join(", ") + (more > 0 ? ` and ${more} more` : "")
    );
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function texts(text: Page["results"]["header"]["text"]): HTMLElement | null {
  const names = text.names ?? [];
  if (names.length === 0) return null;
  return part(
    "Texts",
    names.map((name, k) => {
      const total = text.tokens_total?.[k];
      const parts = [
        text.tokens?.[k] === undefined
          ? ""
          : `${count(text.tokens[k]!, "token")} read${total === undefined || total === null ? "" : ` of ${total}`}`,
        text.sha256?.[k] ? `sha256 ${text.sha256[k]}` : "",
      ];
      return [name, parts.filter((part) => part !== "").join("; ")] as const;
    }),
  );
}
