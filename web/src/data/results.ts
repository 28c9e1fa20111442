// A results file (docs/formats.md): named coordinates, and metrics over them.
import { declaration, fromFile, type CatalogueEntry, type MetricName } from "../catalogue/catalogue";
import type { Examples } from "./examples";

export type Label = number | string;
// A cell: an index along each dim of a metric.
export type Cell = Readonly<Record<string, number>>;

export interface MetricInfo {
  readonly name: MetricName;
  readonly dims: readonly string[];
  readonly unit: string;
  readonly none?: number; // the value that means "none was found"
  readonly change_of?: MetricName; // the metric whose change this is
  // Its numbers are those of that metric less the original's, but at these places of `values`, where
  // rounding would show.
  readonly kept_changes?: readonly (readonly [number, number])[];
}

// Row-major in the order of `dims`; NaN where undefined.
export interface Metric extends MetricInfo {
  readonly shape: readonly number[];
  readonly places: readonly number[]; // along each dim, the one that is taken if none is named
  readonly values: Float64Array;
  readonly parts: Readonly<Partial<Record<Part, Float64Array>>>;
}

// What stands beside a value: its standard error, the ends of its 95 % interval, the p of its test
// and the number of rows that it is a mean over.
export const PARTS = ["stderr", "low", "high", "p", "rows"] as const;
export type Part = (typeof PARTS)[number];

// A value with its parts; NaN where there is none.
export type Estimate = { value: number } & Record<Part, number>;

// The dim that says what was measured, and the label of the loss of text.
const OUTCOME = "outcome";
const TEXT = "text";

// The place along a dim that is taken if none is named: the last label (the longest length, the
// largest N), of the outcomes that of text, or the first if there is no text.
export const usualPlace = (dim: string, labels: readonly Label[]): number =>
  dim === OUTCOME ? Math.max(0, labels.indexOf(TEXT)) : labels.length - 1;

export interface Flag {
  name: string;
  layer: number;
  head: number;
  length: number;
  value: number;
  threshold: number;
  source: string;
  advice?: string; // in results of compare: the tried interventions and their effect
  change?: string; // in results of diff: "gained" or "lost"
}

// A number in a sentence, and its origin.
export interface Fact {
  text: string;
  kind: string; // "cell" and "standard_error": of the metric `name` at `cell`
  name?: MetricName;
  cell?: number[];
  value: number | null;
  scale: number;
}

export interface Sentence {
  text: string;
  heads: string[];
  facts: Fact[];
  lead?: boolean; // part of the answer
  verdict?: "good" | "bad" | "unsure"; // what the answer says of what was tried
  aside?: boolean; // true for sentences on critical N or a null
  means?: string; // meaning for the reader
  next?: string; // sentence with the command to run next, in backticks
}

export interface FlagWords {
  meaning: string; // condition for the flag
  means: string;
  next: string;
}

export interface Claim {
  name: string;
  paper: string;
  figure: string;
  statement: string;
  reading: string;
  test: string;
  measured: string;
  verdict: "holds" | "does not hold" | "cannot tell" | "not tested";
  theorem?: boolean; // true by a theorem: the test checks the code
  ours?: boolean; // the theorem is headgauge's
  turns?: string[]; // the thresholds that turn the verdict if they move by a fifth
}

// The change of a head that stands out most in a diff.
export interface Change {
  metric: MetricName;
  labels: Readonly<Record<string, string>>; // by dim
}

// Everything in a results file except the numbers of its metrics.
export interface Header {
  schema: string;
  command?: string;
  tool: { name: string; version: string; [key: string]: unknown };
  model: { name: string; family: string; layers: number; heads: number; [key: string]: unknown };
  text: { names?: string[]; sha256?: (string | null)[]; tokens?: number[]; tokens_total?: (number | null)[] };
  settings: Record<string, unknown>;
  partial: boolean;
  layers_done: number;
  coords: Record<string, Label[]>;
  flags: Flag[];
  flag_words?: Readonly<Record<string, FlagWords>>; // by name; pages have them, files do not
  pattern_words?: Readonly<Record<string, string>>; // the same
  notices: string[];
  timings: Record<string, number>;
  summary?: Sentence[];
  claims?: Claim[];
  changes?: Change[]; // of the page only the first that names a head
}

// The numbers of one metric as stored in the file or in the page: nested or flat.
export type RawNumbers = { values: unknown; degrees_of_freedom?: unknown } & Partial<Record<Part, unknown>>;

export type LoadNumbers = (name: MetricName) => Promise<RawNumbers> | RawNumbers;

// Thrown by Results.metric() in a page; gather() catches it.
class NotLoaded extends Error {
  constructor(readonly metric: MetricName, readonly raw: Promise<RawNumbers>) {
    super(`${metric} is not loaded: gather() or need() comes first`);
  }
}

