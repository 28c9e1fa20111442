// How the page looks: on a phone, on a desk, on paper. With HEADGAUGE_GALLERY=folder the
// screenshots are kept there.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawAll, inBrowser, openKind, type Tab } from "./browser";

const gallery = process.env["HEADGAUGE_GALLERY"];

async function screenshot({ page }: Tab, name: string, fullPage = false): Promise<void> {
  if (gallery === undefined) return;
  mkdirSync(gallery, { recursive: true });
  await page.screenshot({ path: join(gallery, `${name}.png`), fullPage });
}

inBrowser("on a phone", () => {
  test("the verdict of a claim is in sight", async () => {
    const tab = await openKind("limits", "#claims", { viewport: { width: 390, height: 800 } });
    const cut = await tab.page.$$eval(".verdicts .verdict", (found) =>
      found.filter((verdict) => verdict.getBoundingClientRect().right > innerWidth).length,
    );
    expect(cut).toBe(0);
  });

  test("the first screen and the page of a head", async () => {
    const tab = await openKind("scan", "", { viewport: { width: 360, height: 740 } });
    await drawAll(tab.page);
    await screenshot(tab, "phone-overview", true);
    await tab.to("#head/0.1");
    await drawAll(tab.page);
    await screenshot(tab, "phone-head");
  });
});

inBrowser("in both schemes", () => {
  test.each(["light", "dark"] as const)("the examples of a head, %s", async (colorScheme) => {
    const tab = await openKind("scan", "#head/3.4", { colorScheme, viewport: { width: 900, height: 900 } });
    await tab.page.hover(".example-text .key >> nth=-1");
    const shades = await tab.page.$$eval(".example-text .key", (keys) =>
      keys.map((key) => getComputedStyle(key).backgroundColor),
    );
    expect(new Set(shades).size).toBeGreaterThan(1);
    expect(shades.every((shade) => shade.startsWith("rgba("))).toBe(true);
    if (gallery !== undefined) {
      const section = tab.page.locator("section[aria-labelledby^=examples]");
      await section.screenshot({ path: join(gallery, `${colorScheme}-scan-examples.png`) });
    }
  });
});

inBrowser("on a desk", () => {
  test.each([
    ["scan", "overview"],
    ["scan", "head/0.1"],
    ["scan", "heads"],
    ["compare", "model"],
    ["compare", "changes"],
    ["synthetic", "model"],
    ["limits", "claims"],
    ["plan", "plan"],
    ["validate", "validity", "#predictors-text"], // where the table and its plot are in sight
  ])("%s: %s, in light and in dark", async (kind, view, from = "") => {
    for (const colorScheme of ["light", "dark"] as const) {
      const tab = await openKind(kind, `#${view}`, { colorScheme });
      await drawAll(tab.page);
      if (from !== "") await tab.page.$eval(from, (part) => part.scrollIntoView());
      if (colorScheme === "light" || view === "overview") {
        await screenshot(tab, `${colorScheme}-${kind}-${view.replace(/[/.]/g, "-")}`);
      }
      const ground = await tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(ground).toBe(colorScheme === "light" ? "rgb(255, 255, 255)" : "rgb(20, 24, 29)");
    }
  });
});

inBrowser("on paper", () => {
  test("is light, without controls, with every figure drawn and none cut", async () => {
    const tab = await openKind("scan", "#head/0.1", {
      colorScheme: "dark",
      viewport: { width: 800, height: 1100 },
    });
    await tab.page.emulateMedia({ media: "print", colorScheme: "dark" });
    await tab.page.waitForFunction(() =>
      [...document.querySelectorAll(".drawing")].every((place) => place.childElementCount > 0),
    );
    const found = await tab.page.evaluate(() => {
      const visible = (part: Element) => (part as HTMLElement).offsetParent !== null;
      return {
        ground: getComputedStyle(document.body).backgroundColor,
        // The keys of an example are words of its text.
        controls: [...document.querySelectorAll("button:not(.key), select, input, nav")].filter(
          visible,
        ).length,
        dark: [...document.querySelectorAll(".drawing svg > rect:first-of-type")].filter(
          (ground) => ground.getAttribute("fill") !== "#ffffff",
        ).length,
        cut: [...document.querySelectorAll(".picture")].filter(
          (part) => getComputedStyle(part).breakInside !== "avoid",
        ).length,
        tall: [...document.querySelectorAll(".picture svg")].filter(
          (part) => part.getBoundingClientRect().height > 900,
        ).length,
      };
    });
    expect(found).toEqual({ ground: "rgb(255, 255, 255)", controls: 0, dark: 0, cut: 0, tall: 0 });
    await screenshot(tab, "paper-head");
  });
});
