// Reads the catalogue of metrics while the page is built.
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Plugin } from "vite";
import type { CatalogueEntry, DeclaredFigure, Experiment } from "./catalogue";

type Declared = CatalogueEntry & { kind: string };

interface Group {
  group: string;
  metrics: Omit<Declared, "group">[];
  experiments?: Experiment[];
  figures?: DeclaredFigure[];
}

// Returns the groups in order.
function groups(): Group[] {
  const folder = resolve(__dirname, "../../../catalogue");
  return readdirSync(folder).sort().map(
    (file) => JSON.parse(readFileSync(resolve(folder, file), "utf8")) as Group,
  );
}

// Returns the metrics that results files contain.
export const declared = (): Declared[] =>
  groups().flatMap(({ group, metrics }) =>
    metrics.filter(({ kind }) => kind !== "hidden").map((metric) => ({ ...metric, group })),
  );

const MODULES: Readonly<Record<string, () => unknown>> = {
  "virtual:catalogue": declared,
  "virtual:experiments": () => groups().flatMap(({ experiments }) => experiments ?? []),
  "virtual:figures": () => groups().flatMap(({ figures }) => figures ?? []),
};

export function cataloguePlugin(): Plugin {
  return {
    name: "headgauge-catalogue",
    resolveId: (id) => (id in MODULES ? `\0${id}` : undefined),
    load: (id) => {
      const make = MODULES[id.slice(1)];
      return make && `export default ${JSON.stringify(make())}`;
    },
  };
}
