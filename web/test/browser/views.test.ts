// Every view of every kind of results, on a phone and on a desk.
import { expect, inject, test } from "vitest";
import { drawAll, inBrowser, openKind, textsOf, viewsOf } from "./browser";

// The headings over nothing: another one of their rank or above comes next, or the end.
function emptySections(): string[] {
  const parts = [...document.querySelectorAll<HTMLElement>("#view :is(h2, h3, p, li, td, dd, .drawing svg)")];
  const shown = parts.filter((part) => part.getClientRects().length > 0);
  const rank = (part: Element | undefined) => (part === undefined ? 0 : Number(/^H(\d)$/.exec(part.tagName)?.[1] ?? 9));
  return shown.filter((part, k) => rank(part) < 9 && rank(shown[k + 1]) <= rank(part)).map((part) => part.textContent!);
}

// The words of drawings that lie on each other, or leave the drawing.
function crossedWords(): string[] {
  const crossed: string[] = [];
  for (const drawing of document.querySelectorAll(".drawing svg")) {
    const name = drawing.closest("figure")!.dataset["figure"];
    const room = drawing.getBoundingClientRect();
    const words = [...drawing.querySelectorAll("text")]
      .filter((text) => text.textContent !== "")
      .map((text) => ({ text: text.textContent!, at: text.getBoundingClientRect() }));
    words.forEach(({ text, at }, k) => {
      if (at.left < room.left - 1 || at.right > room.right + 1) crossed.push(`${name}: "${text}" leaves it`);
      for (const { text: other, at: to } of words.slice(k + 1)) {
        const across = Math.min(at.right, to.right) - Math.max(at.left, to.left);
        const down = Math.min(at.bottom, to.bottom) - Math.max(at.top, to.top);
        if (across > 1 && down > 4) crossed.push(`${name}: "${text}" on "${other}"`);
      }
    });
  }
  return crossed;
}

// What is wider than the window, unless it scrolls by itself.
function beyondWindow(): string[] {
  if (document.documentElement.scrollWidth <= innerWidth) return [];
  const beyond = [...document.querySelectorAll("body *")].filter(
    (part) => part.getBoundingClientRect().right > innerWidth + 0.5 && !part.closest(".scroll, svg"),
  );
  const widths = `${document.documentElement.scrollWidth} pixels in ${innerWidth}`;
  return [widths, ...beyond.map((part) => part.outerHTML.slice(0, 120))];
}

// Drawings that are no XML, or have a place that is no number.
const brokenDrawings = (): string[] =>
  [...document.querySelectorAll(".drawing svg")]
    .map((drawing) => new XMLSerializer().serializeToString(drawing))
    .filter(
      (text) =>
        new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror") !== null ||
        /NaN|undefined,|Infinity/.test(text.replace(/<title>.*?<\/title>/g, "")),
    );

const failures = (): string[] => [...document.querySelectorAll(".failure")].map((box) => box.textContent!);

inBrowser("every view", () => {
  test.each(inject("kinds"))("of %s is whole on a phone and on a desk, without an error or a request", async (kind) => {
    for (const width of [360, 1280]) {
      const tab = await openKind(kind, "", { viewport: { width, height: 800 } });
      const views = await viewsOf(tab);
      expect(views).toContain("#overview");
      expect(views).toContain("#provenance");
      for (const view of views) {
        await tab.to(view);
        await drawAll(tab.page);
        for (const wrong of [failures, brokenDrawings, emptySections, beyondWindow, crossedWords]) {
          if (kind === "wide" && wrong === crossedWords) continue; // a thousand words
          expect(await tab.page.evaluate(wrong), `${view} at ${width}`).toEqual([]);
        }
        expect(await tab.page.$$eval("h1", (found) => found.length), view).toBe(1);
      }
    }
  });

  test("the bar marks the view that is open", async () => {
    const tab = await openKind("scan", "#heads");
    expect(
      await textsOf(tab.page, "nav [aria-current=page]"),
    ).toEqual(["Heads"]);
    await tab.page.click("nav[aria-label=Views] a[href='#provenance']");
    await tab.page.waitForFunction(() => document.querySelector("h1")?.textContent === "Settings and provenance");
    expect(await tab.page.title()).toContain("Settings");
  });
});
