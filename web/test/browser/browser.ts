// A browser, and pages in it that may neither complain nor ask anything of the network.
import { afterAll, afterEach, beforeAll, describe, expect, inject } from "vitest";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ResultsJson } from "./embed";

const ARGUMENTS = [
  "--disable-dev-shm-usage", // small in containers: pages would crash
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const WAIT = 60_000;

let browser: Browser;
const tabs: Tab[] = []; // of the test that runs

// Tests that need the browser and the program; skipped, with the reason in their name, without.
export function inBrowser(name: string, tests: () => void): void {
  const missing = inject("missing");
  describe.skipIf(missing !== "")(missing === "" ? name : `${name} (skipped: ${missing})`, () => {
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: inject("chromium"), args: ARGUMENTS, timeout: WAIT });
    });
    afterEach(async () => {
      for (const { complaints, close } of tabs.splice(0)) {
        await close();
        expect(complaints).toEqual([]);
      }
    });
    afterAll(async () => browser.close());
    tests();
  });
}

export function pathOf(kind: string, file = "report.html"): string {
  return join(inject("folder"), kind, file);
}

export function resultsOf(kind: string): ResultsJson {
  return JSON.parse(readFileSync(pathOf(kind, "results.json"), "utf8")) as ResultsJson;
}

export interface Tab {
  page: Page;
  // What the page did that it must not: errors, and requests that leave it.
  complaints: string[];
  // Goes to an address of the page and waits until the view is there.
  to(hash: string): Promise<void>;
  close(): Promise<void>;
}

export async function openTab(path: string, hash = "", options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(path).href + hash);
  await shown(page);
  const tab: Tab = {
    page,
    complaints,
    to: async (next) => {
      await page.evaluate(async (hash) => {
        if (location.hash === hash) return;
        const heard = new Promise((done) => addEventListener("hashchange", done, { once: true }));
        location.hash = hash;
        await heard;
      }, next);
      await shown(page);
    },
    close: () => context.close(),
  };
  tabs.push(tab);
  return tab;
}

export async function openKind(kind: string, hash = "", options: BrowserContextOptions = {}): Promise<Tab> {
  return openTab(pathOf(kind), hash, options);
}

// The texts of all elements that fit.
export const textsOf = (page: Page, selector: string): Promise<string[]> =>
  page.$$eval(selector, (found) => found.map((element) => element.textContent ?? ""));

// The cells of a table of src/view, with the marks.
export const viewRows = ({ page }: Tab, id: string): Promise<string[][]> =>
  page.$$eval(`#${id} tbody tr`, (rows) =>
    rows.map((row) =>
      [...row.children].map((cell) => {
        const plain = cell.cloneNode(true) as Element;
        plain.querySelectorAll(".unseen").forEach((part) => part.remove());
        return plain.textContent!;
      }),
    ),
  );

// The rows of such a table that the terminal printed below its title.
export function printedRows(kind: string, title: string): string[][] {
  const lines = readFileSync(pathOf(kind, "printed.txt"), "utf8").split("\n");
  const below = lines.slice(lines.indexOf(title) + 1);
  const rows = below.slice(0, below.indexOf("")).map((line) => line.trim().split(/ {2,}/));
  const numbers = rows.slice(rows.findIndex((row) => row.slice(1).some((cell) => /\d/.test(cell) && !/[a-z]/.test(cell))));
  return numbers.filter(({ length }) => length === numbers[0]!.length); // without the notes below
}

// The view that the address asks for is complete, or the page has said why it is not.
export async function shown(page: Page): Promise<void> {
  await page.waitForSelector("#view[data-shown], #page > main", { timeout: WAIT });
}

// The view of an address with `part` in it is complete. The address alone changes before the view does.
export async function arrived(page: Page, part: string): Promise<void> {
  await page.waitForFunction(
    (part) => document.querySelector<HTMLElement>("#view")?.dataset["shown"]?.includes(part),
    part,
    { timeout: WAIT },
  );
}

// Scrolls to every figure of the view that is not drawn, until all are. A figure that is drawn moves
// those below it, so one scroll through the view may miss some.
export async function drawAll(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const more of document.querySelectorAll<HTMLDetailsElement>("details.aside")) more.open = true;
  });
  await page.waitForFunction(
    () => {
      const empty = [...document.querySelectorAll(".drawing")].find((place) => !place.firstChild);
      if (empty) empty.scrollIntoView();
      else scrollTo(0, 0);
      return !empty;
    },
    null,
    { timeout: WAIT },
  );
}

// Scrolls to the map of the chosen metric and waits until it is drawn.
export async function drawnMap({ page }: Tab): Promise<void> {
  await page.waitForSelector(".explore .drawing");
  await page.$eval(".explore", (part) => part.scrollIntoView());
  await page.waitForSelector(".explore svg");
}

// What stands in the address after #.
export async function hashOf({ page }: Tab): Promise<string> {
  return page.evaluate(() => decodeURIComponent(location.hash));
}

// The addresses of all views in the bar.
export async function viewsOf({ page }: Tab): Promise<string[]> {
  return page.$$eval("nav[aria-label=Views] a", (links) => links.map((link) => link.getAttribute("href")!));
}
