// Records of a monitor: every head over the steps, and one before the others.
import { expect, test } from "vitest";
import { drawAll, inBrowser, openKind, textsOf } from "./browser";

const lines = (selector: string) => `${selector} .drawing svg g[data-marks=line] path`;

inBrowser("records of a monitor", () => {
  test("say what began, lead to the head before all others, and have a line for every head", async () => {
    const tab = await openKind("monitor");
    expect(await tab.page.textContent("h1")).toBe("a <b>model</b>");
    await tab.page.click("text=1.2");
    await tab.page.waitForFunction(() => document.querySelector("h1")?.textContent === "Head 1.2");
    await drawAll(tab.page);
    const drawn = await textsOf(tab.page, "h3");
    expect(drawn).toContain("Normalized entropy over the steps: layer 1, head 2");
    await tab.to("#training");
    await drawAll(tab.page);
    const titles = await textsOf(tab.page, "h2");
    expect(titles).toEqual([
      "Normalized entropy over the steps", "Range of the logits over the steps",
    ]);
    expect(await tab.page.$$eval(lines(".picture"), (found) => found.length)).toBe(2 * 8);
  });
});
