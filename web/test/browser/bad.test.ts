// Data that is broken, strange or of another time: the page says what is wrong, or shows what it
// can.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { PARTS } from "../../src/data/results";
import { drawnMap, drawAll, inBrowser, openTab, pathOf, resultsOf, textsOf, viewsOf, type Tab } from "./browser";
import { scriptsOf, type ResultsJson } from "./embed";

const folder = mkdtempSync(join(tmpdir(), "headgauge-bad-"));
afterAll(() => rmSync(folder, { recursive: true }));
let made = 0;

// The page of the scan with other data in it.
async function openWith(scripts: string, hash = ""): Promise<Tab> {
  const html = readFileSync(pathOf("scan"), "utf8");
  const path = join(folder, `${++made}.html`);
  const bare = html.replace(/<script id="(headgauge-data|headgauge-examples|metric-\d+)"[^>]*>[^<]*<\/script>\s*/g, "");
  if (/<script id="(headgauge|metric)-/.test(bare)) throw new Error("data are left in the page");
  writeFileSync(path, bare.replace("</body>", () => `${scripts}</body>`));
  return openTab(path, hash);
}

const openResults = (results: ResultsJson, hash = "") => openWith(scriptsOf(results), hash);
const failure = ({ page }: Tab) => page.textContent(".failure");

async function everyView(tab: Tab): Promise<void> {
  for (const view of await viewsOf(tab)) {
    await tab.to(view);
    await drawAll(tab.page);
    expect(await textsOf(tab.page, ".failure"), view).toEqual([]);
  }
}

// Every number through `change`.
function mapped(nested: unknown, change: (value: unknown) => unknown): unknown {
  return Array.isArray(nested) ? nested.map((inner) => mapped(inner, change)) : change(nested);
}

// Every value, end of an interval and p of the results through `change`.
function changeNumbers({ metrics }: ResultsJson, change: (value: unknown) => unknown): void {
  for (const metric of Object.values(metrics)) {
    for (const part of ["values", "low", "high", "p"] as const) {
      if (metric[part] !== undefined) metric[part] = mapped(metric[part], change);
    }
  }
}

inBrowser("a page", () => {
  const scan = (more = {}) => scriptsOf({ ...resultsOf("scan"), ...more });
  const known = "headgauge.results/3";
  test.each<[string, () => string, string[]]>([
    ["without data", () => "", ["headgauge-data"]],
    ["whose data was cut off", () => `${scan().slice(0, 3000)}</script>`, ["JSON"]],
    ["of a newer schema", () => scan({ schema: "headgauge.results/4" }), [known, "headgauge.results/4"]],
    ["of another program", () => scriptsOf({ coords: {}, metrics: {} }), [known]],
  ])("%s says so", async (_, scripts, says) => {
    const tab = await openWith(scripts());
    expect(await tab.page.textContent("h1")).toBe("This page cannot show its results");
    for (const said of says) expect(await failure(tab)).toContain(said);
  });

  test("with one broken metric shows the others", async () => {
    const scripts = scriptsOf(resultsOf("scan")).replace(
      /(<script id="metric-2" type="application\/)json(">)[^<]*/,
      "$1gzip$2H4sIAAAAAAAAA6tWSkksSVSyUlBKSyzKTCpR",
    );
    const name = Object.keys(resultsOf("scan").metrics)[2]!;
    const tab = await openWith(scripts, `#overview?metric=${name}`);
    expect(await failure(tab)).toContain("cannot be shown");
    await tab.page.fill("#choose-metric", "largest weight");
    await tab.page.press("#choose-metric", "Enter");
    await drawnMap(tab);
    expect(await tab.page.$(".failure")).toBeNull();
  });

  test("with values of another shape says which", async () => {
    const results = resultsOf("scan");
    results.metrics["entropy"]!.values = [[1, 2], [3]];
    const tab = await openResults(results, "#overview?metric=entropy");
    expect(await failure(tab)).toMatch(
      /entropy cannot be shown: entropy: expected \d+ values, found 3/,
    );
  });

  test("with HTML in its names shows them as text", async () => {
    const results = resultsOf("scan");
    const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const model = { ...(results["model"] as object), name: evil };
    const text = { names: [evil], sha256: [null], tokens: [256], tokens_total: [256] };
    const summary = [{ text: `${evil} head 0.0`, heads: ["0.0"], facts: [] }];
    const tab = await openResults({ ...results, model, text, summary, notices: [evil] });
    expect(await tab.page.textContent("h1")).toBe(evil);
    expect(await tab.page.textContent(".about .facts")).toContain(evil);
    expect(await tab.page.textContent(".notices li")).toBe(evil);
    await everyView(tab);
    expect(await tab.page.$$eval("img, #page script", (found) => found.length)).toBe(0);
    expect(await tab.page.title()).toContain("<img");
  });

  test("of nothing but undefined values draws every view", async () => {
    const results = resultsOf("scan");
    changeNumbers(results, () => null);
    const tab = await openResults(results);
    await everyView(tab);
    await tab.to("#overview?metric=entropy");
    await drawnMap(tab);
    await tab.page.focus(".explore svg");
    expect(await tab.page.textContent(".explore .tip strong")).toBe("head 0.0: undefined");
    await tab.to("#heads");
    expect(await tab.page.textContent("tbody td")).toBe("–");
  });

  test("with NaN written as text takes them as undefined", async () => {
    const results = resultsOf("scan");
    let k = 0;
    changeNumbers(results, (value) => (++k % 3 === 0 ? "NaN" : value));
    const tab = await openResults(results);
    await everyView(tab);
  });

  test("of one head draws every view", async () => {
    const results = resultsOf("scan");
    for (const metric of Object.values(results.metrics)) {
      for (const part of ["values", ...PARTS] as const) {
        if (metric[part] !== undefined) metric[part] = firstOf(metric[part], metric.dims);
      }
    }
    for (const name of ["layer", "head", "kv_head", "layer_type", "window"]) {
      results.coords[name] = results.coords[name]!.slice(0, 1);
    }
    const tab = await openResults({ ...results, flags: [], layers_done: 1 });
    await everyView(tab);
    await tab.to("#head/0.0");
    expect(await tab.page.$$eval(".steps a", (links) => links.length)).toBe(1);
  });

  test("of an interrupted run says how far it came", async () => {
    const tab = await openResults({ ...resultsOf("scan"), partial: true, layers_done: 1 });
    for (const view of ["", "#heads", "#provenance"]) {
      await tab.to(view);
      expect(await tab.page.textContent(".warning")).toMatch(/^Partial results: the run was interrupted after 1 of \d+ layers/);
      expect(await tab.page.title()).toContain("(partial)");
    }
  });

  test("with metrics that it does not know shows them all the same", async () => {
    const results = resultsOf("scan");
    const [layers, heads] = [results.coords["layer"]!.length, results.coords["head"]!.length];
    const lengths = results.coords["length"]!.length;
    results.coords["mood"] = ["good", "bad"];
    results.metrics["surprise"] = {
      dims: ["layer", "head", "mood"],
      unit: "bits",
      values: Array.from({ length: layers }, (_, i) => Array.from({ length: heads }, (__, j) => [i + j, i * j])),
    };
    const whole = [Array(lengths).fill(1.5), Array(lengths).fill(2)];
    results.metrics["whole_surprise"] = { dims: ["mood", "length"], unit: "1", values: whole };
    results.metrics["constant"] = { dims: [], unit: "1", values: 42 };
    const tab = await openResults(results, "#overview?metric=surprise");
    await drawnMap(tab);
    await tab.page.selectOption("#choose-mood", "good");
    await tab.page.waitForFunction(() => document.querySelector(".explore h3")?.textContent?.includes("mood good"));
    await tab.page.focus(".explore svg");
    expect(await tab.page.textContent(".explore .tip strong")).toBe("head 0.0: 0 bits");
    await tab.to("#overview?metric=whole_surprise");
    await tab.page.selectOption("#choose-mood", "good");
    await tab.page.waitForFunction(() => document.querySelector(".explore h3")?.textContent?.includes("mood good"));
    await tab.page.click(".explore .numbers summary");
    // The rows are made once the browser says that the table is open.
    const rows = ".explore .numbers tbody tr";
    await tab.page.waitForSelector(`${rows}:nth-child(${lengths})`);
    expect(await tab.page.$$eval(rows, (all) => all.length)).toBe(lengths);
    await tab.to("#overview?metric=constant");
    await tab.page.click(".explore .numbers summary");
    await tab.page.waitForSelector(rows);
    expect(await tab.page.textContent(".explore .numbers tbody")).toContain("42");
    await tab.to("#heads?columns=surprise");
    expect(await tab.page.$("#sort-surprise")).not.toBeNull();
  });

  test("with an address that it does not know opens its first view", async () => {
    const tab = await openResults(resultsOf("scan"), "#nowhere/%E0?metric=nothing");
    await tab.page.waitForSelector(".overview");
    await tab.to("#overview?metric=nothing&length=-1");
    await drawnMap(tab);
  });
});

// Of layers and heads the first; the rest as it is.
function firstOf(nested: unknown, dims: readonly string[]): unknown {
  const [dim, ...rest] = dims;
  if (dim === undefined) return nested;
  const list = nested as unknown[];
  return (dim === "layer" || dim === "head" ? list.slice(0, 1) : list).map((inner) => firstOf(inner, rest));
}
