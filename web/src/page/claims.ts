// The claims of a paper beside what was measured.
import type { Claim } from "../data/results";
import { element } from "./element";
import type { Opened, Page, View } from "./page";

const MARKS: Readonly<Record<string, string>> = { holds: "✓", "does not hold": "✗", "cannot tell": "?" };

export const claims: View = {
  id: "claims",
  title: "Claims",
  has: (results) => (results.header.claims ?? []).length > 0,
  open: (page: Page): Opened => {
    const list = page.results.header.claims ?? [];
    const kinds = ["holds", "does not hold", "cannot tell"];
    const counts = kinds
      .map((kind) => ({ kind, n: list.filter(({ verdict }) => verdict === kind).length }))
      .filter(({ n }) => n > 0)
      .map(({ kind, n }) => `${n} ${kind === "holds" && n > 1 ? "hold" : kind === "does not hold" && n > 1 ? "do not hold" : kind}`);
    return {
      node: element(
        "div",
        {},
        element("h1", {}, "The paper's claims, and what was measured"),
        element("p", { class: "facts" }, `Of ${list.length} claims: ${counts.join(", ")}. Each verdict is computed by the test that stands below it.`),
        element("ol", { class: "claims" }, ...list.map(claimCard)),
      ),
    };
  },
};

function claimCard(claim: Claim): HTMLElement {
  const kind = claim.verdict.replaceAll(" ", "-");
  const line = (term: string, text: string) =>
    text === "" ? [] : [element("dt", {}, term), element("dd", {}, text)];
  return element(
    "li",
    { class: `claim claim-${kind}`, id: `claim-${claim.name}` },
    element(
      "h2",
      {},
      element("span", { class: `verdict verdict-${kind}` }, element("span", { "aria-hidden": "true" }, `${MARKS[claim.verdict] ?? ""} `), claim.verdict),
      ` ${claim.statement}`,
    ),
    element(
      "dl",
      {},
      ...line("Measured", claim.measured),
      ...line("Test", claim.test),
      ...line("Reading", claim.reading),
      ...line("In the paper", `Paper ${claim.paper}, ${claim.figure}`),
    ),
  );
}
