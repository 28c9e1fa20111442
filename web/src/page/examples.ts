// Examples of the keys that a head selects: one query at a time in its text, its keys shaded by
// their weight.
import {
  examplesOf, runsOf, textsByDocument, visible, type Example, type Examples, type ShownToken,
} from "../data/examples";
import type { Results } from "../data/results";
import type { Head } from "./address";
import { button, div, element, fill, more, note } from "./element";
import { numberColumn, table, textColumn } from "./table";
import { count, grouped, shown } from "./words";

// The reason for keeping a query, as a title and a sentence.
const REASONS: Readonly<Record<string, readonly [string, (value: string) => string]>> = {
  change: ["Largest change", (value) => `What is changed moves ${value} of its weight to other keys.`],
  far: [
    "Far away",
    (value) => `One key 64 tokens away or more, and no sink, has ${value} of its weight.`,
  ],
  near: [
    "Nearby",
    (value) => `One key less than 64 tokens away, and no sink, has ${value} of its weight.`,
  ],
  spread: ["Widely spread", (value) => `Its entropy is ${value} of that of even weights.`],
};

const percent = (share: number): string => `${shown(100 * share, share < 0.1 ? 2 : 3)}\u00a0%`;

const reason = ({ why, value }: Example): readonly [string, string] => {
  const [title, sentence] = REASONS[why] ?? [why, (text: string) => `${text}.`];
  return [title, sentence(percent(value))];
};

// Example: "these 12 keys hold 95 % of its weight, the 300 other keys 5 %, each at most 0.4 %".
export function heldBy({ keys, weights, covered, others, originals }: Example): string {
  const these = keys.length === 1 ? "this key holds" : `these ${keys.length} keys hold`;
  const held = `${these} ${percent(covered)} of its weight`;
  if (others === undefined || others === 0) return held;
  const rest = Math.max(0, 1 - covered);
  const said = `${held}, the ${count(others, "other key")} ${percent(rest)}`;
  // The smallest shown weight bounds the others, unless the keys are shown for their weight without
  // the change.
  const mass = weights.reduce((sum, weight) => sum + Math.abs(weight), 0) / covered;
  const lightest = Math.abs(weights[weights.length - 1]!) / mass;
  const most = Math.min(lightest, rest);
  return originals !== undefined || others === 1 || rest === 0 ? said : `${said}, each at most ${percent(most)}`;
}

// Returns null if the head has no examples.
export async function examples(results: Results, head: Head): Promise<HTMLElement | null> {
  const all = await results.loadExamples?.();
  const own = all ? examplesOf(all, head) : [];
  return all && own.length > 0 ? new Viewer(results, all, own).node : null;
}

class Viewer {
  readonly node: HTMLElement;
  private place = 0;
  private readonly shownQuery = div("example");
  private readonly number = element("span", { class: "note", "aria-live": "polite" });
  private readonly previous = button("", "← Previous query", () => this.show(this.place - 1));
  private readonly next = button("", "Next query →", () => this.show(this.place + 1));
  private readonly textsIn: (document: number) => ReadonlyMap<number, string>;

  constructor(
    private readonly results: Results,
    all: Examples,
    private readonly own: readonly Example[],
  ) {
    this.node = element(
      "div",
      { class: "examples", onkeydown: (event) => this.step(event as KeyboardEvent) },
      note(
        "Queries that stand out in this text, each with the keys that hold its weight. " +
          "The left and right arrow keys go from query to query.",
      ),
      div("controls", this.previous, this.next, this.number),
      this.shownQuery,
    );
    this.textsIn = textsByDocument(all);
    this.show(0);
  }

  private step(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.show(this.place + by);
  }

  private show(place: number): void {
    if (place < 0 || place >= this.own.length) return;
    const inText = this.shownQuery.contains(document.activeElement);
    this.place = place;
    const example = this.own[place]!;
    const [title] = reason(example);
    this.previous.setAttribute("aria-disabled", String(place === 0));
    this.next.setAttribute("aria-disabled", String(place === this.own.length - 1));
    this.number.textContent = `Query ${place + 1} of ${this.own.length}: ${title.toLowerCase()}`;
    fill(this.shownQuery, ...this.parts(example));
    // The focused element is gone; move the focus so that the next arrow key works.
    if (inText) this.shownQuery.querySelector<HTMLElement>("button")?.focus();
  }

