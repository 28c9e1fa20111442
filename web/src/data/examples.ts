// Queries of each head that a scan kept as examples, tokens whose loss a comparison changes, and the
// text around them (docs/examples.md).

export interface Example {
  layer: number;
  head: number;
  why: string; // the criterion: "change", "far", "near" or "spread"
  value: number; // of the criterion, a share
  document: number;
  query: number; // 0-based position
  covered: number; // share of the weight on `keys`
  others?: number; // number of further keys that the query sees; older files lack it
  keys: number[]; // 0-based positions, the heaviest first
  weights: number[];
  originals?: number[]; // weights without the intervention of the scan
}

// A token and its loss under each intervention.
export interface TokenLoss {
  document: number;
  position: number; // 0-based
  // Nats, along the dim of the interventions, the original's first; null where undefined.
  losses: (number | null)[];
  task?: string; // if the token is part of the answer of a case
}

// Neighbouring tokens of a document.
export interface Passage {
  document: number;
  first: number; // 0-based position of tokens[0]
  tokens: string[];
}

export interface Examples {
  examples?: Example[]; // absent in a comparison
  token_losses?: TokenLoss[]; // absent but in a comparison
  passages: Passage[];
}

// A token of the text around an example.
export interface ShownToken {
  position: number;
  text: string | undefined; // undefined if unknown
  key: number; // index among the keys; -1 if it is not a key
  isQuery: boolean;
}

// Consecutive tokens, and the number of tokens omitted before them.
export interface Run {
  skipped: number;
  tokens: ShownToken[];
}

export const AROUND = 8; // tokens on either side of a query and its heaviest keys, or of a token
const HEAVIEST = 8; // of the other keys there may be many, and each is shown with its neighbours:
const BESIDE = 2;
const SHORTEST_GAP = 3; // shorter gaps are shown in full

export const examplesOf = (
  { examples = [] }: Examples,
  { layer, head }: { layer: number; head: number },
): Example[] =>
  examples.filter((example) => example.layer === layer && example.head === head);

// Returns the known text of each token of a document, by position.
export function textsOf({ passages }: Pick<Examples, "passages">, document: number): Map<number, string> {
  const texts = new Map<number, string>();
  for (const passage of passages) {
    if (passage.document !== document) continue;
    passage.tokens.forEach((text, k) => texts.set(passage.first + k, text));
  }
  return texts;
}

// Returns the same as a function of the document; each document is looked up once.
export function textsByDocument(
  all: Pick<Examples, "passages">,
): (document: number) => ReadonlyMap<number, string> {
  const known = new Map<number, Map<number, string>>();
  return (document) => {
    const texts = known.get(document) ?? textsOf(all, document);
    known.set(document, texts);
    return texts;
  };
}

// Returns the visible part of an example in the order of the text: its query, its keys and the
// tokens around them. Without a text, only the query and the keys.
export function runsOf(example: Example, texts: ReadonlyMap<number, string>): Run[] {
  const positions = new Set<number>();
  [example.query, ...example.keys].forEach((at, place) => {
    const around = place <= HEAVIEST ? AROUND : BESIDE;
    positions.add(at);
    for (let k = at - around; k <= at + around; k += 1) if (texts.has(k)) positions.add(k);
  });
  const runs: Run[] = [];
  let next = 0; // position after the last shown token
  for (const position of [...positions].sort((a, b) => a - b)) {
    const gap = position - next;
    const fill = gap > 0 && gap < SHORTEST_GAP && runs.length > 0;
    if (runs.length === 0 || (gap > 0 && !fill)) runs.push({ skipped: gap, tokens: [] });
    for (let k = fill ? next : position; k <= position; k += 1) {
      runs[runs.length - 1]!.tokens.push({
        position: k,
        text: texts.get(k),
        key: example.keys.indexOf(k),
        isQuery: k === example.query,
      });
    }
    next = position + 1;
  }
  return runs;
}

// Makes a token visible: shows meaningful whitespace, characters without a shape, and characters
// that would change the order of their neighbours as marks.
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g,
    (c) => {
      if (c === "\n") return "↵";
      if (c === "\t") return "⇥";
      const code = c.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\u{fffd}";
    },
  );
}