// A cell of a table: its text, the value by which it is sorted, and how it stands out.
export type ViewCell = readonly [text: string, value: number | null, mark: "" | "strong" | "faint"];

// A table that the program made (headgauge/view.hpp).
export interface ViewTable {
  name: string;
  label: string;
  title: string;
  columns: { title: string; unit: string; meaning: string; metric: string; number: boolean }[];
  rows: ViewCell[][];
  notes: string[];
  left_out: number;
  lead?: boolean; // part of the answer
}

export class Results {
  private readonly loaded = new Map<MetricName, Metric>();

  constructor(
    readonly header: Header,
    private readonly infos: ReadonlyMap<MetricName, MetricInfo>,
    private readonly load: LoadNumbers,
    // Returns the queries kept as examples; undefined if there are none.
    readonly loadExamples?: () => Promise<Examples>,
    private readonly nameInFile: (name: MetricName) => MetricName = (name) => name,
    readonly tables: readonly ViewTable[] = [],
  ) {}

  get command(): string {
    return this.header.command ?? "";
  }

  coord(name: string): readonly Label[] {
    return this.header.coords[name] ?? [];
  }

  // Returns the labels of a numeric coordinate.
  numbers(name: string): number[] {
    return this.coord(name).map(Number);
  }

  names(): MetricName[] {
    return [...this.infos.keys()];
  }

  has(name: MetricName): boolean {
    return this.infos.has(name);
  }

  // Returns the metric whose change this is; undefined if it is not the change of a metric of the
  // file.
  changed(name: MetricName): MetricName | undefined {
    const plain = this.infos.get(name)?.change_of;
    return plain !== undefined && this.has(plain) ? plain : undefined;
  }

  // Returns whether the value means "none was found" and so is not a size; a change may have that
  // size.
  isNone(name: MetricName, value: number): boolean {
    const info = this.infos.get(name);
    return info?.change_of === undefined && info?.none === value;
  }

  // Returns the declaration of a metric or of the metric whose change it is; undefined for a user's
  // own.
  entry(name: MetricName): CatalogueEntry | undefined {
    const known = declaration(name);
    const plain = this.changed(name);
    return known || plain === undefined ? known?.entry : this.entry(plain);
  }

  // Returns the title in the catalogue, or the metric's own name.
  title(name: MetricName): string {
    const known = declaration(name);
    const plain = this.changed(name);
    if (known) return known.title;
    return plain === undefined ? name.replaceAll("_", " ") : `change of ${this.title(plain)}`;
  }

  // Returns whether the metric needs a linear scale whatever its range: a share or another metric
  // with bounds, a change, or nats, which are already logarithms.
  isLinear(name: MetricName): boolean {
    const { unit, change_of } = this.info(name) ?? {};
    return this.entry(name)?.range !== undefined || change_of !== undefined || unit === "nats";
  }

  // Returns whether the metric is only useful together with another one.
  isAside(name: MetricName): boolean {
    return this.entry(name)?.aside === true;
  }

  info(name: MetricName): MetricInfo | undefined {
    return this.infos.get(name);
  }

  // Makes these metrics ready for metric(); ignores those that the file lacks.
  async need(...names: MetricName[]): Promise<void> {
    for (const name of names) {
      if (!this.has(name) || this.loaded.has(name)) continue;
      const of = this.differenceOf(name);
      if (of !== undefined) await this.need(of);
      this.keep(name, of === undefined ? await this.load(name) : this.difference(name, of));
    }
  }

  // Returns the result of `make` when every metric that it requests is ready. Calls it again after
  // each missing one, so it must have no side effects.
  async gather<T>(make: () => T): Promise<T> {
    for (;;) {
      try {
        return make();
      } catch (error) {
        if (!(error instanceof NotLoaded) || this.loaded.has(error.metric)) throw error;
        this.keep(error.metric, await error.raw);
      }
    }
  }

  // Returns the numbers of a metric that is ready (a file loads its own at once, a page in gather()
  // or after need()); undefined if the file has no such metric.
  metric(name: MetricName): Metric | undefined {
    const ready = this.loaded.get(name);
    if (ready || !this.has(name)) return ready;
    const of = this.differenceOf(name);
    if (of !== undefined) return this.keep(name, this.difference(name, of));
    const raw = this.load(name);
    if (raw instanceof Promise) throw new NotLoaded(this.nameInFile(name), raw);
    return this.keep(name, raw);
  }

  value(name: MetricName, cell: Cell): number {
    const metric = this.metric(name);
    return metric ? metric.values[flatIndex(metric, cell)] ?? NaN : NaN;
  }

  stderr(name: MetricName, cell: Cell): number {
    return this.estimate(name, cell).stderr;
  }

  estimate(name: MetricName, cell: Cell): Estimate {
    const metric = this.metric(name);
    const at = metric ? flatIndex(metric, cell) : 0;
    const part = (of: Part) => metric?.parts[of]?.[at] ?? NaN;
    return {
      value: metric?.values[at] ?? NaN, stderr: part("stderr"), low: part("low"), high: part("high"), p: part("p"),
      rows: part("rows"),
    };
  }

