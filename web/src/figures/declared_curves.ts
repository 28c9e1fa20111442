// The curves of a declared figure: metrics along a dim, each as the file has it or over the heads, and
// laws beside them.
import {
  declaration, fromFile, type DeclaredCurve, type DeclaredCurves, type MetricName,
} from "../catalogue/catalogue";
import type { Cell, Results } from "../data/results";
import { along, curvesFigure, sizesAlong, type Curve, type CurvesOptions } from "./curves";
import type { Figure } from "./figure";
import { headAt, plainName } from "./format";
import { quantile } from "./heads";
import { LAWS } from "./laws";
import { isLogarithmic } from "./scatter";
import { axisLabel, cellAt, isFixed, labelWords, lineOf, mean, patternWords, valuesOfHeads, variants, wordsAt, type Words } from "./quantity";

interface Along {
  dim: string;
  suffix: "" | "_by_position";
  x: CurvesOptions["x"];
  keys: readonly number[]; // that a query there sees
}

// Growth is drawn over the bins of query position or, if every query sees the whole text, over the
// lengths (docs/mathematics.md 7b).
function alongOf(results: Results, declared: DeclaredCurves, cell: Cell): Along {
  if (declared.along !== "growth") {
    const x = sizesAlong(results, declared.along);
    return { dim: declared.along, suffix: "", x, keys: x.values };
  }
  const lengths = results.numbers("length");
  const seesAll = results.value("visible_keys", cell) > 0.75 * (lengths.at(-1) ?? NaN);
  if (seesAll || !results.has(fromFile(`${declared.needs}_by_position`))) {
    return { dim: "length", suffix: "", x: sizesAlong(results, "length", false), keys: lengths };
  }
  const window = Number(results.coord("window")[cell["layer"] ?? 0] ?? 0) || Infinity;
  const ends = results.numbers("position");
  const values = ends.map((end, k) => ((ends[k - 1] ?? 0) + 1 + end) / 2);
  return {
    dim: "position",
    suffix: "_by_position",
    x: { ...sizesAlong(results, "position"), values },
    keys: values.map((value) => Math.min(value, window)),
  };
}

export function curvesOf(results: Results, declared: DeclaredCurves, own: Words, cell: Cell): Figure | undefined {
  const where = alongOf(results, declared, cell);
  const drawn = declared.curves.map((curve) => ({
    metric: curve.metric, curves: eachCurve(results, declared, curve, where, cell),
  }));
  if (!drawn.some(({ metric, curves }) => metric === declared.needs && curves.length > 0)) return undefined;
  const words = (text: string) => text.replaceAll("{along}", plainName(where.dim));
  const curves = drawn.flatMap((one) => one.curves);
  const isWide = declared.y.wide && isLogarithmic(results, declared.needs, curves.flatMap(({ values }) => values));
  const y = isWide ? { ...declared.y, log: true } : declared.y;
  return curvesFigure({
    id: own.id,
    title: words(own.title),
    caption: words(own.caption),
    x: where.x,
    y: { ...y, label: axisLabel(results, y, declared.needs) },
    curves,
    lines: declared.lines?.y?.map((line) => lineOf(results, line)) ?? [],
  });
}

// Readers can distinguish only so many lines.
function spreadOut(count: number, most = Infinity): number[] {
  if (count <= most) return Array.from({ length: count }, (_, k) => k);
  return Array.from({ length: most }, (_, k) => Math.round((k * (count - 1)) / (most - 1)));
}

interface Variant {
  cell: Cell;
  name: string; // empty for the only one
  layers?: string;
  colour?: number;
}

// The heads in the colours of their layers. Six can be told apart, so neighbours share one.
function headsOf(results: Results): Variant[] {
  const layers = results.coord("layer");
  const colours = layers.map((_, layer) => Math.floor((layer * Math.min(6, layers.length)) / layers.length));
  return layers.flatMap((label, layer) => {
    const own = layers.filter((_, other) => colours[other] === colours[layer]);
    const words = own.length === 1 ? `layer ${label}` : `layers ${own[0]} to ${own.at(-1)}`;
    return results.coord("head").map((name, head) => ({
      cell: { layer, head }, name: `layer_${label}_head_${name}`, layers: words, colour: colours[layer]!,
    }));
  });
}

// The labels for which a curve is drawn.
function variantsOf(results: Results, name: MetricName, { each, most }: DeclaredCurve): Variant[] {
  if (each === undefined) return [{ cell: {}, name: "" }];
  if (each === "heads") return headsOf(results);
  const dim = each === "compared" ? variants(results, name).dim : each;
  if (dim === "") return [{ cell: {}, name: "" }];
  return spreadOut(results.coord(dim).length, most).map((k) => ({
    cell: { [dim]: k }, name: `${dim}_${labelWords(dim, results.coord(dim)[k])}`,
  }));
}

