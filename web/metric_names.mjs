// Writes types/metrics.ts: the names of all metrics and experiments of catalogue/, with which tsc finds a misspelt one.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const catalogue = new URL("../catalogue/", import.meta.url);
const groups = readdirSync(catalogue).sort().map(
  (file) => JSON.parse(readFileSync(new URL(file, catalogue), "utf8")),
);
const metrics = groups.flatMap((group) => group.metrics)
  .filter(({ kind }) => kind !== "hidden")
  .flatMap(({ name, by_position }) => (by_position ? [name, `${name}_by_position`] : [name]));
const experiments = groups.flatMap((group) => group.experiments ?? []).map(({ name }) => name);

const union = (type, names) => `export type ${type} =\n${names.map((name) => `  | "${name}"`).join("\n")};\n`;
const types = new URL("types/", import.meta.url);
mkdirSync(types, { recursive: true });
writeFileSync(
  new URL("metrics.ts", types),
  "// Written by metric_names.mjs from catalogue/.\n" +
    `${union("DeclaredMetric", metrics)}\n${union("ExperimentName", experiments)}`,
);
