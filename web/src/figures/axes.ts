// Domains and ticks of axes, so that labels neither overlap nor need a number format of Plot's.
import { formatTick } from "./format";

export interface Axis {
  label: string; // words and unit
  log?: boolean;
  // Scale of values of both signs: linear up to about this size, logarithmic beyond.
  symlog?: number | undefined;
  domain: [number, number];
  // Preferred positions of ticks, best if few; without it they are computed.
  ticks?: readonly number[];
  format?: (value: number) => string;
}

// Works like Plot's symlog scale.
const bend = (value: number, size: number): number =>
  Math.sign(value) * Math.log1p(Math.abs(value) / size);
const straighten = (bent: number, size: number): number =>
  Math.sign(bent) * size * Math.expm1(Math.abs(bent));

interface DomainOptions {
  log?: boolean;
  symlog?: number | undefined;
  include?: number[];
  room?: number;
}

// Returns the range of the values with some margin; undefined if there is nothing to show.
export function domainOf(
  values: Iterable<number>,
  { log = false, symlog, include = [], room = 0.04 }: DomainOptions = {},
): [number, number] | undefined {
  let low = Infinity;
  let high = -Infinity;
  const take = (value: number) => {
    if (!Number.isFinite(value) || (log && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const value of values) take(value);
  if (low > high) return undefined;
  include.forEach(take);
  if (log) {
    const spread = high / low;
    const wide = Number.isFinite(spread) ? spread ** room : Math.exp(room * logOfRatio(high, low));
    const ratio = high > low * 1.0001 ? wide : 2;
    return [Math.max(low / ratio, Number.MIN_VALUE), high * ratio];
  }
  // Values that differ only by rounding are equal.
  const apart = high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high));
  if (symlog !== undefined && apart) {
    const [from, to] = [bend(low, symlog), bend(high, symlog)];
    const pad = (to - from) * room;
    return [straighten(from - pad, symlog), straighten(to + pad, symlog)];
  }
  const pad = apart ? (high - low) * room : Math.abs(high) * 0.1 || 0.5;
  return [low - pad, high + pad];
}

// The sensitivity of a cold head may be 1e-318, whose ratio to 1 exceeds float64.
const logOfRatio = (a: number, b: number): number => {
  const ratio = a / b;
  return Number.isFinite(ratio) ? Math.log(ratio) : Math.log(a) - Math.log(b);
};

export function place(axis: Axis, value: number): number {
  const [low, high] = axis.domain;
  if (axis.symlog !== undefined) {
    const [at, from, to] = [value, low, high].map((end) => bend(end, axis.symlog!));
    return (at! - from!) / (to! - from!);
  }
  return axis.log
    ? logOfRatio(value, low) / logOfRatio(high, low)
    : (value - low) / (high - low);
}

// Returns ticks for this many pixels; `size` returns the pixels of a label along the axis.
export function chooseTicks(axis: Axis, pixels: number, size: (label: string) => number): number[] {
  const format = axis.format ?? formatTick;
  const fits = (values: readonly number[]) =>
    values.every((value, k) => {
      if (k === 0) return true;
      const gap = Math.abs(place(axis, value) - place(axis, values[k - 1]!)) * pixels;
      return gap >= (size(format(value)) + size(format(values[k - 1]!))) / 2;
    });
  const inside = (values: readonly number[]) =>
    values.filter((value) => place(axis, value) >= -1e-9 && place(axis, value) <= 1 + 1e-9);
  if (axis.ticks) {
    const sorted = inside([...new Set(axis.ticks)].sort((a, b) => a - b));
    for (let step = 1; step < sorted.length; step += 1) {
      // Keeps the last label: the longest length, the largest N.
      const kept = sorted.filter((_, k) => (sorted.length - 1 - k) % step === 0);
      if (fits(kept)) return kept;
    }
    return sorted.slice(-1);
  }
  const candidates = axis.log
    ? logTicks(axis.domain)
    : axis.symlog === undefined
      ? linearTicks(axis.domain)
      : symlogTicks(axis.domain, axis.symlog);
  for (const values of candidates) {
    const kept = inside(values);
    if (kept.length >= 2 && kept.length <= 9 && fits(kept)) return kept;
  }
  return inside(candidates[candidates.length - 1]!).slice(-1);
}

// Returns sets of ticks from dense to sparse.
function logTicks([low, high]: [number, number]): number[][] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const decades = Array.from({ length: last - first + 1 }, (_, k) => first + k);
  const of = (factors: number[]) =>
    decades.flatMap((decade) => factors.map((factor) => Number(`${factor}e${decade}`)));
  const out = high / low < 8 ? linearTicks([low, high]) : [];
  out.push(of([1, 2, 5]), of([1, 3]), of([1]));
  for (let step = 2; step <= decades.length; step += 1) {
    out.push(decades.filter((k) => k % step === 0).map((k) => Number(`1e${k}`)));
  }
  return out;
}

// Ticks at 0 and, for both signs, those of a logarithmic scale.
function symlogTicks([low, high]: [number, number], size: number): number[][] {
  const largest = Math.max(-low, high);
  const bent = largest > size ? logTicks([size, largest]) : [];
  // Ticks of a logarithmic scale are too dense near 0.
  const mirrored = [1, 3, 10].flatMap((least) =>
    bent
      .map((ticks) => ticks.filter((tick) => tick >= least * size))
      .filter((sizes) => sizes.length > 1)
      .map((sizes) => [...sizes.map((tick) => -tick).reverse(), 0, ...sizes]),
  );
  return [...mirrored, ...linearTicks([low, high])];
}

// If a range is too narrow for its numbers, all steps are too small.
const MOST_TICKS = 1000;

function linearTicks([low, high]: [number, number]): number[][] {
  const out: number[][] = [];
  const base = Math.floor(Math.log10((high - low) / 10));
  for (let exponent = base; exponent <= base + 2; exponent += 1) {
    for (const factor of [1, 2, 5]) {
      const step = Number(`${factor}e${exponent}`);
      const first = Math.ceil(low / step);
      const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
      out.push(
        Array.from({ length: Math.min(count, MOST_TICKS) }, (_, k) =>
          Number(((first + k) * step).toPrecision(12)),
        ),
      );
    }
  }
  return out;
}
