// What predicts the loss: the page shows what the terminal prints, and the heads behind it.
import { expect, test } from "vitest";
import { resultsFromFile } from "../../src/data/embedded";
import { declaredFigures } from "../../src/figures/declared";
import { pairsOf } from "../../src/figures/validity";
import {
  arrived, drawAll, hashOf, inBrowser, openKind, printedRows, resultsOf, shown, viewRows,
} from "./browser";

const TABLES = {
  changed_heads: "One head changed: the loss of text",
  "predictors-text": "Rank correlation with the change of the loss of text",
  "flags_as_predictors-text": "Flags: rank correlation with the change of the loss of text",
};

inBrowser("what predicts the loss", () => {
  test("is what the terminal prints, in its order and with its marks", async () => {
    const tab = await openKind("validate", "#validity");
    for (const [id, title] of Object.entries(TABLES)) {
      const expected = printedRows("validate", title);
      const rows = await viewRows(tab, id);
      expect(rows.length, title).toBe(expected.length);
      rows.forEach(([name, ...cells], k) => {
        const [printed, ...others] = expected[k]!;
        expect(cells).toEqual(others);
        // The terminal shortens long names.
        expect(printed!.endsWith("…") ? name!.startsWith(printed!.slice(0, -1)) : name === printed, name).toBe(true);
      });
    }
    const marks = (await viewRows(tab, "predictors-text")).flat().filter((cell) => cell.endsWith("*"));
    expect(marks.length).toBeGreaterThan(10);
  });

  test("is drawn from the very numbers that are correlated", () => {
    const results = resultsFromFile(resultsOf("validate"));
    let pairs = 0;
    for (const pair of pairsOf(results)) {
      pairs += 1;
      const { rows } = declaredFigures(results, "validity", pair)[0]!;
      results.coord("text").forEach((name, text) => {
        const own = rows.filter((row) => row[1] === name && row[3] !== null);
        expect(own).toHaveLength(36);
        // None found ranks last; other undefined values do not occur here.
        const x = ranks(own.map((row) => (row[2] as number | null) ?? Infinity));
        const y = ranks(own.map((row) => row[3] as number));
        expect(pearson(x, y), `${JSON.stringify(pair)} on ${name}`).toBeCloseTo(
          results.value("rank_correlation_by_text", { ...pair, text }), 9,
        );
      });
    }
    expect(pairs).toBeGreaterThan(250);
  });

  test("shows the heads of the pair that is chosen, and the address keeps it", async () => {
    const tab = await openKind("validate", "#validity");
    const { page } = tab;
    const heading = () => page.textContent(".pictures.wide h2");
    const link = (id: string, name: string) => page.locator(`#${id} tbody a`).getByText(name, { exact: true });
    // The keyboard follows a link, too.
    const scrolled = () => page.$eval("#predictors-text .scroll", (box) => box.scrollTop);
    await link("predictors-text", "horizon").focus();
    const before = await scrolled();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".pictures.wide h2")?.textContent?.includes("against horizon"));
    expect(await scrolled()).toBe(before);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("horizon");
    await link("changed_heads", "uniform").click();
    await page.waitForFunction(() => document.querySelector(".pictures.wide h2")?.textContent?.includes("under uniform"));
    expect(await heading()).toContain("under uniform against horizon");
    expect(await hashOf(tab)).toBe("#validity?intervention=uniform&predictor=horizon");
    await drawAll(page);
    expect(await page.$$eval(".pictures.wide [data-marks=dot] circle", (dots) => dots.length)).toBe(36 * 3);
    await page.focus(".pictures.wide svg");
    expect(await page.textContent(".pictures.wide .tip strong")).toMatch(/^first\.txt, layer 0, head 0: [\d.]+, -?[\d.e-]+ ± [\d.e-]+$/);

    await page.focus("#choose-intervention");
    await page.selectOption("#choose-intervention", "topk:k=16");
    await page.waitForFunction(() => document.querySelector(".pictures.wide h2")?.textContent?.includes("topk"));
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("choose-intervention");
    // The address keeps the pair when the page is opened again.
    await link("predictors-text", "entropy").click();
    await arrived(page, "entropy");
    await page.reload();
    await shown(page);
    expect(await heading()).toMatch(/under topk:k=16 against entropy: rank correlation -?[\d.]+ \(-?[\d.]+ to -?[\d.]+\)/);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector(".pictures.wide h2")?.textContent?.includes("horizon"));
  });

  test("shows the heads that lose answers, and what predicts it", async () => {
    const tab = await openKind("validate-one", "#validity");
    const results = resultsOf("validate-one");
    const is = results.metrics["retrieval_head"]!.values as (number | null)[][][];
    const changes = results.metrics["validated_answer_change"]!.values as number[][][][];
    const expected = is
      .flatMap((heads, i) =>
        heads.flatMap(([found], j) => {
          const of = changes[i]![j]![0]!;
          const mean = of.reduce((sum, value) => sum + value, 0) / of.length;
          return found === 1 ? [{ name: `${i}.${j}`, mean }] : [];
        }),
      )
      .sort((a, b) => b.mean - a.mean);
    expect(expected.length).toBeGreaterThan(0);
    const heads = await viewRows(tab, "retrieval_heads");
    expect(heads.map(([name]) => name)).toEqual(expected.slice(0, 20).map(({ name }) => name));
    heads.forEach((row, k) => expect(Number(row.at(-1))).toBeCloseTo(expected[k]!.mean, 2));
    const ofAnswers = results.coords["outcome"]!.indexOf("answers");
    expect(ofAnswers).toBe(1); // after the text
    const rho = (results.metrics["rank_correlation"]!.values as (number | null)[][][]).map(([of]) => of![ofAnswers] ?? 0);
    const largest = rho.filter((_, k) => !String(results.coords["predictor"]![k]).startsWith("flag "));
    const [first] = await viewRows(tab, "predictors-answers");
    expect(Math.abs(parseFloat(first![1]!))).toBeCloseTo(Math.max(...largest.map(Math.abs)), 2);
  });

  test("sorts by a column, and the address keeps the order", async () => {
    const tab = await openKind("validate", "#validity?intervention=uniform&predictor=horizon");
    await tab.page.click("#sort-predictors-text-3");
    await tab.page.waitForSelector("th[aria-sort=descending] #sort-predictors-text-3");
    expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("sort-predictors-text-3");
    const sizes = (await viewRows(tab, "predictors-text")).map((row) => parseFloat(row[3]!)).filter(Number.isFinite);
    expect(sizes.length).toBeGreaterThan(50);
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(await hashOf(tab)).toContain("predictors-text=");
    // The plot stays.
    expect(await tab.page.textContent(".pictures.wide h2")).toContain("horizon");
  });

  test("of one text says that nothing is shown of another", async () => {
    const tab = await openKind("validate-one", "#validity");
    expect(await tab.page.textContent("#view > div > p")).toContain("nothing is shown of another");
  });
});

function pearson(x: readonly number[], y: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [a, b] = [mean(x), mean(y)];
  let [xy, xx, yy] = [0, 0, 0];
  x.forEach((value, k) => {
    xy += (value - a) * (y[k]! - b);
    xx += (value - a) ** 2;
    yy += (y[k]! - b) ** 2;
  });
  return xy / Math.sqrt(xx * yy);
}

// Returns ranks from 1; ties get their mean.
function ranks(values: readonly number[]): number[] {
  const order = values.map((_, k) => k).sort((a, b) => values[a]! - values[b]!);
  const out = new Array<number>(values.length).fill(0);
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && values[order[end]!] === values[order[start]!]) end += 1;
    for (let k = start; k < end; k += 1) out[order[k]!] = (start + end + 1) / 2;
    start = end;
  }
  return out;
}
