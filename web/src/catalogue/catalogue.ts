// Reads the declarations of metrics in catalogue/*.json.
import entries from "virtual:catalogue";
import experiments from "virtual:experiments";
import figures from "virtual:figures";
import type { DeclaredMetric, ExperimentName } from "../../types/metrics";

// The name of a metric of a results file. A name that the page spells out is one of the catalogue,
// which tsc checks; a user's own metric has a name that only the file knows.
export type MetricName =
  | DeclaredMetric
  | `${ExperimentName}_${DeclaredMetric}`
  | `${DeclaredMetric}_change`
  | (string & { readonly fromFile: unique symbol });

// Returns a name that comes from the file or the address.
export const fromFile = (name: string): MetricName => name as MetricName;

export interface DeclaredFlag {
  readonly name: string;
  readonly place: number;
  readonly role?: boolean; // names what a head does
  readonly share_of?: string; // its value is a share of this metric
  readonly says?: string; // of one head; see wordsAt for what stands in braces
}

export interface CatalogueEntry {
  readonly name: DeclaredMetric;
  readonly title: string;
  readonly group: string;
  readonly dims: readonly string[]; // without layer, head and length
  readonly unit: string;
  readonly range?: readonly [number, number];
  readonly formula: string;
  readonly meaning: string;
  readonly source: string;
  readonly by_position?: boolean;
  readonly none?: number;
  readonly bound?: boolean;
  readonly identifier?: boolean; // a name, not a size
  readonly listed?: number; // its place among the first columns of the list of heads
  readonly mapped?: boolean; // drawn as a map of all heads among the figures of a file
  readonly flags?: readonly (DeclaredFlag | string)[]; // that it judges; a name if the program judges by other means
  readonly aside?: boolean; // true for nulls, bounds and numbers of tests, which are behind "more"
}

// The metrics in the order of the groups.
export const CATALOGUE: ReadonlyMap<string, CatalogueEntry> = new Map(
  entries.map((entry) => [entry.name, entry]),
);

// The flags with the metric that each judges, in the order of their places.
export const FLAGS: ReadonlyMap<string, Partial<DeclaredFlag> & { of: CatalogueEntry }> = new Map(
  entries
    .flatMap((of) => (of.flags ?? []).map((flag) => (typeof flag === "string" ? { name: flag, of } : { ...flag, of })))
    .sort((a, b) => ("place" in a ? a.place : 0) - ("place" in b ? b.place : 0))
    .map((flag) => [flag.name, flag]),
);

// Experiments of `reproduce tokens`: the names of their metrics begin with the name of the
// experiment.
export interface Experiment {
  readonly name: ExperimentName;
  readonly title: string;
}

export const EXPERIMENTS: readonly Experiment[] = experiments;

// Labels of dims that a figure fixes: the nearest number, a name, "first", or "judged" (the N at
// which heads are judged). Without one, a dim is at its last label.
export type DeclaredAt = Readonly<Record<string, number | string>>;

export interface DeclaredAxis {
  readonly label: string;
  readonly log?: boolean;
  readonly domain?: [number, number];
  readonly include?: number[];
  readonly percent?: boolean;
  readonly unit?: string; // ends the label instead of the unit of the metric
  readonly of?: string; // this dim's label names the metric or flag of the values: {title} in the label
  readonly bent?: boolean; // logarithmic beyond most values if a few are far larger
}