  private parts(example: Example): HTMLElement[] {
    const texts = this.textsIn(example.document);
    const named = (at: number) => (texts.has(at) ? ` ${quoted(texts.get(at)!)}` : "");
    const names = this.results.header.text.names ?? [];
    const name = names.length > 1 ? ` of ${names[example.document] ?? example.document + 1}` : "";
    const most = Math.max(...example.weights.map(Math.abs), ...(example.originals ?? []).map(Math.abs));
    const readout = element("p", { class: "readout", "aria-live": "polite" });
    readout.textContent = "Point at a shaded key, or move to it with Tab, to read its weight.";
    const weightOf = (k: number): string =>
      `weight ${shown(example.weights[k])}` +
      (example.originals ? `, ${shown(example.originals[k])} without the change` : "");
    const say = (k: number) => {
      const at = example.keys[k]!;
      readout.textContent = `Key at position ${grouped(at)}${named(at)}: ${weightOf(k)}`;
    };
    const runs = runsOf(example, texts);
    const [title, why] = reason(example);
    const words = runs.flatMap((run) => [
      run.skipped > 0 && element("span", { class: "gap" }, ` … ${count(run.skipped, "token")} … `),
      ...run.tokens.map((token) => this.token(token, example, most, say, weightOf)),
    ]);
    return [
      element("p", {}, element("b", {}, title), ". ", why),
      element(
        "p", { class: "facts" },
        `Query at position ${grouped(example.query)}${named(example.query)}${name} · ${heldBy(example)}`,
      ),
      element("p", { class: "example-text", dir: "auto" }, ...words),
      readout,
      legend(most, example.originals !== undefined),
      keyTable(example, texts),
    ];
  }

  private token(
    token: ShownToken,
    example: Example,
    most: number,
    say: (key: number) => void,
    weightOf: (key: number) => string,
  ): HTMLElement | string {
    const text = token.text === undefined ? `[${token.position}]` : visible(token.text);
    const isCut = text === ""; // the previous token began this character
    const mark = isCut && (token.key >= 0 || token.isQuery) ? "▯" : text;
    if (token.key < 0) {
      if (token.isQuery) return element("span", { class: "query", title: "the query" }, mark);
      const seen = token.position < example.query;
      return seen ? mark : element("span", { class: "after" }, mark);
    }
    const k = token.key;
    const button = element(
      "button",
      {
        type: "button",
        class: `key${token.isQuery ? " query" : ""}${example.weights[k]! < 0 ? " negative" : ""}`,
        "aria-label":
          `${token.isQuery ? "the query itself, as key" : "key"} at position ${token.position} ` +
          `${quoted(token.text ?? "")}, ${weightOf(k)}`,
        title: weightOf(k),
        onfocus: () => say(k),
        onmouseenter: () => say(k),
        onclick: () => say(k),
      },
      mark,
    );
    const share = (weight: number | undefined) =>
      most > 0 ? (Math.abs(weight ?? 0) / most).toFixed(3) : "0";
    button.style.setProperty("--share", share(example.weights[k]));
    button.style.setProperty("--original", share(example.originals?.[k]));
    return button;
  }
}

const quoted = (text: string): string => `“${visible(text)}”`;

function legend(most: number, changed: boolean): HTMLElement {
  const swatch = (kind: string) => element("span", { class: `swatch ${kind}`, "aria-hidden": "true" });
  return element(
    "p",
    { class: "note example-legend" },
    element("span", {}, "weight 0 ", swatch("scale"), ` ${shown(most)}`),
    changed && element("span", {}, swatch("line"), " line below: weight without the change"),
    element("span", {}, swatch("query"), " the query"),
    element("span", { class: "after" }, "text after the query"),
  );
}

interface KeyRow {
  at: number;
  text: string;
  weight: number;
  original: number;
}

function keyTable(example: Example, texts: ReadonlyMap<number, string>): HTMLElement {
  const rows = example.keys.map((at, k): KeyRow => ({
    at, text: texts.has(at) ? quoted(texts.get(at)!) : "", weight: example.weights[k]!, original: example.originals?.[k] ?? NaN,
  }));
  const columns = [
    numberColumn<KeyRow>("at", "Position", ({ at }) => at, ({ at }) => grouped(at)),
    ...(texts.size > 0 ? [textColumn<KeyRow>("text", "Token", ({ text }) => text)] : []),
    numberColumn<KeyRow>("weight", "Weight", ({ weight }) => weight),
    ...(example.originals ? [numberColumn<KeyRow>("original", "Without the change", ({ original }) => original)] : []),
  ];
  return more("", "The keys as a table", table({ caption: `Keys of the query at position ${example.query}`, columns, rows }));
}
