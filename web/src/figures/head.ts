// All figures of one head.
import type { Cell, Results } from "../data/results";
import { declaredFigures } from "./declared";
import type { Figure } from "./figure";
import { headLabel } from "./format";

// Index of the normalizer, pattern or run, in results of compare and diff; the original by default.
type HeadOptions = Partial<Record<"normalizer" | "pattern" | "run", number>>;

export function headFigures(
  results: Results, { layer, head }: { layer: number; head: number }, under: HeadOptions = {},
): Figure[] {
  const chosen = { normalizer: 0, pattern: 0, run: 0, ...under };
  const cell: Cell = { layer, head, ...chosen };
  const labels = (["normalizer", "pattern", "run"] as const)
    .map((dim) => results.coord(dim)[chosen[dim]])
    .filter((label) => label !== undefined);
  const who = [headLabel(results, layer, head), ...labels].join(", ");
  return declaredFigures(results, "head", cell, who);
}
