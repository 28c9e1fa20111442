// The claims of a paper next to the measured values, each with its figure.
import type { Claim } from "../data/results";
import type { Figure } from "../figures/figure";
import { limitsFigures, tokensFigures } from "../figures/papers";
import { formatAddress } from "./address";
import { div, element, list, terms, type Child } from "./element";
import { answer } from "./findings";
import { about } from "./overview";
import type { Opened, Page, View } from "./page";
import { picture } from "./picture";

const MARKS: Readonly<Record<string, string>> = {
  holds: "✓",
  "does not hold": "✗",
  "cannot tell": "?",
  "not tested": "–",
};

export const claims: View = {
  id: "claims",
  title: "Claims",
  has: (results) => (results.header.claims ?? []).length > 0,
  open,
};

async function open(page: Page): Promise<Opened> {
  const { results } = page;
  const listed = results.header.claims ?? [];
  const figures = await results.gather(() => [...limitsFigures(results), ...tokensFigures(results)]);
  // Prefers a figure that no other claim shows.
  const used = new Set<Figure>();
  const drawn = listed.map((claim) => {
    const found = figuresOf(claim, figures);
    const figure = found.find((other) => !used.has(other)) ?? found[0];
    if (figure) used.add(figure);
    return figure;
  });
  return {
    node: div(
      "",
      about(results),
      answer(results),
      list("verdicts", listed.map(linked)),
      element("ol", { class: "claims" }, ...listed.map((claim, k) => claimCard(page, claim, drawn[k]))),
    ),
    update: () => {
      if (page.address.item === "") return;
      requestAnimationFrame(() => document.getElementById(claimId(page.address.item))?.scrollIntoView());
    },
  };
}

const claimId = (name: string) => `claim-${name}`;

const linked = (claim: Claim): Child[] => [
  verdict(claim),
  element("a", { class: "plain", href: formatAddress({ view: "claims", item: claim.name, query: {} }) }, claim.statement),
];

const inPaper = ({ paper, figure }: Claim) => `Paper ${paper}, ${figure}`;

function verdict({ verdict: found, theorem, ours }: Claim): HTMLElement {
  return element(
    "span",
    { class: `verdict verdict-${found.replaceAll(" ", "-")}` },
    element("span", { "aria-hidden": "true" }, `${MARKS[found] ?? ""} `),
    theorem ? `${found} (${ours ? "headgauge's theorem" : "theorem"})` : found,
  );
}

// Returns the figures of a claim. "Fig. 2a, 2b" of paper A is paper-2a, "Corollary 2" is
// paper-corollary-2; in paper B an experiment and its drawings.
export function figuresOf({ paper, figure }: Claim, figures: readonly Figure[]): Figure[] {
  if (paper === "A") {
    if (!figure.startsWith("Fig.")) {
      const own = `paper-${figure.toLowerCase().replaceAll(" ", "-")}`;
      return figures.filter(({ id }) => id.startsWith(own));
    }
    const ids = [...figure.matchAll(/\d+[a-z]?/g)].map(([part]) => `paper-${part}`);
    return figures.filter(({ id }) => ids.includes(id));
  }
  if (figure.startsWith("Token complexity")) {
    const own = /one head/.test(figure) ? "each-head-" : "all-heads-";
    return figures.filter(({ id }) => id.startsWith(own));
  }
  const experiment = /sphere/i.test(figure) ? "sphere" : /BERT/.test(figure) ? "model" : "gaussian";
  const drawn = /hardmax/i.test(figure) ? "hardmax" : /uniform/i.test(figure) ? "uniform" : "rates";
  return figures.filter(({ id }) => id.startsWith(`${experiment}-`) && id.includes(drawn));
}

function claimCard(page: Page, claim: Claim, figure: Figure | undefined): HTMLElement {
  const { name, measured, turns = [], test, reading } = claim;
  return element(
    "li",
    { class: `claim claim-${claim.verdict.replaceAll(" ", "-")}`, id: claimId(name) },
    div(
      "",
      element("h2", {}, verdict(claim), ` ${claim.statement}`),
      terms("", [
        ["Measured", measured], ["Turns with", turns.join("; ")], ["Test", test], ["Reading", reading],
        ["In the paper", inPaper(claim)],
      ]),
    ),
    figure && picture(page, figure),
  );
}
