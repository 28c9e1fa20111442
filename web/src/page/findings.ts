// The findings in sentences: the summary of the results file, with its heads as links.
import type { Fact, Results, Sentence } from "../data/results";
import { div, element, list, more, note, section } from "./element";
import { headLink, withCommands } from "./words";

// The answer of the command, before all else: the sentences that lead, then the tables.
export function answer(results: Results, tables?: HTMLElement): HTMLElement | null {
  const lead = (results.header.summary ?? []).filter((said) => said.lead);
  if (lead.length === 0 && !(tables && results.tables.some((table) => table.lead))) return null;
  // What neighbours share stands below the last.
  const own = (k: number, of: "means" | "next") => (lead[k + 1]?.[of] === lead[k]![of] ? undefined : lead[k]![of]);
  const said = lead.map((one, k) =>
    div(`said said-${one.verdict ?? "plain"}`, ...saidIn(results, one), explained({ means: own(k, "means"), next: own(k, "next") })),
  );
  return section("answer", "The answer", ...said, ...(tables ? [tables] : []));
}

export function findings(results: Results): HTMLElement | null {
  const summary = (results.header.summary ?? []).filter(({ lead }) => !lead);
  if (summary.length === 0 && results.header.summary?.length) return null;
  const told = new Set<string>(); // each command once
  const once = ({ next = "", ...said }: Sentence): Sentence =>
    next === "" || told.has(next) ? said : (told.add(next), { ...said, next });
  const listed = (some: Sentence[], start = 1) =>
    list("", some.map((said) => [...saidIn(results, said), explained(once(said))]), start);
  const main = summary.filter(({ aside }) => aside !== true);
  const aside = summary.filter((said) => said.aside === true);
  return section(
    "findings", "What was found",
    summary.length === 0 ? note("This results file has no summary.") : listed(main),
    aside.length > 0 &&
      more("aside", "More: critical N and nulls", note(ASIDE_WORDS), listed(aside, main.length + 1)),
  );
}

// Explains terms for readers who meet them for the first time.
export const ASIDE_WORDS =
  "A null says what chance alone would give, such as the head's own weights assigned to the keys at random: a value " +
  "says something as far as it differs from its null. Critical N is the number of a head's heaviest keys from which " +
  "on they lie as far from the rest of the text as so many keys taken at random. A bound is what a theorem allows.";

// Shows the meaning of a sentence and the command to run next.
function explained({ means, next }: { means?: string | undefined; next?: string | undefined }): HTMLElement | null {
  if (means === undefined && next === undefined) return null;
  return element("p", { class: "note explained" }, means, " ", next !== undefined && withCommands(next));
}

export const saidIn = (results: Results, said: Sentence): (Node | string)[] =>
  pieces(said).map((piece) => shownPiece(results, piece));

export type Piece =
  { text: string; kind: "words" | "head" } | { text: string; kind: "fact"; fact: Fact };

function shownPiece(results: Results, piece: Piece): Node | string {
  if (piece.kind === "head") return headLink(piece.text);
  // Emphasises measured values only, not lengths and normalizers that the user chose.
  if (piece.kind === "fact") {
    const { kind, name } = piece.fact;
    const of = { cell: "", standard_error: "standard error of " }[kind];
    if (of !== undefined && name !== undefined && results.has(name)) {
      return element("span", { class: "fact", title: of + results.title(name) }, piece.text);
    }
  }
  return piece.text;
}

// Cuts the text into words, heads and numbers. Facts are in the order of the text. "0.1" may be a
// temperature: it is a head only after the word "head" or another head.
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

// Finds a number that is not part of another number or of a head's name.
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
