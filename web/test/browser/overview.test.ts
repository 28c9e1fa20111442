// The first screen: its words and numbers, and the map.
import { expect, test } from "vitest";
import { drawnMap, hashOf, inBrowser, openKind, resultsOf, shown, textsOf, viewRows, type Tab } from "./browser";

const MAP = ".explore g[data-marks=cell] rect";

interface Entry {
  dims: string[];
  values: number[][][];
}

const metric = (kind: string, name: string) => resultsOf(kind).metrics[name] as unknown as Entry;
const readout = ({ page }: Tab) => page.textContent(".explore .tip strong");
const choose = async ({ page }: Tab, metric: string) => {
  await page.fill("#choose-metric", metric);
  await page.press("#choose-metric", "Enter");
};

inBrowser("the first screen", () => {
  test("says which model and which text", async () => {
    const tab = await openKind("scan");
    const { model, text } = resultsOf("scan") as unknown as { model: { name: string }; text: { names: string[] } };
    expect(await tab.page.textContent("h1")).toBe(model.name);
    expect(await tab.page.textContent(".about .facts")).toContain(text.names[0]!.split("/").at(-1));
  });

  test("says what was found, with heads that lead to their pages", async () => {
    const tab = await openKind("scan");
    const { summary: all } = resultsOf("scan") as unknown as {
      summary: { text: string; heads: string[]; lead?: boolean }[];
    };
    const summary = all.filter(({ lead }) => lead !== true); // which stand in the answer
    const said = await tab.page.$$eval(".findings li", (items) =>
      items.map((item) => {
        const sentence = item.cloneNode(true) as HTMLElement;
        sentence.querySelector(".explained")?.remove(); // what it means stands below it
        return sentence.textContent;
      }),
    );
    expect(said).toEqual(summary.map(({ text }) => text));
    const links = await textsOf(tab.page, ".findings a");
    expect(new Set(links)).toEqual(new Set(summary.flatMap(({ heads }) => heads)));
    await tab.page.click(".findings a >> nth=0");
    await tab.page.waitForSelector(".head-page");
    expect(await tab.page.textContent("h1")).toMatch(new RegExp(`^Head ${links[0]}, \\w+: `));
  });

  test("counts the heads of every flag", async () => {
    const tab = await openKind("scan");
    const { flags } = resultsOf("scan") as unknown as { flags: { name: string }[] };
    const counts = new Map<string, number>();
    for (const { name } of flags) counts.set(name, (counts.get(name) ?? 0) + 1);
    const said = await textsOf(tab.page, ".flag summary");
    expect(said).toHaveLength(counts.size);
    for (const [name, count] of counts) {
      const start = `${name.replaceAll("_", " ")} ${count} of 36 heads`;
      expect(said.some((line) => line.startsWith(start)), name).toBe(true);
    }
  });

  test("the map has every head, with the value of the results file", async () => {
    const tab = await openKind("scan", "#overview?metric=entropy&length=64");
    await drawnMap(tab);
    await tab.page.focus(".explore svg");
    const labels: string[] = [];
    for (let k = 0; k < 36; k += 1) {
      labels.push((await readout(tab))!);
      await tab.page.keyboard.press(k % 6 < 5 ? "ArrowRight" : "ArrowDown");
      for (let back = 0; k % 6 === 5 && back < 5; back += 1) await tab.page.keyboard.press("ArrowLeft");
    }
    const { coords } = resultsOf("scan");
    const { values } = metric("scan", "entropy");
    const at = coords["length"]!.indexOf(64);
    const expected = values.flatMap((heads, i) =>
      heads.map(
        (lengths, j) =>
          [`head ${coords["layer"]![i]}.${coords["head"]![j]}: `, lengths[at]!] as const,
      ),
    );
    expect(labels).toHaveLength(expected.length);
    labels.forEach((label, k) => {
      const [start, value] = expected[k]!;
      expect(label.startsWith(start), label).toBe(true);
      const said = Number(/: (\S+)/.exec(label)![1]);
      expect(Math.abs(said - value)).toBeLessThanOrEqual(5.1e-4 * Math.abs(value) + 1e-12);
    });
  });

  test("choosing metric, length and N changes map and address", async () => {
    const tab = await openKind("scan");
    await choose(tab, "separability");
    await tab.page.waitForSelector("#choose-top_n");
    await tab.page.selectOption("#choose-length", "64");
    await tab.page.focus("#choose-top_n");
    await tab.page.selectOption("#choose-top_n", "5");
    await tab.page.waitForFunction(() =>
      document.querySelector(".explore .picture h3")?.textContent?.includes("N = 5"),
    );
    expect(await hashOf(tab)).toBe("#overview?length=64&metric=separability&top_n=5");
    expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("choose-top_n");
    await tab.page.reload();
    await shown(tab.page);
    expect(await tab.page.getAttribute("#choose-metric", "placeholder")).toBe("separability");
    expect(await tab.page.inputValue("#choose-top_n")).toBe("5");
  });

  test("of a comparison shows what changes, and a table of the losses", async () => {
    const tab = await openKind("compare");
    const labels = resultsOf("compare").coords["normalizer"]!;
    expect(await tab.page.getAttribute("#choose-metric", "placeholder")).toBe("change of the output");
    expect(await tab.page.inputValue("#choose-normalizer")).toBe(labels[1]);
    const changes = (resultsOf("compare").metrics["loss_change"]!.values as number[][][]).map(([ofText]) => ofText!);
    const rows = await viewRows(tab, "changes");
    expect(rows.map(([name]) => name)).toEqual(labels);
    rows.slice(1).forEach((row, k) =>
      expect(Math.abs(parseFloat(row[2]!) - changes[k + 1]!.at(-1)!)).toBeLessThan(5.1e-5),
    );
    const column = await tab.page.$$eval("#changes thead th", (all) =>
      all.findIndex((cell) => /^change/.test(cell.textContent!)),
    );
    await tab.page.click(`#sort-changes-${column}`);
    await tab.page.waitForSelector("#changes th[aria-sort=descending]");
    const sorted = (await viewRows(tab, "changes")).map((row) => parseFloat(row[column]!)).filter(Number.isFinite);
    expect(sorted).toHaveLength(labels.length - 1);
    expect(sorted).toEqual([...sorted].sort((a, b) => b - a));
    await tab.to("#heads");
    expect(await tab.page.inputValue("#choose-normalizer")).toBe(labels[1]);
  });

  test("the arrow keys move over the map, what is read follows, and Enter opens the head", async () => {
    const tab = await openKind("scan");
    await drawnMap(tab);
    await tab.page.focus(".explore svg");
    expect(await readout(tab)).toMatch(/^head 0\.0: /);
    for (const arrow of ["Down", "Right", "Up"]) await tab.page.keyboard.press(`Arrow${arrow}`);
    expect(await readout(tab)).toMatch(/^head 0\.1: /);
    await tab.page.keyboard.press("ArrowUp");
    expect(await readout(tab)).toMatch(/^head 0\.1: /);
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForSelector(".head-page");
    expect(await hashOf(tab)).toBe("#head/0.1");
  });

  test("a head under the pointer shows its value, a click opens it, and back returns", async () => {
    const tab = await openKind("scan", "#overview?metric=max_weight");
    await drawnMap(tab);
    await tab.page.hover(`${MAP} >> nth=2`);
    expect(await readout(tab)).toMatch(/^head 0\.2: [\d.]+ ± [\d.]+$/);
    await tab.page.click(`${MAP} >> nth=2`);
    await tab.page.waitForSelector(".head-page");
    expect(await tab.page.textContent("h1")).toMatch(/^Head 0\.2/);
    await tab.page.goBack();
    await tab.page.waitForSelector(".explore");
    expect(await tab.page.getAttribute("#choose-metric", "placeholder")).toBe("largest weight");
    await tab.page.goForward();
    await tab.page.waitForSelector(".head-page");
  });

  test("a metric is found by words, in the list or not, and an unknown one is refused", async () => {
    const tab = await openKind("scan");
    await choose(tab, "no such metric");
    expect(await tab.page.getAttribute("#choose-metric", "aria-invalid")).toBe("true");
    await choose(tab, "weight on SINKS");
    await tab.page.waitForFunction(() => location.hash.includes("sink_weight"));
    const listed = await tab.page.$$eval("#metrics option", (all) => all.length);
    expect(await tab.page.textContent("label[for=choose-metric] span")).toContain(`one of ${listed}`);
  });

  test("a pinned head is marked in every chart and view until it is unpinned", async () => {
    const tab = await openKind("scan");
    const marked = (of: string) =>
      tab.page.$$eval(`${of} g[data-marks=cell] rect`, (cells) =>
        cells.flatMap((cell, k) => (cell.getAttribute("stroke") === "none" ? [] : [k])));
    await drawnMap(tab);
    await tab.page.click(`${MAP} >> nth=2`, { modifiers: ["Shift"] });
    expect(await marked(".explore")).toEqual([2]);
    expect(await tab.page.evaluate(() => document.activeElement?.tagName)).toBe("svg"); // the keys go on
    await tab.page.keyboard.press("ArrowRight");
    await tab.page.keyboard.press("p");
    expect(await marked(".explore")).toEqual([2, 3]);
    expect(await marked("[data-figure=map-roles]")).toEqual([2, 3]);
    expect(await hashOf(tab)).toContain("pin=0.2,0.3");
    await tab.page.click("nav >> text=Heads");
    await tab.page.waitForSelector("tbody .pin");
    expect(await textsOf(tab.page, ".pin[aria-pressed=true]")).toEqual(["×", "×", "Pin", "Pin"]);
    await tab.page.click(".pins .pin >> nth=0");
    expect(await textsOf(tab.page, ".pins .head-link")).toEqual(["0.3"]);
    await tab.page.reload();
    await shown(tab.page);
    expect(await textsOf(tab.page, ".pins .head-link")).toEqual(["0.3"]);
    await tab.page.click(".pins .pin");
    expect(await hashOf(tab)).toBe("#heads");
  });

  test("a command is copied whole, though its options stay in one line", async () => {
    const tab = await openKind("scan", "", { viewport: { width: 390, height: 800 } });
    await tab.page.click(".findings .copy >> nth=0");
    expect(await tab.page.textContent(".findings .copy >> nth=0")).toBe("Copied");
    const { summary } = resultsOf("scan") as unknown as { summary: { next?: string }[] };
    const selected = await tab.page.evaluate(() => getSelection()!.toString());
    const command = /`([^`]*)`/.exec(summary.find(({ next }) => next)!.next!)![1];
    expect(selected.replace(/\s+/g, " ")).toBe(command);
    const broken = await tab.page.$$eval(".command span", (parts) =>
      parts.filter((part) => part.textContent!.length < 30 && part.getClientRects().length > 1).length);
    expect(broken).toBe(0);
  });
});
