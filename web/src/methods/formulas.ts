// The definition of every metric that headgauge writes.
import type { Formulas } from "./formula";
import { LIMITS } from "./limits";
import { TOKENS } from "./tokens";
import { WEIGHTS } from "./weights";

export const FORMULAS: Formulas = { ...WEIGHTS, ...LIMITS, ...TOKENS };
