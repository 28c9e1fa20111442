// The origin of the numbers: program, model, texts, settings, times.
import { div, element, scrollBox, section } from "./element";
import type { Opened, Page, View } from "./page";
import { count, shown } from "./words";

const LIST_SHOWN = 40;

export const provenance: View = {
  id: "provenance",
  title: "Settings",
  has: () => true,
  open: ({ results: { header } }: Page): Opened => ({
    node: div(
      "provenance",
      element("h1", {}, "Settings and provenance"),
      part("Program", [...Object.entries(header.tool), ["schema", header.schema], ["command", header.command ?? "unknown"]]),
      part("Model", Object.entries(header.model)),
      part("Texts", texts(header.text)),
      part("Settings", Object.entries(header.settings)),
      part("Times", Object.entries(header.timings ?? {}).map(([stage, seconds]) => [stage, `${shown(seconds, 3)} s`])),
    ),
  }),
};

type Pair = readonly [name: string, value: unknown];

function part(title: string, entries: readonly Pair[]): HTMLElement | null {
  if (entries.length === 0) return null;
  const id = `provenance-${title.toLowerCase()}`;
  const rows = entries.map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, name.replaceAll("_", " ")), element("td", {}, valueText(value))),
  );
  return section(
    id, title,
    scrollBox({ "aria-labelledby": id }, element("table", { class: "pairs" }, element("tbody", {}, ...rows))),
  );
}

export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : shown(value, 6);
  if (Array.isArray(value)) {
    if (value.length === 0) return "–";
    const rest = value.length - LIST_SHOWN;
    return value.slice(0, LIST_SHOWN).map(valueText).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const texts = ({ names = [], tokens, tokens_total, sha256 }: Page["results"]["header"]["text"]): Pair[] =>
  names.map((name, k) => {
    const read = tokens?.[k];
    const total = tokens_total?.[k];
    const parts = [
      read === undefined ? "" : `${count(read, "token")} read${total === undefined || total === null ? "" : ` of ${total}`}`,
      sha256?.[k] ? `sha256 ${sha256[k]}` : "",
    ];
    return [name, parts.filter((part) => part !== "").join("; ")];
  });
