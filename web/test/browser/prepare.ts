// Before the tests: results of every command on the demo model and on phantoms, each as
// results.json and as a page. HEADGAUGE_PAGE_TEMPLATE=web/dist/index.html takes the page from there, not out of the
// program: for work on the page without a build of the program.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { pageWith, scriptsOf, type MetricJson, type ResultsJson } from "./embed";
import { wideResults } from "./wide";

declare module "vitest" {
  export interface ProvidedContext {
    missing: string; // why the tests cannot run; empty where they can
    chromium: string;
    folder: string; // KIND/results.json and KIND/report.html
    kinds: string[];
  }
}

const root = resolve(__dirname, "../../..");
const chromium = process.env["HEADGAUGE_CHROMIUM"] ?? "/usr/bin/chromium";
const binary = resolve(root, process.env["HEADGAUGE_BINARY"] ?? "build/release/headgauge");
const template = process.env["HEADGAUGE_PAGE_TEMPLATE"];

export default function prepare(project: TestProject): (() => void) | undefined {
  const missing = [
    existsSync(chromium) ? "" : `no browser at ${chromium} (HEADGAUGE_CHROMIUM)`,
    existsSync(binary) ? "" : `no program at ${binary} (HEADGAUGE_BINARY)`,
  ].filter((reason) => reason !== "");
  project.provide("missing", missing.join("; "));
  project.provide("chromium", chromium);
  if (missing.length > 0) {
    console.warn(`web/test/browser is skipped: ${missing.join("; ")}`);
    project.provide("folder", "");
    project.provide("kinds", []);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "headgauge-web-"));
  project.provide("folder", folder);
  project.provide("kinds", makeAll(folder));
  return () => rmSync(folder, { recursive: true, force: true });
}

function run(...options: string[]): string {
  return execFileSync(binary, options, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1 << 28,
    timeout: 600_000, // a crowded machine
  });
}

function makeAll(folder: string): string[] {
  const strong = join(folder, "strong");
  const weak = join(folder, "weak");
  const maker = join(dirname(binary), "tests/phantom/phantom");
  execFileSync(maker, [strong, "6"]);
  execFileSync(maker, [weak, "1"]);
  const phantom = (of: string) => [of, "--tokens", join(of, "tokens.txt"), "--lengths", "32,64,128"];
  const demo = ["demo/model", "--text", "demo/text.txt"];
  const kinds: [string, string[]][] = [
    ["scan", ["scan", ...demo, "--lengths", "32,64,128,256", "--examples", "4"]],
    [
      "examples",
      [
        ...["scan", "demo/model", "--text", hostileText(folder), "--lengths", "160", "--examples", "6"],
        ...["--measures", "weights", "--pattern", "window:size=12"],
      ],
    ],
    [
      "compare",
      ["compare", ...demo, "--measures", "all", "--lengths", "64,128", "--normalizer", "sparsemax,softmax:t=2,softmax:t=1.2,softmax:t=0.8,ssmax"],
    ],
    ["patterns", ["compare", ...demo, "--measures", "all", "--probe", "none", "--lengths", "64", "--pattern", "window:size=8"]],
    ["converge", ["converge", ...demo, "--lengths", "64,128", "--replicates", "20"]],
    ["phantom-strong", ["scan", ...phantom(strong)]],
    ["phantom-weak", ["scan", ...phantom(weak)]],
    [
      "synthetic",
      "converge --synthetic gaussian --grid 100,200,400,800 --replicates 5 --scales 0.1,1,5 --dimension 8".split(" "),
    ],
  ];
  const made: string[] = [];
  const add = (kind: string, make: (out: string) => void, { reported = false } = {}) => {
    const out = join(folder, kind);
    mkdirSync(out);
    make(out);
    if (!reported) report(out);
    made.push(kind);
  };
  for (const [kind, options] of kinds) add(kind, (out) => run(...options, "--quiet", "--out", out));
  const at = (kind: string) => join(folder, kind, "results.json");
  add("diff", (out) => diff(at("phantom-weak"), at("phantom-strong"), out));
  const exact = join(folder, "diff-exact");
  changedPair(read(at("compare")), folder);
  diff(at("changed-from"), at("changed-to"), exact, "--heads", "0.*");
  report(exact);
  for (const [kind, name] of [["diff-exact", "diff"], ["compare", "compare"]] as const) {
    const { changes: _l, change_counts: _c, ...rest } = read(at(kind));
    write(join(folder, `${name}-without-list`), rest);
    report(join(folder, `${name}-without-list`));
  }
  add("limits", (out) => run("reproduce", "limits", ...demo, "--lengths", "32,64,128", "--out", out, "--quiet"));
  const few = ["--dimension", "6", "--grid", "60,120,240,480", "--replicates", "4"];
  add("tokens", (out) => run("reproduce", "tokens", ...few, "--out", out, "--quiet"));
  const texts = parts(folder, ["first", "second", "third"]);
  const quick = ["--permutations", "499", "--resamples", "99"];
  add("validate", (out) => {
    const options = ["--lengths", "256", "--queries", "8", "--level", "0.5", ...quick];
    const lines = run(
      "validate", "demo/model", "--text", ...texts, ...options, "--top", "999", "--out", out, "--quiet",
    );
    writeFileSync(join(out, "printed.txt"), lines);
  });
  add("validate-one", (out) => {
    const changed = ["--pattern", "none", "--normalizer", "uniform"];
    const options = ["--lengths", "128", ...changed, ...quick];
    const keys = join(folder, "keys.jsonl"); // the model does them
    run("task", "keys", "--model", "demo/model", "--length", "128", "--cases", "8", "--seed", "1", "--out", keys);
    run("validate", "demo/model", "--text", texts[0]!, "--tasks", keys, ...options, "--out", out, "--quiet");
  });
  const [a, b, c, d] = parts(folder, ["quarter-a", "quarter-b", "quarter-c", "quarter-d"]);
  add("plan", (out) => {
    const small = ["--lengths", "64", "--curve", "0.25", "--random-plans", "4"];
    const lines = run(
      "plan", "demo/model", "--text", a!, b!, "--confirm", c!, d!, ...small, "--table", "--out", out, "--quiet",
    );
    writeFileSync(join(out, "printed.txt"), lines);
  });
  add("monitor", (out) => {
    writeFileSync(join(out, "monitor.jsonl"), monitorRecords());
    run("report", join(out, "monitor.jsonl"), "--quiet");
  }, { reported: true });
  // Of the size of GPT-2 xl.
  add("wide", (out) => {
    write(out, wideResults(read(at("scan")), 48, 25));
  });
  return made;
}

