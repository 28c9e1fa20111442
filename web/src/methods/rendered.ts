// The definition of a metric as the page shows it.
import formulas from "virtual:formulas";

export interface RenderedFormula {
  mathml: string;
  words: string;
  source: string;
}

export const rendered: Readonly<Record<string, RenderedFormula>> = formulas;

// Whether there is an entry of just this name.
export const hasFormula = (name: string): boolean => Object.hasOwn(rendered, name);

// Also of gaussian_rate_mean, entropy_by_position and entropy_change; undefined for a metric that
// this version does not know.
export function renderedFormula(name: string): RenderedFormula | undefined {
  const candidates = [name];
  for (const shorten of [/_change$/, /_by_position$/, /^(gaussian|sphere|model)_/]) {
    candidates.push(candidates[candidates.length - 1]!.replace(shorten, ""));
  }
  const known = candidates.find((candidate) => Object.hasOwn(rendered, candidate));
  return known === undefined ? undefined : rendered[known];
}
