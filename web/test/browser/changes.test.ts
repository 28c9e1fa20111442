// What changed most: the page shows the list that the terminal prints, on the same files.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { arrived, hashOf, inBrowser, openKind, pathOf, resultsOf, type Tab } from "./browser";

interface Printed {
  p?: string;
  errors: string;
  relative?: string;
  head: string;
  metric: string;
  old: string;
  new: string;
  change: string; // "-187 ± 4.8"
  where: string[]; // labels
}

// The rows of both tables of `headgauge diff`.
function printed(kind: string): Printed[] {
  const lines = readFileSync(pathOf(kind, "printed.txt"), "utf8").split("\n");
  const cells = (line: string) => line.trim().split(/\s{2,}/);
  return lines.flatMap((line, start) => {
    if (!/^ *(p|relative)  /.test(line)) return [];
    const titles = cells(line).map((title) => title.replace(" ± se", ""));
    const rows = lines.slice(start + 1);
    return rows.slice(0, rows.indexOf("")).map((row) => {
      const found = cells(row);
      if (found.length < titles.length) found.splice(titles.indexOf("where"), 0, "");
      expect(found, row).toHaveLength(titles.length);
      const of = Object.fromEntries(titles.map((title, k) => [title, found[k]!]));
      const labels = of["where"]!.split(" ").map((part) => part.replace(/^[^=]*=/, ""));
      return { ...of, where: labels.filter((label) => label !== "") } as unknown as Printed;
    });
  });
}

// The rows of the page: texts by the title of their column, and the metric by its own name.
async function rowsOf({ page }: Tab): Promise<Record<string, string>[]> {
  return page.$$eval("#view table", ([table]) => {
    const titles = [...table!.querySelectorAll(".column-name")].map((title) => title.textContent!);
    return [...table!.querySelectorAll("tbody tr")].map((row) => ({
      ...Object.fromEntries([...row.children].map((cell, k) => [titles[k], cell.textContent!])),
      metric: row.querySelector("a")!.getAttribute("href")!.replace("#methods/", ""),
    }));
  });
}

const digits = (text: string, precision: number) => Number(Number(text).toPrecision(precision));

function expectSame(row: Record<string, string>, line: Printed): void {
  const about = `${line.metric} of ${line.head}`;
  expect([row["metric"], row["Head"]], about).toEqual([line.metric, line.head]);
  const labels = row["At"]!.split(", ").map((part) => part.split(" ").at(-1)!);
  const where = [row["Intervention"] ?? "", ...labels].filter((label) => label !== "");
  expect(where, about).toEqual(line.where);
  expect(digits(row["Before"]!, 4), about).toBe(digits(line.old, 4));
  expect(digits(row["After"]!, 4), about).toBe(digits(line.new, 4));
  const [change, error] = line.change.split(" ± ");
  // The page has four digits, which the three of the terminal round.
  expect(Math.abs(Number(row["Change"]) / Number(change) - 1), about).toBeLessThan(5.6e-3);
  expect(row["± standard error"] === "–", about).toBe(error === undefined);
  if (error !== undefined) expect(digits(row["± standard error"]!, 2), about).toBe(Number(error));
  const errors = row["In standard errors"]!;
  if (line.p === undefined) {
    expect(errors, about).toBe("–");
    const share = 100 * Number(row["Relative"]);
    expect(Math.abs(share - parseFloat(line.relative!)), about).toBeLessThan(0.05 + 6e-3 * share);
  } else if (line.p === "exact") {
    expect(errors, about).toBe("exact");
  } else if (line.errors === ">1000") {
    expect(Number(errors), about).toBeGreaterThanOrEqual(1000);
  } else {
    const p = Number(row["p"]);
    expect(Math.abs(p - Number(line.p)), about).toBeLessThanOrEqual(0.06 * 10 ** Math.ceil(Math.log10(p)));
    expect(Math.abs(Number(errors) - Number(line.errors)), about).toBeLessThan(0.06 + 6e-3 * Number(errors));
  }
}

inBrowser("what changed", () => {
  test.each(["diff", "diff-exact"])("%s: is the list that the terminal prints", async (kind) => {
    const lines = printed(kind);
    expect(lines.length).toBeGreaterThan(10);
    expect(new Set(lines.map(({ metric }) => metric)).size).toBeGreaterThan(2);
    if (kind === "diff-exact") {
      const exact = lines.findIndex(({ p }) => p === "exact");
      expect(exact).toBeGreaterThan(0);
      expect(lines.slice(exact).every(({ p = "exact" }) => p === "exact")).toBe(true);
      expect(lines.at(-1)!.relative).toBeDefined();
    }
    const tab = await openKind(kind, "#changes");
    const rows = await rowsOf(tab);
    expect(rows).toHaveLength(Math.min(200, lines.length));
    rows.forEach((row, k) => expectSame(row, lines[k]!));
    expect(await tab.page.textContent("[role=status]")).toContain(
      `${lines.length} changes of ${lines.length} changes`,
    );
  });

  test("under interventions is the list of the results file, sorted where asked", async () => {
    const { changes } = resultsOf("compare") as unknown as {
      changes: { metric: string; labels: Record<string, string>; change: number }[];
    };
    const names = (some: typeof changes) =>
      some.slice(0, 200).map(({ metric, labels: { layer, head = "*", normalizer } }) =>
        [metric, layer === undefined ? "all" : `${layer}.${head}`, normalizer].join(" "),
      );
    const tab = await openKind("compare", "#changes");
    const shown = async () =>
      (await rowsOf(tab)).map((row) => [row["metric"], row["Head"], row["Intervention"]].join(" "));
    expect(await shown()).toEqual(names(changes));
    await tab.page.click("#sort-change");
    await arrived(tab.page, "sort");
    expect(await hashOf(tab)).toBe("#changes?sort=-change");
    expect(await shown()).toEqual(
      names([...changes].sort((a, b) => Math.abs(b.change) - Math.abs(a.change))),
    );
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
