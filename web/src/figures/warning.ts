// Draws the behaviour of heads in the first half of each piece of a text against the loss in the
// second half.
import type { Results } from "../data/results";
import type { Figure } from "./figure";
import { scatterFigure } from "./scatter";

export function warningFigures(results: Results): Figure[] {
  return (["entropy", "separability"] as const).flatMap((what) => warningFigure(results, what) ?? []);
}

function warningFigure(results: Results, what: "entropy" | "separability"): Figure | undefined {
  if (!results.has(`${what}_fall`)) return undefined;
  const pieces = results.coord("piece").map((label, piece) => ({
    label: `piece ${label}`,
    x: results.value(`${what}_fall`, { piece }),
    y:
      results.value("loss_second_half", { piece }) - results.value("loss_first_half", { piece }),
  }));
  return scatterFigure({
    id: what === "entropy" ? "paper-early-warning" : `paper-early-warning-${what}`,
    title: `Rise of the loss against the fall of the ${what} before it`,
    caption:
      `A point a piece of the text. The ${what} falls within the first half of the piece, in the ` +
      "mean over the heads; the loss rises from the first half to the second.",
    columns: ["piece", `${what}_fall`, "loss_rise"],
    x: { label: `fall of the ${what} towards L`, include: [0] },
    y: { label: "rise of the loss from L to 2L (nats)", include: [0] },
    points: pieces,
  });
}
