// What the page saves.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inBrowser, openKind, resultsOf, type Tab } from "./browser";

async function saved({ page }: Tab, ending: string): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click(`.explore .picture >> button:text-is("${ending}")`),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

inBrowser("a picture", () => {
  test("is saved as an SVG that stands alone", async () => {
    const tab = await openKind("scan", "#overview?metric=entropy", { colorScheme: "dark" });
    const { name, bytes } = await saved(tab, "SVG");
    expect(name).toBe("map-entropy-demo-model.svg");
    const text = bytes.toString("utf8");
    const problem = await tab.page.evaluate((svg) => {
      const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
      if (parsed.querySelector("parsererror")) return "it does not parse";
      if (parsed.documentElement.namespaceURI !== "http://www.w3.org/2000/svg")
        return "it is no SVG";
      if (parsed.querySelector("[tabindex]")) return "it has traces of the page";
      if (/currentColor|var\(--|https?:\/\/(?!www\.w3\.org)/.test(svg))
        return "it needs something from outside";
      return "";
    }, text);
    expect(problem).toBe("");
    // For paper, whatever the screen.
    expect(text).toContain("#ffffff");
  });

  test("is saved as a PNG of twice its size", async () => {
    const tab = await openKind("scan", "#overview?metric=entropy");
    const { name, bytes } = await saved(tab, "PNG");
    expect(name).toBe("map-entropy-demo-model.png");
    expect([...bytes.subarray(1, 4)].map((code) => String.fromCharCode(code)).join("")).toBe("PNG");
    expect(bytes.readUInt32BE(16)).toBe(1440);
    expect(bytes.readUInt32BE(20)).toBeGreaterThan(200);
  });

  test("has its numbers in a CSV, exactly those of the results", async () => {
    const tab = await openKind("scan", "#overview?metric=entropy&length=64");
    const { bytes } = await saved(tab, "CSV");
    const lines = bytes.toString("utf8").trimEnd().split("\r\n").map((line) => line.split(","));
    expect(lines[0]!.slice(0, 3)).toEqual(["layer", "head", "entropy"]);
    const { coords, metrics } = resultsOf("scan");
    const at = coords["length"]!.indexOf(64);
    const values = metrics["entropy"]!.values as number[][][];
    expect(lines.slice(1).map((line) => line.slice(0, 3).map(Number))).toEqual(
      values.flatMap((heads, i) =>
        heads.map((lengths, j) => [coords["layer"]![i], coords["head"]![j], lengths[at]]),
      ),
    );
  });
});
