// Colours of a drawing. Text has a contrast of at least 4.5 and lines of at least 3 against the
// background; the series have the colours of Okabe and Ito, made darker or lighter where contrast
// requires it.
import * as Plot from "@observablehq/plot";

export interface Theme {
  background: string;
  text: string;
  muted: string; // secondary text, reference lines
  grid: string;
  undefinedFill: string;
  series: readonly [string, string, string, string, string, string];
}

const LIGHT: Theme = {
  background: "#ffffff",
  text: "#1b1f24",
  muted: "#57606a",
  grid: "#dfe3e8",
  undefinedFill: "#c4c9cf",
  series: ["#0072b2", "#c05200", "#007f5c", "#a04080", "#8a6100", "#2f7fb0"],
};

const DARK: Theme = {
  background: "#14181d",
  text: "#e8eaed",
  muted: "#a3abb4",
  grid: "#30363d",
  undefinedFill: "#4a5058",
  series: ["#56b4e9", "#f0823c", "#2fc49a", "#dc96c0", "#f0e442", "#e69f00"],
};

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

export const themeOf = (dark: boolean): Theme => (dark ? DARK : LIGHT);

export type ColourKind = "sequential" | "sequential-log" | "diverging";

export interface ColourScale {
  kind: ColourKind;
  domain: [number, number];
  colour(value: number): string;
  // Returns the value at a place between 0 and 1 on the legend.
  at(place: number): number;
}

// Suits readers who confuse red and green: viridis for sizes, purple to orange for differences.
// Only sizes can be on a logarithmic scale.
export function colourScale(
  values: readonly number[],
  { diverging = false, logarithmic = false } = {},
): ColourScale {
  const finite = values.filter(Number.isFinite);
  let low = Math.min(...finite);
  let high = Math.max(...finite);
  if (finite.length === 0) [low, high] = [0, 1];
  if (diverging || (low < 0 && high > 0)) {
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    const scale = Plot.scale({ color: { scheme: "puor", domain: [-reach, reach], reverse: true } });
    return {
      kind: "diverging",
      domain: [-reach, reach],
      colour: (value) => String(scale.apply(value)),
      at: (place) => reach * (2 * place - 1),
    };
  }
  const log = logarithmic && low > 0;
  const warp = log ? Math.log : (value: number) => value;
  const scale = Plot.scale({ color: { scheme: "viridis", domain: [0, 1] } });
  const span = warp(high) - warp(low);
  return {
    kind: log ? "sequential-log" : "sequential",
    domain: [low, high],
    colour: (value) => String(scale.apply(span > 0 ? (warp(value) - warp(low)) / span : 0.5)),
    at: (place) => (log ? low * (high / low) ** place : low + (high - low) * place),
  };
}
