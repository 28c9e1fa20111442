// A file of 48 layers with 25 heads: everything is there. The times are printed, and judge nothing:
// machines are shared.
import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { inBrowser, openKind, pathOf } from "./browser";

inBrowser("a large file", () => {
  test("opens, switches its metric and lists its heads", async () => {
    const size = (statSync(pathOf("wide")).size / 2 ** 20).toFixed(1);
    const { page } = await openKind("wide");
    const { cells, opened, switches, listed } = await page.evaluate(async (metrics) => {
      const until = async (there: () => boolean) => {
        while (!there()) await new Promise((done) => requestAnimationFrame(done));
        return performance.now();
      };
      const map = () => document.querySelector(".explore svg");
      const scrolled = () => (document.querySelector(".explore")?.scrollIntoView(), map() !== null);
      const opened = await until(scrolled); // since the browser set out for the file
      const cells = document.querySelectorAll(".explore g[data-marks=cell] rect").length;
      const switches: string[] = [];
      for (const metric of metrics) {
        const [before, start] = [map(), performance.now()];
        const select = document.querySelector<HTMLInputElement>("#choose-metric")!;
        select.value = metric;
        select.dispatchEvent(new Event("change"));
        await until(() => scrolled() && map() !== before);
        map()!.getBoundingClientRect(); // layout included
        switches.push((performance.now() - start).toFixed(0));
      }
      const start = performance.now();
      location.hash = "#heads";
      const end = await until(() => document.querySelectorAll("tbody tr").length >= 1200);
      return { cells, opened, switches, listed: end - start };
    }, ["entropy", "separability", "max_weight", "sensitivity", "entropy"]);
    expect(cells).toBe(1200);
    console.log(
      `48 x 25 heads, a page of ${size} MiB: opens in ${opened.toFixed(0)} ms, switches metric in ` +
        `${switches.join(", ")} ms, lists all heads in ${listed.toFixed(0)} ms`,
    );
  });
});
