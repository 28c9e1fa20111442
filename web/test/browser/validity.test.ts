// What predicts the loss: the page shows what the terminal prints, and the heads behind it.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { resultsFromFile } from "../../src/data/file";
import { ranks } from "../../src/figures/heads";
import { predictionFigure } from "../../src/figures/validity";
import {
  arrived, drawAll, hashOf, inBrowser, openKind, pathOf, resultsOf, shown, type Tab,
} from "./browser";

interface Line {
  name: string; // may end with "…"
  cells: string[];
}

// The tables of `headgauge validate`: interventions, metrics, flags.
function printed(): Line[][] {
  const lines = readFileSync(pathOf("validate", "printed.txt"), "utf8").split("\n");
  return lines.flatMap((line, start) => {
    if (!/^(one head gets|rank correlation with the change) /.test(line)) return [];
    const rows = lines.slice(start + 1);
    const end = rows.findIndex((row) => row === "" || row.startsWith("("));
    return [
      rows.slice(0, end).filter((row) => !/^ {20}/.test(row)).map((row) => {
        const [name, ...cells] = row.trim().replace(" / ", "/").split(/ {2,}/);
        return { name: name!, cells };
      }),
    ];
  });
}

interface Row {
  name: string;
  cells: string[];
}

const tableRows = ({ page }: Tab, table: string): Promise<Row[]> =>
  page.$$eval(`${table} tbody tr:not(:has(.group))`, (rows) =>
    rows.map((row) => {
      const [head, ...cells] = [...row.children];
      const text = (cell: Element) => {
        const plain = cell.cloneNode(true) as Element;
        plain.querySelectorAll(".note, .unseen").forEach((part) => part.remove());
        return plain.textContent!;
      };
      return {
        name: head!.querySelector(".note")?.textContent ?? text(head!).replaceAll(" ", "_").replace(/^flag_/, "flag "),
        cells: cells.map(text),
      };
    }),
  );

const fits = (row: Row, line: Line) =>
  line.name.endsWith("…") ? row.name.startsWith(line.name.slice(0, -1)) : row.name === line.name;

const dash = (cell: string) => (cell === "–" ? "-" : cell);

