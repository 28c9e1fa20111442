// Plans: the page shows what the terminal prints, the keys of every head, and the loss against the cache.
import { expect, test } from "vitest";
import {
  arrived, drawAll, hashOf, inBrowser, openKind, printedRows, resultsOf, textsOf, viewRows, viewsOf,
} from "./browser";

inBrowser("a plan", () => {
  test("is what the terminal prints, with its marks, and opens with the sentence to act on", async () => {
    const tab = await openKind("plan");
    const { page } = tab;
    await drawAll(page);
    const results = resultsOf("plan");
    expect((await viewsOf(tab))[0]).toBe("#plan");
    const summary = (results["summary"] as { text: string }[]).map(({ text }) => text);
    const [acted] = await textsOf(page, ".said");
    expect(acted).toContain(summary[0]);
    const others = await textsOf(page, ".findings li");
    expect(others).toHaveLength(summary.length - 1);
    for (const [k, said] of summary.slice(1).entries()) expect(others[k]).toContain(said);
    // One table at a time: that of the plan that is chosen.
    for (const [budget, id] of [["50 %", "confirmed-50-"], ["25 %", "confirmed-25-"]] as const) {
      await page.selectOption("#choose-budget", budget);
      await page.waitForSelector(`#${id}`);
      const rows = await viewRows(tab, id);
      expect(rows).toHaveLength(5);
      expect(rows).toEqual(printedRows("plan", `${budget}: confirmed on other text`));
      const stars = rows.flat().filter((cell) => cell.endsWith("*"));
      expect(stars.length).toBeLessThan(7);
      expect(await page.$$eval(`#${id} .mark-strong .unseen`, (words) => words.length)).toBe(stars.length);
      expect(await page.$$eval(".view-table[id^=confirmed-]", (tables) => tables.length)).toBe(1);
      expect(await page.$$eval("[data-figure=plan-loss-against-cache] circle", ({ length }) => length)).toBe(10 + 8);
      expect(await page.textContent("[data-figure^=plan-kept-keys] figcaption p")).toMatch(/ its p is (0\.\d|1)\.$/);
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
    const headings = await textsOf(page, "section h2");
    expect(headings.filter((heading) => heading.includes('plan "25 %"'))).toHaveLength(1);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("choose-budget");
    expect(await cells()).toEqual(values(1));
    // By the keyboard, to the head.
    await page.focus("section .drawing svg");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    expect(await page.textContent("section .tip strong")).toBe(`head 1.1: ${kept[1]![1]![1]} keys`);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#view[data-shown='#head/1.1']");
    await page.goBack();
    await arrived(page, "budget=25");
    expect(await page.$eval("#choose-budget", (box) => (box as HTMLSelectElement).value)).toBe("25 %");
    expect(await hashOf(tab)).toContain("budget=25");
  });
});
