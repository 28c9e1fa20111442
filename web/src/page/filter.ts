// A box that filters a table, with its text in the address: words that a row must have, and
// conditions on the numbers of its columns.
import { changed } from "./address";
import { div, element } from "./element";
import type { Page } from "./page";
import type { Column } from "./table";

export interface Condition {
  column: string;
  sign: string;
  number: number;
}

export interface Asked {
  words: string[]; // in lower case
  conditions: Condition[];
  problem: string; // what is wrong with a condition, which is then ignored; or empty
}

type Named = Pick<Column<never>, "id" | "title" | "numeric">;

const CONDITION = /^(.*?)(<=|>=|[<>=])([^<>=]*)$/;

const COMPARE: Readonly<Record<string, (value: number, number: number) => boolean>> = {
  "<": (value, number) => value < number,
  "<=": (value, number) => value <= number,
  ">": (value, number) => value > number,
  ">=": (value, number) => value >= number,
  // Equal to the shown digits.
  "=": (value, number) => Math.abs(value - number) <= 5e-4 * Math.abs(number),
};

const plain = (name: string): string => name.toLowerCase().replace(/[\s_,]+/g, " ").trim();

// Parses "induction 3.* normalized entropy < .5". The words before a sign name a column by its id
// or its title.
export function parseFilter(text: string, columns: readonly Named[]): Asked {
  const asked: Asked = { words: [], conditions: [], problem: "" };
  const named = new Map(
    columns.filter(({ numeric }) => numeric).flatMap(({ id, title }) => [[plain(title), id], [plain(id), id]]),
  );
  const parts = text
    .replaceAll("≤", "<=")
    .replaceAll("≥", ">=")
    .toLowerCase()
    .replace(/\s*(<=|>=|[<>=])\s*/g, "$1")
    .split(/[\s,]+/)
    .filter((part) => part !== "");
  for (const part of parts) {
    const [whole, last = "", sign = "", right = ""] = CONDITION.exec(part) ?? [];
    if (whole === undefined) {
      asked.words.push(part);
      continue;
    }
    const number = right === "" ? NaN : Number(right);
    // Takes as many words as name a column; earlier words are words that a row must have.
    const from = asked.words.findIndex((_, k) => named.has(plain([...asked.words.slice(k), last].join(" "))));
    const words = from < 0 ? [] : asked.words.slice(from);
    const column = named.get(plain([...words, last].join(" ")));
    asked.words.length -= words.length;
    if (column !== undefined && !Number.isNaN(number)) {
      asked.conditions.push({ column, sign, number });
    } else if (column !== undefined) {
      asked.problem = `"${part}": expected a number after ${sign}`;
    } else if (sign === "=") {
      asked.words.push(part); // a name such as "softmax:t=2"
    } else {
      const names = columns.filter(({ numeric }) => numeric).map(({ id }) => id);
      asked.problem = `"${part}": there is no column "${last}"${nearest(last, names)}`;
    }
  }
  asked.words = asked.words.filter((word) => word !== "and"); // "and" means the same as a space
  return asked;
}

// Returns the number of letters to insert, delete or replace.
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, k) => k);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let k = 1; k <= b.length; k += 1) {
      next.push(Math.min(next[k - 1]! + 1, row[k]! + 1, row[k - 1]! + Number(a[i - 1] !== b[k - 1])));
    }
    row = next;
  }
  return row[b.length]!;
}

// Returns "; the nearest is "entropy"", or empty if no name is near.
function nearest(word: string, names: readonly string[]): string {
  const asked = plain(word);
  const [best] = names
    .map((name) => ({ name, far: plain(name).startsWith(asked) ? 0.5 : distance(asked, plain(name)) }))
    .sort((a, b) => a.far - b.far);
  return best && asked.length > 2 && best.far <= Math.max(2, asked.length / 3) ? `; the nearest is "${best.name}"` : "";
}

export interface Found<Row> {
  rows: Row[];
  problem: string;
}

// Returns the rows that have all words and meet all conditions. An undefined value, or one that
// means "none was found", meets no condition.
export function filtered<Row>(
  all: readonly Row[],
  { words, conditions, problem }: Asked,
  columns: readonly Column<Row>[],
  has: (row: Row, word: string) => boolean,
  known: readonly string[] = [], // candidates for the nearest word to an unknown one
): Found<Row> {
  const tests = conditions.map(({ column, sign, number }) => {
    const { value, key } = columns.find(({ id }) => id === column)!;
    return (row: Row) => COMPARE[sign]!(Number((value ?? key)(row)), number);
  });
  const unknown = words.find((word) => !all.some((row) => has(row, word)));
  return {
    rows: all.filter((row) => words.every((word) => has(row, word)) && tests.every((test) => test(row))),
    problem: problem === "" && unknown !== undefined ? `nothing here is called "${unknown}"${nearest(unknown, known)}` : problem,
  };
}

export interface Filter {
  readonly node: HTMLElement;
  // Returns the text in the address and shows it in the box.
  text(): string;
  // Shows the number of rows, or the problem with the text.
  say(found: string, problem: string): void;
}

export interface FilterWords {
  label: string;
  placeholder: string;
  help: string; // describes the accepted input
}

export function filterBox(page: Page, { label, placeholder, help }: FilterWords): Filter {
  const asked = () => page.address.query["filter"] ?? "";
  const status = element("p", { class: "note", role: "status" });
  const input = element("input", {
    id: "filter",
    type: "search",
    placeholder,
    value: asked(),
    "aria-describedby": "filter-help",
    oninput: () => page.go(changed(page.address, { filter: input.value || undefined }), true),
  });
  return {
    node: div(
      "",
      div("controls", div("choice filter", element("label", { for: "filter" }, label), input), status),
      element("p", { class: "note", id: "filter-help" }, `${help} All must hold.`),
    ),
    text: () => {
      if (input.value !== asked()) input.value = asked();
      return asked();
    },
    say: (found, problem) => {
      status.textContent = problem === "" ? found : `${problem} (${found})`;
      status.classList.toggle("wrong", problem !== "");
      input.setAttribute("aria-invalid", String(problem !== ""));
    },
  };
}
