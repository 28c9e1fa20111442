// A file of 48 layers with 25 heads: everything is there. The times are printed, and judge nothing:
// machines are shared.
import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { inBrowser, openKind, pathOf } from "./browser";

inBrowser("a large file", () => {
  test("opens, switches its metric and lists its heads", async () => {
    const size = (statSync(pathOf("wide")).size / 2 ** 20).toFixed(1);
    const tab = await openKind("wide");
    const opened = await tab.page.evaluate(async () => {
      while (!document.querySelector(".map")) await new Promise((done) => setTimeout(done, 5));
      return performance.now(); // since the browser set out for the file
    });
    const cells = await tab.page.$$eval(".map g[data-marks=cell] rect", (found) => found.length);
    expect(cells).toBe(1200);
    // What a person needs a moment for, a test does at once: choosing while all is being unpacked.
    await tab.page.waitForSelector("html[data-unpacked=all]");
    const switches: number[] = [];
    for (const metric of ["entropy", "separability", "max_weight", "sensitivity", "entropy"]) {
      switches.push(
        await tab.page.evaluate(async (name) => {
          const select = document.querySelector<HTMLSelectElement>("#choose-metric")!;
          const before = document.querySelector(".map");
          const start = performance.now();
          select.value = name;
          select.dispatchEvent(new Event("change"));
          const changed = () => {
            const map = document.querySelector(".map");
            return map !== null && map !== before;
          };
          while (!changed()) await new Promise((done) => requestAnimationFrame(done));
          document.querySelector(".map")!.getBoundingClientRect(); // layout included
          return performance.now() - start;
        }, metric),
      );
    }
    const table = await tab.page.evaluate(async () => {
      const start = performance.now();
      location.hash = "#heads";
      while (document.querySelectorAll("tbody tr").length < 1200)
        await new Promise((done) => requestAnimationFrame(done));
      return performance.now() - start;
    });
    const times = switches.map((time) => time.toFixed(0)).join(", ");
    console.log(
      `48 x 25 heads, a page of ${size} MiB: opens in ${opened.toFixed(0)} ms, switches ` +
        `metric in ${times} ms, lists all heads in ${table.toFixed(0)} ms`,
    );
  });
});