// The values of one axis or series of a figure.
export interface DeclaredValues {
  readonly metric: MetricName;
  readonly minus?: MetricName; // the difference to this metric
  readonly over?: "heads"; // the mean over the heads
  readonly others?: string; // the mean over the other labels of this dim, or over the only one
  readonly at?: DeclaredAt;
  readonly original?: number; // stands for an undefined value of the unchanged model
  // Labels of a dim whose value is that of another label.
  readonly like?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface DeclaredCurve {
  readonly metric?: MetricName;
  // Instead of a metric, a curve that LAWS of web/src/figures/laws.ts computes, of the values of a
  // metric and a number or the value of another one.
  readonly law?: string;
  readonly of?: MetricName;
  readonly by?: MetricName | number;
  readonly label: string; // in the key once; empty: not in it; see wordsAt for what stands in braces
  readonly colour?: number | "muted"; // number in the theme's series
  readonly style?: "line" | "thin" | "dashed" | "dotted" | "ring";
  readonly along?: string; // a dim of its own, for rings
  readonly at?: DeclaredAt;
  // A curve for each label of this dim; "compared": of each run or intervention; "heads": of each head, in
  // the colour of its layers, which are {layers} in the label.
  readonly each?: string;
  readonly over?: "heads"; // as in a spread
  readonly most?: number; // of these curves
  readonly alone?: boolean; // only drawn if there is one label
  readonly between?: string; // the mean over the rows between the first and the last label of this dim
  readonly none?: { readonly label: string; readonly setting: string }; // rings where none was found up to this
  readonly faint?: boolean;
  readonly dots?: boolean;
}

interface DeclaredWords {
  readonly id: string;
  readonly view: "overview" | "head" | "model" | "rates" | "limits" | "tokens" | "plan" | "training" | "validity";
  readonly needs: MetricName; // the metric without which there is no figure
  readonly title: string;
  readonly caption: string;
  readonly at?: DeclaredAt;
  readonly aside?: boolean; // behind "more" on the page of a head
  // The same figure in another view.
  readonly also?: { readonly view: DeclaredWords["view"]; readonly id: string; readonly title: string };
  // Lines across the figure; the name of a dim is its last label.
  readonly lines?: {
    readonly x?: readonly (number | string)[];
    readonly y?: readonly (number | string)[];
    readonly label?: string;
  };
  // A figure for each label of this dim, or for each outcome that is a task ("tasks").
  readonly for?: string;
  // A figure for each metric of heads with this dim; of runs, for the one that changed first, at the labels of
  // that change, which are {place}. {metric} is its name, {title} and {label} its words.
  readonly any?: "run" | "step";
}

// Metrics along a dim; "spread": their means over the heads, with the middle 80 % of the heads.
// "growth" is the query position, or the length where every query sees the whole text.
export interface DeclaredCurves extends DeclaredWords {
  readonly kind: "curves" | "spread";
  readonly along: string;
  readonly y: DeclaredAxis & { readonly wide?: boolean }; // logarithmic if the values are far apart
  readonly curves: readonly DeclaredCurve[];
}

// A point for each label of the first of these dims that the metric of x has, or for each head.
export interface DeclaredScatter extends DeclaredWords {
  readonly kind: "scatter";
  readonly points: readonly string[];
  readonly lacking?: string; // ends the caption where {points} points of all have no x
  readonly x: DeclaredAxis & DeclaredValues;
  readonly y: DeclaredAxis;
  readonly series: readonly (DeclaredValues & { readonly label: string })[];
  // A series for each label of this dim; points that are not heads are joined by lines, the first in front.
  readonly each?: string;
  readonly cloud?: DeclaredValues & { readonly each: string }; // faint points for each label of a dim
  readonly law?: { readonly law: string; readonly label: string }; // a curve across the figure
  readonly named?: boolean;
}

// A row for each label, or pair of labels: dots, or bars of which the first is the whole.
export interface DeclaredRows extends DeclaredWords {
  readonly kind: "dots" | "bars";
  readonly rows: readonly string[];
  readonly rowLabel: string;
  readonly x: DeclaredAxis & DeclaredValues;
  readonly series?: readonly { readonly label: string; readonly at: DeclaredAt }[]; // of bars
}

// Layers by heads; those `for` several labels are in the same colours.
export interface DeclaredMap extends DeclaredWords {
  readonly kind: "map";
  readonly metric: MetricName;
  readonly log?: boolean;
}

export type DeclaredFigure = DeclaredCurves | DeclaredScatter | DeclaredRows | DeclaredMap;

export const FIGURES: readonly DeclaredFigure[] = figures.flatMap((figure) =>
  figure.also ? [figure, { ...figure, ...figure.also }] : [figure],
);

interface Declaration {
  entry: CatalogueEntry;
  title: string;
}

// A metric by position or in an experiment has a name of its own.
const DECLARED = new Map<string, Declaration>();
for (const entry of entries) {
  const { name, title } = entry;
  DECLARED.set(name, { entry, title });
  if (entry.by_position) DECLARED.set(`${name}_by_position`, { entry, title: `${title} by position` });
  for (const experiment of experiments) {
    DECLARED.set(`${experiment.name}_${name}`, { entry, title: `${title}, ${experiment.title}` });
  }
}

// Returns the declaration of a metric; undefined for an unknown one.
export const declaration = (name: string): Declaration | undefined => DECLARED.get(name);
