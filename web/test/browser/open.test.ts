// Files that the reader opens on a page: results and pages, alone and beside; and the answer of a command in them.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inBrowser, openKind, pathOf, resultsOf, shown, textsOf, viewRows, type Tab } from "./browser";

const heading = ({ page }: Tab) => page.textContent("h1");

async function drop({ page }: Tab, text: string, keys: object = {}): Promise<void> {
  const files = await page.evaluateHandle((text) => {
    const made = new DataTransfer();
    made.items.add(new File([text], "results.json"));
    return made;
  }, text);
  await page.evaluate(() => delete document.querySelector<HTMLElement>("#view")?.dataset["shown"]);
  await page.dispatchEvent("body", "drop", { dataTransfer: files, ...keys });
}

const table = (name: string, lead: boolean) => ({
  name, label: "", title: `Table ${name}`, lead, notes: [], left_out: 0,
  columns: [{ title: "what", unit: "", meaning: "", metric: "", number: false }],
  rows: [[["one", null, ""]]],
});

inBrowser("a file that is dropped on a page", () => {
  test("takes its place, and says that a results.json has no tables", async () => {
    const tab = await openKind("compare");
    expect(await tab.page.$$eval("#changes", (found) => found.length)).toBe(1);
    await drop(tab, JSON.stringify({ ...resultsOf("scan"), model: { ...(resultsOf("scan")["model"] as object), name: "dropped" } }));
    await shown(tab.page);
    expect(await heading(tab)).toBe("dropped");
    expect(await tab.page.$$eval("#changes", (found) => found.length)).toBe(0);
    expect((await textsOf(tab.page, ".notices li")).at(-1)).toContain("headgauge report DIR");
    await tab.to("#head/3.4"); // its examples come with it
    await tab.page.waitForSelector(".example-text .key");
    await drop(tab, readFileSync(pathOf("compare"), "utf8")); // a page has its tables
    await shown(tab.page);
    await tab.to("#overview");
    expect(await tab.page.$$eval("#changes", (found) => found.length)).toBe(1);
  });

  test("of another kind says so", async () => {
    const tab = await openKind("compare");
    await drop(tab, "[1, 2]");
    await tab.page.waitForSelector(".failure");
    await drop(tab, '{"a": 1}');
    await tab.page.waitForFunction(() => document.querySelector(".failure")?.textContent?.includes("expected a results.json"));
  });

  test("with Shift stands beside what was there, each with its own address", async () => {
    const tab = await openKind("compare");
    await drop(tab, JSON.stringify({ ...resultsOf("scan"), model: { ...(resultsOf("scan")["model"] as object), name: "beside" } }), { shiftKey: true });
    await tab.page.waitForSelector("iframe");
    const headings = () => Promise.all(tab.page.frames().slice(1).map((frame) => frame.textContent("h1")));
    await expect.poll(headings, { timeout: 30_000 }).toEqual(["demo/model", "beside"]);
    expect(await tab.page.frames()[1]!.$$eval("#changes", (found) => found.length)).toBe(1);
  });

  test("is chosen by a button, too", async () => {
    const tab = await openKind("compare");
    const [chooser] = await Promise.all([tab.page.waitForEvent("filechooser"), tab.page.click("text=Open a file")]);
    await chooser.setFiles(pathOf("scan", "results.json"));
    await tab.page.waitForFunction(() => document.querySelector(".brand")?.textContent === "headgauge scan");
  });
});

inBrowser("the answer of a command", () => {
  test("stands before all else, coloured by its verdict, with its tables, and not again below", async () => {
    const tab = await openKind("compare");
    const { summary, ...rest } = resultsOf("compare") as unknown as { summary: object[]; schema: string };
    const said = (text: string, verdict?: string) => ({ text, heads: [], facts: [], lead: true, verdict, next: "`headgauge scan MODEL` says more.", means: "So." });
    const lead = [said("It costs less.", "good"), said("It costs more.", "bad"), said("It is not shown.", "unsure"), said("It has a size.")];
    await drop(tab, JSON.stringify({ ...rest, summary: [...summary, ...lead], tables: [table("changes", true), table("changes_of_heads", false)] }));
    await shown(tab.page);
    await tab.page.waitForSelector(".answer");
    expect(await tab.page.$$eval(".overview > *", (parts) => parts.slice(0, 2).map((part) => part.className))).toEqual(["about", "answer"]);
    const colours = await tab.page.$$eval(".said", (parts) => parts.map((part) => getComputedStyle(part).borderLeftColor));
    expect(colours).toEqual(["rgb(0, 102, 74)", "rgb(163, 48, 42)", "rgb(106, 75, 0)", "rgb(10, 90, 156)"]);
    // What neighbours share stands below the last.
    expect(await textsOf(tab.page, ".said .command")).toEqual(["headgauge scan MODEL"]);
    expect((await textsOf(tab.page, ".said")).map((text) => text.includes("So."))).toEqual([false, false, false, true]);
    expect(await viewRows(tab, "changes")).toEqual([["one"]]);
    expect(await textsOf(tab.page, ".answer .view-table h2")).toEqual(["Table changes"]);
    // The losses come before the findings, which do not say the answer again.
    const below = await tab.page.$$eval(".found h2", (parts) => parts.map((part) => part.textContent));
    expect(below.slice(0, 3)).toEqual(["Table changes_of_heads", "Change of the loss against length", "What was found"]);
    expect(await tab.page.$$eval(".findings li", (parts) => parts.length)).toBe(summary.length);
  });
});
