// What changed most: the page shows the list of the results file.
import { expect, test } from "vitest";
import type { Change } from "../../src/data/results";
import { formatNumber } from "../../src/figures/format";
import { arrived, hashOf, inBrowser, openKind, resultsOf, type Tab } from "./browser";

const changesOf = (kind: string) => (resultsOf(kind) as unknown as { changes: Change[] }).changes;

// The rows of the page: texts by the title of their column, and the metric by its own name.
async function rowsOf({ page }: Tab): Promise<Record<string, string>[]> {
  return page.$$eval("#view table", ([table]) => {
    const titles = [...table!.querySelectorAll(".column-name")].map((title) => title.textContent!);
    return [...table!.querySelectorAll("tbody tr")].map((row) => ({
      ...Object.fromEntries([...row.children].map((cell, k) => [titles[k], cell.textContent!])),
      metric: row.querySelector("a")!.getAttribute("href")!.replace("#overview?metric=", ""),
    }));
  });
}

// What a row says of a change.
function saidOf({ metric, labels, before, after, change, stderr, errors, adjusted_p, relative }: Change) {
  const { layer, head = "*", ...at } = labels;
  const number = (value: number | null | undefined, digits = 4) =>
    value === null || value === undefined ? "–" : formatNumber(value, digits);
  return {
    metric,
    head: layer === undefined ? "all" : `${layer}.${head}`,
    labels: Object.values(at),
    numbers: [
      number(before), number(after), number(change), number(stderr, 2), stderr === 0 ? "exact" : number(errors, 3),
      stderr === 0 ? "0" : number(adjusted_p, 2), number(relative, 3),
    ],
  };
}

const saidBy = (row: Record<string, string>): ReturnType<typeof saidOf> => ({
  metric: row["metric"] as Change["metric"],
  head: row["Head"]!,
  labels: row["At"]!.split(", ").map((part) => part.split(" ").at(-1)!).filter(Boolean),
  numbers: ["Before", "After", "Change", "± standard error", "In standard errors", "p", "Relative"].map((title) => row[title]!),
});

inBrowser("what changed", () => {
  test.each(["diff", "diff-exact"])("%s: is the list of the results file", async (kind) => {
    const changes = changesOf(kind);
    expect(new Set(changes.map(({ metric }) => metric)).size).toBeGreaterThan(2);
    if (kind === "diff-exact") expect(changes.some(({ stderr }) => stderr === 0)).toBe(true);
    const tab = await openKind(kind, "#changes");
    expect((await rowsOf(tab)).map(saidBy)).toEqual(changes.slice(0, 200).map(saidOf));
    expect(await tab.page.textContent("[role=status]")).toContain(
      `${changes.length} changes of ${changes.length} changes`,
    );
  });

  test("under interventions is sorted where asked", async () => {
    const changes = changesOf("compare");
    const tab = await openKind("compare", "#changes");
    expect((await rowsOf(tab)).map(saidBy)).toEqual(changes.slice(0, 200).map(saidOf));
    await tab.page.click("#sort-change");
    await arrived(tab.page, "sort");
    expect(await hashOf(tab)).toBe("#changes?sort=-change");
    const bySize = [...changes].sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
    expect((await rowsOf(tab)).map(saidBy)).toEqual(bySize.slice(0, 200).map(saidOf));
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
