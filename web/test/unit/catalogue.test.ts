import { describe, expect, it } from "vitest";
import { CATALOGUE, FLAGS, fromFile } from "../../src/catalogue/catalogue";
import { declared } from "../../src/catalogue/plugin";
import { resultsFromFile } from "../../src/data/embedded";
import { smallFile } from "./page-results";

const entries = [...CATALOGUE.values()];

describe("the catalogue", () => {
  it("comes whole from the files", () => {
    expect(entries.length).toBeGreaterThan(90);
    expect(entries.map(({ name }) => name)).toEqual(declared().map(({ name }) => name));
  });

  it("says the meaning in sentences, a source and a title without a full stop", () => {
    for (const { name, meaning, source, title } of entries) {
      expect(meaning, name).toMatch(/^(-?\d|[A-Z]).*\.$/s);
      expect(source, name).toMatch(/math|paper|docs|\d{4}/);
      expect(title, name).toMatch(/^[^_.]+$/);
    }
    const titles = entries.map(({ title }) => title);
    expect(titles.filter((title, k) => titles.indexOf(title) !== k)).toEqual([]);
  });

  it("says of every role what the title of a head says, with metrics that it declares", () => {
    const roles = [...FLAGS.values()].filter(({ role }) => role);
    expect(roles.map(({ name }) => name)).toEqual(["sinks", "previous", "near", "far", "copies", "induction", "dormant"]);
    for (const { name, says = "" } of roles) {
      expect(says, name).toMatch(/^\S.*[^.]$/);
      for (const [, metric] of says.matchAll(/\{(\w+)/g)) expect(CATALOGUE.has(metric!), metric).toBe(true);
    }
  });
});

describe("a metric of a results file", () => {
  const metric = { dims: ["layer", "head"], unit: "1", values: [[1, 2, 3], [4, 5, 6]] };
  const results = resultsFromFile({
    ...smallFile(),
    metrics: {
      entropy: metric,
      entropy_change: { ...metric, change_of: "entropy" },
      mass_by_position: metric,
      gaussian_rate_mean: metric,
      loss: metric,
      loss_change: { ...metric, change_of: "loss" },
      output_change: metric,
      critical_n_head: { ...metric, none: -1 },
      my_own: metric,
      my_own_change: { ...metric, change_of: "my_own" },
    },
  });

  it("is found in the catalogue in all of its forms", () => {
    const of = (name: string) => results.entry(fromFile(name))?.name;
    expect(["entropy", "entropy_change", "mass_by_position"].map(of)).toEqual(["entropy", "entropy", "mass"]);
    expect(["gaussian_rate_mean", "loss_change", "my_own"].map(of)).toEqual(["rate_mean", "loss_change", undefined]);
  });

  it("has a title", () => {
    expect(results.names().map((name) => results.title(name))).toEqual([
      "entropy", "change of entropy", "total weight by position", "rate of the mean, Gaussian tokens",
      "loss", "change of the loss", "change of the output", "critical N of the head",
      "my own", "change of my own",
    ]);
  });

  it("says by itself what its values mean", () => {
    expect(results.isNone("critical_n_head", -1)).toBe(true);
    expect(results.isNone("critical_n_head", 1)).toBe(false);
    expect(results.isNone("entropy", -1)).toBe(false);
    expect((["entropy_change", "loss_change", "output_change"] as const).map((name) => results.changed(name))).toEqual([
      "entropy", "loss", undefined,
    ]);
  });
});
