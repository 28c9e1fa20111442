// The table of all heads, and the page of one.
import { expect, test } from "vitest";
import { CATALOGUE } from "../../src/catalogue/catalogue";
import { drawAll, hashOf, inBrowser, openKind, resultsOf, shown, textsOf, type Tab } from "./browser";

const column = ({ page }: Tab, id: string) =>
  page.evaluate((name) => {
    const heads = [...document.querySelectorAll("thead th")];
    const at = heads.findIndex((head) => head.querySelector(`#sort-${name}`) !== null);
    return [...document.querySelectorAll("tbody tr")].map((row) => (row.children[at]!.querySelector("a") ?? row.children[at]!).textContent!);
  }, id);

inBrowser("the table of heads", () => {
  test("sorts by a column, both ways, and says so", async () => {
    const tab = await openKind("scan", "#heads");
    await tab.page.click("#sort-entropy_normalized");
    await tab.page.waitForSelector("th[aria-sort=descending] #sort-entropy_normalized");
    const largest = (await column(tab, "entropy_normalized")).map(Number);
    expect(largest).toEqual([...largest].sort((a, b) => b - a));
    const numbers = (resultsOf("scan").metrics["entropy_normalized"]!.values as number[][][])
      .flat()
      .map((values) => values[values.length - 1]!);
    expect(Math.abs(largest[0]! - Math.max(...numbers))).toBeLessThan(1e-3);
    expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("sort-entropy_normalized");
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForSelector("th[aria-sort=ascending] #sort-entropy_normalized");
    const smallest = (await column(tab, "entropy_normalized")).map(Number);
    expect(smallest).toEqual([...smallest].sort((a, b) => a - b));
    expect(await hashOf(tab)).toBe("#heads?sort=entropy_normalized");
  });

  test("filters by a flag, as one types", async () => {
    const tab = await openKind("scan", "#heads");
    const { flags } = resultsOf("scan") as unknown as { flags: { name: string; layer: number; head: number }[] };
    const name = flags[0]!.name;
    await tab.page.fill("#filter", name);
    const flagged = flags.filter((flag) => flag.name === name).map(({ layer, head }) => `${layer}.${head}`);
    await tab.page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, flagged.length);
    expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("filter");
    expect(await column(tab, "head")).toEqual(flagged);
    expect(await hashOf(tab)).toBe(`#heads?filter=${name}`);
    await tab.page.reload();
    await shown(tab.page);
    expect(await tab.page.inputValue("#filter")).toBe(name);
    expect(await column(tab, "head")).toEqual(flagged);
  });

  test("filters by numbers, says what it takes and what is wrong", async () => {
    const tab = await openKind("scan", "#heads");
    const { page } = tab;
    const status = () => page.textContent("[role=status]");
    const values = (resultsOf("scan").metrics["entropy_normalized"]!.values as number[][][]).flat();
    const many = values.filter((lengths) => lengths.at(-1)! > 0.9).length;
    expect(many).toBeGreaterThan(0);
    await page.fill("#filter", "entropy_normalized > 0.9");
    await page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, many);
    expect(await status()).toMatch(new RegExp(`^${many} heads? of `));
    await page.fill("#filter", "entropi > 0.9");
    await page.waitForSelector("#filter[aria-invalid=true]");
    expect(await status()).toContain('there is no column "entropi"; the nearest is "');
    await page.fill("#filter", "");
    await page.waitForSelector("#filter[aria-invalid=false]");
    const help = await page.$eval("#filter", (box) => document.getElementById(box.getAttribute("aria-describedby")!)!.textContent);
    expect(help).toContain("weight_induction > 0.1");
  });

  test("keeps its head in sight", async () => {
    const tab = await openKind("wide", "#heads");
    const places = await tab.page.evaluate(() => {
      const box = document.querySelector(".scroll")!;
      box.scrollIntoView();
      box.scrollTop = box.scrollHeight;
      const of = (part: Element) => part.getBoundingClientRect();
      const [head, last] = [of(box.querySelector("thead th")!), of(box.querySelector("tbody tr:last-child")!)];
      return { head: head.top - of(box).top, bottom: head.bottom, last: last.bottom, screen: innerHeight };
    });
    expect(places.head).toBeLessThan(2);
    expect(places.bottom).toBeGreaterThan(0);
    expect(places.last).toBeLessThanOrEqual(places.screen);
  });

  test("shows the columns that are ticked", async () => {
    const tab = await openKind("scan", "#heads");
    await tab.page.click(".chooser summary");
    await tab.page.check("label:text-is('attention distance') input");
    await tab.page.waitForSelector("#sort-attention_distance");
    await tab.page.uncheck("label:text-is('weight on sinks') input");
    await tab.page.waitForSelector("#sort-sink_weight", { state: "detached" });
    expect(await hashOf(tab)).toMatch(/columns=.*attention_distance/);
  });
});

