// Plans: the page shows what the terminal prints, the keys of every head, and the loss against the cache.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { resultsFromFile } from "../file";
import { paretoFigures } from "../../src/figures/plan";
import { arrived, drawAll, hashOf, inBrowser, openKind, pathOf, resultsOf, viewsOf, type Tab } from "./browser";

// The tables of `headgauge plan`, one for each budget: cache, loss change, plan less it, with intervals.
function printed(): { budget: string; rows: string[][] }[] {
  const lines = readFileSync(pathOf("plan", "printed.txt"), "utf8").split("\n");
  return lines.flatMap((line, start) => {
    const budget = /^(\S.*?) +cache +loss change \(95 %\)/.exec(line)?.[1];
    if (budget === undefined) return [];
    // The page shows the range of the assignments as a figure.
    const rows = lines.slice(start + 1).filter((line) => !/^ +its \d+ assignments? /.test(line));
    return [{ budget, rows: rows.slice(0, rows.indexOf("")).map((row) => row.trim().split(/ {2,}/)) }];
  });
}

// The same of the page.
const tables = ({ page }: Tab): Promise<{ budget: string; rows: string[][] }[]> =>
  page.$$eval(".confirmation", (sections) =>
    sections.map((section) => ({
      budget: (section as HTMLElement).dataset["budget"]!,
      rows: [...section.querySelectorAll("tbody tr")].map((row) =>
        [...row.children].slice(0, 4).map((cell) => {
          const plain = cell.cloneNode(true) as Element;
          plain.querySelectorAll(".unseen").forEach((part) => part.remove());
          const star = plain.textContent!.includes("*") ? "*" : "";
          const note = plain.querySelector(".note");
          note?.remove();
          const interval = / to /.test(note?.textContent ?? "") ? ` (${note!.textContent})` : "";
          return plain.textContent!.replace("*", "") + interval + star;
        }),
      ),
    })),
  );

// As the terminal writes it.
const asPrinted = ([method, cache, ...rest]: string[]) => [
  method!, `${parseFloat(cache!).toFixed(1)} %`, ...rest.filter((cell) => cell !== "–"),
];

inBrowser("a plan", () => {
  test("is what the terminal prints, with its marks, and opens with the sentence to act on", async () => {
    const tab = await openKind("plan");
    const { page } = tab;
    const results = resultsOf("plan");
    expect((await viewsOf(tab))[0]).toBe("#plan");
    const summary = (results["summary"] as { text: string }[]).map(({ text }) => text);
    expect(await page.textContent(".act")).toBe(summary[0]);
    expect(await page.$$eval(".also li", (items) => items.map((item) => item.textContent))).toEqual(summary.slice(1));
    const terminal = printed();
    expect(terminal.map(({ budget }) => budget)).toEqual(["50 %", "25 %"]);
    expect(terminal.map(({ rows }) => rows.length)).toEqual([5, 5]);
    const marks = terminal.flatMap(({ rows }) => rows.flat()).filter((cell) => cell.endsWith("*"));
    expect(marks.length).toBeGreaterThan(0);
    expect(marks.length).toBeLessThan(14);
    // One table at a time: that of the plan that is chosen.
    for (const expected of terminal) {
      await page.selectOption("#choose-budget", expected.budget);
      await page.waitForSelector(`.confirmation[data-budget="${expected.budget}"]`);
      const found = await tables(tab);
      expect(found.map(({ budget, rows }) => ({ budget, rows: rows.map(asPrinted) }))).toEqual([expected]);
      const stars = expected.rows.flat().filter((cell) => cell.endsWith("*"));
      expect(await page.$$eval(".differs .unseen", (words) => words.length)).toBe(stars.length);
      expect(await page.textContent(".assignments")).toMatch(
        /^Of 4 plans .* \(p = (0\.\d|1)\): it (is not shown to matter|matters)/,
      );
    }
  });

  test("shows the keys of the budget that is chosen, and the address keeps it", async () => {
    const tab = await openKind("plan", "#plan");
    const { page } = tab;
    await drawAll(page);
    const kept = resultsOf("plan").metrics["kept_keys"]!.values as number[][][];
    const cells = () =>
      page.$$eval("section [data-marks=text] text", (texts) => texts.map((text) => Number(text.textContent)));
    const values = (budget: number) => kept.flatMap((heads) => heads.map((head) => head[budget]!));
    expect(values(0)).not.toEqual(values(1));
    expect(await cells()).toEqual(values(0));
    await page.focus("#choose-budget");
    await page.selectOption("#choose-budget", "25 %");
    await arrived(page, "budget=25");
    await drawAll(page);
    const headings = await page.$$eval("section h2", (all) => all.map((heading) => heading.textContent));
    expect(headings.filter((heading) => heading.includes('plan "25 %"'))).toHaveLength(1);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("choose-budget");
    expect(await cells()).toEqual(values(1));
    // By the keyboard, to the head.
    await page.focus("section .map [tabindex='0']");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    expect(await page.textContent(".readout")).toBe(`Head 1.1: keys kept ${kept[1]![1]![1]} keys`);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#view[data-shown='#head/1.1']");
    await page.goBack();
    await arrived(page, "budget=25");
    expect(await page.$eval("#choose-budget", (box) => (box as HTMLSelectElement).value)).toBe("25 %");
    expect(await hashOf(tab)).toContain("budget=25");
  });

  test("has every figure of the plan, a mark for each method, budget and random plan", async () => {
    const tab = await openKind("plan", "#plan");
    await drawAll(tab.page);
    const figures = paretoFigures(resultsFromFile(resultsOf("plan")));
    expect(figures[0]!.rows).toHaveLength(10 + 8);
    const marks = await tab.page.$$eval("[data-figure=plan-loss-against-cache] circle", (found) => found.length);
    expect(marks).toBe(10 + 8);
    const shown = await tab.page.$$eval("[data-figure*=-against-cache]", (places) =>
      places.map((place) => place.getAttribute("data-figure")),
    );
    expect(shown).toEqual(figures.map(({ id }) => id));
  });
});
