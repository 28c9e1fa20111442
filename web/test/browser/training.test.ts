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
    // A line says which head it is of, and stands out when it is pinned.
    const first = ".picture >> nth=0";
    await tab.page.focus(`${first} >> svg`);
    const read = () => tab.page.textContent(`${first} >> .tip strong`);
    expect(await read()).toBe("head 0.0, step 100: 1");
    await tab.page.keyboard.press("ArrowRight");
    await tab.page.keyboard.press("ArrowDown");
    expect(await read()).toBe("head 0.1, step 200: 0.96");
    await tab.page.keyboard.press("p");
    expect(await tab.page.$$eval(lines(".picture"), (found) => found.length)).toBe(2 * 9);
    expect(await read()).toBe("head 0.1, step 200: 0.96");
    expect(await textsOf(tab.page, ".drawing svg g[data-marks=text] text")).toEqual(["0.1", "0.1"]);
    const at = (await tab.page.$eval(`${first} >> svg`, (drawing) => drawing.getBoundingClientRect().toJSON())) as DOMRect;
    await tab.page.mouse.move(at.x + at.width - 25, at.y + at.height - 55);
    expect(await read()).toMatch(/^head 1\.2, step 1200: 0\.02/);
  });
});
