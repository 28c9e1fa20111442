// Every view of every kind of results.
import { expect, inject, test } from "vitest";
import { drawAll, inBrowser, openKind, viewsOf } from "./browser";

// The headings over nothing: another one of their rank or above comes next, or the end.
function emptySections(): string[] {
  const parts = [...document.querySelectorAll<HTMLElement>("#view :is(h2, h3, p, li, td, dd, .drawing svg)")];
  const shown = parts.filter((part) => part.getClientRects().length > 0);
  const rank = (part: Element | undefined) => (part === undefined ? 0 : Number(/^H(\d)$/.exec(part.tagName)?.[1] ?? 9));
  return shown.filter((part, k) => rank(part) < 9 && rank(shown[k + 1]) <= rank(part)).map((part) => part.textContent!);
}

inBrowser("every view", () => {
  test.each(inject("kinds"))("of %s opens without an error and without a request", async (kind) => {
    const tab = await openKind(kind);
    const views = await viewsOf(tab);
    expect(views).toContain("#overview");
    expect(views).toContain("#methods");
    for (const view of views) {
      await tab.to(view);
      await drawAll(tab.page);
      const failures = await tab.page.$$eval(".failure", (found) =>
        found.map((box) => box.textContent),
      );
      expect(failures, view).toEqual([]);
      expect(await tab.page.$$eval("h1", (found) => found.length), view).toBe(1);
      const broken = await tab.page.$$eval(
        ".drawing svg",
        (drawings) =>
          drawings.filter((drawing) => {
            const text = new XMLSerializer().serializeToString(drawing);
            const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
            return (
              parsed.querySelector("parsererror") !== null ||
              /NaN|undefined,|Infinity/.test(text.replace(/<title>.*?<\/title>/g, ""))
            );
          }).length,
      );
      expect(broken, view).toBe(0);
      expect(await tab.page.evaluate(emptySections), view).toEqual([]);
    }
  });

  test("the bar marks the view that is open", async () => {
    const tab = await openKind("scan", "#heads");
    expect(
      await tab.page.$$eval("nav [aria-current=page]", (found) =>
        found.map((link) => link.textContent),
      ),
    ).toEqual(["Heads"]);
    await tab.page.click("nav[aria-label=Views] a[href='#methods']");
    await tab.page.waitForFunction(() => document.querySelector("h1")?.textContent === "Methods");
    expect(await tab.page.title()).toContain("Methods");
  });
});
