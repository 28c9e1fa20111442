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
  readonly mapped?: boolean; // drawn as a map of all heads among the figures of a file
  readonly ranked?: boolean; // among the metrics in which the page ranks a head
  readonly aside?: boolean; // true for nulls, bounds and numbers of tests, which are behind "more"
}

// The metrics in the order of the groups.
export const CATALOGUE: ReadonlyMap<string, CatalogueEntry> = new Map(
  entries.map((entry) => [entry.name, entry]),
);

// Experiments of `reproduce tokens`: the names of their metrics begin with the name of the
// experiment.
export interface Experiment {
  readonly name: ExperimentName;
  readonly title: string;
}

export const EXPERIMENTS: readonly Experiment[] = experiments;

// Declares a figure of a head: metrics along a dim, as curves.
export interface DeclaredFigure {
  readonly id: string;
  readonly needs: DeclaredMetric; // the metric without which there is no figure
  readonly along: string;
  readonly top_n?: number; // drawn at the N nearest to this one; {top_n} in the title is that N
  readonly title: string; // {length} in it is the longest length
  readonly caption: string;
  readonly y: { readonly label: string; readonly log?: boolean; readonly domain?: [number, number] };
  readonly curves: readonly {
    readonly metric: DeclaredMetric;
    readonly label: string; // empty: not in the key
    readonly colour: number | "muted"; // number in the theme's series
    readonly style: "line" | "thin" | "dashed" | "dotted";
    readonly faint?: boolean;
  }[];
}

export const FIGURES: readonly DeclaredFigure[] = figures;

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