function eachCurve(
  results: Results, figure: DeclaredCurves, declared: DeclaredCurve, where: Along, cell: Cell,
): Curve[] {
  const { metric, of, by, at, each, alone, none } = declared;
  const read = metric ?? of;
  const suffixed = read && fromFile(`${read}${declared.along ? "" : where.suffix}`);
  const dim = declared.along ?? where.dim;
  if (suffixed && !results.has(suffixed)) return [];
  if (read && each === "compared" && !isFixed(results, read, [dim, variants(results, read).dim])) return [];
  const all = variantsOf(results, read ?? figure.needs, declared);
  if (alone && all.length > 1) return [];
  return all.flatMap((variant, k): Curve[] => {
    const own = cellAt(results, { ...cell, ...variant.cell }, at);
    if (!own) return [];
    const label = wordsAt(results, declared.label.replaceAll("{by}", `{${by}}`).replaceAll("{layers}", variant.layers ?? ""), own);
    const look = {
      label: [each === "compared" && variant.name ? variantName(results, variant) : "", label].filter(Boolean).join(": "),
      colour: declared.colour ?? variant.colour ?? k,
      style: declared.style ?? ("line" as const),
      head: each === "heads" ? headAt(results, variant.cell) : undefined,
      ...(declared.dots === undefined ? {} : { dots: declared.dots }),
      ...(declared.faint === undefined ? {} : { faint: declared.faint }),
    };
    const called = (name: string) => (variant.name ? `${name}_${variant.name}` : name);
    if (declared.law !== undefined) {
      const values = LAWS[declared.law]!({
        places: where.x.values,
        keys: where.keys,
        of: suffixed ? (valuesAlong(results, suffixed, dim, own, declared.between)?.values ?? []) : [],
        by: typeof by === "string" ? results.value(by, own) : (by ?? NaN),
      });
      const name = called([of ?? declared.law, ...(by === undefined ? [] : ["by", by])].join("_"));
      return values.some(Number.isFinite) ? [{ ...look, name, values }] : [];
    }
    if (figure.kind === "spread" || declared.over) {
      const isEnd = k === 0 || k === all.length - 1; // bands of all would hide each other
      return overTheHeads(results, suffixed!, dim, own, { ...look, name: called(metric!) }, isEnd);
    }
    if (each && each !== "compared" && each !== "heads" && !results.info(suffixed!)?.dims.includes(each)) return [];
    const found = valuesAlong(results, suffixed!, dim, own, declared.between);
    if (!found) return [];
    const curve: Curve = { ...look, ...found, name: called(suffixed!) };
    if (declared.along) return [inOwnPlaces(results, curve, dim, where)];
    return none ? withoutNone(results, curve, metric!, none, where) : [curve];
  });
}

// Puts the defined values where they are along the figure's dim: one at a length is of the queries
// of its second half.
function inOwnPlaces(results: Results, curve: Curve, dim: string, where: Along): Curve {
  const defined = <T>(values: readonly T[]): T[] => values.filter((_, k) => Number.isFinite(curve.values[k]));
  const labels = defined(results.numbers(dim));
  const { interval } = curve;
  return {
    ...curve,
    values: defined(curve.values),
    ...(curve.stderr ? { stderr: defined(curve.stderr) } : {}),
    ...(interval ? { interval: { low: defined(interval.low), high: defined(interval.high) } } : {}),
    own: { dim, labels, places: labels.map((label) => (where.dim === "position" ? 0.75 * label : label)) },
  };
}

const variantName = (results: Results, { cell }: Variant): string =>
  Object.entries(cell).map(([dim, k]) => patternWords(results, String(results.coord(dim)[k]))).join();

// Returns a metric as its mean over the heads, with the 10 to 90 % range of the heads.
function overTheHeads(
  results: Results, name: MetricName, dim: string, cell: Cell, look: Omit<Curve, "values">, shaded: boolean,
): Curve[] {
  const dims = results.info(name)?.dims ?? [];
  if (!dims.includes(dim) || !dims.includes("head")) return [];
  const columns = results.coord(dim).map((_, k) => valuesOfHeads(results, name, { ...cell, [dim]: k }));
  if (!columns.some((values) => values.length > 0)) return [];
  return [
    {
      ...look,
      name: `${look.name}_mean`,
      values: columns.map(mean),
      heads: {
        low: columns.map((values) => quantile(values, 0.1)),
        high: columns.map((values) => quantile(values, 0.9)),
        shaded: shaded && declaration(name)?.entry.bound !== true,
      },
    },
  ];
}

// A metric that is a mean over all rows up to a label of `between` gives the mean over the rows
// between two.
function valuesAlong(
  results: Results, name: MetricName, dim: string, cell: Cell, between?: string,
): ReturnType<typeof along> {
  if (between === undefined) return along(results, name, dim, cell);
  const ends = results.numbers(between);
  const last = ends.length - 1;
  const sum = (k: number, end: number) => ends[end]! * results.value(name, { ...cell, [dim]: k, [between]: end });
  return { values: results.coord(dim).map((_, k) => (sum(k, last) - sum(k, 0)) / (ends[last]! - ends[0]!)) };
}

// The curve has a gap where none was found, and a ring at the largest that was tried.
function withoutNone(
  results: Results, curve: Curve, metric: MetricName, { label, setting }: { label: string; setting: string }, { x }: Along,
): Curve[] {
  const isNone = curve.values.map((value) => results.isNone(metric, value));
  const most = Number(results.header.settings[setting] ?? Infinity);
  const tried = x.values.map((size, k) => (isNone[k] ? Math.min(size - 1, most) : NaN));
  const shown = { ...curve, values: curve.values.map((value, k) => (isNone[k] ? NaN : value)), written: curve.values };
  if (!isNone.includes(true)) return [shown];
  return [
    shown,
    { name: `${curve.name}_none_up_to`, label, colour: curve.colour, style: "ring", values: tried },
  ];
}