inBrowser("what predicts the loss", () => {
  test("is what the terminal prints, in its order and with its marks", async () => {
    const [interventions, metrics, flags] = printed();
    expect([interventions!.length, flags!.length]).toEqual([5, 8]);
    expect(metrics!.length).toBeGreaterThan(50);
    const marks = metrics!.flatMap(({ cells }) => cells).filter((cell) => cell.endsWith("*"));
    expect(marks.length).toBeGreaterThan(10);
    expect(marks.length).toBeLessThan(metrics!.length * 5);
    const tab = await openKind("validate", "#validity");
    const top = await tab.page.$$eval(".interventions tbody tr", (rows) =>
      rows.map((row) => [...row.children].slice(0, 6).map((cell) => cell.textContent!)),
    );
    const cells = (all: string[]) => {
      const losing = dash(all[4]!);
      return [...all.slice(0, 4), losing === "-" ? losing : Number(losing)];
    };
    expect(top.map(([name, ...row]) => [name, ...cells(row.map((cell) => dash(cell).replace(" / ", "/")))])).toEqual(
      interventions!.map((line) => [line.name, ...cells(line.cells)]),
    );
    expect(interventions!.map((line) => line.cells[4])).toContain("75.0");
    const rows = await tableRows(tab, ".predictions");
    const lines = [...metrics!, ...flags!];
    expect(rows.filter((row, k) => !fits(row, lines[k]!))).toEqual([]);
    expect(rows.map(({ cells }) => cells.map(dash))).toEqual(lines.map(({ cells }) => cells));
  });

  test("is drawn from the very numbers that are correlated", () => {
    const results = resultsFromFile(resultsOf("validate"));
    const texts = results.coord("text");
    let pairs = 0;
    results.coord("predictor").forEach((name, predictor) =>
      results.coord("intervention").forEach((_, intervention) => {
        const at = { predictor, intervention };
        if (Number.isNaN(results.value("prediction_rank_correlation", at))) return;
        pairs += 1;
        const { rows } = predictionFigure(results, at)!;
        expect(rows).toHaveLength(36 * texts.length);
        texts.forEach((text, k) => {
          const own = rows.filter((row) => row[2] === text && row[4] !== null);
          // None found ranks last; other undefined values do not occur here.
          const x = ranks(own.map((row) => (row[3] as number | null) ?? Infinity));
          const y = ranks(own.map((row) => row[4] as number));
          expect(pearson(x, y), `${name} on ${text}`).toBeCloseTo(
            results.value("prediction_rank_correlation_by_text", { ...at, text: k }), 9,
          );
        });
      }),
    );
    expect(pairs).toBeGreaterThan(250);
  });

  test("shows the heads of the pair that is chosen, and the address keeps it", async () => {
    const tab = await openKind("validate", "#validity");
    const { page } = tab;
    const heading = () => page.textContent(".pictures.wide h2");
    const current = () => page.$$eval(".predictions [aria-current]", (links) => links.map(({ id }) => id));
    expect(await current()).toHaveLength(1);
    const predictors = resultsOf("validate").coords["predictor"]!;
    const id = `pair-${predictors.indexOf("horizon")}-2`;
    // Down the box of the table, by the keyboard.
    await page.focus(`#${id}`);
    const scrolled = await page.evaluate(() => document.querySelector(".predictions .scroll")!.scrollTop);
    expect(scrolled).toBeGreaterThan(50);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`#${id}[aria-current]`);
    expect(await current()).toEqual([id]);
    expect(await heading()).toContain("under uniform against horizon");
    expect(await hashOf(tab)).toBe("#validity?intervention=uniform&predictor=horizon");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe(id);
    expect(await page.evaluate(() => document.querySelector(".predictions .scroll")!.scrollTop)).toBe(scrolled);
    await drawAll(page);
    const labels = await page.$$eval(".pictures.wide [data-marks=dot] title", (titles) =>
      titles.map((title) => title.textContent!),
    );
    expect(labels).toHaveLength(36 * 3);
    expect(labels[0]).toMatch(/^layer 0, head 0, first\.txt: [\d.]+, -?[\d.e-]+ ± [\d.e-]+ nats$/);
    expect(await page.$$eval(".pictures.small figure", (found) => found.length)).toBe(4);

    await page.focus("#choose-text");
    await page.selectOption("#choose-text", "second.txt");
    await arrived(page, "text=");
    expect(await heading()).toContain("on second.txt: rank correlation");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("choose-text");
    await page.selectOption("#choose-intervention", "topk:k=16");
    await page.waitForFunction(() => document.querySelector(".pictures.wide h2")?.textContent?.includes("topk"));
    // Another pair keeps the text, and so does the page when it is opened again.
    await page.click(`#pair-${predictors.indexOf("entropy")}-1`);
    await arrived(page, "entropy");
    await page.reload();
    await shown(page);
    expect(await heading()).toContain("under topk:k=16 against entropy on second.txt");
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
    const rows = (caption: string) =>
      tab.page.$$eval(`.answer-validity table:has(caption:text-is("${caption}")) tbody tr`, (found) =>
        found.map((row) => [...row.children].map((cell) => cell.textContent!)),
      );
    const heads = await rows("Heads that lose answers");
    expect(heads.map(([name]) => name)).toEqual(expected.slice(0, 12).map(({ name }) => name));
    heads.forEach(([, change], k) => expect(Number(change)).toBeCloseTo(expected[k]!.mean, 2));
    const rho = (results.metrics["answer_rank_correlation"]!.values as number[][]).map(([value]) => value ?? 0);
    const largest = rho.filter((_, k) => !String(results.coords["predictor"]![k]).startsWith("flag "));
    const [first] = await rows("Rank correlations with the change of the loss of answers");
    expect(Math.abs(parseFloat(first![1]!))).toBeCloseTo(Math.max(...largest.map(Math.abs)), 2);
  });

  test("sorts metrics and flags among themselves, and filters", async () => {
    const tab = await openKind("validate", "#validity?intervention=uniform&predictor=horizon");
    const { page } = tab;
    await page.click("#sort-under-3");
    await page.waitForSelector("th[aria-sort=descending] #sort-under-3");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("sort-under-3");
    const rows = await tableRows(tab, ".predictions");
    const groups = [rows.filter(({ name }) => !name.startsWith("flag ")), rows.filter(({ name }) => name.startsWith("flag "))];
    expect(rows).toEqual(groups.flat());
    for (const group of groups) {
      const sizes = group.map(({ cells }) => Math.abs(parseFloat(cells[3]!))).filter(Number.isFinite);
      expect(sizes.length).toBeGreaterThan(1);
      expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    }
    expect(await page.$$eval(".predictions [aria-current]", (links) => links.length)).toBe(1);
    await page.fill("#filter", "flag sa");
    await page.waitForFunction(() => document.querySelectorAll(".predictions a.pair").length === 5);
    expect((await tableRows(tab, ".predictions")).map(({ name }) => name)).toEqual(["flag saturated"]);
    expect(await page.textContent("[role=status]")).toMatch(/^1 of \d+ metrics and flags$/);
    // The plot stays, and a link keeps the filter.
    expect(await page.textContent(".pictures.wide h2")).toContain("horizon");
    await page.click(".predictions a.pair");
    await arrived(page, "saturated");
    expect(await hashOf(tab)).toContain("filter=flag+sa");
    expect(await page.textContent(".pictures.wide figcaption")).toContain("Points of a strip");
  });

  test("of one text says that nothing is shown of another", async () => {
    const tab = await openKind("validate-one", "#validity");
    expect(await tab.page.textContent("#view > div > p")).toContain("nothing is shown of another");
    expect(await tab.page.$("#choose-text")).toBeNull();
    expect(await tab.page.$(".pictures.small")).toBeNull();
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
