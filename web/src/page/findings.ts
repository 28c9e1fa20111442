// What was found, in sentences: the summary of the results file, with its heads as links.
import type { Fact, Results, Sentence } from "../data/results";
import { element } from "./element";
import { headLink } from "./words";

export function findings(results: Results): HTMLElement {
  const summary = results.header.summary ?? [];
  const box = element("section", { class: "findings", "aria-labelledby": "findings" });
  box.append(element("h2", { id: "findings" }, "What was found"));
  if (summary.length === 0) {
    box.append(element("p", { class: "note" }, "This results file has no summary."));
    return box;
  }
  const item = (said: Sentence) => element("li", {}, ...saidIn(results, said));
  box.append(element("ol", {}, ...summary.map(item)));
  return box;
}

export const saidIn = (results: Results, said: Sentence): (Node | string)[] =>
  pieces(said).map((piece) => shownPiece(results, piece));

export type Piece =
  { text: string; kind: "words" | "head" } | { text: string; kind: "fact"; fact: Fact };

function shownPiece(results: Results, piece: Piece): Node | string {
  if (piece.kind === "head") return headLink(piece.text);
  // Only what was measured stands out, not the lengths and the normalizers that were given.
  if (piece.kind === "fact") {
    const { kind, name = "" } = piece.fact;
    const of = { cell: "", standard_error: "standard error of " }[kind];
    if (of !== undefined && results.has(name)) {
      return element("span", { class: "fact", title: of + results.title(name) }, piece.text);
    }
  }
  return piece.text;
}

// The text cut into words, heads and numbers. Facts stand in the order of the text. "0.1" may be a
// temperature: a name of a head follows the word, or another head.
export function pieces({ text, heads, facts }: Sentence): Piece[] {
  const marks: { start: number; piece: Piece }[] = [];
  const names = new Set(heads ?? []);
  for (const found of text.matchAll(
    /\bheads? (\d+\.\d+(?:(?:, | and |, and )\d+\.\d+(?![\d.]*\d))*)/g,
  )) {
    const first = found.index + found[0].length - found[1]!.length;
    for (const name of found[1]!.matchAll(/\d+\.\d+/g)) {
      if (names.has(name[0]))
        marks.push({ start: first + name.index, piece: { text: name[0], kind: "head" } });
    }
  }
  let from = 0;
  for (const fact of facts ?? []) {
    const start = placeOf(
      text,
      fact.text,
      from,
      marks.filter(({ piece }) => piece.kind === "head"),
    );
    if (start < 0) continue;
    marks.push({ start, piece: { text: fact.text, kind: "fact", fact } });
    from = start + fact.text.length;
  }
  marks.sort((a, b) => a.start - b.start);
  const out: Piece[] = [];
  let end = 0;
  for (const { start, piece } of marks) {
    if (start > end) out.push({ text: text.slice(end, start), kind: "words" });
    out.push(piece);
    end = start + piece.text.length;
  }
  if (end < text.length) out.push({ text: text.slice(end), kind: "words" });
  return out;
}

// Where a number stands by itself, not inside another or as the name of a head.
function placeOf(
  text: string,
  part: string,
  from: number,
  heads: readonly { start: number; piece: Piece }[],
): number {
  if (part === "") return -1;
  for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + 1)) {
    const alone =
      !/[\d.]$/.test(text.slice(0, at)) && !/^(\d|\.\d)/.test(text.slice(at + part.length));
    const inHead = heads.some(({ start, piece }) => at >= start && at < start + piece.text.length);
    if (alone && !inHead) return at;
  }
  return -1;
}
