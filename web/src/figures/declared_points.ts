// The points, dots and bars of a declared figure.
import { fromFile, type DeclaredAxis, type DeclaredRows, type DeclaredScatter, type DeclaredValues, type MetricName } from "../catalogue/catalogue";
import type { Cell, Estimate, Results } from "../data/results";
import type { Figure } from "./figure";
import { csvValue, formatShare, headAt, headLabel, plainName } from "./format";
import { overHeads } from "./heads";
import { LAWS } from "./laws";
import { axisLabel, cellAt, isFixed, labelsFor, labelWords, lineOf, patternWords, valueAt, type Labelled, type Words } from "./quantity";
import { barsFigure, dotsFigure, type Row } from "./rows";
import { bentAxis, scatterFigure, type ScatterAxis } from "./scatter";

interface Measured {
  label: string;
  head: string | undefined;
  group: string; // of the dim that gives the series
  series: number;
  x: number;
  ys: Estimate[];
}

export function scatterOf(results: Results, declared: DeclaredScatter, own: Words, cell: Cell): Figure | undefined {
  const { points, x, y, series, each, cloud, law, lines, lacking, named = false } = declared;
  const dims = results.info(declared.needs)?.dims ?? [];
  const dim = points.find((one) => dims.includes(one === "heads" ? "head" : one));
  if (dim === undefined) return undefined;
  const joined = each !== undefined && dim !== "heads";
  const fixed = [...Object.keys(cell), ...(dim === "heads" ? ["layer", "head"] : [dim]), ...(each ? [each] : [])];
  if (!declared.any && !series.every(({ metric, over }) => over || !results.has(metric) || isFixed(results, metric, fixed))) return undefined;
  const places: Labelled[] = dim === "heads"
    ? overHeads(results, declared.needs).map(({ layer, head }) => ({ label: headLabel(results, layer, head), cell: { layer, head } }))
    : results.coord(dim).map((label, k) => ({
        label: typeof label === "number" ? `${plainName(dim)} ${labelWords(dim, label)}` : label, cell: { [dim]: k },
      }));
  const measure = (ofY: DeclaredScatter["series"], group: Labelled, nth: number): Measured[] =>
    places.map((place, k) => {
      const at = { ...cell, ...group.cell, ...place.cell };
      return {
        label: place.label, head: dim === "heads" ? headAt(results, place.cell) : undefined, group: group.label, series: named ? k : nth,
        x: valueAt(results, x, at).value, ys: ofY.map((one) => valueAt(results, one, at)),
      };
    });
  const measured = labelsFor(results, each).flatMap((group, k) => measure(series, group, k));
  const drawn = each ? measured.filter(({ ys }) => ys.some(({ value }) => Number.isFinite(value))) : measured;
  const faint = cloud
    ? labelsFor(results, cloud.each).flatMap(({ label, cell: at }) =>
        measure([{ ...cloud, label: "" }], { label: `${cloud.each} ${label}`, cell: { ...cellAt(results, {}, cloud.at), ...at } }, 0))
    : [];
  const parts = series.flatMap(({ metric }) => PARTS_DRAWN.filter((part) => results.metric(metric)?.parts[part]));
  const intervals = parts.includes("low");
  const errors = intervals ? (["low", "high"] as const) : (["stderr"] as const);
  const name = ({ metric, over, minus, at = {} }: DeclaredValues) =>
    [metric, ...(over ? ["mean"] : minus ? ["less", minus] : declared.any ? Object.values(at) : [])].join("_");
  const unplaced = drawn.filter((point) => Number.isNaN(point.x)).length;
  const { metric: ofY, others = "" } = series[0]!;
  const onOthers = results.coord(others).length > 1 ? `other ${others}s` : `same ${others}`;
  return scatterFigure({
    ...own,
    caption: own.caption + (lacking && unplaced > 0 ? lacking.replace("{points}", `${unplaced} of ${drawn.length}`) : ""),
    columns: [
      dim, ...(each ? [each] : []), name(x),
      ...series.flatMap((side) => [name(side), ...errors.map((part) => `${name(side)}_${part}`)]),
    ],
    rows: [...drawn, ...faint].map((point) => [
      point.label, ...(each ? [point.group] : []), csvValue(point.x),
      ...point.ys.flatMap((end) => [end.value, ...errors.map((part) => end[part])].map(csvValue)),
    ]),
    x: axisOf(results, x, x.metric, cellAt(results, cell, x.at) ?? cell, drawn.map((point) => point.x)),
    y: axisOf(results, { ...y, label: y.label.replace("{others}", onOthers) }, ofY, cell, [...drawn, ...faint].flatMap(({ ys }) => ys.flatMap(({ value, low, high }) => [value, low, high]))),
    points: drawn.flatMap((point) =>
      point.ys.map((end, k) => ({
        label: [point.group, patternWords(results, point.label), series[k]!.label].filter((word) => word !== "").join(", "),
        head: point.head, x: point.x, y: end.value, yError: end.stderr, series: series.length > 1 ? k : point.series,
        ...(intervals ? { interval: { low: end.low, high: end.high } } : {}),
      })),
    ),
    cloud: faint.map((point) => ({ x: point.x, y: point.ys[0]!.value })),
    named,
    joined,
    lines: lines?.y?.map((line) => lineOf(results, line)) ?? [],
    ...(law ? { law: (along: readonly number[]) => LAWS[law.law]!({ places: along, keys: along, of: [], by: NaN }) } : {}),
    key: (theme) => [
      ...(each ? labelsFor(results, each) : series.length > 1 ? series : []).flatMap(({ label }, k) =>
        each && !drawn.some(({ group }) => group === label)
          ? []
          : [{ label, colour: theme.series[k % 6]!, kind: joined ? ("line" as const) : ("dot" as const) }]),
      ...(law ? [{ label: law.label, colour: theme.muted, kind: "dashed" as const }] : []),
      ...(lines?.label ? [{ label: lines.label, colour: theme.muted, kind: "dotted" as const }] : []),
    ],
  });
}

