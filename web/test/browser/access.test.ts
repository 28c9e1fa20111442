// For those who do not see the page, or see it otherwise.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { drawAll, inBrowser, openKind, viewsOf } from "./browser";

const axe = readFileSync(join(__dirname, "../../node_modules/axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

// A kind for every view. In the dark only colours differ: rules that look at none are left out there.
const LIGHT = ["scan", "monitor", "compare", "converge", "synthetic", "diff", "limits", "validate", "plan"];
const DARK = ["scan", "limits", "validate", "plan"];
const OF_COLOURS = { runOnly: ["color-contrast", "link-in-text-block"] };
const checked = inject("kinds").flatMap((kind) => [
  ...(LIGHT.includes(kind) ? [[kind, "light"] as const] : []),
  ...(DARK.includes(kind) ? [[kind, "dark"] as const] : []),
]);

inBrowser("axe", () => {
  test.each(checked)("finds nothing serious in the views of %s, %s", async (kind, colorScheme) => {
    const tab = await openKind(kind, "", { colorScheme });
    for (const view of await viewsOf(tab)) {
      await tab.to(view);
      await drawAll(tab.page);
      await tab.page.evaluate(() => {
        // What is folded up: all flags and choices, and the numbers of one figure.
        const folded = document.querySelectorAll("details:not(.numbers), .numbers:first-of-type");
        [...folded].slice(0, 12).forEach((part) => ((part as HTMLDetailsElement).open = true));
      });
      await tab.page.evaluate(axe);
      const violations = await tab.page.evaluate(
        async (options) => {
          const { axe } = window as unknown as {
            axe: { run(options: object): Promise<{ violations: Violation[] }> };
          };
          return (await axe.run({ ...options, resultTypes: ["violations"] })).violations;
        },
        colorScheme === "dark" ? OF_COLOURS : {},
      );
      const serious = violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(
          ({ id, nodes }) =>
            `${id}: ${nodes[0]!.html.slice(0, 200)} ${nodes[0]!.failureSummary.slice(0, 300)}`,
        );
      expect(serious, view).toEqual([]);
    }
  });
});

inBrowser("without a mouse", () => {
  test("the first thing reached leads past the bar", async () => {
    const tab = await openKind("scan");
    await tab.page.keyboard.press("Tab");
    expect(await tab.page.evaluate(() => document.activeElement?.textContent)).toBe(
      "Skip to the content",
    );
    await tab.page.keyboard.press("Enter");
    expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("view");
    expect(await tab.page.evaluate(() => location.hash)).toBe("");
  });

  test("a new view begins at its heading", async () => {
    const tab = await openKind("scan");
    await tab.page.click("nav[aria-label=Views] a[href='#heads']");
    await tab.page.waitForFunction(() => document.activeElement?.tagName === "H1");
  });

  test("colours follow the system until they are chosen, and the choice stays", async () => {
    const tab = await openKind("scan", "", { colorScheme: "dark" });
    const theme = () => tab.page.evaluate(() => document.documentElement.dataset["theme"]);
    expect(await theme()).toBe("dark");
    await tab.page.selectOption("#choose-theme", "light");
    expect(await theme()).toBe("light");
    await tab.page.reload();
    expect(await theme()).toBe("light");
  });
});