const read = (path: string) => JSON.parse(readFileSync(path, "utf8")) as ResultsJson;

function write(out: string, results: object): void {
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, "results.json"), JSON.stringify(results));
}

// The demo text as several texts.
function parts(folder: string, names: readonly string[]): string[] {
  const text = readFileSync(join(root, "demo/text.txt"), "utf8");
  return names.map((name, k) => {
    const path = join(folder, `${name}.txt`);
    writeFileSync(path, text.slice((k * text.length) / names.length, ((k + 1) * text.length) / names.length));
    return path;
  });
}

// Of a training whose head 1.2 collapses, and two heads of which one record knows nothing.
function monitorRecords(): string {
  const heads = (of: (layer: number, head: number) => number | null) =>
    [0, 1].map((layer) => [0, 1, 2, 3].map((head) => of(layer, head)));
  return Array.from({ length: 12 }, (_, k) => {
    const entropy = heads((layer, head) =>
      layer === 1 && head === 2 ? Math.exp(-k / 3) : k === 5 && head === 3 ? null : 1 - 0.02 * k * (head + 1),
    );
    return JSON.stringify({
      schema: "headgauge.monitor/2",
      model: "a <b>model</b>",
      family: "gpt2",
      step: 100 * (k + 1),
      tokens: 64,
      metrics: { entropy_normalized: entropy, logit_range: heads((layer, head) => 3 ** (layer + head) + k) },
      warnings: k === 11 ? ["step 1000: entropy collapse began in head 1.2: entropy below 0.05 of its maximum"] : [],
    });
  }).join("\n");
}

// A text that would be markup, or in another order, if it were not shown as text.
function hostileText(folder: string): string {
  const path = join(folder, "hostile.txt");
  const line = "</script><b id=evil>bold</b> <!-- \u202eback\u202c \u0001 &amp; \u{1f987}\n";
  writeFileSync(path, line.repeat(40));
  return path;
}

function diff(before: string, after: string, out: string, ...options: string[]): void {
  mkdirSync(out, { recursive: true });
  const lines = run("diff", before, after, "--out", out, "--top", "200", "--quiet", ...options);
  writeFileSync(join(out, "printed.txt"), lines);
}

// Two results, of which the second has larger values in a metric with errors of 0, in one with other
// errors and in one without any.
function changedPair(results: ResultsJson, folder: string): void {
  const nested = (values: unknown, of: (value: number | null) => number | null): unknown =>
    Array.isArray(values) ? values.map((inner) => nested(inner, of)) : of(values as number | null);
  const metric = (name: string): MetricJson => results.metrics[name]!;
  delete metric("sink_weight").stderr;
  metric("entropy").stderr = nested(metric("entropy").values, () => 0);
  metric("max_weight").stderr = nested(metric("max_weight").values, () => 0.01);
  write(join(folder, "changed-from"), results);
  for (const name of ["entropy", "max_weight", "sink_weight"]) {
    metric(name).values = nested(metric(name).values, (value) => value && 1.25 * value);
  }
  write(join(folder, "changed-to"), results);
}

// The page beside the results.
function report(out: string): void {
  const page = join(out, "report.html");
  if (template === undefined) {
    if (!existsSync(page)) run("report", out, "--quiet");
    return;
  }
  writeFileSync(page, pageWith(resolve(root, template), scriptsOf(read(join(out, "results.json")))));
}