inBrowser("the page of a head", () => {
  test("has its values at the longest length, equal to the file, with their ranks", async () => {
    const tab = await openKind("scan", "#head/1.2");
    await tab.page.waitForSelector("#values + div table");
    const lines = await tab.page.$$eval("#values + div tbody tr", (rows) =>
      rows.map((row) => [
        row.querySelector("a")!.getAttribute("href")!.replace("#overview?metric=", ""),
        ...[...row.children].slice(1).map((cell) => cell.textContent!),
      ]),
    );
    const { metrics } = resultsOf("scan");
    const found = new Map(lines.map(([name, value, error, rank]) => [name, { value, error, rank }]));
    for (const name of ["entropy", "effective_tokens", "max_weight", "jacobian_spectral"]) {
      const { values, stderr } = metrics[name] as { values: number[][][]; stderr: (number | null)[][][] };
      const said = found.get(name)!;
      const value = values[1]![2]!.at(-1)!;
      expect(Math.abs(Number(said.value) - value)).toBeLessThanOrEqual(5.1e-4 * Math.abs(value));
      const larger = values.flat().filter((other) => other.at(-1)! > value);
      expect(said.rank).toBe(`${larger.length + 1} of ${values.flat().length}`);
      const error = stderr[1]![2]!.at(-1);
      if (error === null) expect(said.error).toBe("–");
      else expect(Math.abs(Number(said.error) - error!)).toBeLessThanOrEqual(0.051 * Math.abs(error!));
    }
    expect(found.get("top_overlap_partner")!.rank).toBe("–"); // a name
  });

  test("has its flags, and leads to its neighbours", async () => {
    const { flags } = resultsOf("scan") as unknown as { flags: { layer: number; head: number }[] };
    const { layer, head } = flags[0]!;
    const own = flags.filter((flag) => flag.layer === layer && flag.head === head);
    const tab = await openKind("scan", `#head/${layer}.${head}`);
    const said = await textsOf(tab.page, ".flag-list li");
    expect(said.length).toBe(own.length);
    for (const text of said) expect(text).toMatch(/ flagged (above|below) [\d.]+ %; \d+ of 36 heads/);
    await tab.page.click(".steps a:has-text('Next')");
    await tab.page.waitForFunction(
      (name) => document.querySelector("h1")?.textContent !== name,
      `Head ${layer}.${head}`,
    );
  });

  test("has a list of all heads to choose from, which keeps the focus", async () => {
    const tab = await openKind("scan", "#head");
    const { coords } = resultsOf("scan");
    const names = coords["layer"]!.flatMap((layer) => coords["head"]!.map((head) => `${layer}.${head}`));
    expect(await textsOf(tab.page, "#choose-head option")).toEqual(names);
    await tab.page.focus("#choose-head");
    await tab.page.selectOption("#choose-head", names[7]!);
    await tab.page.waitForSelector(`#view[data-shown='#head/${names[7]}']`);
    expect(await tab.page.textContent("h1")).toMatch(new RegExp(`^Head ${names[7]}\\b`));
    expect(await tab.page.inputValue("#choose-head")).toBe(names[7]);
    expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("choose-head");
  });

  test("says when there is no such head", async () => {
    const tab = await openKind("scan", "#head/99.0");
    expect(await tab.page.textContent(".failure")).toContain("99.0");
  });

  test("of two runs is that of the run that is chosen", async () => {
    const drawn = async (run: string) => {
      const tab = await openKind("diff", `#head/0.2?run=${run}`);
      await drawAll(tab.page);
      const titles = await textsOf(tab.page, ".picture :is(h2, h3)");
      expect(titles.length).toBeGreaterThan(3);
      for (const title of titles) expect(title).toContain(run);
      const picture = await tab.page.$eval(".drawing svg", (svg) => svg.innerHTML);
      return picture.replaceAll(run, "");
    };
    expect(await drawn("old")).not.toEqual(await drawn("new"));
  });
});