const PARTS_DRAWN = ["stderr", "low"] as const;

function axisOf(results: Results, axis: DeclaredAxis, metric: MetricName, cell: Cell, values: readonly number[]): ScatterAxis {
  const { log = false, include = [], domain, percent, bent, of } = axis;
  // "tokens_for_error sampler=top", "output_change under uniform" or "flag sinks"
  const [named = "", ...at] = of === undefined ? [] : String(results.coord(of)[cell[of] ?? 0]).split(" ");
  const title = [results.title(fromFile(named)), ...at].join(" ");
  const unit = results.entry(fromFile(named))?.unit ?? "";
  const label = axisLabel(results, of ? { ...axis, label: axis.label.replace("{title}", title), unit } : axis, metric, cell);
  return {
    log, include, ...(bent ? bentAxis(label, values) : { label }), ...(domain ? { domain } : {}),
    ...(percent ? { format: (value: number) => formatShare(value) } : {}),
    ...(named === "flag" ? { ticks: [0, 1], include: [0, 1], format: (value: number) => (value === 1 ? "raised" : "not raised") } : {}),
  };
}

export function rowsOf(results: Results, declared: DeclaredRows, own: Words, cell: Cell): Figure | undefined {
  const { rows, x, series = [{ label: "", at: {} }] } = declared;
  if (rows.some((dim) => results.coord(dim).length === 0)) return undefined;
  const cells = rows.reduce<Cell[]>(
    (so_far, dim) => so_far.flatMap((at) => results.coord(dim).map((_, k) => ({ ...at, [dim]: k }))), [{}],
  );
  const made = cells.map((at): Row => {
    const labels = rows.map((dim) => results.coord(dim)[at[dim]!]!);
    return {
      labels,
      name: rows.map((dim, k) => labelWords(dim, labels[k])).join(", "),
      colour: rows.length > 1 ? at[rows.at(-1)!]! : 0,
      values: series.map((one) => {
        const place = cellAt(results, { ...cell, ...at }, one.at);
        return place ? valueAt(results, x, place) : { value: NaN, stderr: NaN };
      }),
    };
  });
  const columns = series.map(({ at }) => [x.metric, ...Object.values(at)].join("_"));
  return (declared.kind === "bars" ? barsFigure : dotsFigure)({
    ...own,
    columns: [...rows, ...columns],
    made,
    x: {
      label: axisLabel(results, x, x.metric), log: x.log ?? false, include: x.include ?? [],
      lines: declared.lines?.x?.map((line) => lineOf(results, line)) ?? [],
    },
    rowLabel: declared.rowLabel,
    key: series.map(({ label }) => label),
  });
}
