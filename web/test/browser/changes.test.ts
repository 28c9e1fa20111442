// What changed most: the page shows what the terminal prints.
import { expect, test } from "vitest";
import { arrived, drawAll, inBrowser, openKind, printedRows, resultsOf, viewRows, type Tab } from "./browser";

interface Change {
  metric: string;
  labels: Readonly<Record<string, string>>;
  change: number;
  stderr: number | null;
}

const TABLES = {
  largest_changes: "The largest change of each metric and head",
  "largest_changes-without-errors": "The largest change without a standard error of each metric and head",
};

const rowsOf = (tab: Tab): Promise<string[][][]> => Promise.all(Object.keys(TABLES).map((id) => viewRows(tab, id)));

// The heads and metrics of the first changes of the file, of each kind.
const changesOf = (kind: string, order: (a: Change, b: Change) => number = () => 0): string[][][] => {
  const { changes } = resultsOf(kind) as unknown as { changes: Change[] };
  return [true, false].map((measured) =>
    changes
      .filter(({ stderr }) => (stderr !== null) === measured)
      .slice(0, 200)
      .sort(order)
      .map(({ metric, labels: { layer, head = "*" } }) => [layer === undefined ? "all" : `${layer}.${head}`, metric]),
  );
};

const named = (tables: string[][][]) => tables.map((rows) => rows.map((row) => row.slice(0, 2)));

inBrowser("what changed", () => {
  test.each(["diff", "diff-exact"])("%s: is the list of the results file, as the terminal prints it", async (kind) => {
    const rows = await rowsOf(await openKind(kind, "#changes"));
    const printed = Object.values(TABLES).map((title) => printedRows(kind, title));
    if (kind === "diff-exact") expect(rows).toEqual(printed); // where no cell is empty
    expect(named(rows)).toEqual(changesOf(kind));
  });

  test("under interventions is sorted where asked", async () => {
    const tab = await openKind("compare", "#changes");
    expect(named(await rowsOf(tab))).toEqual(changesOf("compare"));
    const column = (await tab.page.$$eval("#largest_changes .column-name", (all) => all.map((one) => one.textContent))).indexOf("change ± se");
    await tab.page.click(`#sort-largest_changes-${column}`);
    await arrived(tab.page, `largest_changes=-${column}`);
    const bySize = changesOf("compare", (a, b) => Math.abs(b.change) - Math.abs(a.change));
    expect(named(await rowsOf(tab))[0]).toEqual(bySize[0]);
  });

  test("of patterns are named in figures as in tables", async () => {
    const tab = await openKind("patterns", "#overview");
    await drawAll(tab.page);
    expect(await tab.page.textContent("[data-figure=cache-loss] svg")).toContain("last 8");
  });

  test("of the tokens whose loss changes most are shown in their text, under the intervention that is chosen", async () => {
    const { token_losses: tokens, passages } = resultsOf("compare") as unknown as {
      token_losses: { position: number; losses: number[] }[];
      passages: { first: number; tokens: string[] }[];
    };
    const labels = resultsOf("compare").coords["normalizer"]!.map(String);
    const tab = await openKind("compare", "#overview");
    const rows = () =>
      tab.page.$$eval(".token-losses tbody tr", (found) =>
        found.map((row) => ({
          position: Number(row.children[0]!.textContent!.replaceAll(/\D/g, "")),
          change: Number(row.children[1]!.textContent!.replace("−", "-")),
          token: row.querySelector("mark")!.textContent!,
        })),
      );
    const expected = (k: number) =>
      tokens
        .map(({ position, losses }) => ({ position, change: losses[k]! - losses[0]! }))
        .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
    const textAt = (position: number) => {
      const { first, tokens: words } = passages.find((one) => one.first <= position && position < one.first + one.tokens.length)!;
      return words[position - first]!.replace("\n", "↵");
    };
    for (const k of [1, 3]) {
      if (k > 1) {
        await tab.page.selectOption("#choose-under", labels[k]!);
        await arrived(tab.page, "under=");
      }
      const found = await rows();
      expect(found.map(({ position }) => position)).toEqual(expected(k).slice(0, 50).map(({ position }) => position));
      for (const [place, { position, change }] of expected(k).slice(0, 50).entries()) {
        expect(Math.abs(found[place]!.change - change)).toBeLessThan(0.002 + 0.01 * Math.abs(change));
        expect(found[place]!.token).toBe(textAt(position));
      }
    }
  });

  // Only the program can compute the list, not a template with the file in it.
  test.skipIf(process.env["HEADGAUGE_PAGE_TEMPLATE"] !== undefined).each([
    ["diff-exact", "diff-without-list"],
    ["compare", "compare-without-list"],
  ])("%s: is the same where the results file lacks the list", async (kind, without) => {
    expect(resultsOf(without)["changes"]).toBeUndefined();
    const [full, bare] = [await openKind(kind, "#changes"), await openKind(without, "#changes")];
    expect(await rowsOf(bare)).toEqual(await rowsOf(full));
  });
});
