import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { FORMULAS } from "../../src/methods/formulas";
import { rendered, renderedFormula } from "../../src/methods/rendered";
import { parseXml } from "./svg";

const root = resolve(__dirname, "../../..");

// Every metric in the tables of docs/formats.md.
function documented(): string[] {
  const text = readFileSync(resolve(root, "docs/formats.md"), "utf8");
  const names = new Set<string>();
  let column = -1;
  for (const line of text.slice(text.indexOf("### metrics"), text.indexOf("### flags")).split("\n")) {
    const cells = line.split("|").slice(1);
    if (cells.length === 0) column = -1;
    else if (column < 0) column = cells.findIndex((cell) => /^ metrics/.test(cell));
    else {
      // What stands in brackets tells of errors and conditions.
      const plain = cells[column]!.replace(/\([^)]*\)/g, "").replace(/;.*|of every metric.*/, "");
      for (const [, name] of plain.matchAll(/`([a-z0-9_]+)`/g)) names.add(name!);
    }
  }
  return [...names];
}

describe("formulas", () => {
  it("are there for every metric that docs/formats.md lists", () => {
    const names = documented();
    expect(names.length).toBeGreaterThan(85);
    expect(names.filter((name) => !(name in FORMULAS))).toEqual([]);
  });

  const binary = process.env["HEADGAUGE"] ?? resolve(root, "build/release/headgauge");
  it.skipIf(!existsSync(binary))("are there for every metric of `headgauge measures`", () => {
    const list = JSON.parse(execFileSync(binary, ["measures", "--json"], { encoding: "utf8" })) as {
      name: string;
    }[];
    expect(list.length).toBeGreaterThan(70);
    expect(list.map(({ name }) => name).filter((name) => !(name in FORMULAS))).toEqual([]);
  });

  it("are rendered to MathML that is XML, without the TeX", () => {
    for (const [name, { mathml }] of Object.entries(rendered)) {
      const [first] = parseXml(mathml.replace(/&nbsp;|&#x[0-9a-f]+;/gi, " "));
      expect(first!.name, name).toBe("math");
      expect(mathml, name).not.toMatch(/annotation|\\[a-z]/);
    }
    expect(Object.keys(rendered)).toEqual(Object.keys(FORMULAS));
  });

  it("have one sentence in words and a source", () => {
    for (const [name, { words, source }] of Object.entries(FORMULAS)) {
      expect(words, name).toMatch(/^[A-Z].*\.$/s);
      expect(source, name).toMatch(/math|paper|docs|\d{4}/);
    }
  });

  it("are found for the forms of a metric", () => {
    const entropy = renderedFormula("entropy");
    expect(entropy).toBeDefined();
    expect(renderedFormula("entropy_by_position")).toBe(entropy);
    expect(renderedFormula("entropy_change")).toBe(entropy);
    expect(renderedFormula("loss_change")).toBe(rendered["loss_change"]);
    expect(renderedFormula("gaussian_rate_mean")).toBe(rendered["rate_mean"]);
    expect(renderedFormula("something_new")).toBeUndefined();
  });
});
