import { expect, test } from "vitest";
import type { Claim } from "../../src/data/results";
import type { Figure } from "../../src/figures/figure";
import { figuresOf } from "../../src/page/claims";

const claim = (paper: string, figure: string, verdict: Claim["verdict"] = "holds"): Claim => ({
  name: "x", paper, figure, statement: "s", reading: "", test: "t", measured: "m", verdict,
});
const ids = [
  "paper-2a", "paper-2b", "paper-2c", "paper-3", "paper-corollary-2", "paper-corollary-2-separability",
  "gaussian-rates", "gaussian-uniform-error", "sphere-rates", "gaussian-hardmax", "model-rates",
  "all-heads-random-keys", "each-head-error-constant", "paper-early-warning", "paper-early-warning-separability",
];
const figures = ids.map((id) => ({ id }) as Figure);
const found = (paper: string, figure: string) =>
  figuresOf(claim(paper, figure), figures).map(({ id }) => id);

test("a claim finds the figures that it is about", () => {
  // The number of a lemma or a section is none of a figure.
  for (const other of ["Fig. 4", "Lemma 2", "Corollary 3", "Section 3"]) expect(found("A", other)).toEqual([]);
  for (const [paper, figure, ...expected] of [
    ["A", "Fig. 2a, 2b", "paper-2a", "paper-2b"],
    ["A", "Fig. 3", "paper-3"],
    ["A", "Corollary 2", "paper-corollary-2", "paper-corollary-2-separability"],
    ["A", "Early warning", "paper-early-warning", "paper-early-warning-separability"],
    ["B", "sphere, slope against horizon", "sphere-rates"],
    ["B", "BERT, slope against horizon", "model-rates"],
    ["B", "Theorem on the hardmax limit", "gaussian-hardmax"],
    ["B", "Theorem on uniform convergence", "gaussian-uniform-error"],
    ["B", "Token complexity, random keys", "all-heads-random-keys"],
    ["B", "Token complexity, window and random keys", "all-heads-random-keys"],
    ["B", "Token complexity, one head at a time", "each-head-error-constant"],
  ]) expect(found(paper!, figure!), figure).toEqual(expected);
});
