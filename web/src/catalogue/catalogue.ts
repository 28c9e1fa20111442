// What catalogue/*.json says of the metrics of headgauge.
import entries from "virtual:catalogue";

export interface CatalogueEntry {
  readonly name: string;
  readonly title: string;
  readonly group: string;
  readonly formula: string;
  readonly meaning: string;
  readonly source: string;
  readonly by_position?: boolean;
  readonly none?: number;
  readonly fraction_of?: string;
  readonly bound?: boolean;
}

// In the order of the groups.
export const CATALOGUE: ReadonlyMap<string, CatalogueEntry> = new Map(
  entries.map((entry) => [entry.name, entry]),
);

// The experiments of `reproduce tokens`: what their metrics' names begin with, and in words.
export const EXPERIMENTS: readonly (readonly [string, string])[] = [
  ["gaussian", "Gaussian tokens"],
  ["sphere", "Tokens on the sphere"],
  ["model", "The model's heads"],
];

interface Declaration {
  entry: CatalogueEntry;
  title: string;
}

// A metric by position and in an experiment has a name of its own.
const DECLARED = new Map<string, Declaration>();
for (const entry of entries) {
  const { name, title } = entry;
  DECLARED.set(name, { entry, title });
  DECLARED.set(`${name}_by_position`, { entry, title: `${title} by position` });
  for (const [prefix, words] of EXPERIMENTS) {
    DECLARED.set(`${prefix}_${name}`, { entry, title: `${title}, ${words}` });
  }
}

// What is declared of a metric; undefined for one that headgauge does not know.
export const declaration = (name: string): Declaration | undefined => DECLARED.get(name);
