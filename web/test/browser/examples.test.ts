// The examples on the page of a head: the text, the shaded keys, and the way from query to query.
import { expect, test } from "vitest";
import type { Example, Passage } from "../../src/data/examples";
import { formatNumber } from "../../src/figures/format";
import { inBrowser, openKind, resultsOf, type Tab } from "./browser";

function examplesIn(kind: string, layer: number, head: number): Example[] {
  const all = (resultsOf(kind) as unknown as { examples: Example[] }).examples;
  return all.filter((example) => example.layer === layer && example.head === head);
}

// Tokens by position; these texts are short enough to be one passage.
function tokensOf(kind: string): string[] {
  const { passages } = resultsOf(kind) as unknown as { passages: Passage[] };
  expect(passages[0]!.first).toBe(0);
  return passages[0]!.tokens;
}

const statusOf = ({ page }: Tab) => page.textContent(".examples .controls .note");
const readoutOf = ({ page }: Tab) => page.textContent(".examples .readout");

// The button of the last query is disabled and does nothing: a real click would wait for it.
const next = ({ page }: Tab) => page.dispatchEvent("text=Next query", "click");

// What the shaded keys say of themselves: position and weight, in the order of the text.
const labels = ({ page }: Tab): Promise<string[]> =>
  page.$$eval(".example-text .key", (keys) => keys.map((key) => key.getAttribute("aria-label")!));

inBrowser("examples", () => {
  test("every query of a head is shown with the weights of the file", async () => {
    const tab = await openKind("scan", "#head/3.4");
    const expected = examplesIn("scan", 3, 4);
    const tokens = tokensOf("scan");
    expect(expected).toHaveLength(4);
    for (const [place, example] of expected.entries()) {
      expect(await statusOf(tab)).toContain(`Query ${place + 1} of 4`);
      const inOrder = example.keys
        .map((at, k) => ({ at, weight: formatNumber(example.weights[k]!, 4) }))
        .sort((a, b) => a.at - b.at);
      const found = await labels(tab);
      expect(found).toHaveLength(inOrder.length);
      inOrder.forEach(({ at, weight }, k) => {
        expect(found[k]).toContain(`at position ${at} `);
        expect(found[k]).toMatch(new RegExp(`weight ${weight.replace(".", "\\.")}$`));
      });
      const query = await tab.page.textContent(".example-text .query");
      expect(query).toBe(tokens[example.query]!.replace("\n", "↵"));
      const shares = await tab.page.$$eval(".example-text .key", (keys) =>
        keys.map((key) => Number((key as HTMLElement).style.getPropertyValue("--share"))),
      );
      expect(Math.max(...shares)).toBe(1);
      // All keys that hold the weight, and what the others hold.
      expect(example.covered >= 0.95 || example.keys.length === 32).toBe(true);
      const said = (await tab.page.textContent(".example .facts"))!;
      expect(said).toContain(`${example.keys.length} keys hold`);
      expect(said).toContain(`the ${example.others} other keys`);
      await next(tab);
    }
    expect(await statusOf(tab)).toContain("Query 4 of 4");
  });

  test("arrow keys go from query to query, and a key says its weight to pointer and focus", async () => {
    const tab = await openKind("scan", "#head/3.4");
    const [first, second] = examplesIn("scan", 3, 4);
    await tab.page.focus(".example-text .key");
    expect(await readoutOf(tab)).toMatch(/^Key at position \d+ “.*”: weight 0\.\d+$/);
    await tab.page.keyboard.press("ArrowRight");
    expect(await statusOf(tab)).toContain("Query 2 of 4");
    await tab.page.keyboard.press("ArrowRight");
    await tab.page.keyboard.press("ArrowLeft");
    await tab.page.keyboard.press("ArrowLeft");
    expect(await statusOf(tab)).toContain("Query 1 of 4");
    await tab.page.keyboard.press("ArrowLeft");
    expect(await statusOf(tab)).toContain("Query 1 of 4");
    const last = Math.max(...first!.keys);
    await tab.page.hover(".example-text .key >> nth=-1");
    expect(await readoutOf(tab)).toContain(`position ${last}`);
    expect(second!.query).not.toBe(first!.query);
  });

  test("a text is never markup, and control characters are marks", async () => {
    const tab = await openKind("examples", "#head/0.1");
    expect(tokensOf("examples").join("")).toContain("</script><b id=evil>");
    const seen = new Set<string>();
    for (let k = 0; k < 6; k += 1) {
      expect(await tab.page.$("#evil")).toBeNull();
      const text = (await tab.page.textContent(".example-text"))!;
      expect(text).not.toMatch(/[\u0001\u202e\u202c]/);
      for (const mark of ["<b id", "\u2401", "\ufffdback\ufffd", "↵"]) {
        if (text.replace(/\s/g, "").includes(mark.replace(/\s/g, ""))) seen.add(mark);
      }
      await next(tab);
    }
    expect([...seen].sort()).toEqual(["<b id", "\u2401", "\ufffdback\ufffd", "↵"].sort());
  });

  test("under a pattern each key has its weight without it too", async () => {
    const tab = await openKind("examples", "#head/0.1");
    const [first] = examplesIn("examples", 0, 1);
    expect(first!.why).toBe("change");
    expect(await statusOf(tab)).toContain("largest change");
    const found = await labels(tab);
    expect(found.every((label) => /weight \S+, \S+ without the change$/.test(label))).toBe(true);
    expect(found.some((label) => / weight 0, /.test(label))).toBe(true);
    await tab.page.click("text=The keys as a table");
    expect(await tab.page.$$eval(".examples tbody tr", (rows) => rows.length)).toBe(first!.keys.length);
  });

  test("there is no section where none were kept", async () => {
    const tab = await openKind("compare", "#head/0.1");
    expect(await tab.page.$(".examples")).toBeNull();
  });
});