inBrowser("two heads", () => {
  test("stand side by side with their differences, one below the other on a phone", async () => {
    const tab = await openKind("scan", "#head/0.1");
    const { page } = tab;
    await page.selectOption("#choose-beside", "3.4");
    await page.waitForSelector("#view[data-shown='#head/0.1?beside=3.4'] .cards.two");
    expect(await textsOf(page, ".card-name")).toEqual(["Head 0.1", "Head 3.4"]);
    const [layer, head] = [resultsOf("scan").coords["layer"]!, resultsOf("scan").coords["head"]!];
    const of = (l: number, h: number) =>
      (resultsOf("scan").metrics["entropy_normalized"]!.values as number[][][])[layer.indexOf(l)]![head.indexOf(h)]!.at(-1)!;
    const cells = await page.$$eval("[aria-labelledby=differences] tbody tr", (rows) =>
      [...rows].map((row) => [...row.children].map((cell) => cell.textContent!)),
    );
    const entropy = cells.find(([name]) => name === "normalized entropy")!;
    expect(Number(entropy[7])).toBeCloseTo(of(3, 4) - of(0, 1), 3);
    const left = () => page.$$eval(".card", (cards) => cards.map((card) => card.getBoundingClientRect().left));
    const [first, second] = await left();
    expect(second).toBeGreaterThan(first! + 300);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(new Set(await left()).size).toBe(1);
    await page.selectOption("#choose-beside", "none");
    await page.waitForSelector(".cards:not(.two)");
    expect(await page.$("[aria-labelledby=differences]")).toBeNull();
    await drawAll(page);
  });
});

inBrowser("what is said of flags and findings", () => {
  test("has its meaning, its base rate and a command that can be run", async () => {
    const tab = await openKind("scan", "#overview");
    const { page } = tab;
    const findings = await textsOf(page, ".findings > ol > li");
    expect(findings.length).toBeGreaterThan(1);
    for (const text of findings) expect(text).toMatch(/headgauge (compare|converge|scan|reproduce)/);
    expect(await page.textContent(".findings details.aside summary")).toContain("critical N");
    expect(findings.join(" ")).not.toContain("critical N");
    const flags = await textsOf(page, "details.flag");
    for (const text of flags) {
      expect(text).toMatch(/ \d+ of 36 heads/);
      expect(text).toContain("headgauge ");
    }
    await tab.to(`#head/${(resultsOf("scan") as unknown as { flags: { layer: number; head: number }[] }).flags.map(({ layer, head }) => `${layer}.${head}`)[0]}`);
    const command = await page.textContent(".flag-list code");
    expect(command).toContain("demo/model");
    expect(command).not.toMatch(/MODEL|TEXT|HEAD/);
  });
});

inBrowser("the name of a metric", () => {
  test("leads to its definition", async () => {
    const tab = await openKind("compare", "#changes");
    const link = tab.page.locator("tbody a.plain >> nth=0");
    const name = (await link.getAttribute("href"))!.replace("#overview?metric=", "");
    await link.click();
    const said = await tab.page.textContent(".explore .definition");
    const { meaning, formula, source } = CATALOGUE.get(name)!;
    for (const part of [meaning, formula, source]) expect(said).toContain(part);
  });
});
