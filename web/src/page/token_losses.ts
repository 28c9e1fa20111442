// Shows the tokens whose loss an intervention of `headgauge compare` changes most, in their text.
import { AROUND, textsByDocument, visible, type Examples, type TokenLoss } from "../data/examples";
import { variants } from "../figures/quantity";
import { div, element, note, section } from "./element";
import type { Page } from "./page";
import { keptChoice } from "./selection";
import { numberColumn, orderIn, table, textColumn, type Column } from "./table";
import { grouped, shown, signed } from "./words";

const ROWS_SHOWN = 50;

export interface TokenRow {
  task: string; // empty for a text
  document: number;
  position: number;
  before: number; // loss of the model itself, nats
  after: number;
  change: number;
}

// Returns the tokens in the order of the size of their change under one intervention.
export function tokenRows(tokens: readonly TokenLoss[], intervention: number): TokenRow[] {
  return tokens
    .map(({ document, position, losses, task = "" }) => {
      const [before, after] = [losses[0] ?? NaN, losses[intervention] ?? NaN];
      return { task, document, position, before, after, change: after - before };
    })
    .filter(({ change }) => Number.isFinite(change))
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}

// Returns null if the file has no losses of tokens.
export async function tokenLosses(page: Page): Promise<HTMLElement | null> {
  const { results } = page;
  const all = await results.loadExamples?.().catch(() => undefined);
  const tokens = all?.token_losses ?? [];
  const labels = variants(results, "loss_change").labels;
  const interventions = labels.length > 1 ? labels : variants(results, "answer_right").labels;
  if (!all || tokens.length === 0 || interventions.length < 2) return null;
  const asked = interventions.indexOf(page.address.query["under"] ?? "");
  const chosen = asked > 0 ? asked : 1;
  const rows = tokenRows(tokens, chosen);
  const names = results.header.text.names ?? [];
  const title = "The tokens whose loss changes most";
  const [, ...options] = interventions;
  return section(
    "token-losses", title,
    note(
      `Under ${interventions[chosen]}, in nats. ` +
        (rows.length > ROWS_SHOWN ? `The first ${ROWS_SHOWN} of ${grouped(rows.length)} tokens that the file has.` : ""),
    ),
    options.length > 1 && div("controls", keptChoice(page, "under", "Intervention", options, interventions[chosen])),
    table({ caption: title, columns: columnsOf(all, names), rows, limit: ROWS_SHOWN, ...orderIn(page, "tokens", true) }),
  );
}

function columnsOf(all: Examples, names: readonly string[]): Column<TokenRow>[] {
  const textsIn = textsByDocument(all);
  const place = ({ task, document, position }: TokenRow): string => {
    const ofText = names.length > 1 ? (names[document] ?? "") : "";
    const name = task === "" ? ofText : `${task} ${document + 1 - names.length}`;
    return name === "" ? grouped(position) : `${name}: ${grouped(position)}`;
  };
  return [
    numberColumn("place", "Position", ({ document, position }) => document * 1e9 + position, place),
    numberColumn("change", "Change", ({ change }) => change, ({ change }) => signed(change)),
    numberColumn("before", "Loss", ({ before }) => before, ({ before }) => shown(before, 3)),
    numberColumn("after", "Under the change", ({ after }) => after, ({ after }) => shown(after, 3)),
    textColumn(
      "text", "Token in its text", ({ document, position }) => textsIn(document).get(position) ?? "",
      (row) => inText(row, textsIn(row.document)),
    ),
  ];
}

// The token, marked, between its neighbours.
function inText({ position }: TokenRow, texts: ReadonlyMap<number, string>): HTMLElement {
  const part = (from: number, to: number): string => {
    let words = "";
    for (let at = from; at < to; at += 1) words += visible(texts.get(at) ?? "");
    return words;
  };
  const token = texts.get(position);
  return element(
    "span",
    { class: "token-text", dir: "auto" },
    part(position - AROUND, position),
    element("mark", {}, token === undefined ? `[${position}]` : visible(token) || "▯"),
    element("span", { class: "after" }, part(position + 1, position + 1 + AROUND)),
  );
}