  // Returns the place of an outcome that is no task: "text", "replay" or "answers"; undefined if
  // the file lacks it.
  outcome(name: string): number | undefined {
    const place = this.coord(OUTCOME).indexOf(name);
    return place < 0 || this.tasks().some((task) => task.outcome === place) ? undefined : place;
  }

  // Returns the outcomes that are tasks with answers, with their places.
  tasks(): { name: string; outcome: number }[] {
    const does = this.info("does_task")?.dims.join() === OUTCOME ? this.metric("does_task") : undefined;
    return this.coord(OUTCOME).flatMap((name, outcome) =>
      Number.isNaN(does?.values[outcome] ?? NaN) ? [] : { name: String(name), outcome },
    );
  }

  // Returns the part of a file with several experiments (`headgauge reproduce tokens`) whose
  // metrics and coords have this prefix, without the prefix; undefined if there is none.
  part(prefix: string): Results | undefined {
    const start = `${prefix}_`;
    const plain = (name: string) => (name.startsWith(start) ? name.slice(start.length) : name);
    const infos = new Map<MetricName, MetricInfo>();
    for (const info of this.infos.values()) {
      if (!info.name.startsWith(start)) continue;
      const name = fromFile(plain(info.name));
      infos.set(name, { ...info, name, dims: info.dims.map(plain) });
    }
    if (infos.size === 0) return undefined;
    const coords: Record<string, Label[]> = {};
    for (const [name, labels] of Object.entries(this.header.coords)) coords[plain(name)] = labels;
    return new Results(
      { ...this.header, coords },
      infos,
      (name) => {
        const own = fromFile(start + name);
        const ready = this.loaded.get(own);
        return ready ? { values: ready.values, ...ready.parts } : this.load(own);
      },
      undefined,
      (name) => this.nameInFile(fromFile(start + name)),
    );
  }

  private differenceOf(name: MetricName): MetricName | undefined {
    const info = this.infos.get(name);
    return info?.kept_changes ? info.change_of : undefined;
  }

  // Subtracts the values of the first variant, whose own change is exactly 0.
  private difference(name: MetricName, of: MetricName): RawNumbers {
    const { dims, shape, values, parts } = this.metric(of)!;
    const axis = dims.findIndex((dim) => dim === "normalizer" || dim === "pattern");
    const step = shape.slice(axis + 1).reduce((product, n) => product * n, 1);
    const variant = (k: number) => Math.floor(k / step) % shape[axis]!;
    const none = (value: number) => this.isNone(of, value);
    const change = values.map((value, k) => {
      const first = values[k - variant(k) * step]!;
      return none(value) || none(first) ? NaN : value - first;
    });
    for (const [k, value] of this.infos.get(name)!.kept_changes!) change[k] = value;
    const stderr = parts.stderr?.map((error, k, all) =>
      Number.isNaN(change[k]!) ? NaN : variant(k) === 0 ? 0 * error : Math.hypot(error, all[k - variant(k) * step]!),
    );
    return stderr ? { values: change, stderr } : { values: change };
  }

  private keep(name: MetricName, raw: RawNumbers): Metric {
    const info = this.infos.get(name)!;
    const shape = info.dims.map((dim) => this.coord(dim).length);
    const size = shape.reduce((product, n) => product * n, 1);
    const metric: Metric = {
      ...info,
      shape,
      places: info.dims.map((dim) => usualPlace(dim, this.coord(dim))),
      values: flat(raw.values, size, name),
      parts: Object.fromEntries(
        PARTS.filter((part) => raw[part] !== undefined).map((part) => [part, flat(raw[part], size, name)]),
      ),
    };
    this.loaded.set(name, metric);
    return metric;
  }
}

// Returns the index of a cell in `values`; an unnamed dim takes its usual place.
export function flatIndex(metric: Metric, cell: Cell): number {
  let index = 0;
  metric.dims.forEach((dim, k) => {
    index = index * metric.shape[k]! + (cell[dim] ?? metric.places[k]!);
  });
  return index;
}

// Flattens nested lists into one array, with NaN for null and strings such as "NaN"; returns an
// array unchanged.
function flat(nested: unknown, size: number, name: string): Float64Array {
  if (nested instanceof Float64Array && nested.length === size) return nested;
  const out = new Float64Array(size).fill(NaN);
  let next = 0;
  const visit = (value: unknown) => {
    if (Array.isArray(value) || value instanceof Float64Array) {
      for (const inner of value) visit(inner);
      return;
    }
    if (next < size) out[next] = typeof value === "number" && Number.isFinite(value) ? value : NaN;
    next += 1;
  };
  visit(nested);
  if (next !== size) throw new Error(`${name}: expected ${size} values, found ${next}`);
  return out;
}
